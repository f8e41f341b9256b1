package answer_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/hyde"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// parted decomposes each question in the same way, and reports failures and costs as a model would.
type parted struct {
	parts []string
	tell  func(ctx context.Context)
}

func (p parted) Analyze(ctx context.Context, _ string) (analyze.Analysis, error) {
	if p.tell != nil {
		p.tell(ctx)
	}
	return analyze.Analysis{Complexity: event.Complex, Parts: p.parts, By: "parted"}, nil
}

// chunksRead returns the chunks that the generator of a run read.
func chunksRead(t *testing.T, p *answer.Pipeline, s event.State) []corpus.Chunk {
	t.Helper()
	chunks, err := p.Index.Chunks(t.Context(), s.Collection, s.Generation.Passages)
	if err != nil || len(chunks) != len(s.Generation.Passages) {
		t.Fatalf("%d chunks of %d, %v", len(chunks), len(s.Generation.Passages), err)
	}
	return chunks
}

// TestSubQuestionsAreSearched checks that a passage that answers a part is read although it does not match the question as a whole.
func TestSubQuestionsAreSearched(t *testing.T) {
	t.Parallel()
	p := library()
	parts := []string{"Who is the keeper of the Farland lighthouse?", "How long does sourdough rise?"}
	p.Analyzer = parted{parts: parts}
	s := event.Fold(ask(t, p, "Ada Brook's light and the baker's patience: which ones?"))
	if s.Status != event.Finished || !s.Analysis.Decomposed {
		t.Fatalf("%s, decomposed %v", s.Status, s.Analysis.Decomposed)
	}
	var asked []string
	for _, search := range s.Searches {
		if search.Iteration == 2 { // behind the decomposition
			asked = append(asked, search.Query)
		}
		if search.Result == nil {
			t.Errorf("%q has no result", search.Query)
		}
	}
	if d := cmp.Diff(append([]string{s.Query}, parts...), asked); d != "" {
		t.Errorf("searched (-want +got)\n%s", d)
	}
	var read []string
	for _, c := range chunksRead(t, p, s) {
		read = append(read, c.Title)
	}
	if !slices.Contains(read, "Lighthouses") || !slices.Contains(read, "Bread") {
		t.Errorf("the generator read %v", read)
	}
	seen := map[string]bool{}
	for _, g := range s.Grades[0].Grades {
		if seen[string(g.Chunk)] {
			t.Errorf("%s is graded twice", g.Chunk)
		}
		seen[string(g.Chunk)] = true
	}
}

// drafting writes the same draft for each question.
type drafting string

func (d drafting) Write(context.Context, string, []index.Hit) (hyde.Draft, error) {
	return hyde.Draft{Words: string(d), Passage: string(d), By: "drafting"}, nil
}

// TestDraftIsSearched checks that the draft finds passages that the words of the question do not, and that the event shows the query.
func TestDraftIsSearched(t *testing.T) {
	t.Parallel()
	p := library()
	p.Drafter = drafting("The keeper of the Farland lighthouse is a person")
	s := event.Fold(ask(t, p, "Who runs the thing at the shore?"))
	if len(s.Searches) < 2 {
		t.Fatalf("%d searches", len(s.Searches))
	}
	if got := searchBy(s, event.ToolHydeSearch); got.Tool != event.ToolHydeSearch || got.Query != string(p.Drafter.(drafting)) || len(got.Result.Found) == 0 {
		t.Errorf("the second search is %s %q: %+v", got.Tool, got.Query, got.Result)
	}
}

// searchBy returns the first search by a tool.
func searchBy(s event.State, tool string) event.Search {
	for _, search := range s.Searches {
		if search.Tool == tool {
			return search
		}
	}
	return event.Search{}
}

