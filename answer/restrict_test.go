package answer_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// where returns the filter of conditions in their text form.
func where(t testing.TB, conditions ...string) *filter.Filter {
	t.Helper()
	var all []filter.Filter
	for _, c := range conditions {
		f, err := filter.ParseText("filter", c)
		require.NoError(t, err)
		all = append(all, *f)
	}
	return filter.Join(all...)
}

// TestQuestionFilter checks which documents a question with a filter reads, in all modes and with all methods.
func TestQuestionFilter(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		for _, method := range []event.Method{event.HybridSearch, event.SimilaritySearch, event.SelfQuery} {
			for _, c := range []struct {
				query, want, says string
				conditions        []string
			}{
				{"How high is the spring tide of Osterby?", "tides0.md", "20 feet", []string{"creator~=brook"}},
				{"How high is the spring tide of Osterby?", "tides1.md tides2.md", "", []string{"date>=2020", "date<=2021-12-31"}},
				{"How high is the spring tide of Osterby?", "tides2.md", "22 feet", []string{"creator~=ada", "date>=2020"}},
				{"How high is the spring tide of Osterby?", "tides1.md", "21 feet", []string{"path^=tides1"}},
				// No document meets the conditions of the question within the filter: they are ignored, the filter is not.
				{"How high is the spring tide of Osterby in papers by Ada Brook?", "tides1.md tides2.md", "", []string{"date>=2020"}},
				// Nothing useful is found, so that all rounds search.
				{"Why do comets orbit volcanoes?", "tides0.md", "", []string{"creator~=brook"}},
			} {
				log := begin(t, p, event.RunStarted{Question: event.Question{Query: c.query, Mode: mode, Method: method, Filter: where(t, c.conditions...)}})
				s := event.Fold(log)
				if got := strings.Join(found(log), " "); got != c.want || !strings.Contains(string(s.Text), c.says) || s.Failure != nil {
					t.Errorf("%s, %s, %s: found %q, want %q; says %q, %v", mode, method, c.conditions, got, c.want, s.Text, s.Failure)
				}
			}
		}
	}
}

// TestNoDocumentMatchesTheFilter checks that such a run fails, with the filter in its message.
func TestNoDocumentMatchesTheFilter(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	p.Cache = caching(t).Cache
	log := begin(t, p, event.RunStarted{Question: event.Question{Query: "How high is the tide?", Filter: where(t, "creator~=Doe", "date>=2020")}})
	s := event.Fold(log)
	want := `no document in the collection default matches the filter: creator~="Doe" and date>="2020"`
	if s.Failure == nil || s.Failure.Code != fault.NoDocuments || s.Failure.Message != want || len(s.Searches) > 0 {
		t.Errorf("%+v, want %s", s.Failure, want)
	}
	if got := kinds(log); got != "run_started query_analyzed cache_checked run_failed" {
		t.Error(got)
	}
}

// TestFilterOnPathsShowsAPath: a path begins with the name of the indexed folder, which users leave out.
func TestFilterOnPathsShowsAPath(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "How high is the tide?", Filter: where(t, "path^=reports/", "date>=2020")}}))
	want := regexp.MustCompile(`^no document in the collection default matches the filter: .*; a path here is, for example, (tides\d|bare)\.md$`)
	if s.Failure == nil || !want.MatchString(s.Failure.Message) {
		t.Errorf("%+v, want %s", s.Failure, want)
	}
}

