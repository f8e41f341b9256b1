package answer_test

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// described is an index whose documents have other URIs.
type described struct {
	index.Reader
	index.Versions
	at    string
	calls *atomic.Int32
}

func (d described) DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	d.calls.Add(1)
	all, err := d.Documents(ctx, collection, "", 0)
	all = slices.DeleteFunc(all, func(doc corpus.Document) bool { return !slices.Contains(ids, doc.ID) })
	for i := range all {
		all[i].URI, all[i].Contributor = d.at, "ada"
		all[i].Meta = corpus.DublinCore{Title: "Notes", Rights: strings.Repeat("r", 3000)}
		all[i].Given = corpus.DublinCore{Title: "My notes"}
	}
	return all, err
}

func (described) DocumentChunks(context.Context, string, corpus.DocumentID, corpus.Level, int, int) ([]corpus.Chunk, error) {
	return nil, nil
}

func describing(p *answer.Pipeline, at string) (*answer.Pipeline, *atomic.Int32) {
	calls := new(atomic.Int32)
	with := *p
	with.Index = described{p.Index, p.Index.(index.Versions), at, calls}
	return &with, calls
}

// TestFirstCitationHasSource checks that the first citation has the source without its weight, also in a cached answer.
func TestFirstCitationHasSource(t *testing.T) {
	t.Parallel()
	p, calls := describing(caching(t), "/home/ada/Farland%20notes.md")
	p.Generator = speaking(model.Delta{Text: "The keeper of the Farland lighthouse is Ada Brook."}, model.Delta{Cite: 2}, model.Delta{Cite: 1}, model.Delta{Cite: 2},
		model.Delta{Text: " "}, model.Delta{Cite: 1})
	for _, name := range []string{"anew", "from the cache"} {
		before := calls.Load()
		log := ask(t, p, keeper)
		s := event.Fold(log)
		// The names of the documents that are read are known from the search.
		if s.Cached() != (name == "from the cache") || calls.Load()-before != 1 {
			t.Fatalf("%s: cached %v, %d calls", name, s.Cached(), calls.Load()-before)
		}
		want := slices.Clone(s.Sources[:2])
		for i := range want {
			if want[i].Name != "Farland%20notes.md" || !want[i].Cited {
				t.Errorf("%s: %+v", name, want[i])
			}
			if m := want[i].Meta; m == nil || m.Title != "My notes" || len(m.Rights) != 500 || want[i].Contributor != "ada" || want[i].URI != "Farland%20notes.md" {
				t.Errorf("%s: %q, %+v of %q", name, want[i].URI, m, want[i].Contributor)
			}
			want[i].Weight = 0
		}
		if d := cmp.Diff(want, s.Quoted); d != "" || len(s.Citations) != 4 {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"/home/ada/notes.md": "notes.md", "notes.md": "notes.md", "a b\x00/c\n d.txt": "c d.txt", "": "", "/": "", "docs/": "docs",
		"https://user:secret@example.org:80/a/Report%20one.pdf?key=1#2": "Report one.pdf", "https://user:secret@example.org/": "example.org", "http://[::1": "[::1",
		"C:report.pdf": "C:report.pdf",
	} {
		p, _ := describing(library(), at)
		s := event.Fold(ask(t, p, keeper))
		if got := s.Sources[0].Name; got != want {
			t.Errorf("%q: %q, want %q", at, got, want)
		}
	}
	if s := event.Fold(ask(t, library(), keeper)); s.Sources[0].Name != "" && s.Sources[0].Name != "lighthouse.md" {
		t.Errorf("%q", s.Sources[0].Name)
	}
}

// headingsOf is a grader that remembers the outermost headings of the passages.
type headingsOf struct {
	grade.Grader
	read chan string
}

func (g headingsOf) Grade(ctx context.Context, question string, chunks []grade.Scored, stats index.TermStats) (grade.Grades, error) {
	for _, c := range chunks {
		select {
		case g.read <- c.Chunk.Headings[0]:
		default:
		}
	}
	return g.Grader.Grade(ctx, question, chunks, stats)
}

// TestNamesOfFilesAreRead checks that graders and the generator read the words of a file's name that the title lacks, and that sources keep the title.
func TestNamesOfFilesAreRead(t *testing.T) {
	t.Parallel()
	p, _ := describing(library(), "/home/ada/harbour-dues_2031.old.md")
	headings := headingsOf{grade.Coverage{}, make(chan string, 1)}
	var title string
	p.Scorer = headings
	p.Generator = speaker(func(ctx context.Context, task model.Task) iter.Seq2[model.Delta, error] {
		title = task.Passages[0].Chunk.Title
		return speaking(model.Delta{Text: "The keeper is Ada Brook."}, model.Delta{Cite: 1})(ctx, task)
	})
	s := event.Fold(askDirect(t, p, keeper))
	const words = "harbour dues 2031 old"
	if got := <-headings.read; got != words {
		t.Errorf("the graders read %q", got)
	}
	if want := s.Sources[0].Title + " (" + words + ")"; title != want {
		t.Errorf("the generator reads %q, want %q", title, want)
	}
}

// TestSourcesHaveQuotes checks that a source quotes the sentence that supports its citation, also in a cached answer.
func TestSourcesHaveQuotes(t *testing.T) {
	t.Parallel()
	p := caching(t)
	s := event.Fold(ask(t, p, keeper))
	first := s.Sources[0].Text
	sentences := lang.Sentences(first)
	last := sentences[len(sentences)-1]
	for name, c := range map[string]struct {
		before, said string
		want         int
	}{
		"the first":    {"", first[sentences[0].Start:sentences[0].End], 0},
		"the last":     {"", first[last.Start:last.End], last.Start},
		"its words":    {"", "So then: " + strings.ToUpper(first[last.Start:last.End]), last.Start},
		"no words":     {"", "Zebras graze.", 0},
		"no claim":     {"", " ", 0},
		"last claim":   {first[sentences[0].Start:sentences[0].End], first[last.Start:last.End], last.Start},
		"not the rest": {first[last.Start:last.End], first[sentences[0].Start:sentences[0].End], 0},
		"most words":   {"", strings.Join(strings.Fields(first)[:4], " ") + ". " + first[last.Start:last.End], last.Start},
	} {
		deltas := []model.Delta{{Text: c.said}, {Cite: 2}, {Cite: 1}, {Text: first[last.Start:last.End]}, {Cite: 1}}
		if c.before != "" {
			deltas = append([]model.Delta{{Text: c.before}, {Cite: 2}}, deltas...)
		}
		with := *p
		with.Setup, with.Generator = name, speaking(deltas...)
		for _, again := range []bool{false, true} {
			s := event.Fold(ask(t, &with, keeper))
			i := slices.IndexFunc(s.Quoted, func(src event.Source) bool { return src.Text == first })
			if i < 0 || s.Quoted[i].Quote != c.want || s.Sources[i].Quote != c.want {
				t.Errorf("%s, again %v: %+v, want %d", name, again, s.Quoted, c.want)
			}
		}
	}
}

// TestQuoteOfEachCitation checks that each citation of a source has the sentence that supports it, also in a cached answer.
func TestQuoteOfEachCitation(t *testing.T) {
	t.Parallel()
	first, second := "The lock master is Greta Lind.", "She has worked in the harbour since 1998."
	p := holding(t, "lock.md", "# Lock\n\n"+first+" "+second+" The lock is open all year.\n")
	p.Cache = caching(t).Cache
	cite := model.Delta{Cite: 1}
	p.Generator = speaking(model.Delta{Text: first}, cite, model.Delta{Text: " " + second}, cite, cite, model.Delta{Text: " Zebras graze quietly."}, cite,
		model.Delta{Text: " " + second}, cite)
	for _, name := range []string{"anew", "from the cache"} {
		s := event.Fold(askDirect(t, p, "Who is the lock master?"))
		var got []string
		for _, c := range s.Citations {
			got = append(got, c.Source.CitedText())
		}
		if d := cmp.Diff([]string{first, second, second, "", second}, got); d != "" || s.Quoted[0].CitedText() != first {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestQuotesOfTables checks that a citation of a table quotes the row that the answer is about, and not the names of the columns.
func TestQuotesOfTables(t *testing.T) {
	t.Parallel()
	const table = "lighthouse | height above sea level in metres | year of construction | colour of the tower\nFarland | 31 | 1871 | red\nNearland | 22 | 1902 | white\nOddland | 17 | 1899 | red"
	const names, farland, nearland = 0, 1, 2
	rows := strings.Split(table, "\n")
	p := holding(t, "towers.csv", strings.ReplaceAll(table, " | ", ","))
	for said, want := range map[string]int{
		"Nearland: height above sea level in metres 22.":                                                       nearland,
		"Nearland: height above sea level in metres 22; year of construction 1902; colour of the tower white.": nearland,
		"Farland: colour of the tower red. Nearland: colour of the tower white.":                               farland,
		"The table has the height above sea level in metres and the year of construction of each lighthouse.":  names,
	} {
		p.Generator = speaking(model.Delta{Text: said}, model.Delta{Cite: 1})
		s := event.Fold(askDirect(t, p, "What is known about the lighthouses Farland and Nearland and the height above sea level?"))
		if len(s.Sources) != 1 || s.Sources[0].CitedText() != rows[want] {
			t.Errorf("%q: sources %+v, want the quote %q", said, s.Sources, rows[want])
		}
	}
}

// TestQuotesOfLists checks that the quote of an item of a list has no marker.
func TestQuotesOfLists(t *testing.T) {
	t.Parallel()
	p := holding(t, "lamps.md", "# Lamps\n\n- The lamp of Farland burns oil.\n- The lamp of Nearland is electric.\n")
	p.Generator = speaking(model.Delta{Text: "The lamp of Nearland is electric."}, model.Delta{Cite: 1})
	s := event.Fold(askDirect(t, p, "What does the lamp of Nearland burn?"))
	if len(s.Sources) != 1 || s.Sources[0].CitedText() != "The lamp of Nearland is electric." {
		t.Errorf("sources %+v", s.Sources)
	}
}

// holding is a pipeline over one document.
func holding(t *testing.T, uri, text string) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	if _, err := ingest.New(ix, nil, ingest.Options{}).IngestDocuments(t.Context(), corpus.DefaultCollection, []ingest.Source{{URI: uri, Data: []byte(text)}}, nil); err != nil {
		t.Fatal(err)
	}
	p := library()
	p.Index, p.Graph, p.Vectors = ix, nil, nil
	return p
}
