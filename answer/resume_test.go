package answer_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
)

// calls counts the calls of each step, and what they cost.
type calls struct {
	mu   sync.Mutex
	n    map[string]int
	cost int
}

func (c *calls) add(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[step]++
}

// counted returns the pipeline with parts that count their calls.
func counted(p *answer.Pipeline) (*answer.Pipeline, *calls) {
	c := &calls{n: map[string]int{}}
	with := *p
	ix := &countedIndex{p.Index.(*embedded.Index), c}
	with.Index, with.Grader, with.Reranker, with.Verifier = ix, countedGrader{p.Grader, c}, countedReranker{p.Reranker, c}, countedVerifier{p.Verifier, c}
	with.Generator = countedGenerator{p.Generator, c}
	with.Analyzer, with.Planner = countedAnalyzer{p.Analyzer, c}, countedPlanner{p.Planner, c}
	if p.Analyzer == nil {
		with.Analyzer = countedAnalyzer{analyze.Rules{}, c}
	}
	if p.Planner == nil {
		with.Planner = countedPlanner{agent.Rules{Index: ix, Graph: ix}, c}
	}
	return &with, c
}

type (
	countedIndex struct {
		*embedded.Index
		*calls
	}
	countedGrader struct {
		grade.Grader
		*calls
	}
	countedReranker struct {
		rerank.Reranker
		*calls
	}
	countedVerifier struct {
		verify.Verifier
		*calls
	}
	countedAnalyzer struct {
		analyze.Analyzer
		*calls
	}
	countedPlanner struct {
		agent.Planner
		*calls
	}
	countedGenerator struct {
		model.Generator
		*calls
	}
)

func (c countedGenerator) SupportsParameters() bool { return model.SupportsParameters(c.Generator) }

func (c countedGenerator) Fit(ctx context.Context, t model.Task) (model.Task, int) {
	c.add("fit")
	return c.Generator.Fit(ctx, t)
}

func (c countedGenerator) Generate(ctx context.Context, t model.Task) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		c.add("generate")
		own := model.WithTrace(ctx, &model.Trace{
			Failed: func(err error, name, next string) { model.Failed(ctx, err, name, next) },
			Used: func(name string, u model.Usage) {
				c.cost += u.Output
				model.Used(ctx, name, u)
			},
		})
		c.Generator.Generate(own, t)(yield)
	}
}

func (c *countedIndex) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	c.add("search")
	return c.Index.Search(ctx, q)
}

func (c *countedIndex) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	c.add("walk")
	return c.Index.Walk(ctx, w)
}

func (c *countedIndex) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	c.add("read")
	return c.Index.DocumentChunks(ctx, collection, id, level, from, limit)
}

func (c countedGrader) Grade(ctx context.Context, question string, chunks []grade.Scored, stats index.TermStats) (grade.Grades, error) {
	c.add("grade")
	return c.Grader.Grade(ctx, question, chunks, stats)
}

func (c countedReranker) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (rerank.Ranking, error) {
	c.add("rerank")
	return c.Reranker.Rerank(ctx, question, chunks, stats)
}

func (c countedVerifier) Verify(ctx context.Context, question string, claims []verify.Claim) (verify.Check, error) {
	c.add("verify")
	return c.Verifier.Verify(ctx, question, claims)
}

func (c countedAnalyzer) Analyze(ctx context.Context, question string) (analyze.Analysis, error) {
	c.add("analyze")
	return c.Analyzer.Analyze(ctx, question)
}

func (c countedPlanner) Next(ctx context.Context, v agent.View) (agent.Plan, error) {
	c.add("plan")
	return c.Planner.Next(ctx, v)
}