// TestToolsKeepToTheFilter runs every tool, and checks that no result is of another document.
func TestToolsKeepToTheFilter(t *testing.T) {
	t.Parallel()
	p := archive(t, 30)
	p.Planner = plans{{
		{Tool: event.ToolListDocuments, Query: "the Farland tower in the morning"}, {Tool: event.ToolGraphTraverse, Entities: []string{"Farland tower"}},
		{Tool: event.ToolReadPages, Document: "annual report", From: 1, To: 5}, {Tool: event.ToolReadPages, Document: "rye", From: 1, To: 5},
	}}
	for _, tool := range []string{event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch} {
		p.Planner = append(p.Planner.(plans), []agent.Action{{Tool: tool, Query: "the Farland tower in the morning"}})
	}
	ask := func(query string, f *filter.Filter) event.State {
		return event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: query, Mode: event.Agentic, Tools: bothTools, Filter: f}}))
	}
	docs := func(s event.State) (out []corpus.DocumentID) {
		for _, r := range s.Searches {
			for _, f := range r.Result.Found {
				out = append(out, f.Document)
			}
		}
		for _, c := range s.Calls {
			for _, r := range c.Result.Passages {
				chunks, err := p.Index.Chunks(t.Context(), corpus.DefaultCollection, []corpus.ChunkID{r.Chunk})
				require.NoError(t, err)
				out = append(out, chunks[0].Document)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	const query = "What is done in the morning at the Farland tower?"
	if all := docs(ask(query, nil)); len(all) < 2 {
		t.Fatalf("without a filter: %s", all)
	}
	s := ask(query, where(t, "filename=rye.md"))
	tools := map[string]bool{}
	for _, c := range s.Calls {
		tools[c.Tool] = true
	}
	for _, r := range s.Searches {
		tools[r.Tool] = true
	}
	if got := docs(s); len(got) != 1 || got[0] != "doc_rye1" || len(tools) != 7 {
		t.Errorf("read %s with %v", got, tools)
	}
	s = ask("Which documents do you have?", where(t, "filename^=ledger", "filename!=ledger_0.csv"))
	if !strings.HasPrefix(string(s.Text), "Documents (20 of 29):\n\n- Ledger 1 (") {
		t.Errorf("%q", s.Text)
	}
	s = ask("What is on page 2 of the annual report?", where(t, "filename=rye.md"))
	if got := docs(s); len(got) > 1 {
		t.Errorf("read %s", got)
	}
	s = ask("Summarize all documents", where(t, "filename=rye.md"))
	if got := docs(s); len(got) != 1 || s.Calls[0].Tool != event.ToolReadPages {
		t.Errorf("summarized %s", got)
	}
}

// TestFiltersAreCachedApart checks that a cached answer is only used for the same filter, and while the same documents match it.
func TestFiltersAreCachedApart(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	p.Cache = caching(t).Cache
	ask := func(conditions ...string) (bool, string) {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "How high is the spring tide of Osterby?", Mode: event.Direct, Filter: where(t, conditions...)}}))
		return s.Cached(), string(s.Text)
	}
	for i, c := range []struct {
		conditions []string
		cached     bool
		says       string
	}{
		{nil, false, "feet"}, {nil, true, "feet"}, {[]string{"creator~=brook"}, false, "20 feet"}, {[]string{"creator~=brook"}, true, "20 feet"},
		{[]string{"creator~=mill"}, false, "21 feet"}, {[]string{"creator~=mill"}, true, "21 feet"}, {nil, true, "feet"},
	} {
		if cached, says := ask(c.conditions...); cached != c.cached || !strings.Contains(says, c.says) {
			t.Errorf("%d, %s: cached %v, %q", i, c.conditions, cached, says)
		}
	}
	// The metadata of a document changes, and with it the documents that match. The version of the collection does not.
	ix := p.Index.(*embedded.Index)
	docs, err := ix.Documents(t.Context(), corpus.DefaultCollection, "", 0)
	require.NoError(t, err)
	i := slices.IndexFunc(docs, func(d corpus.Document) bool { return d.URI == "tides1.md" })
	require.NoError(t, ix.Annotate(t.Context(), corpus.DefaultCollection, docs[i].ID, corpus.DublinCore{Creator: "Una Brook"}, ""))
	if cached, _ := ask("creator~=brook"); cached {
		t.Error("the answer of fewer documents is cached")
	}
	if s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "How high is the spring tide of Osterby?", Mode: event.Direct, Filter: where(t, "creator~=mill")}})); s.Failure == nil {
		t.Errorf("no document matches any more: %q", s.Text)
	}
	keys := map[string]bool{}
	for _, f := range []*filter.Filter{nil, where(t, "creator~=brook"), where(t, "creator~=mill"), where(t, "creator=brook")} {
		keys[p.ShareKey(t.Context(), event.RunStarted{Question: event.Question{Query: "How high?", Mode: event.Direct, Collection: corpus.DefaultCollection, TopK: 5, Filter: f}})] = true
	}
	if len(keys) != 4 || keys[""] {
		t.Errorf("share keys %v", keys)
	}
}

// TestFilterOfAFollowUp checks that a follow-up that is rewritten keeps its filter.
func TestFilterOfAFollowUp(t *testing.T) {
	t.Parallel()
	log := begin(t, shelf(t), event.RunStarted{Question: event.Question{Query: "And how high is it at Osterby?", Filter: where(t, "creator~=mill"),
		History: talked("What is the spring tide?", "It comes with the full moon.")}})
	if got := strings.Join(found(log), " "); got != "tides1.md" {
		t.Errorf("found %s", got)
	}
}

// TestFilterOfAResumedRun cuts the log of a run after each event, and checks that the rest of the run keeps to the filter.
func TestFilterOfAResumedRun(t *testing.T) {
	t.Parallel()
	p := shelf(t)
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		whole := begin(t, p, event.RunStarted{Question: event.Question{Query: "How high is the spring tide of Osterby?", Mode: mode, Filter: where(t, "creator~=mill")}})
		for cut := 1; cut < len(whole); cut++ {
			log := resumed(t, p, stored(t, whole[:cut]))
			s := event.Fold(log)
			if got := strings.Join(found(log), " "); got != "tides1.md" || s.Failure != nil {
				t.Errorf("%s, cut after %d: found %s, %v", mode, cut, got, s.Failure)
			}
		}
	}
}
