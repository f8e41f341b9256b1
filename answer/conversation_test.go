package answer_test

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// begin answers the run of a first event and returns the log.
func begin(t testing.TB, a answer.Answerer, start event.RunStarted) []event.Event {
	t.Helper()
	start.Run, start.Protocol = "run_1", "test"
	if start.Mode == "" {
		start.Mode = event.Agentic
	}
	if start.Collection == "" {
		start.Collection = corpus.DefaultCollection
	}
	if start.TopK == 0 {
		start.TopK = 5
	}
	store := eventlog.NewMemory()
	rec, err := answer.NewRecorder(t.Context(), store, time.Now, start)
	require.NoError(t, err)
	_ = answer.Run(t.Context(), a, rec, answer.Ending{}) // it is in the log
	log, err := store.Load(t.Context(), "run_1", 0)
	require.NoError(t, err)
	if err := event.CheckLog(log, true); err != nil {
		t.Fatalf("%v\n%s", err, kinds(log))
	}
	legal(t, log)
	return log
}

// talked returns a conversation.
func talked(lines ...string) (out []event.Message) {
	for i, s := range lines {
		out = append(out, event.Message{Role: []string{event.RoleUser, event.RoleAssistant}[i%2], Text: s})
	}
	return out
}

var aboutKeeper = talked(keeper, "The keeper of the Farland lighthouse is Ada Brook.⟦⟦1⟧⟧")

func TestFollowUpIsRewritten(t *testing.T) {
	t.Parallel()
	for _, mode := range []event.Mode{event.Agentic, event.Direct} {
		log := begin(t, library(), event.RunStarted{Question: event.Question{Query: "What does its lamp burn?", Mode: mode, History: aboutKeeper}})
		s := event.Fold(log)
		const want = "What does the Farland lighthouse's lamp burn?"
		if s.Analysis.Standalone != want || s.Query != "What does its lamp burn?" || !strings.Contains(string(s.Text), "rapeseed oil") {
			t.Errorf("%s: %q becomes %q: %q", mode, s.Query, s.Analysis.Standalone, s.Text)
		}
		if s.Searches[0].Query != want {
			t.Errorf("%s: searched for %q", mode, s.Searches[0].Query)
		}
	}
	if s := event.Fold(begin(t, library(), event.RunStarted{Question: event.Question{Query: "How long does sourdough rise?", History: aboutKeeper}})); s.Analysis.Standalone != "" {
		t.Errorf("%q", s.Analysis.Standalone)
	}
}

// heeding is a generator that yields a fixed text and supports all parameters.
type heeding struct {
	speaker
	name     string
	supports bool
}

func (h heeding) Name() string             { return h.name }
func (h heeding) SupportsParameters() bool { return h.supports }

