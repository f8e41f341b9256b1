package ingest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestWalkFollowsLinks checks that a link leads to the section of another document that it names, if the documents share no other name.
func TestWalkFollowsLinks(t *testing.T) {
	const unlike = "\n\n# Other\n\nwater and gravel run down to the river.\n"
	for _, c := range []struct{ name, from, to, file, place string }{
		{"by its words", "they are made as [pressed tiles](x9.md) are.", "# Pressed tiles\n\nclay is baked for a day.", "x9.md", "clay"},
		{"by its file", "they are made [as told there](tile-making.md).", "# Tile making\n\nclay is baked for a day.", "tile-making.md", "clay"},
		{"by its place", "see [what is done](t4.md#after-firing).", "# 4t\n\nnone.\n\n## After firing\n\nglaze goes on.", "t4.md", "glaze"},
		{"of a page", "see <a href=\"t4.html#after-firing\">here</a>.", "# 4t\n\n## After firing\n\nglaze goes on.", "t4.html", "glaze"},
		{"of a wiki", "see [[t4#After firing|here]].", "# 4t\n\n## After firing\n\nglaze goes on.", "t4.md", "glaze"},
		{"to a file without a heading", "see [the list](tile-list.txt).", "clay is baked.", "tile-list.txt", "clay"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
			require.NoError(t, err)
			defer func() {
				if err := ix.Close(); err != nil {
					t.Error(err)
				}
			}()
			to := ingest.Source{URI: c.file, Name: strings.TrimSuffix(c.file, ".html") + ".md", Data: []byte(c.to + unlike)}
			if strings.HasSuffix(c.file, ".txt") {
				to.Name, to.Data = c.file, []byte(c.to)
			}
			sources := []ingest.Source{{URI: "start.md", Data: []byte("# Roofs\n\nroofs have tiles; " + c.from)}, to}
			for _, e := range []struct {
				entities entities.Extractor
				reached  bool
			}{{nil, true}, {blind{}, false}} {
				r, err := ingest.New(ix, nil, ingest.Options{Entities: e.entities}).IngestDocuments(t.Context(), "", sources, nil)
				if err != nil || r.Added+r.Updated != 2 {
					t.Fatal(r, err)
				}
				got, err := ix.Walk(t.Context(), index.WalkQuery{Collection: corpus.DefaultCollection, Entities: []string{"Roofs"}})
				require.NoError(t, err)
				if reached := slices.ContainsFunc(got, func(r index.WalkHit) bool { return strings.Contains(r.Chunk.Text, c.place) }); reached != e.reached {
					t.Errorf("with %T: %+v", e.entities, got)
				}
			}
		})
	}
}

// blind is an extractor that ignores links.
type blind struct{ entities.Rules }

func (blind) Name() string { return "blind" }

func (b blind) Extract(ctx context.Context, chunks []corpus.Chunk, _ [][]entities.Link) ([]entities.Extraction, error) {
	return b.Rules.Extract(ctx, chunks, nil)
}

// seen is an extractor that records the links of each passage.
type seen struct {
	entities.None
	links map[string][]string
}

func (s seen) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]entities.Link) ([]entities.Extraction, error) {
	for i, of := range links {
		for _, l := range of {
			s.links[chunks[i].Text] = append(s.links[chunks[i].Text], l.Text)
		}
		if len(of) > 0 && chunks[i].Level != corpus.Passage {
			s.links["no passage"] = nil
		}
	}
	return s.None.Extract(ctx, chunks, links)
}

// TestLinksOfPassages checks that a link belongs to the passage that contains it, also if a paragraph is split.
func TestLinksOfPassages(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		b.WriteString("The water runs over the riffles, and [the gold of " + fmt.Sprint(1000+i) + "](g.md) sinks. ")
	}
	s := seen{links: map[string][]string{}}
	_, err := ingest.New(newMemory(), nil, ingest.Options{Entities: s}).IngestDocuments(t.Context(), "",
		[]ingest.Source{{URI: "a.md", Data: []byte("# Gold\n\n" + b.String() + "\n\n```\n[no](x)\n```\n")}}, nil)
	total := 0
	for text, links := range s.links {
		for _, l := range links {
			if !strings.Contains(text, l) {
				t.Errorf("%q is not in %q", l, text)
			}
		}
		total += len(links)
	}
	if err != nil || total != 60 || len(s.links) < 3 {
		t.Errorf("%d links in %d passages, %v", total, len(s.links), err)
	}
}
