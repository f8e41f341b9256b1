package answer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// shelf returns a pipeline over papers of several authors and years that answer the same question.
func shelf(t *testing.T) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	var sources []ingest.Source
	for i, author := range []string{"Ada Brook", "Ed Mill", "Ada Vale"} {
		text := fmt.Sprintf("---\nauthor: %s\ndate: %d\n---\n# Tides\n\nThe spring tide of Osterby is %d feet high. It comes with the full moon.\n", author, 2019+i, 20+i)
		sources = append(sources, ingest.Source{URI: fmt.Sprintf("tides%d.md", i), Data: []byte(text)})
	}
	l := local.New(local.Options{})
	if _, err := ingest.New(ix, l, ingest.Options{}).IngestDocuments(t.Context(), corpus.DefaultCollection, sources, nil); err != nil {
		t.Fatal(err)
	}
	// One document has no vector, so that only a lexical search finds it.
	d, es := paged("doc_bare", "Tide tables", "bare.md", 0, func(int, int) string { return "The spring tide of Lunden is 30 feet high." })
	d.Collection = corpus.DefaultCollection
	for i := range es {
		es[i].Vector, es[i].Space = nil, ""
	}
	require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	p := library()
	p.Index, p.Graph, p.Vectors = ix, ix, answer.OneEmbedder(l)
	return p
}

// found returns the names of the documents that the searches of a run found, sorted.
func found(log []event.Event) (names []string) {
	for _, e := range log {
		if r, ok := e.Body.(event.RetrievalFinished); ok {
			for _, f := range r.Found {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestMethods checks which documents each method searches.
func TestMethods(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	const question = "How high is the spring tide of Osterby in papers by Ada %s?"
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		for _, c := range []struct {
			method event.Method
			author string
			want   string
			says   string
		}{
			{"", "Brook", "bare.md tides0.md tides1.md tides2.md", ""},
			{event.HybridSearch, "Brook", "bare.md tides0.md tides1.md tides2.md", ""},
			{event.SimilaritySearch, "Brook", "tides0.md tides1.md tides2.md", ""},
			{event.SelfQuery, "Brook", "tides0.md", "20 feet"},
			{event.SelfQuery, "Vale", "tides2.md", "22 feet"},
			{event.SelfQuery, "Vale from before 2021", "bare.md tides0.md tides1.md tides2.md", ""},
			{event.SelfQuery, "Vale from 2021", "tides2.md", "22 feet"},
		} {
			log := begin(t, p, event.RunStarted{Question: event.Question{Query: fmt.Sprintf(question, c.author), Mode: mode, Method: c.method}})
			s := event.Fold(log)
			if got := strings.Join(found(log), " "); got != c.want || !strings.Contains(string(s.Text), c.says) || s.Failure != nil {
				t.Errorf("%s %s, %s: found %s, want %s; says %q", mode, c.method, c.author, got, c.want, s.Text)
			}
			if c.method == event.SimilaritySearch && slices.ContainsFunc(s.Searches, func(s event.Search) bool { return s.Tool == event.ToolHybridSearch }) {
				t.Errorf("%s: searches %+v", mode, s.Searches)
			}
		}
	}
}

// TestFilterIsShown checks the events of a question with conditions.
func TestFilterIsShown(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	ask := func(query string) event.State {
		return event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: query, Mode: event.Direct, Method: event.SelfQuery}}))
	}
	s := ask("How high is the spring tide of Osterby according to Ada Vale?")
	if len(s.Calls) != 1 || s.Calls[0].Tool != event.ToolSelfQuery ||
		string(s.Calls[0].Input) != `{"creator":"Ada Vale","query":"How high is the spring tide of Osterby?","by":"rules"}` || string(s.Calls[0].Result.Result) != `{"documents":1}` {
		t.Errorf("calls %+v", s.Calls)
	}
	if s.Searches[0].Query != "How high is the spring tide of Osterby?" || len(s.Warnings) > 0 {
		t.Errorf("searched for %q, warnings %v", s.Searches[0].Query, s.Warnings)
	}
	s = ask("How high is the spring tide of Osterby according to Jane Doe?")
	if string(s.Calls[0].Result.Result) != `{"documents":0}` || len(s.Warnings) != 1 || s.Warnings[0].Code != fault.NoDocuments ||
		s.Searches[0].Query != "How high is the spring tide of Osterby according to Jane Doe?" {
		t.Errorf("nothing matches: %+v, warnings %v, searched for %q", s.Calls, s.Warnings, s.Searches[0].Query)
	}
	if s = ask("How high is the spring tide?"); len(s.Calls) != 0 || len(s.Warnings) != 0 {
		t.Errorf("without conditions: %+v, %v", s.Calls, s.Warnings)
	}
}