func TestTaskHasParametersOfQuestion(t *testing.T) {
	t.Parallel()
	var got model.Task
	p := library()
	p.Generator = speaker(func(_ context.Context, task model.Task) iter.Seq2[model.Delta, error] {
		got = task
		return func(func(model.Delta, error) bool) {}
	})
	heat := 0.7
	begin(t, p, event.RunStarted{Question: event.Question{Query: "What does its lamp burn?", History: aboutKeeper, Instructions: "Briefly.", Temperature: &heat, MaxTokens: 99}})
	got.Passages, got.IDF = nil, nil
	want := model.Task{Question: "What does the Farland lighthouse's lamp burn?", Asked: "What does its lamp burn?", Instructions: "Briefly.", Temperature: &heat, MaxTokens: 99,
		History: []model.Message{{Role: model.User, Text: aboutKeeper[0].Text}, {Role: model.Assistant, Text: aboutKeeper[1].Text}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestCacheOfConversations checks that the answer to a rewritten follow-up is cached for the same last answer, unless the
// generator reads the whole history.
func TestCacheOfConversations(t *testing.T) {
	t.Parallel()
	follow := event.RunStarted{Question: event.Question{Query: "What does its lamp burn?", History: aboutKeeper}}
	alone := event.RunStarted{Question: event.Question{Query: "What does the Farland lighthouse's lamp burn?"}}
	elsewhere := event.RunStarted{Question: event.Question{Query: follow.Query, History: talked("What is heated to 250 degrees?", "The oven is.")}}
	for _, supports := range []bool{false, true} {
		p := caching(t)
		said := speaking(model.Delta{Text: "The lamp of the Farland lighthouse burns whale-free rapeseed oil."}, model.Delta{Cite: 1})
		p.Generator = heeding{said, "speaker", supports}
		if cached(begin(t, p, follow)) {
			t.Fatal("an empty cache has an answer")
		}
		for i, start := range []event.RunStarted{follow, alone} {
			if supports && i > 0 {
				break // the whole question's answer would be kept from now on
			}
			s := event.Fold(begin(t, p, start))
			if s.Cached() != (!supports && i == 0) || s.Cached() && (s.Analysis.Standalone != "") != (len(start.History) > 0) {
				t.Errorf("supports %v: %s: cached %v, %q", supports, start.Query, s.Cached(), s.Analysis.Standalone)
			}
		}
		after := event.RunStarted{Question: event.Question{Query: follow.Query, History: talked("How tall is the Farland lighthouse?", "42 metres.")}}
		if !supports && !cached(begin(t, p, after)) {
			t.Error("a rewritten question was not given the answer to the standalone question")
		}
		if cached(begin(t, p, elsewhere)) {
			t.Errorf("supports %v: the same words after another conversation were given the answer", supports)
		}
		if supports && p.Cache.Stats().Entries != 0 {
			t.Error("an answer that depends on a conversation was kept")
		}
	}
}

// TestCacheAcrossSessions checks that sessions share the answer to a first question, and to a rewritten one after the same last answer, and keep to themselves that of a question
// which followed others and was not rewritten.
func TestCacheAcrossSessions(t *testing.T) {
	t.Parallel()
	const followUp = "What does its lamp burn?"
	for name, c := range map[string]struct {
		query  string
		one    []event.Message
		two    []event.Message
		shared bool
	}{
		"first questions":           {keeper, nil, nil, true},
		"the same conversation":     {followUp, aboutKeeper, aboutKeeper, true},
		"after another answer":      {followUp, aboutKeeper, talked("How tall is the Farland lighthouse?", "42 metres."), false},
		"rewritten for one of them": {followUp, aboutKeeper, talked("Hello.", "Hello."), false},
		"not rewritten":             {keeper, aboutKeeper, aboutKeeper, false},
		"after a summary":           {keeper, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := caching(t)
			one := event.RunStarted{Question: event.Question{Query: c.query, Session: "one", History: c.one}}
			two := event.RunStarted{Question: event.Question{Query: c.query, Session: "two", History: c.two}}
			if name == "after a summary" {
				one.Summary, two.Summary = "They spoke of lamps.", "They spoke of lamps."
			}
			begin(t, p, one)
			if !cached(begin(t, p, one)) {
				t.Error("the same session is not given its answer")
			}
			if got := cached(begin(t, p, two)); got != c.shared {
				t.Errorf("the other session is given the answer: %v", got)
			}
			if p.ShareKey(t.Context(), one) != "" || p.ShareKey(t.Context(), two) != "" {
				t.Error("questions of sessions share runs")
			}
		})
	}
}

// TestLongHistoryIsSummarized checks that a summary replaces the older turns for all steps, and that a resumed run uses that of its log.
func TestLongHistoryIsSummarized(t *testing.T) {
	t.Parallel()
	history := talked(keeper, "The keeper of the Farland lighthouse is Ada Brook.⟦⟦1⟧⟧")
	for range 30 {
		history = append(history, talked("How long does sourdough rise?", "It rises for twelve hours, as bakers of all towns say who have ever made it.")...)
	}
	history = append(history, talked("When was the Farland lighthouse built?", "In 1871.")...)
	var task model.Task
	p := library()
	p.HistoryTokens = 400
	p.Generator = speaker(func(_ context.Context, t model.Task) iter.Seq2[model.Delta, error] {
		task = t
		return func(yield func(model.Delta, error) bool) { yield(model.Delta{Text: "Oil."}, nil) }
	})
	start := event.RunStarted{Question: event.Question{Query: "What does its lamp burn?", Mode: event.Direct, Summary: "Before, they spoke of quays.", History: history}}
	log := begin(t, p, start)
	s := event.Fold(log)
	if s.Summarized == nil || log[1].Body.Kind() != event.KindHistorySummarized {
		t.Fatal(kinds(log))
	}
	if got := s.Summarized; got.Turns < 20 || got.Turns > 60 || !strings.Contains(got.Summary, "Ada Brook") && !strings.Contains(got.Summary, "sourdough") || !strings.HasSuffix(got.Summary, "quays.") {
		t.Errorf("%+v", got)
	}
	if s.Analysis.Standalone != "What does the Farland lighthouse's lamp burn?" || task.Earlier != s.Summarized.Summary || len(task.History) != len(history)-s.Summarized.Turns {
		t.Errorf("%q, summary %q, %d turns", s.Analysis.Standalone, task.Earlier, len(task.History))
	}
	p.Summarizer = failingSummarizer{t}
	for _, at := range []int{2, 3, 4} {
		task = model.Task{}
		if again := resumed(t, p, log[:at]); kinds(again) != kinds(log) || task.Earlier != s.Summarized.Summary {
			t.Errorf("after %d events: summary %q\n%s", at, task.Earlier, kinds(again))
		}
	}
	if s := event.Fold(begin(t, library(), start)); s.Summarized != nil {
		t.Error("a history within the default budget was summarized")
	}
}

// failingSummarizer must not be called.
type failingSummarizer struct{ t *testing.T }

func (f failingSummarizer) Summarize(context.Context, string, []event.Message, int) (summary, by string, err error) {
	f.t.Error("summarized again")
	return "", "", nil
}

func TestParametersArePartOfCacheKey(t *testing.T) {
	t.Parallel()
	hot, cold := 0.9, 0.1
	for name, c := range map[string]struct {
		supports bool
		one      event.RunStarted
		two      event.RunStarted
		same     bool
	}{
		"instructions":             {true, event.RunStarted{Question: event.Question{Instructions: "Rhyme."}}, event.RunStarted{}, false},
		"instructions not heeded":  {false, event.RunStarted{Question: event.Question{Instructions: "Rhyme."}}, event.RunStarted{}, true},
		"temperature":              {true, event.RunStarted{Question: event.Question{Temperature: &hot}}, event.RunStarted{Question: event.Question{Temperature: &cold}}, false},
		"length":                   {true, event.RunStarted{Question: event.Question{MaxTokens: 10}}, event.RunStarted{}, false},
		"the same wishes":          {true, event.RunStarted{Question: event.Question{Instructions: "Rhyme.", Temperature: &hot}}, event.RunStarted{Question: event.Question{Instructions: "Rhyme.", Temperature: &hot}}, true},
		"another model":            {true, event.RunStarted{Question: event.Question{Model: "other"}}, event.RunStarted{}, false},
		"a model that there's not": {true, event.RunStarted{Question: event.Question{Model: "none"}}, event.RunStarted{}, true},
		"rounds":                   {false, event.RunStarted{Question: event.Question{Iterations: 1}}, event.RunStarted{}, false},
		"tools":                    {false, event.RunStarted{Question: event.Question{Tools: []string{event.ToolListDocuments}}}, event.RunStarted{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := caching(t)
			said := speaking(model.Delta{Text: "The keeper of the Farland lighthouse is Ada Brook."}, model.Delta{Cite: 1})
			p.Generator = heeding{said, "speaker", c.supports}
			p.Generators = func(name string) model.Generator {
				if name == "other" {
					return heeding{said, name, c.supports}
				}
				return nil
			}
			c.one.Query, c.two.Query = keeper, keeper
			begin(t, p, c.one)
			if got := cached(begin(t, p, c.two)); got != c.same {
				t.Errorf("cached: %v", got)
			}
			c.one.Mode, c.two.Mode, c.one.Collection, c.two.Collection = event.Agentic, event.Agentic, corpus.DefaultCollection, corpus.DefaultCollection
			one, two := p.ShareKey(t.Context(), c.one), p.ShareKey(t.Context(), c.two)
			if one == "" || two == "" || one == two && !c.same {
				t.Errorf("%q and %q", one, two)
			}
		})
	}
}

// TestEqualQuestions checks which questions share a run: the same words with the same parameters after the same conversation.
func TestEqualQuestions(t *testing.T) {
	t.Parallel()
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache.db"), cache.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	p := library()
	p.Cache, p.Generator = c, heeding{speaking(), "speaker", true}
	base := event.RunStarted{Run: "run_1", Protocol: "a", Question: event.Question{Query: "What does  it burn?", Collection: corpus.DefaultCollection, TopK: 5, Mode: event.Direct, History: aboutKeeper}}
	key := p.ShareKey(t.Context(), base)
	for name, c := range map[string]struct {
		change func(q *event.RunStarted)
		same   bool
	}{
		"another run":          {func(q *event.RunStarted) { q.Run, q.Protocol, q.Query = "run_2", "b", " What does it burn?" }, true},
		"another conversation": {func(q *event.RunStarted) { q.History = talked("What is the oven?", "It is hot.") }, false},
		"no conversation":      {func(q *event.RunStarted) { q.History = nil }, false},
		"wishes":               {func(q *event.RunStarted) { q.Instructions = "Rhyme." }, false},
		"not kept":             {func(q *event.RunStarted) { q.Ephemeral = true }, false},
	} {
		q := base
		c.change(&q)
		if got := p.ShareKey(t.Context(), q); got == "" || (got == key) != c.same {
			t.Errorf("%s: %q and %q", name, key, got)
		}
	}
	for name, change := range map[string]func(q *event.RunStarted){
		"kept for whoever asked": func(q *event.RunStarted) { q.Request = []byte(`{}`) },
		"of a session":           func(q *event.RunStarted) { q.Session = "s" },
		"without the cache":      func(q *event.RunStarted) { q.NoCache = true },
	} {
		q := base
		change(&q)
		if got := p.ShareKey(t.Context(), q); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRequestedModelAnswers(t *testing.T) {
	t.Parallel()
	p := library()
	p.Generators = func(name string) model.Generator {
		if name == "other" {
			return heeding{speaking(model.Delta{Text: "So says the other."}), name, true}
		}
		return nil
	}
	for asked, want := range map[string]string{"other": "other", "none": "sluice-extractive", "": "sluice-extractive"} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: keeper, Model: asked}}))
		if s.Generation.Model != want {
			t.Errorf("%q: %s", asked, s.Generation.Model)
		}
	}
}