// TestModelCallsAreLogged checks that failures are logged at once and once per step, costs by step and model, and reasoning apart from the answer.
func TestModelCallsAreLogged(t *testing.T) {
	t.Parallel()
	p := library()
	broken := &model.Error{Model: "alpha", Failure: model.Stalled, Cause: errors.New("secret")}
	p.Analyzer = parted{tell: func(ctx context.Context) {
		for range 3 {
			model.Failed(ctx, broken, "alpha", "beta")
		}
		model.Used(ctx, "beta", model.Usage{Input: 10, Output: 2})
		model.Used(ctx, "beta", model.Usage{Input: 5, Output: 1, Cached: 3, Estimated: true})
		model.Used(ctx, "alpha", model.Usage{Input: 1})
	}}
	p.Generator = speaker(func(ctx context.Context, _ model.Task) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			defer model.Used(ctx, "beta", model.Usage{Input: 100, Output: 20, Reasoning: 7})
			for _, d := range []model.Delta{{Reasoning: "Who \x1dkeeps"}, {Reasoning: " it?"}, {Text: "Ada Brook"}, {Cite: 1}} {
				if !yield(d, nil) {
					return
				}
			}
			model.Failed(ctx, broken, "alpha", "")
			yield(model.Delta{Stop: model.StopIncomplete}, nil)
		}
	})
	log := ask(t, p, "Who is the keeper of the Farland lighthouse?")
	s := event.Fold(log)
	wantUsage := []event.ModelUsed{
		{Step: "analyze", Model: "beta", Calls: 2, Input: 15, Output: 3, Cached: 3, Estimated: true},
		{Step: "analyze", Model: "alpha", Calls: 1, Input: 1},
		{Step: "generate", Model: "beta", Calls: 1, Input: 100, Output: 20, Reasoning: 7},
	}
	if d := cmp.Diff(wantUsage, s.Usage); d != "" {
		t.Errorf("usage (-want +got)\n%s", d)
	}
	wantWarnings := []event.Warned{
		{Code: fault.Model, Message: "alpha stopped sending; beta takes over", Step: "analyze"},
		{Code: fault.Model, Message: "alpha stopped sending; the answer ends here", Step: "generate"},
	}
	if d := cmp.Diff(wantWarnings, s.Warnings); d != "" {
		t.Errorf("warnings (-want +got)\n%s", d)
	}
	if string(s.Reasoning) != "Who keeps it?" || string(s.Text) != "Ada Brook" || !s.Incomplete() || s.Status != event.Finished {
		t.Errorf("reasoning %q, text %q, stop %q, %s", s.Reasoning, s.Text, s.Stop, s.Status)
	}
	if c := s.Cost(); c.Calls != 4 || c.Input != 116 || c.Output != 23 || !c.Estimated {
		t.Errorf("cost %+v", c)
	}
}

// TestCancelledRunLogsCost checks that the cost of a stopped model call is in the log before the terminal event.
func TestCancelledRunLogsCost(t *testing.T) {
	t.Parallel()
	p := library()
	ctx, cancel := context.WithCancel(t.Context())
	p.Generator = speaker(func(ctx context.Context, _ model.Task) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			defer model.Used(ctx, "beta", model.Usage{Input: 100, Output: 1})
			if yield(model.Delta{Text: "Ada"}, nil) {
				cancel()
				<-ctx.Done()
				yield(model.Delta{}, ctx.Err())
			}
		}
	})
	log := run(t, ctx, p, eventlog.NewMemory(), "Who is the keeper of the Farland lighthouse?")
	s := event.Fold(log)
	if s.Status != event.Cancelled || len(s.Usage) != 1 || s.Usage[0].Input != 100 {
		t.Errorf("%s, usage %+v\n%s", s.Status, s.Usage, kinds(log))
	}
}

// TestUnreadPassagesAreNoSources checks that passages that do not fit into the context of the generator are neither cited nor listed.
func TestUnreadPassagesAreNoSources(t *testing.T) {
	t.Parallel()
	p := library()
	p.Generator = narrow{speaking(model.Delta{Text: "Ada Brook."}, model.Delta{Cite: 1}, model.Delta{Cite: 2}, model.Delta{Cite: 3})}
	p.Grader = generous{}
	s := event.Fold(ask(t, p, "Who is the keeper of the Farland lighthouse?"))
	if len(s.Sources) != 1 || len(s.Citations) != 1 || s.Generation.Chunks != 1 || s.Generation.Tokens != 7 {
		t.Errorf("%d sources, %d citations, %+v", len(s.Sources), len(s.Citations), s.Generation)
	}
	if s.Citations[0].N != 1 || s.Citations[0].Chunk != s.Sources[0].Chunk {
		t.Errorf("%+v, %+v", s.Citations, s.Sources)
	}
}

// narrow is a generator that only fits the second passage.
type narrow struct{ speaker }

func (narrow) Fit(_ context.Context, t model.Task) (model.Task, int) {
	t.Passages = t.Passages[1:2]
	return t, 7
}

// generous is a grader for which every passage is relevant.
type generous struct{}

func (generous) Grade(_ context.Context, _ string, chunks []grade.Scored, _ index.TermStats) (grade.Grades, error) {
	g := grade.Grades{Scores: make([]float64, len(chunks)), By: "generous"}
	for i := range g.Scores {
		g.Scores[i] = 0.9
	}
	return g, nil
}

// misplaced returns vectors of a length that the index does not have.
type misplaced struct{ answer.Vectors }

func (m misplaced) SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error) {
	placed, err := m.Vectors.SearchVector(ctx, collection, text, p)
	placed.Vector = []float32{1, 2, 3}
	return placed, err
}

// TestReplacedEmbedderFallsBackToLexicalSearch checks that a run continues if the model behind the name of the embedder was replaced.
func TestReplacedEmbedderFallsBackToLexicalSearch(t *testing.T) {
	t.Parallel()
	p := library()
	p.Vectors = misplaced{p.Vectors}
	s := event.Fold(ask(t, p, "Who is the keeper of the Farland lighthouse?"))
	if s.Status != event.Finished || len(s.Warnings) != 1 || !strings.Contains(string(s.Text), "Ada Brook") {
		t.Errorf("%s, %+v: %s", s.Status, s.Warnings, s.Text)
	}
}
