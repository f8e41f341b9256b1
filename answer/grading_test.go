package answer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestGradedIsConsistent checks that the counts match the classes, ambiguous passages are expanded, and the action follows from both.
func TestGradedIsConsistent(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"Who is the keeper of the Farland lighthouse?", "How far is the lamp visible on Sundays?", "What does a ticket for the oven cost?",
		"Which oil burns in the tower?", "When may visitors climb with rye flour?", "How long does sourdough rise in the lighthouse?", "Does steam feed the keeper?"} {
		s := event.Fold(ask(t, library(), q))
		useful := false // something of an earlier round
		for _, g := range s.Grades {
			var correct, ambiguous, incorrect, grown, better int
			for _, d := range g.Grades {
				switch grade.Classify(d.Score) {
				case event.Correct:
					correct++
					better++
				case event.Ambiguous:
					ambiguous++
				default:
					incorrect++
				}
				if d.Class != grade.Classify(d.Score) || d.Expanded && d.Class != event.Ambiguous || d.Parent != "" && level(s, d.Chunk) != corpus.Sentence && (!d.Expanded || d.NewScore <= d.Score) {
					t.Errorf("%s: %+v", q, d)
				}
				if d.Expanded {
					grown++
				}
				if d.Expanded && d.Parent != "" && d.NewScore >= grade.CorrectFrom {
					better++
				}
			}
			if correct != g.Correct || ambiguous != g.Ambiguous || incorrect != g.Incorrect || grown != g.Expanded {
				t.Errorf("%s: counted %d %d %d %d, told %+v", q, correct, ambiguous, incorrect, grown, g)
			}
			if proceeds := g.Action == event.Proceed; better > 0 && !proceeds || better == 0 && proceeds && !useful && g.Iteration < 3 {
				t.Errorf("%s: %d of use, and the action is %s", q, better, g.Action)
			}
			useful = useful || better+ambiguous > 0
			if better == 0 && (ambiguous > 0) != (g.Action == event.Expand) {
				t.Errorf("%s: %d ambiguous, and the action is %s", q, ambiguous, g.Action)
			}
		}
	}
}

// level returns the level of a chunk in the results.
func level(s event.State, id corpus.ChunkID) corpus.Level {
	for _, search := range s.Searches {
		for _, f := range search.Result.Found {
			if f.Chunk == id {
				return f.Level
			}
		}
	}
	return 0
}

func recorder(t *testing.T, store eventlog.Store, now func() time.Time) *answer.Recorder {
	t.Helper()
	r, err := answer.NewRecorder(t.Context(), store, now, event.RunStarted{Run: "run_1", Question: event.Question{Query: "why?"}})
	require.NoError(t, err)
	return r
}

func TestRecorderRejectsInvalidEvents(t *testing.T) {
	t.Parallel()
	store := eventlog.NewMemory()
	clock := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))
	r := recorder(t, store, func() time.Time {
		clock = clock.Add(-time.Minute) // a clock that is set back
		return clock
	})
	for _, step := range []struct {
		body event.Body
		ok   bool
	}{
		{event.CacheChecked{}, false}, {event.RunStarted{}, false}, {event.QueryAnalyzed{}, true}, {event.QueryAnalyzed{}, false}, {event.CacheChecked{}, true},
		{event.Token{Text: "x"}, false}, {event.Graded{}, false}, {event.RetrievalFinished{Call: 1}, false}, {event.RetrievalStarted{Call: 1, Tool: "a"}, true},
		{event.RetrievalFinished{Call: 1, Tool: "b"}, false}, {event.RetrievalFinished{Call: 1, Tool: "a"}, true}, {event.Graded{}, true}, {event.Graded{}, false},
		{event.GenerationStarted{}, true}, {event.RunFinished{}, false}, {event.RunFailed{}, true}, {event.RunFailed{}, false}, {event.Warned{}, false},
	} {
		if err := r.Emit(t.Context(), step.body); (err == nil) != step.ok {
			t.Errorf("%s: %v", step.body.Kind(), err)
		}
	}
	log, err := store.Load(t.Context(), "run_1", 0)
	require.NoError(t, err)
	if err := event.CheckLog(log, true); err != nil {
		t.Error(err)
	}
	if at := log[0].At; at.Location() != time.UTC || at.Nanosecond()%1000 != 0 {
		t.Errorf("time %v", at)
	}
}

