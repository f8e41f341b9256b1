package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// script plans what a test says, round by round, and nothing afterwards.
type script struct {
	plans [][]agent.Action
	views []agent.View
	takes time.Duration
}

func (s *script) Next(ctx context.Context, v agent.View) (agent.Plan, error) {
	s.views = append(s.views, v)
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return agent.Plan{}, ctx.Err()
		}
	}
	if n := len(s.views); n <= len(s.plans) {
		return agent.Plan{Actions: s.plans[n-1], By: "script"}, nil
	}
	return agent.Plan{By: "script"}, nil
}

// bench does nothing and finds one passage a search, of a class.
type bench struct {
	class event.Class
	takes time.Duration
	err   error
	did   [][]string
}

func (b *bench) Do(ctx context.Context, iteration int, actions []agent.Action) ([]agent.Outcome, error) {
	if b.takes > 0 {
		select {
		case <-time.After(b.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var round []string
	var out []agent.Outcome
	for _, a := range actions {
		round = append(round, a.Tool+" "+a.Query)
		o := agent.Outcome{Action: a}
		if agent.Searches(a.Tool) {
			o.Found = []agent.Evidence{{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint("c", iteration))}, Score: 0.9, Class: b.class}}
		}
		out = append(out, o)
	}
	b.did = append(b.did, round)
	return out, b.err
}

func search(queries ...string) (out []agent.Action) {
	for _, q := range queries {
		out = append(out, agent.Action{Tool: event.ToolHybridSearch, Query: q})
	}
	return out
}

func TestLoop(t *testing.T) {
	t.Parallel()
	generate := agent.Action{Tool: event.ToolGenerate}
	for name, c := range map[string]struct {
		plans  [][]agent.Action
		parts  []string
		class  event.Class
		budget agent.Budget
		want   [][]string
	}{
		"until nothing is planned": {plans: [][]agent.Action{search("a"), search("b", "c")}, want: [][]string{{"hybrid_search a"}, {"hybrid_search b", "hybrid_search c"}}},
		"until the answer is to be written": {plans: [][]agent.Action{search("a"), {search("b")[0], generate}, search("c")},
			want: [][]string{{"hybrid_search a"}}},
		"nothing is done twice": {plans: [][]agent.Action{search("a", "A ", " a"), search("a", "b"), search("b")},
			want: [][]string{{"hybrid_search a"}, {"hybrid_search b"}}},
		"what is no tool, and what asks nothing": {plans: [][]agent.Action{{{Tool: "rm"}, {Tool: event.ToolHybridSearch, Query: " \x00"}, search("a")[0]}},
			want: [][]string{{"hybrid_search a"}}},
		"six actions a round": {plans: [][]agent.Action{search("1", "2", "3", "4", "5", "6", "7", "8")},
			want: [][]string{{"hybrid_search 1", "hybrid_search 2", "hybrid_search 3", "hybrid_search 4", "hybrid_search 5", "hybrid_search 6"}}},
		"as many rounds as there are": {plans: [][]agent.Action{search("1"), search("2"), search("3")}, budget: agent.Budget{Iterations: 2},
			want: [][]string{{"hybrid_search 1"}, {"hybrid_search 2"}}},
		"parts come first":     {plans: [][]agent.Action{search("a")}, parts: []string{"x", "y"}, want: [][]string{{"decompose_query q"}, {"hybrid_search a"}}},
		"not without a search": {plans: [][]agent.Action{{generate}}, want: [][]string{{"hybrid_search q"}}},
		"nothing of use is asked in another way": {plans: [][]agent.Action{search("a")}, class: event.Incorrect,
			want: [][]string{{"hybrid_search a"}, {"hyde_search q", "proposition_search q"}, {"semantic_search q", "hybrid_search q"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := c.class
			if class == "" {
				class = event.Correct
			}
			tools := &bench{class: class}
			p := &script{plans: c.plans}
			err := agent.Run(t.Context(), agent.View{Question: "q", Parts: c.parts}, p, tools, agent.Options{Budget: c.budget})
			if d := cmp.Diff(c.want, tools.did); d != "" || err != nil {
				t.Errorf("%v\n%s", err, d)
			}
			for i, v := range p.views {
				if i > 0 && v.Left.Iterations >= p.views[i-1].Left.Iterations {
					t.Errorf("round %d has %d iterations left", i, v.Left.Iterations)
				}
			}
		})
	}
}

func TestLoopEndsInTime(t *testing.T) {
	t.Parallel()
	endless := make([][]agent.Action, 50)
	for i := range endless {
		endless[i] = search(fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		deadline, budget, plan, tool time.Duration
		want                         time.Duration
	}{
		"half of the run's":     {deadline: 20 * time.Second, tool: 3 * time.Second, want: 10 * time.Second},
		"its own":               {deadline: 20 * time.Second, budget: 2 * time.Second, tool: 3 * time.Second, want: 2 * time.Second},
		"never more than half":  {deadline: 20 * time.Second, budget: time.Minute, tool: 7 * time.Second, want: 10 * time.Second},
		"a planner that hangs":  {deadline: 20 * time.Second, plan: time.Hour, want: 10 * time.Second},
		"without a deadline":    {budget: time.Second, tool: time.Hour, want: time.Second},
		"iterations come first": {deadline: time.Hour, tool: time.Second, want: 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				err := agent.Run(ctx, agent.View{Question: "q"}, &script{plans: endless, takes: c.plan}, &bench{class: event.Correct, takes: c.tool},
					agent.Options{Budget: agent.Budget{Time: c.budget}})
				if took := time.Since(began); err != nil || took != c.want {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

func TestLoopTellsWhatStoppedIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := agent.Run(ctx, agent.View{Question: "q"}, agent.Rules{}, &bench{class: event.Correct}, agent.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	broken := errors.New("broken")
	if err := agent.Run(t.Context(), agent.View{Question: "q"}, agent.Rules{}, &bench{err: broken}, agent.Options{}); !errors.Is(err, broken) {
		t.Errorf("broken: %v", err)
	}
	told := agent.Options{OnPlan: func(context.Context, agent.Plan) error { return broken }}
	if err := agent.Run(t.Context(), agent.View{Question: "q"}, agent.Rules{}, &bench{}, told); !errors.Is(err, broken) {
		t.Errorf("telling: %v", err)
	}
}

func TestLoopTellsPlannersWhatIsLeft(t *testing.T) {
	t.Parallel()
	spent := 0
	p := &script{plans: [][]agent.Action{search("a"), search("b"), search("c")}}
	err := agent.Run(t.Context(), agent.View{Question: "q"}, p, &bench{class: event.Correct}, agent.Options{Budget: agent.Budget{Tokens: 100},
		Spent: func() int { spent += 40; return spent - 40 }})
	var left []int
	for _, v := range p.views {
		left = append(left, v.Left.Tokens)
	}
	if d := cmp.Diff([]int{100, 60, 20, 0}, left); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	last := p.views[len(p.views)-1]
	if len(last.Rounds) != 3 || len(last.Evidence) != 3 || last.Rounds[1].By != "script" {
		t.Errorf("%+v", last)
	}
}

// TestRules are the plans for what a run came to.
func TestRules(t *testing.T) {
	t.Parallel()
	found := func(c event.Class) []agent.Evidence {
		return []agent.Evidence{{Chunk: corpus.Chunk{ID: "c", Title: "Tower", Text: "The tower was built by Ada Brook."}, Score: 0.8, Class: c}}
	}
	round := func(c event.Class, as ...agent.Action) agent.Round {
		var r agent.Round
		for _, a := range as {
			r.Outcomes = append(r.Outcomes, agent.Outcome{Action: a, Found: found(c)})
		}
		return r
	}
	const q = "Where was the builder of the tower born?"
	ask := agent.Action{Tool: event.ToolHybridSearch, Query: q, Asked: q}
	for name, c := range map[string]struct {
		view agent.View
		want []string
	}{
		"the question":      {agent.View{}, []string{"hybrid_search " + q}},
		"parts beside it":   {agent.View{Parts: []string{"x?", "y?"}}, []string{"hybrid_search " + q, "hybrid_search x?", "hybrid_search y?"}},
		"simple and found":  {agent.View{Complexity: event.Simple, Rounds: []agent.Round{round(event.Correct, ask)}, Evidence: found(event.Correct)}, nil},
		"nothing of use":    {agent.View{Rounds: []agent.Round{round(event.Incorrect, ask)}, Evidence: found(event.Incorrect)}, []string{"hyde_search " + q, "proposition_search " + q}},
		"without a graph":   {agent.View{Complexity: event.Complex, Rounds: []agent.Round{round(event.Correct, ask)}, Evidence: found(event.Correct)}, nil},
		"enough of nothing": {agent.View{Rounds: slices.Repeat([]agent.Round{round(event.Incorrect, ask)}, 3), Evidence: found(event.Incorrect)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.view.Question = q
			p, err := agent.Rules{}.Next(t.Context(), c.view)
			var got []string
			for _, a := range p.Actions {
				got = append(got, a.Tool+" "+a.Query)
				if a.Reason == "" || strings.Contains(a.Reason, "\n") {
					t.Errorf("%s: reason %q", a.Tool, a.Reason)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil || p.By != "rules" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// TestQuestionAsItCame: what surrounds it, letters in parts and its length change nothing of what is done, and nothing is
// asked again in the same way.
func TestQuestionAsItCame(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]string{
		"plain":          "Where was the café built?",
		"with a newline": " Where was the café built?\n",
		"in parts":       "Where was the cafe\u0301 built?\x00",
		"too long":       strings.Repeat("Where was the café built? ", 1200),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := &bench{class: event.Incorrect}
			require.NoError(t, agent.Run(t.Context(), agent.View{Question: q}, agent.Rules{}, tools, agent.Options{}))
			var used [][]string
			for _, round := range tools.did {
				var names []string
				for _, s := range round {
					tool, query, _ := strings.Cut(s, " ")
					if names = append(names, tool); len(query) > 8192 {
						t.Errorf("%s for %d bytes", tool, len(query))
					}
				}
				used = append(used, names)
			}
			want := [][]string{{"hybrid_search"}, {"hyde_search", "proposition_search"}, {"semantic_search", "hybrid_search"}}
			if d := cmp.Diff(want, used); d != "" {
				t.Error(d)
			}
		})
	}
}

// reasons keeps those of the actions.
type reasons struct {
	bench
	all []string
}

func (r *reasons) Do(ctx context.Context, iteration int, actions []agent.Action) ([]agent.Outcome, error) {
	for _, a := range actions {
		r.all = append(r.all, a.Reason)
	}
	return r.bench.Do(ctx, iteration, actions)
}

func TestReasonsAreOneShortLine(t *testing.T) {
	t.Parallel()
	long := agent.Action{Tool: event.ToolHybridSearch, Query: "a", Reason: "for\x1b[2J\n\u202eit\r\n" + strings.Repeat("\u0958", 9000)}
	tools := &reasons{bench: bench{class: event.Correct}}
	require.NoError(t, agent.Run(t.Context(), agent.View{Question: "q"}, &script{plans: [][]agent.Action{{long}}}, tools, agent.Options{}))
	if len(tools.all) != 1 || len(tools.all[0]) > 512 || !strings.HasPrefix(tools.all[0], "for[2J it ") || strings.ContainsAny(tools.all[0], "\x1b\n\u202e") {
		t.Errorf("%.60q of %d bytes", tools.all, len(tools.all[0]))
	}
}

// torn is a graph that cannot be read.
type torn struct{ index.Graph }

func (torn) EntitiesOf(context.Context, string, []corpus.ChunkID) ([][]index.Entity, error) {
	return nil, errors.New("broken")
}

func TestRulesGoOnWithoutTheGraph(t *testing.T) {
	t.Parallel()
	tools := &bench{class: event.Correct}
	err := agent.Run(t.Context(), agent.View{Question: "q", Complexity: event.Complex}, agent.Rules{Graph: torn{}}, tools, agent.Options{})
	if err != nil || len(tools.did) != 1 {
		t.Errorf("%q, %v", tools.did, err)
	}
}