// TestMethodsAreCachedApart checks that a cached answer is only used for the same method, and never for a question with conditions.
func TestMethodsAreCachedApart(t *testing.T) {
	t.Parallel()
	p := caching(t)
	ask := func(query string, m event.Method) bool {
		return cached(begin(t, p, event.RunStarted{Question: event.Question{Query: query, Method: m}}))
	}
	for _, c := range []struct {
		method event.Method
		want   bool
	}{{event.HybridSearch, false}, {"", true}, {event.SimilaritySearch, false}, {event.SimilaritySearch, true}, {event.SelfQuery, false}, {event.SelfQuery, true}, {event.HybridSearch, true}} {
		if got := ask(keeper, c.method); got != c.want {
			t.Errorf("%s: cached %v", c.method, got)
		}
	}
	for range 2 {
		if ask("Who do the markdown documents say is the keeper of the Farland lighthouse?", event.SelfQuery) {
			t.Error("a filtered answer is cached")
		}
	}
	keys := map[string]bool{}
	for _, m := range []event.Method{event.HybridSearch, event.SimilaritySearch, event.SelfQuery} {
		keys[p.ShareKey(t.Context(), event.RunStarted{Question: event.Question{Query: keeper, Mode: event.Direct, Collection: corpus.DefaultCollection, TopK: 5, Method: m}})] = true
	}
	if len(keys) != 3 || keys[""] {
		t.Errorf("share keys %v", keys)
	}
}

// queries records the queries of an index.
type queries struct {
	*embedded.Index
	mu  sync.Mutex
	all []index.Query
}

func (r *queries) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	r.mu.Lock()
	r.all = append(r.all, q)
	r.mu.Unlock()
	return r.Index.Search(ctx, q)
}

// TestSimilarityHasNoWords checks that all searches of the method use vectors alone, also those of further rounds.
func TestSimilarityHasNoWords(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	spy := &queries{Index: p.Index.(*embedded.Index)}
	p.Index = spy
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		begin(t, p, event.RunStarted{Question: event.Question{Query: "Why do walruses orbit volcanoes in Osterby?", Mode: mode, Method: event.SimilaritySearch}})
	}
	for _, q := range spy.all {
		if q.Text != "" || q.Vector == nil {
			t.Errorf("searched for the words %q", q.Text)
		}
	}
	if len(spy.all) < 4 {
		t.Errorf("%d searches", len(spy.all))
	}
}

// BenchmarkFilter measures what the conditions of a question cost with 10,000 documents.
func BenchmarkFilter(b *testing.B) {
	ix, err := embedded.Open(b.Context(), filepath.Join(b.TempDir(), "index"), embedded.Options{})
	require.NoError(b, err)
	defer ix.Close()
	docs, entries := make([]corpus.Document, 10_000), make([][]index.Entry, 10_000)
	for i := range docs {
		d, es := paged(fmt.Sprintf("doc%05d", i), "Tides", fmt.Sprintf("tides%d.md", i), 0, func(int, int) string { return fmt.Sprintf("The spring tide of place %d is high.", i) })
		d.Collection, d.Meta = corpus.DefaultCollection, corpus.DublinCore{Creator: []string{"Ada Brook", "Ed Mill"}[i%2], Date: fmt.Sprint(2000 + i%20)}
		docs[i], entries[i] = d, es
	}
	require.NoError(b, ix.Put(b.Context(), docs, entries))
	p := library()
	p.Index, p.Graph, p.Vectors = ix, ix, nil
	for name, query := range map[string]string{"half": "What do papers by Ada Brook say about the spring tide?", "none": "What is the spring tide?"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := event.Fold(begin(b, p, event.RunStarted{Question: event.Question{Query: query, Mode: event.Direct, Method: event.SelfQuery}}))
				if s.Failure != nil {
					b.Fatal(s.Failure)
				}
			}
		})
	}
}
