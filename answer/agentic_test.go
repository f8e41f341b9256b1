package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/wire/forge"
)

// harbour are documents that refer to each other by name.
var harbour = map[string]string{
	"The Salt Road":      "The Salt Road is a 1951 drama film directed by Ines Calloway. It was shot in the harbour of Veldt.",
	"A Lantern at Noon":  "A Lantern at Noon is a 1948 comedy film directed by Tobias Merrin, with Cora Vane in the lead.",
	"Ines Calloway":      "Ines Calloway was a film director. She was born in Osterby and died in 1990.",
	"Tobias Merrin":      "Tobias Merrin was a stage and film director who was born in Lunden in 1901.",
	"Cora Vane":          "Cora Vane was an actress and singer.",
	"Osterby":            "Osterby is a town on the river Elle. It is known for its glass.",
	"Lunden":             "Lunden is a village with an old mill.",
	"Veldt":              "Veldt is a harbour town in the north.",
	"History of film":    "A film director leads the making of a film. Many directors were born in towns.",
	"Salt":               "Salt is won from the sea. A salt road is a road on which salt was carried.",
	"The Noon Bell":      "The Noon Bell is a novel about a lantern maker.",
	"Directors' Society": "The society of film directors meets at noon.",
}

var harboured = sync.OnceValues(func() (*embedded.Index, error) {
	ix, err := embedded.Open(context.Background(), filepath.Join(tempDir, "harbour"), embedded.Options{})
	if err != nil {
		return nil, err
	}
	var sources []ingest.Source
	for title, s := range harbour {
		sources = append(sources, ingest.Source{URI: title, Name: "a.txt", Title: title, Data: []byte(s)})
	}
	slices.SortFunc(sources, func(a, b ingest.Source) int { return strings.Compare(a.URI, b.URI) })
	_, err = ingest.New(ix, local.New(local.Options{}), ingest.Options{}).IngestDocuments(context.Background(), corpus.DefaultCollection, sources, nil)
	return ix, err
})

// sailing returns the pipeline over those documents.
func sailing(t *testing.T) *answer.Pipeline {
	t.Helper()
	ix, err := harboured()
	require.NoError(t, err)
	p := library()
	p.Index, p.Graph = ix, nil
	return p
}

// titles returns the titles of the ranked passages, best first.
func titles(s event.State, p *answer.Pipeline) (out []string) {
	for _, o := range s.Rerank.Outputs {
		cs, err := p.Index.Chunks(context.Background(), corpus.DefaultCollection, []corpus.ChunkID{o.Chunk})
		if err == nil && len(cs) == 1 {
			out = append(out, cs[0].Title)
		}
	}
	return out
}

const nested = "Where was the director of the film The Salt Road born?"

func TestSecondHopFollowsNames(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	s := event.Fold(ask(t, p, nested))
	got := titles(s, p)
	if len(got) < 2 || !slices.Contains(got[:2], "The Salt Road") || !slices.Contains(got[:2], "Ines Calloway") {
		t.Errorf("ranked %q", got)
	}
	if s.Analysis.Mode != event.Agentic || s.Iterations < 2 || !slices.Contains(s.Tools, event.ToolGraphTraverse) {
		t.Errorf("%+v, %d iterations with %v", s.Analysis, s.Iterations, s.Tools)
	}
	for _, search := range s.Searches {
		if search.Reason == "" {
			t.Errorf("%s %q: no reason", search.Tool, search.Query)
		}
	}
}