func TestIterationsAreLimited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, budget, want int }{{1, 0, 1}, {2, 0, 2}, {2, 1, 1}, {100, 3, 3}, {0, 2, 2}, {-1, 2, 2}} {
		p := library()
		p.Budget.Iterations = c.budget
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which lighthouse quarks compose xenon isotopes, photons, gluons, neutrinos and muons?", Iterations: c.asked}}))
		if s.Iterations != c.want {
			t.Errorf("%+v: %d", c, s.Iterations)
		}
	}
}

// TestSmallTalk checks that thanks are answered without a search, a source or a citation, also in a conversation, and that a
// question that begins with thanks is searched for.
func TestSmallTalk(t *testing.T) {
	t.Parallel()
	history := []event.Message{{Role: event.RoleUser, Text: keeper}, {Role: event.RoleAssistant, Text: "Ada Brook."}}
	for _, h := range [][]event.Message{nil, history} {
		for query, talk := range map[string]bool{"thanks": true, "Vielen Dank!": true, "Thanks. Who is the keeper of the Farland lighthouse?": false} {
			s := event.Fold(begin(t, library(), event.RunStarted{Question: event.Question{Query: query, History: h}}))
			if got := len(s.Searches) == 0 && len(s.Sources) == 0 && len(s.Citations) == 0; got != talk || len(s.Text) == 0 || s.Abstained() {
				t.Errorf("%q: %q, %d searches, %d citations, abstained %v", query, s.Text, len(s.Searches), len(s.Citations), s.Abstained())
			}
		}
	}
}