// refusing is a store that fails one append.
type refusing struct {
	*eventlog.Memory
	at *event.Seq
}

func (s refusing) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	if es[0].Seq == *s.at {
		*s.at = 0
		return errors.New("disk full")
	}
	return s.Memory.Append(ctx, run, es...)
}

func TestRecorderContinuesAfterStoreFailure(t *testing.T) {
	t.Parallel()
	for at := event.Seq(2); at < 6; at++ {
		fails := at
		r := recorder(t, refusing{eventlog.NewMemory(), &fails}, time.Now)
		for _, b := range []event.Body{event.QueryAnalyzed{}, event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "x"}} {
			if err := r.Emit(t.Context(), b); err != nil {
				if err := r.Emit(t.Context(), b); err != nil {
					t.Errorf("%s, again: %v", b.Kind(), err)
				}
			}
		}
		if s := r.State(); s.Seq != 5 || s.Tokens != 1 || fails != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestRecorderIsConcurrent(t *testing.T) {
	t.Parallel()
	store := eventlog.NewMemory()
	r := recorder(t, store, time.Now)
	for _, b := range []event.Body{event.QueryAnalyzed{}, event.CacheChecked{}} {
		require.NoError(t, r.Emit(t.Context(), b))
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			call := event.CallID(i + 1)
			if err := errors.Join(r.Emit(t.Context(), event.RetrievalStarted{Call: call, Tool: "a"}), r.Emit(t.Context(), event.RetrievalFinished{Call: call, Tool: "a"})); err != nil {
				t.Error(err)
			}
			_ = r.State()
		})
	}
	wg.Wait()
	log, err := store.Load(t.Context(), "run_1", 0)
	if err != nil || len(log) != 103 {
		t.Fatalf("%d events, %v", len(log), err)
	}
	if err := event.CheckLog(log, false); err != nil {
		t.Error(err)
	}
}

// grading is a grader that computes the grade from the chunk.
type grading func(corpus.Chunk) float64

func (g grading) Grade(_ context.Context, _ string, hits []index.Hit, _ index.TermStats) (grade.Grades, error) {
	out := grade.Grades{By: "test"}
	for _, h := range hits {
		out.Scores = append(out.Scores, g(h.Chunk))
	}
	return out, nil
}

// TestExpandedCountsReplacedPassages checks that a passage counts as expanded if its section replaced it, and not if the section was only graded.
func TestExpandedCountsReplacedPassages(t *testing.T) {
	t.Parallel()
	for _, section := range []float64{0.9, 0.6, 0.3} {
		p := library()
		p.Grader = grading(func(c corpus.Chunk) float64 {
			if c.Level == corpus.Section {
				return section
			}
			return 0.5
		})
		for _, g := range event.Fold(askDirect(t, p, "Which oil burns in the tower?")).Grades {
			replaced := 0
			for _, d := range g.Grades {
				if d.Expanded != (d.Parent != "") || d.Expanded && d.NewScore != section {
					t.Errorf("sections of %.1f: %+v", section, d)
				}
				if d.Expanded {
					replaced++
				}
			}
			if g.Ambiguous == 0 || g.Expanded != replaced || (replaced > 0) != (section >= grade.CorrectFrom) {
				t.Errorf("sections of %.1f: %d of %d ambiguous passages were replaced, and %d are told", section, replaced, g.Ambiguous, g.Expanded)
			}
		}
	}
}