func TestComparisonIsDecomposed(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	log := ask(t, p, "Which film has the director who was born first, The Salt Road or A Lantern at Noon?")
	s := event.Fold(log)
	got := titles(s, p)
	for _, want := range []string{"The Salt Road", "A Lantern at Noon", "Ines Calloway", "Tobias Merrin"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
	var parts []string
	for _, e := range log {
		if b, ok := e.Body.(event.ToolReturned); ok && b.Tool == event.ToolDecomposeQuery {
			var result struct {
				Parts []string `json:"sub_queries"`
			}
			require.NoError(t, json.Unmarshal(b.Result, &result))
			parts = result.Parts
		}
	}
	if !s.Analysis.Decomposed || len(parts) != 2 {
		t.Errorf("%+v, taken apart into %q", s.Analysis, parts)
	}
}

func TestSimpleQuestionIsOneSearch(t *testing.T) {
	t.Parallel()
	if s := event.Fold(ask(t, sailing(t), "What is Osterby known for?")); len(s.Searches) != 1 || s.Iterations != 1 || s.Analysis.Decomposed {
		t.Errorf("%d searches in %d iterations", len(s.Searches), s.Iterations)
	}
}

// wild is a planner that returns random plans.
type wild struct{ rng *rand.Rand }

func (w wild) Next(context.Context, agent.View) (agent.Plan, error) {
	tools := []string{event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch,
		event.ToolGraphTraverse, event.ToolDecomposeQuery, event.ToolRerank, event.ToolGenerate, "none"}
	words := []string{"Ines Calloway", nested, "", "Osterby", "\xff\x00", "the of", "Which is older, Lunden or Veldt?"}
	p := agent.Plan{Thought: []string{"", "let me see", "a\x00b"}[w.rng.IntN(3)]}
	for range w.rng.IntN(9) {
		a := agent.Action{Tool: tools[w.rng.IntN(len(tools))], Query: words[w.rng.IntN(len(words))], Asked: words[w.rng.IntN(len(words))], Weight: w.rng.Float64()*3 - 1}
		if w.rng.IntN(3) == 0 {
			a.Entities = words[:w.rng.IntN(len(words))]
		}
		p.Actions = append(p.Actions, a)
	}
	return p, nil
}

// TestAnyPlanProducesValidLog checks that the log and the stream are valid whatever a planner does and whatever fails.
func TestAnyPlanProducesValidLog(t *testing.T) {
	t.Parallel()
	for seed := range uint64(32) {
		p := sailing(t)
		rng := rand.New(rand.NewPCG(seed, 1))
		p.Planner = wild{rng}
		p.Budget.Iterations = rng.IntN(9)
		if seed%3 == 0 {
			p.Graph = brokenGraph{}
		}
		if seed%4 == 0 {
			p.Index = &failing{Reader: p.Index, every: 2}
			p.Graph = brokenGraph{}
		}
		log := ask(t, p, nested)
		if seed%4 != 0 && code(log) != "" {
			t.Errorf("seed %d: %s", seed, code(log))
		}
		legal(t, log)
		s := event.Fold(log)
		for _, b := range s.Grades {
			if again := b.Action == event.ReRetrieve; again && s.Iterations <= b.Iteration && code(log) == "" {
				t.Errorf("seed %d: round %d asks for another, and none follows", seed, b.Iteration)
			}
		}
	}
}

// legal checks the stream of a run in the forge protocol.
func legal(t testing.TB, log []event.Event) {
	t.Helper()
	var g forge.Grammar
	for _, f := range (forge.Protocol{}).New().Project(nil, log) {
		var p struct {
			Type, Tool  string
			Recoverable bool
		}
		require.NoError(t, json.Unmarshal(f.Data, &p))
		if err := g.Next(p.Type, p.Tool, p.Recoverable); err != nil {
			t.Fatalf("%v\n%s", err, kinds(log))
		}
	}
	if !g.Ended() {
		t.Errorf("the stream is not whole: %s", kinds(log))
	}
}

// failing is an index whose every n-th search fails.
type failing struct {
	index.Reader
	mu    sync.Mutex
	every int
	n     int
}

func (f *failing) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	f.mu.Lock()
	f.n++
	fails := f.n%f.every == 0
	f.mu.Unlock()
	if fails {
		return nil, errors.New("secret")
	}
	return f.Reader.Search(ctx, q)
}

// brokenGraph fails.
type brokenGraph struct{}

func (brokenGraph) Entities(context.Context, string, string) ([]index.Entity, error) {
	return nil, errors.New("secret")
}

func (brokenGraph) EntitiesOf(_ context.Context, _ string, ids []corpus.ChunkID) ([][]index.Entity, error) {
	return make([][]index.Entity, len(ids)), nil
}

func (brokenGraph) Walk(context.Context, index.WalkQuery) ([]index.WalkHit, error) {
	return nil, errors.New("secret")
}

// plans is a planner with a fixed plan for each iteration.
type plans [][]agent.Action

func (p plans) Next(_ context.Context, v agent.View) (agent.Plan, error) {
	if n := len(v.Rounds); n < len(p) {
		return agent.Plan{Actions: p[n]}, nil
	}
	return agent.Plan{}, nil
}

