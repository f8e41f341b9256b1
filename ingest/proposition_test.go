package ingest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// recordingEmbedder is an embedder that records its texts.
type recordingEmbedder struct {
	mu    sync.Mutex
	texts []string
}

func (*recordingEmbedder) Space() string { return "heard" }

func (h *recordingEmbedder) Embed(_ context.Context, texts []string, _ model.Purpose) ([][]float32, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, texts...)
	out := make([][]float32, len(texts))
	for i, s := range texts {
		out[i] = []float32{float32(len(s)), 1}
	}
	return out, nil
}

// TestPropositions checks that propositions are embedded, indexed, stored and re-embedded in place of their sentences, and that the sentences
// are shown.
func TestPropositions(t *testing.T) {
	ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	defer func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}()
	const said, means = "It washes gravel for miners.", "Riffle Box — It washes gravel for miners."
	sources := []ingest.Source{
		{URI: "a.md", Data: []byte("# Riffle Box\n\nThis long box is of pine. " + said)},
		{URI: "a.py", Data: []byte("# Riffle Box\nx = 1\n\n# It is a box.\ny = 2\n")},
	}
	for _, c := range []struct {
		proposer proposition.Generator
		want     string
	}{{nil, means}, {proposition.None{}, said}, {proposition.Rules{}, means}} {
		e := &recordingEmbedder{}
		g := ingest.New(struct{ index.Index }{ix}, e, ingest.Options{Propositions: c.proposer}) // an index that may need vectors of sentences
		r, err := g.IngestDocuments(t.Context(), "", sources, nil)
		if err != nil || r.Added+r.Updated != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		if slices.Contains(e.texts, said) != (c.want == said) || slices.Contains(e.texts, means) != (c.want == means) {
			t.Errorf("embedded %q", e.texts)
		}
		hits, err := ix.Search(t.Context(), index.Query{Collection: corpus.DefaultCollection, Text: "gravel miners", Levels: []corpus.Level{corpus.Sentence}})
		if err != nil || len(hits) == 0 || hits[0].Chunk.Text != said || hits[0].Chunk.SearchText() != c.want {
			t.Fatalf("%+v, %v", hits, err)
		}
		for _, h := range hits {
			if h.Chunk.Proposition != "" && h.Chunk.Text != said {
				t.Errorf("%q became %q", h.Chunk.Text, h.Chunk.Proposition)
			}
		}
		if r, err := g.IngestDocuments(t.Context(), "", sources, nil); err != nil || r.Unchanged != 2 {
			t.Errorf("again: %+v, %v", r, err)
		}
	}
}

// TestOnlyPassagesAreEmbedded checks that an index that needs no vectors of sections and sentences causes no calls of the embedder for them.
func TestOnlyPassagesAreEmbedded(t *testing.T) {
	ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	defer func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}()
	long := strings.Repeat("It washes gravel for miners who are patient. ", 40)
	e := &recordingEmbedder{}
	r, err := ingest.New(ix, e, ingest.Options{}).IngestDocuments(t.Context(), "", []ingest.Source{{URI: "a.md", Data: []byte("# Riffle Box\n\n" + long)}}, nil)
	if err != nil || r.Unembedded != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	passages, err := ix.DocumentChunks(t.Context(), corpus.DefaultCollection, ingest.DocumentID(corpus.DefaultCollection, "a.md"), corpus.Passage, 0, 0)
	if err != nil || len(passages) < 2 || len(e.texts) > len(passages) {
		t.Errorf("%d texts of %d passages were embedded, %v", len(e.texts), len(passages), err)
	}
	for _, text := range e.texts {
		if !slices.ContainsFunc(passages, func(c corpus.Chunk) bool { return c.Text == text }) {
			t.Errorf("embedded %q", text)
		}
	}
	hits, err := ix.Search(t.Context(), index.Query{Collection: corpus.DefaultCollection, Text: "patient miners", Levels: []corpus.Level{corpus.Sentence}})
	if err != nil || len(hits) == 0 || hits[0].Chunk.Level != corpus.Sentence {
		t.Errorf("sentences %+v, %v", hits, err)
	}
}