// stored returns the log as it is after a restart.
func stored(t *testing.T, log []event.Event) []event.Event {
	t.Helper()
	var out []event.Event
	for _, e := range log {
		line, err := event.AppendJSON(nil, e)
		require.NoError(t, err)
		e, err = event.ParseJSON(line)
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

// resumed resumes a run whose log is the prefix.
func resumed(t *testing.T, a answer.Answerer, prefix []event.Event) []event.Event {
	t.Helper()
	return resumedIn(t, t.Context(), eventlog.NewMemory(), a, prefix)
}

func resumedIn(t *testing.T, ctx context.Context, store eventlog.Store, a answer.Answerer, prefix []event.Event) []event.Event {
	t.Helper()
	require.NoError(t, store.Append(t.Context(), "run_1", prefix...))
	rec, err := answer.ResumeRecorder(store, time.Now, prefix)
	require.NoError(t, err)
	if err := answer.Run(ctx, a, rec, answer.Ending{}); err != nil {
		t.Errorf("after %d events: %v", len(prefix), err)
	}
	log, err := store.Load(t.Context(), "run_1", 0)
	require.NoError(t, err)
	if err := event.CheckLog(log, true); err != nil {
		t.Fatalf("after %d events: %v\n%s", len(prefix), err, kinds(log))
	}
	if d := cmp.Diff(prefix, log[:len(prefix)]); d != "" {
		t.Fatalf("the log changed (-before +after)\n%s", d)
	}
	return log
}

// withoutTimes compares runs without times and without the order in which the calls of an iteration end.
var withoutTimes = cmp.Options{
	cmpopts.IgnoreFields(event.State{}, "Seq", "StartedAt", "UpdatedAt", "Usage"),
	cmpopts.IgnoreTypes(event.Millis(0)),
	cmpopts.IgnoreFields(event.CacheChecked{}, "CachedAt"),
	cmpopts.SortSlices(func(a, b event.Search) bool { return a.Call < b.Call }),
	cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	cmpopts.EquateEmpty(),
}

// TestResumeAfterEveryEvent cuts the logs of many kinds of runs after each event and resumes them: the outcome is that of the whole run,
// and no logged step is repeated.
func TestResumeAfterEveryEvent(t *testing.T) {
	t.Parallel()
	ask := func(query string) event.RunStarted { return event.RunStarted{Question: event.Question{Query: query}} }
	direct := func(query string) event.RunStarted {
		return event.RunStarted{Question: event.Question{Query: query, Mode: event.Direct}}
	}
	tools := func(query string) event.RunStarted {
		return event.RunStarted{Question: event.Question{Query: query, Tools: bothTools}}
	}
	topic := ask("What does git bisect do?") // the log does not have the passages at the beginning of the document, so they are read again
	type scenario struct {
		start    event.RunStarted
		pipeline func(t *testing.T) *answer.Pipeline
		want     string // in the log's kinds
		tokens   bool   // cut after each token; otherwise only after the first and last of several
	}
	plain := func(*testing.T) *answer.Pipeline { return library() }
	for name, test := range map[string]scenario{
		"direct":                {direct(keeper), plain, "graded reranked generation_started token", false},
		"direct, three rounds":  {direct("How do volcanic eruptions change the orbit of comets?"), plain, "graded retrieval_started retrieval_finished graded retrieval_started", false},
		"agentic":               {ask(keeper), plain, "graded reranked generation_started token", true},
		"abstaining":            {ask("How do volcanic eruptions change the orbit of comets?"), plain, "graded retrieval_started", false},
		"a topic":               {topic, bisectManual, "graded reranked generation_started token", false},
		"small talk":            {ask("thanks!"), plain, "query_analyzed cache_checked generation_started token", false},
		"follow-up":             {event.RunStarted{Question: event.Question{Query: "How long has she kept it?", History: aboutKeeper}}, plain, "token", false},
		"linked documents":      {ask(nested), sailing, "tool_called", false},
		"comparison":            {ask("Which film has the director who was born first, The Salt Road or A Lantern at Noon?"), sailing, "tool_called tool_returned", false},
		"several questions":     {ask("Who is the keeper of the Farland lighthouse? How long does sourdough rise?"), plain, "tool_called tool_returned", false},
		"pages of a document":   {tools("What is on pages 17 to 18 of the Annual Report?"), archived, "cache_checked tool_called tool_returned generation_started", false},
		"pages, with a focus":   {tools("What does page 17 of the Annual Report say about bells?"), archived, "cache_checked tool_called tool_returned", false},
		"pages that are not":    {tools("What is on page 41 of annual_report-2021.pdf?"), archived, "tool_returned retrieval_started", false},
		"list of documents":     {tools("List the documents"), archived, "cache_checked tool_called tool_returned generation_started token", false},
		"list about a topic":    {tools("Which documents are about sourdough?"), archived, "cache_checked tool_called tool_returned generation_started token", false},
		"account of a document": {ask("Summarize the Annual Report"), archived, "cache_checked tool_called tool_returned generation_started token", false},
		"a planner's tools": {tools("Which storm sank the ship?"), func(t *testing.T) *answer.Pipeline {
			p := archived(t)
			p.Planner = plans{{{Tool: event.ToolListDocuments, Query: "sourdough", Reason: "a"}, {Tool: event.ToolHybridSearch, Query: "storm", Asked: "Which storm?", Weight: 0.7},
				{Tool: event.ToolReadPages, Document: "annual_report-2021.pdf", From: 17, To: 18}, {Tool: event.ToolReadPages, Document: "nothing.pdf", From: 1, To: 1}},
				{{Tool: event.ToolHydeSearch, Query: "ships"}, {Tool: event.ToolSemanticSearch, Query: "sank"}, {Tool: event.ToolDecomposeQuery, Query: "two questions", Parts: []string{"a?", "b?"}}}}
			return p
		}, "tool_called", false},
		"conditions": {event.RunStarted{Question: event.Question{Query: "How high do papers by Ada Brook say the spring tide is?", Method: event.SelfQuery}}, shelf,
			"cache_checked tool_called tool_returned retrieval_started", false},
		"conditions that nothing meets": {event.RunStarted{Question: event.Question{Query: "How high do papers by Jane Doe say the spring tide is?", Method: event.SelfQuery, Mode: event.Direct}}, shelf,
			"cache_checked tool_called tool_returned warned retrieval_started", false},
		"similarity": {event.RunStarted{Question: event.Question{Query: keeper, Method: event.SimilaritySearch, Mode: event.Direct}}, plain, "graded reranked", false},
		"search by a draft first": {ask("Who keeps the light?"), func(*testing.T) *answer.Pipeline {
			p := library()
			p.Planner = plans{{{Tool: event.ToolHydeSearch, Query: "the light"}}}
			return p
		}, "token", false},
		"some of the passages": {direct(keeper), func(*testing.T) *answer.Pipeline {
			p := library()
			p.Generator = narrow{speaking(model.Delta{Text: "Not "}, model.Delta{Text: "long."}, model.Delta{Cite: 2}, model.Delta{Text: " At all."}, model.Delta{Cite: 2})}
			p.Grader = generous{}
			return p
		}, "generation_started", false},
		"from the cache": {ask(keeper), primed, "cache_checked token attributed", false},
		"a model": {ask("Who is the keeper of the Farland lighthouse, and since when?"), func(*testing.T) *answer.Pipeline {
			p := library()
			p.Generator = generate.NewModel(failover.New([]model.Chat{telling{"The keeper is Ada Brook ⟦1⟧. She has kept the light since 1998 [1].\n\n" +
				"- Its lamp burns oil ⟦2⟧\n- Visitors climb it"}}, failover.Options{}), nil, p.Generator, generate.Options{})
			return p
		}, "generation_started reasoned token", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := test.pipeline(t)
			p, all := counted(base)
			whole := stored(t, begin(t, p, test.start))
			if !strings.Contains(kinds(whole), test.want) {
				t.Fatalf("the run is of another kind: %s", kinds(whole))
			}
			want := event.Fold(whole)
			step, first := 1, 1
			if race.Enabled { // it takes several times as long
				step, first = 3, 1+rand.IntN(3)
			}
			for cut := first; cut < len(whole); cut += step {
				if !test.tokens && amidTokens(whole, cut) {
					continue
				}
				p, c := counted(base)
				log := resumed(t, p, slices.Clone(whole[:cut]))
				got := event.Fold(log)
				if _, isModel := base.Generator.(*generate.Model); isModel {
					got.Reasoning, got.Tokens = want.Reasoning, want.Tokens // it thinks again, and pieces may be cut elsewhere
				}
				if d := cmp.Diff(want, got, withoutTimes); d != "" {
					t.Fatalf("cut after %d events, %s (-whole run +resumed)\n%s", cut, whole[cut-1].Body.Kind(), d)
				}
				before := event.Fold(whole[:cut])
				if test.start.Question.Query == topic.Question.Query {
					delete(c.n, "read")
				}
				notAgain(t, before, all, c)
				if spent := got.Cost().Output - before.Cost().Output; spent != c.cost {
					t.Errorf("cut after %d events: %d tokens cost more in the log, and %d were spent", cut, spent, c.cost)
				}
			}
			again := stored(t, resumed(t, base, slices.Clone(whole[:len(whole)/3])))
			again = resumed(t, base, again[:2*len(again)/3])
			twice := event.Fold(again)
			twice.Reasoning, twice.Tokens = want.Reasoning, want.Tokens
			if d := cmp.Diff(want, twice, withoutTimes); d != "" {
				t.Errorf("cut twice (-whole run +resumed)\n%s", d)
			}
		})
	}
}

// TestResumeAfterChange resumes runs after each event when the documents, the generator or the cache have changed. The log stays valid, the
// emitted text stays, and each citation number keeps its chunk.
func TestResumeAfterChange(t *testing.T) {
	t.Parallel()
	empty, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = empty.Close() })
	deleted := func(p *answer.Pipeline) { p.Index, p.Graph = empty, nil }
	rewritten := func(p *answer.Pipeline) {
		p.Generator = speaking(model.Delta{Text: "Ada Brook keeps it."}, model.Delta{Cite: 1})
	}
	modelled := func(p *answer.Pipeline) {
		p.Generator = generate.NewModel(failover.New([]model.Chat{telling{"It is about this. "}}, failover.Options{}), nil, nil, generate.Options{})
	}
	broken := func(p *answer.Pipeline) {
		p.Generator = generate.NewModel(failover.New([]model.Chat{mute{}}, failover.Options{Rounds: 1}), nil, p.Generator, generate.Options{})
	}
	tools := func(query string) event.RunStarted {
		return event.RunStarted{Question: event.Question{Query: query, Tools: bothTools}}
	}
	for name, test := range map[string]struct {
		start    event.RunStarted
		pipeline func(*testing.T) *answer.Pipeline
		change   func(p *answer.Pipeline)
		stop     string     // of an answer that was cut off in its text
		fails    fault.Code // where it cannot go on
	}{
		"documents are deleted":                  {event.RunStarted{Question: event.Question{Query: keeper}}, func(*testing.T) *answer.Pipeline { return library() }, deleted, event.StopIncomplete, fault.NoDocuments},
		"linked documents are deleted":           {event.RunStarted{Question: event.Question{Query: nested}}, sailing, deleted, event.StopIncomplete, fault.NoDocuments},
		"listed documents are deleted":           {tools("List the documents"), archived, deleted, event.StopIncomplete, fault.NoDocuments},
		"pages are deleted":                      {tools("What is on pages 17 to 18 of the Annual Report?"), archived, deleted, event.StopIncomplete, fault.NoDocuments},
		"another generator":                      {event.RunStarted{Question: event.Question{Query: keeper}}, func(*testing.T) *answer.Pipeline { return library() }, rewritten, event.StopIncomplete, ""},
		"a model continues the extracts":         {event.RunStarted{Question: event.Question{Query: keeper}}, func(*testing.T) *answer.Pipeline { return library() }, modelled, "stop", ""},
		"a model that is down cannot continue":   {event.RunStarted{Question: event.Question{Query: keeper}}, func(*testing.T) *answer.Pipeline { return library() }, broken, event.StopIncomplete, ""},
		"the cached answer is there no more":     {event.RunStarted{Question: event.Question{Query: keeper}}, primed, func(p *answer.Pipeline) { p.Cache.Clear() }, "", fault.Unavailable},
		"an answer from the cache, and none now": {event.RunStarted{Question: event.Question{Query: keeper}}, primed, func(p *answer.Pipeline) { p.Cache = nil }, "", fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := test.pipeline(t)
			whole := stored(t, begin(t, p, test.start))
			state := event.Fold(whole)
			said := string(state.Text)
			if len(state.Citations) == 0 {
				t.Fatalf("the run cites nothing: %s", kinds(whole))
			}
			test.change(p)
			for cut := 1; cut < len(whole); cut++ {
				if amidTokens(whole, cut) {
					continue
				}
				before := event.Fold(whole[:cut])
				log := resumed(t, p, slices.Clone(whole[:cut]))
				got := event.Fold(log)
				if !strings.HasPrefix(string(got.Text), string(before.Text)) {
					t.Errorf("cut after %d events: %q became %q", cut, before.Text, got.Text)
				}
				of := map[int]corpus.ChunkID{}
				for _, c := range got.Citations {
					if known, ok := of[c.N]; ok && known != c.Chunk {
						t.Errorf("cut after %d events: [%d] is %s and %s", cut, c.N, known, c.Chunk)
					}
					of[c.N] = c.Chunk
				}
				for _, s := range got.Sources {
					if known, ok := of[s.N]; ok && known != s.Chunk || s.Text == "" {
						t.Errorf("cut after %d events: source %d is %s %q, cited as %s", cut, s.N, s.Chunk, s.Text, known)
					}
				}
				if failed := code(log); failed != "" && failed != test.fails && (failed != fault.Unavailable || before.Generation == nil) {
					t.Errorf("cut after %d events, %s: fails with %s", cut, whole[cut-1].Body.Kind(), failed)
				}
				if len(before.Text) > 0 && before.Stop == "" && !before.Cached() && got.Stop != test.stop && string(got.Text) != said {
					t.Errorf("cut after %d events: the text ends by %q: %q", cut, got.Stop, got.Text)
				}
			}
		})
	}
}