func TestToolFailures(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	p.Index, p.Graph = &failing{Reader: p.Index, every: 2}, brokenGraph{}
	p.Planner = plans{{{Tool: event.ToolHybridSearch, Query: nested}}, {{Tool: event.ToolSemanticSearch, Query: nested}, {Tool: event.ToolGraphTraverse, Query: nested}}}
	log := ask(t, p, nested)
	s := event.Fold(log)
	if code(log) != "" || len(s.Warnings) != 2 || len(s.Searches) != 2 || s.Searches[0].Result.Error != "" || s.Searches[1].Result.Error == "" {
		t.Errorf("%s: warnings %+v, searches %+v", code(log), s.Warnings, s.Searches)
	}
	for _, e := range log {
		if b, err := json.Marshal(e.Body); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("%s, %v", b, err)
		}
	}
	p.Index = &failing{Reader: p.Index, every: 1}
	if got := code(ask(t, p, nested)); got != fault.Index {
		t.Errorf("where every search fails, the run ends with %q", got)
	}
}

// meeting is an index whose searches wait until a number of them run concurrently.
type meeting struct {
	index.Reader
	all *sync.WaitGroup
}

func (m meeting) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	m.all.Done()
	m.all.Wait()
	return m.Reader.Search(ctx, q)
}

func TestSearchesOfRoundAreConcurrent(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	p.Graph, _ = p.Index.(index.Graph)
	var all sync.WaitGroup
	all.Add(3)
	p.Index = meeting{p.Index, &all}
	p.Planner = plans{{{Tool: event.ToolHybridSearch, Query: "Osterby"}, {Tool: event.ToolSemanticSearch, Query: "Lunden"}, {Tool: event.ToolPropositionSearch, Query: "Veldt"}}}
	s := event.Fold(ask(t, p, nested))
	if s.Status != event.Finished || len(s.Searches) != 3 || len(s.Grades) != 1 {
		t.Errorf("%s, %d searches, %d grades", s.Status, len(s.Searches), len(s.Grades))
	}
	small := false
	for _, f := range searchBy(s, event.ToolPropositionSearch).Result.Found {
		small = small || f.Level == corpus.Sentence
	}
	for _, o := range s.Rerank.Outputs {
		if o.Level == corpus.Sentence {
			t.Errorf("%s is read, and not its passage", o.Chunk)
		}
	}
	if !small {
		t.Error("no sentence was found")
	}
}

// stuck is an index whose searches for a word block until they are cancelled.
type stuck struct {
	index.Reader
	word string
}

func (s stuck) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if !strings.Contains(q.Text, s.word) {
		return s.Reader.Search(ctx, q)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestHangingSearchLeavesTimeForAnswer checks that the results of the other searches are graded and read.
func TestHangingSearchLeavesTimeForAnswer(t *testing.T) {
	p := sailing(t)
	p.Index = stuck{p.Index, "Osterby"}
	p.Graph = brokenGraph{}
	hybrid := func(q string) agent.Action { return agent.Action{Tool: event.ToolHybridSearch, Query: q} }
	p.Planner = plans{{hybrid(nested)}, {hybrid("Ines Calloway"), hybrid("Osterby")}, {hybrid("Lunden")}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		log := run(t, ctx, p, eventlog.NewMemory(), nested)
		s := event.Fold(log)
		if took := time.Since(began); code(log) != "" || took != 10*time.Second || len(s.Searches) != 3 || len(s.Grades) != 2 || len(s.Sources) == 0 {
			t.Errorf("%s after %v: %s", code(log), took, kinds(log))
		}
		if len(s.Warnings) != 1 || s.Warnings[0].Code != fault.Timeout {
			t.Errorf("warned of %+v", s.Warnings)
		}
		legal(t, log)
	})
}

// TestNamedDocumentsRankFirst checks that they rank before passages with more words of the question.
func TestNamedDocumentsRankFirst(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	if got := titles(event.Fold(ask(t, p, "Is Lunden a harbour town?")), p); len(got) == 0 || got[0] != "Lunden" {
		t.Errorf("ranked %q", got)
	}
}

