package answer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// stores returns a pipeline over uploaded files, some of them in vector stores, and a folder of documents.
func stores(t *testing.T) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	put := func(collection string, id, title, uri string, said ...string) {
		d, es := paged(id, title, uri, 0, func(_, k int) string { return said[k] })
		d.Collection = collection
		require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	}
	put("files", "doc_rye1", "Rye bread", "rye.md", "Rye bread is baked from sourdough.", "The sourdough starter is fed with rye flour every morning.")
	put("files", "doc_tower1", "Farland tower", "tower.txt", "The Farland tower is the tallest building of the coast.", "Its keeper climbs the tower each morning.")
	put(corpus.DefaultCollection, "doc_oven1", "Ovens", "ovens.md", "The oven is heated to 250 degrees.", "Steam makes the crust of the bread thin.")
	require.NoError(t, ix.AddToSet(t.Context(), "files", "vs_bread", []corpus.DocumentID{"doc_rye1"}))
	p := library()
	p.Index, p.Graph = scope.New(ix, "files", scope.Options{}), nil
	return p
}

// TestQuestionsStayInScope checks that other stores do not answer a question, even if its own store is empty.
func TestQuestionsStayInScope(t *testing.T) {
	t.Parallel()
	p := stores(t)
	for _, c := range []struct {
		collection, ask, says string
		lists                 int
	}{
		{"vs_bread", "What is rye bread baked from?", "sourdough", 0},
		{"vs_bread", "List the documents", "Documents (1):\n\n- Rye bread (rye.md)", 1},
		{"vs_bread,default", "List the documents", "Documents (2):", 2},
		{"file:doc_tower1", "Summarize this document", "The Farland tower is the tallest building of the coast.", 0},
		{"file:doc_tower1", "What is on page 1?", "tallest building", 0},
		{"file:doc_rye1,vs_bread", "When is the starter fed?", "every morning", 0},
		{"default", "What is the oven heated to?", "250 degrees", 0},
	} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Collection: c.collection, Query: c.ask, Tools: bothTools}}))
		if !strings.Contains(string(s.Text), c.says) || c.lists > 0 && len(s.Sources) != c.lists || len(s.Citations) == 0 {
			t.Errorf("%s: %s: %q", c.collection, c.ask, s.Text)
		}
	}
	for collection, want := range map[string]string{"vs_none": "no documents are in the collection vs_none", "vs_none,vs_other": "no documents are in the collections vs_none and vs_other", "file:doc_none": "no documents are in file:doc_none"} {
		for _, q := range []string{"What is the oven heated to?", "List the documents", "Summarize this document"} {
			log := begin(t, p, event.RunStarted{Question: event.Question{Collection: collection, Query: q, Tools: bothTools}})
			if f, _ := log[len(log)-1].Body.(event.RunFailed); f.Code != fault.NoDocuments || f.Message != want || len(event.Fold(log).Calls) != 0 {
				t.Errorf("%s: %s: %+v", collection, q, f)
			}
		}
	}
}

// TestCollectionNameStaysInQuestion checks that the name of a file or collection is not removed from a question.
func TestCollectionNameStaysInQuestion(t *testing.T) {
	t.Parallel()
	p := stores(t)
	for _, ask := range []string{"What does the contract say?", "doc_rye1 What is rye bread baked from?", "contract"} {
		log := begin(t, p, event.RunStarted{Question: event.Question{Collection: "file:contract,file:doc_rye1", Query: ask, History: []event.Message{{Role: event.RoleUser, Text: "What is the contract?"}}}})
		s := event.Fold(log)
		for _, r := range s.Searches {
			if strings.Contains(ask, "contract") && !strings.Contains(r.Query, "contract") {
				t.Errorf("%q: the search is for %q", ask, r.Query)
			}
		}
		if len(s.Searches) == 0 || s.Analysis.Standalone != "" {
			t.Errorf("%q: %d searches; the standalone question is %q", ask, len(s.Searches), s.Analysis.Standalone)
		}
	}
}