// TestResumeGradesWithoutSearch resumes logs of an earlier version, whose grades do not name their search: the run fails and does not abstain.
func TestResumeGradesWithoutSearch(t *testing.T) {
	t.Parallel()
	whole := stored(t, begin(t, library(), event.RunStarted{Question: event.Question{Query: keeper}}))
	tested := 0
	for cut := 1; cut < len(whole); cut++ {
		log := stored(t, whole[:cut])
		state := event.Fold(log)
		if len(state.Grades) == 0 || state.Generation != nil {
			continue
		}
		tested++
		for i, e := range log {
			if g, ok := e.Body.(event.Graded); ok {
				for n := range g.Grades {
					g.Grades[n].Call = 0
				}
				log[i].Body = g
			}
		}
		if log := resumed(t, library(), log); code(log) != fault.Unavailable {
			t.Errorf("cut after %d events: %s, %q", cut, kinds(log), event.Fold(log).Text)
		}
	}
	if tested == 0 {
		t.Errorf("no log was cut behind its grades: %s", kinds(whole))
	}
}

// TestDeadlineOfResumedRun lets the deadline pass at once and soon after runs are resumed: all cited passages are among the sources.
func TestDeadlineOfResumedRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start    event.RunStarted
		pipeline func(*testing.T) *answer.Pipeline
	}{
		"agentic":    {event.RunStarted{Question: event.Question{Query: keeper}}, func(*testing.T) *answer.Pipeline { return library() }},
		"list":       {event.RunStarted{Question: event.Question{Query: "List the documents", Tools: bothTools}}, archived},
		"from cache": {event.RunStarted{Question: event.Question{Query: keeper}}, primed},
	} {
		p := c.pipeline(t)
		whole := stored(t, begin(t, p, c.start))
		for cut := 1; cut < len(whole)-1; cut++ {
			for _, more := range []int{0, 1, 3} {
				ctx := &deadline{Context: t.Context(), done: make(chan struct{})}
				store := stopping{eventlog.NewMemory(), event.Seq(cut + more), func() { close(ctx.done) }}
				if more == 0 {
					close(ctx.done)
					store.after = 0
				}
				log := resumedIn(t, ctx, store, p, slices.Clone(whole[:cut]))
				s := event.Fold(log)
				if code(log) != fault.Timeout && (s.Check == nil && !s.Cached() || s.Sources == nil) {
					t.Errorf("%s, cut after %d events, %d more: %s", name, cut, more, kinds(log))
				}
				for _, cited := range s.Citations {
					if s.Cache.Hit && s.Status != event.Finished {
						continue // the sources of an answer from the cache stand in its citations
					}
					if cited.N > len(s.Sources) || s.Sources[cited.N-1].Chunk != cited.Chunk || s.Sources[cited.N-1].Text == "" {
						t.Errorf("%s, cut after %d events, %d more: %s is cited as %d and not listed", name, cut, more, cited.Chunk, cited.N)
					}
				}
			}
		}
	}
}

