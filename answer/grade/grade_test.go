package grade_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

var _ grade.Grader = grade.Coverage{}

func chunk(text string, score, cosine float64) grade.Scored {
	return grade.Scored{Chunk: corpus.Chunk{Text: text}, Score: score, Cosine: cosine}
}

func TestCoverage(t *testing.T) {
	stats := index.TermStats{Chunks: 1000, DF: map[string]int{"riffles": 4, "gold": 30, "settle": 10}}
	chunks := []grade.Scored{
		chunk("Gold settles behind the riffles of the box.", 1, 0.8),
		chunk("Gold was found in the river.", 0.6, 0.5),
		chunk("Bread is baked in an oven.", 0.1, 0.05),
		chunk("", 0, math.NaN()),
	}
	for _, novectors := range []bool{false, true} {
		got, err := grade.Coverage{}.Grade(context.Background(), "Where does gold settle behind riffles?", chunks, stats)
		require.NoError(t, err)
		scores := got.Scores
		if got.By != "coverage" {
			t.Errorf("judged by %q", got.By)
		}
		if grade.Classify(scores[0]) != event.Correct || grade.Classify(scores[2]) != event.Incorrect || scores[1] >= scores[0] || scores[3] > 0.1 {
			t.Errorf("without vectors %v: %v", novectors, scores)
		}
		for i := range chunks {
			chunks[i].Cosine = 0
		}
	}
	for _, q := range []string{"", "?", "\xff\x1d"} {
		if _, err := (grade.Coverage{}).Grade(context.Background(), q, chunks, index.TermStats{}); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (grade.Coverage{}).Grade(ctx, "gold", chunks, stats); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestDefinitions holds that a passage which says what a thing is stands over those that speak of it.
func TestDefinitions(t *testing.T) {
	chunks := []grade.Scored{
		chunk("A finished run is kept for 30 days. Runs are dropped in segments.", 1, 0.9),
		chunk("Run\n\nA run is one question being answered.", 0.6, 0.5),
	}
	for q, want := range map[string][]event.Class{
		"What is a run?":          {event.Incorrect, event.Correct},
		"What does a run mean?":   {event.Incorrect, event.Correct},
		"How long is a run kept?": {event.Correct},
	} {
		got, err := grade.Coverage{}.Grade(context.Background(), q, chunks, index.TermStats{})
		require.NoError(t, err)
		for i, w := range want {
			if c := grade.Classify(got.Scores[i]); c != w {
				t.Errorf("%s: passage %d is %s (%.2f), want %s", q, i, c, got.Scores[i], w)
			}
		}
	}
}

func TestClassify(t *testing.T) {
	for score, want := range map[float64]event.Class{0: event.Incorrect, 0.399: event.Incorrect, 0.4: event.Ambiguous, 0.699: event.Ambiguous, 0.7: event.Correct, 1: event.Correct} {
		if got := grade.Classify(score); got != want {
			t.Errorf("Classify(%v) is %v", score, got)
		}
	}
}

// TestFloorClasses checks what the classes mean on public sets: a relevant passage in the first place is mostly CORRECT, and
// passages of a set on other subjects are mostly INCORRECT. The weights were fitted to half a of the questions.
func TestFloorClasses(t *testing.T) {
	race.Measure(t)
	m := local.New(local.Options{})
	names := []string{"squad", "scifact"}
	sets := map[string]*beir.Set{}
	for _, n := range names {
		sets[n] = beir.LoadHalf(t, n, "b")
	}
	for _, name := range names {
		for _, where := range names {
			var top, all, other map[event.Class]float64 = map[event.Class]float64{}, map[event.Class]float64{}, map[event.Class]float64{}
			for _, q := range sets[name].Queries {
				hits := sets[where].Search(q.Text, 10)
				if len(q.Relevant) == 0 || len(hits) == 0 {
					continue
				}
				cosines(t, m, q.Text, hits)
				judged, err := grade.Coverage{}.Grade(context.Background(), q.Text, hits, sets[where].Stats(q.Text))
				require.NoError(t, err)
				for i, x := range judged.Scores {
					switch relevant := q.Relevant[string(hits[i].Chunk.ID)] > 0; {
					case name == where && relevant && i == 0:
						top[grade.Classify(x)]++
					case name == where && !relevant:
						other[grade.Classify(x)]++
					case name != where:
						all[grade.Classify(x)]++
					}
				}
			}
			if name == where {
				t.Logf("%s: relevant at the top %v; not marked relevant %v", name, shares(top), shares(other))
				if shares(top)[event.Correct] < 0.75 {
					t.Error("too few relevant passages are CORRECT")
				}
				continue
			}
			t.Logf("%s asked of %s: %v", name, where, shares(all))
			if shares(all)[event.Incorrect] < 0.85 {
				t.Error("too few passages about something else are INCORRECT")
			}
		}
	}
}

func cosines(t *testing.T, m *local.Model, question string, hits []index.Hit) {
	texts := []string{question}
	for _, h := range hits {
		texts = append(texts, h.Chunk.Title+"\n"+h.Chunk.Text)
	}
	vs, err := m.Embed(context.Background(), texts, model.ForPassage)
	require.NoError(t, err)
	for i := range hits {
		hits[i].Space = m.Space()
		for k := range min(len(vs[0]), len(vs[i+1])) {
			hits[i].Cosine += float64(vs[0][k] * vs[i+1][k])
		}
	}
}

func shares(m map[event.Class]float64) map[event.Class]float64 {
	n := m[event.Correct] + m[event.Ambiguous] + m[event.Incorrect]
	out := map[event.Class]float64{}
	for c, x := range m {
		out[c] = math.Round(1000*x/n) / 1000
	}
	return out
}

func BenchmarkGrade(b *testing.B) {
	chunks := make([]grade.Scored, 10)
	for i := range chunks {
		chunks[i] = chunk("Gold settles behind the riffles of the box, since it is heavier than gravel and water carries the gravel away.", 1, 0.5)
	}
	for b.Loop() {
		if _, err := (grade.Coverage{}).Grade(b.Context(), "Where does gold settle?", chunks, index.TermStats{}); err != nil {
			b.Fatal(err)
		}
	}
}