// TestLongRunsStopAtEveryStep checks that a run of many tools can be stopped anywhere, and lists what was found if its deadline passes.
func TestLongRunsStopAtEveryStep(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	const question = "Which film has the director who was born first, The Salt Road or A Lantern at Noon?"
	whole := ask(t, p, question)
	words := 0
	for after := event.Seq(1); after < event.Seq(len(whole)-1); after++ {
		if _, said := whole[after-1].Body.(event.Token); said {
			if words++; words%10 != 1 {
				continue // one word of the answer is as another
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		log := run(t, ctx, p, stopping{eventlog.NewMemory(), after, func() { cancel(fault.New(fault.Cancelled, "stopped")) }}, question)
		cancel(nil)
		if got := code(log); got != fault.Cancelled {
			t.Errorf("stopped behind %d: %s %s", after, got, kinds(log))
		}
		legal(t, log)
		late := &deadline{Context: t.Context(), done: make(chan struct{})}
		log = run(t, late, p, stopping{eventlog.NewMemory(), after, func() { close(late.done) }}, question)
		if s := event.Fold(log); code(log) != fault.Timeout || len(s.Grades) > 0 && len(s.Sources) == 0 {
			t.Errorf("late behind %d: %s %s", after, code(log), kinds(log))
		}
		legal(t, log)
	}
}

// TestReasoningIsNotPartOfAnswer checks that a planner's reasoning is not part of the answer.
func TestReasoningIsNotPartOfAnswer(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	p.Planner = thinker("The film names its director.\x1b[2J")
	s := event.Fold(ask(t, p, nested))
	if got := string(s.Reasoning); got != "The film names its director.[2J\n" || strings.Contains(string(s.Text), "names its director") {
		t.Errorf("%q, %q", got, s.Text)
	}
}

type thinker string

func (th thinker) Next(_ context.Context, v agent.View) (agent.Plan, error) {
	if len(v.Rounds) > 0 {
		return agent.Plan{}, nil
	}
	return agent.Plan{Thought: string(th), Actions: []agent.Action{{Tool: event.ToolHybridSearch, Query: v.Question, Reason: "first"}}}, nil
}

// TestSurroundingSpaceIsIgnored checks that white space around a question changes neither searches nor grades nor ranks.
func TestSurroundingSpaceIsIgnored(t *testing.T) {
	t.Parallel()
	p := sailing(t)
	seen := func(question string) map[string]any {
		all := map[string]any{} // searches side by side end in any order
		for _, e := range ask(t, p, question) {
			switch b := e.Body.(type) {
			case event.RetrievalStarted:
				all[fmt.Sprint("started ", b.Call)] = b
			case event.RetrievalFinished:
				all[fmt.Sprint("found ", b.Call)] = b.Found
			case event.Graded:
				all[fmt.Sprint("graded ", b.Iteration)] = b
			case event.Reranked:
				all["ranked"] = b.Outputs
			}
		}
		return all
	}
	if d := cmp.Diff(seen(nested), seen(" "+nested+"\r\n")); d != "" {
		t.Error(d)
	}
}

// TestEachOfSeveralQuestionsIsAnswered checks that each question is answered from its own passages, in order, and that the answer says which one has no answer.
func TestEachOfSeveralQuestionsIsAnswered(t *testing.T) {
	t.Parallel()
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		answered := func(question string) event.State {
			return event.Fold(runIn(t, t.Context(), mode, library(), eventlog.NewMemory(), question))
		}
		s := answered("How long does sourdough rise, and who is the keeper of the Farland lighthouse?")
		bread, keeper := strings.Index(string(s.Text), "twelve hours"), strings.Index(string(s.Text), "Ada Brook")
		if bread < 0 || keeper < bread || !s.Analysis.Decomposed || slices.Contains(s.Tools, event.ToolDecomposeQuery) != (mode == event.Agentic) {
			t.Errorf("%s: %q, by %v", mode, s.Text, s.Tools)
		}
		if mode == event.Direct && len(s.Searches) != 3 { // for the question and for each part
			t.Errorf("searches %+v", s.Searches)
		}
		const unanswered = "How many zebras live in Quito?"
		s = answered("Who is the keeper of the Farland lighthouse? " + unanswered)
		text := string(s.Text)
		if !strings.Contains(text, "Ada Brook") || !strings.HasSuffix(text, "\n\nThe documents do not seem to answer: "+unanswered) || len(s.Check.Claims) != 1 {
			t.Errorf("%s: %q, claims %v", mode, s.Text, s.Check.Claims)
		}
	}
}

// TestNoRetryWhenOutOfTime checks that no further search is announced if the time is over and nothing useful was found.
func TestNoRetryWhenOutOfTime(t *testing.T) {
	p := sailing(t)
	p.Index, p.Graph = stuck{p.Index, "Osterby"}, brokenGraph{}
	p.Planner = plans{{{Tool: event.ToolHybridSearch, Query: "mill", Asked: "How are zebras fed in Quito?"}, {Tool: event.ToolHybridSearch, Query: "Osterby"}}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		log := run(t, ctx, p, eventlog.NewMemory(), "How are zebras fed in Quito?")
		s := event.Fold(log)
		if len(s.Grades) != 1 || s.Grades[0].Correct+s.Grades[0].Ambiguous > 0 || len(s.Grades[0].Grades) == 0 || s.Grades[0].Action != event.Proceed {
			t.Errorf("graded %+v: %s", s.Grades, kinds(log))
		}
	})
}