// primed returns a pipeline whose cache has the answer.
func primed(t *testing.T) *answer.Pipeline {
	t.Helper()
	p := caching(t)
	begin(t, p, event.RunStarted{Question: event.Question{Query: keeper}})
	return p
}

// mute is a model that is down.
type mute struct{ telling }

func (mute) Complete(context.Context, model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		yield(model.Piece{}, &model.Error{Model: "mute", Failure: model.Unreachable})
	}
}

// amidTokens reports whether the events before and after a cut are tokens.
func amidTokens(log []event.Event, cut int) bool {
	return cut > 2 && cut+2 < len(log) && !slices.ContainsFunc(log[cut-2:cut+2], func(e event.Event) bool { return e.Body.Kind() != event.KindToken })
}

// notAgain checks that no logged step was repeated.
func notAgain(t *testing.T, before event.State, whole, c *calls) {
	t.Helper()
	searched := 0
	for _, s := range before.Searches {
		if s.Result != nil {
			searched++
		}
	}
	if c.n["search"]+searched > whole.n["search"] {
		t.Errorf("after %d events: %d searches of %d, though the log has %d", before.Seq, c.n["search"], whole.n["search"], searched)
	}
	for _, step := range []struct {
		done  bool
		named []string
	}{
		{before.Analysis != nil, []string{"analyze"}},
		{before.Rerank != nil || before.Generation != nil, []string{"search", "walk", "read", "plan", "grade", "rerank"}},
		{before.Generation != nil, []string{"fit"}},
		{before.Stop != "", []string{"generate"}},
		{before.Check != nil, []string{"verify"}},
	} {
		for _, name := range step.named {
			if step.done && c.n[name] > 0 {
				t.Errorf("after %d events: %d calls of %s, which was done", before.Seq, c.n[name], name)
			}
		}
	}
	for _, round := range before.Grades {
		if most := whole.n["grade"] - round.Iteration; c.n["grade"] > max(most, 0) && len(before.Calls) == 0 {
			t.Errorf("after %d events: graded %d times, the whole run %d times", before.Seq, c.n["grade"], whole.n["grade"])
		}
	}
}

func archived(t *testing.T) *answer.Pipeline { return archive(t, 3) }

// telling is a model that yields a text word by word and can continue it.
type telling struct{ says string }

func (telling) Name() string                             { return "telling" }
func (telling) Limits(context.Context) model.Limits      { return model.Limits{} }
func (telling) Count(_ context.Context, text string) int { return len(text) / 4 }

func (m telling) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		rest := m.says
		if said := r.Messages[len(r.Messages)-2]; said.Role == model.Assistant {
			rest = after(m.says, said.Text)
		}
		words := strings.SplitAfter(rest, " ")
		defer model.Used(ctx, "telling", model.Usage{Input: 10, Output: len(words)})
		if !yield(model.Piece{Reasoning: "Who keeps it?"}, nil) {
			return
		}
		for _, w := range words {
			if w != "" && !yield(model.Piece{Text: w}, nil) {
				return
			}
		}
		yield(model.Piece{Stop: model.StopEnd}, nil)
	}
}

// visible returns a text without citations and white space.
func visible(s string) string {
	in := false
	return strings.Map(func(r rune) rune {
		closes := r == '⟧' || r == ']'
		in = (in || r == '⟦' || r == '[') && !closes
		if in || closes || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// after returns the rest of a text after its emitted part.
func after(s, said string) string {
	n := len(visible(said))
	for i := range s {
		if len(visible(s[:i])) >= n && n > 0 {
			if rest := strings.TrimLeft(s[i:], " "); strings.HasSuffix(said, "⟧") && (strings.HasPrefix(rest, "⟦") || strings.HasPrefix(rest, "[")) {
				return strings.TrimLeft(rest[strings.IndexAny(rest, "⟧]"):], "⟧]")
			}
			return s[i:]
		}
	}
	if n > 0 {
		return ""
	}
	return s
}
