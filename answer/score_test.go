package answer_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// topScore returns the best score that the first search of a question shows.
func topScore(s event.State) float64 {
	best := 0.0
	for _, f := range s.Searches[0].Result.Found {
		best = max(best, f.Score)
	}
	return best
}

// TestTopScoreIsAbsolute checks that a question that the documents answer has a high score and an unrelated one a low score, although the
// index finds passages for both.
func TestTopScoreIsAbsolute(t *testing.T) {
	t.Parallel()
	for question, high := range map[string]bool{
		"Which oil burns in the lamp of the Farland lighthouse?": true, "Who is the keeper of the Farland lighthouse?": true,
		"Which tower taxes quantum bananas?": false, "What oil price did the parliament of Norway vote on?": false, "zebra keeper flugelhorn tickets": false,
	} {
		s := event.Fold(askDirect(t, library(), question))
		if top := topScore(s); len(s.Searches[0].Result.Found) == 0 || (top >= 0.7) != high {
			t.Errorf("%s: %d passages, the best with %.2f", question, len(s.Searches[0].Result.Found), top)
		}
	}
}

// TestFloorTopScore measures, over the paragraphs of squad, how well the best score of a search separates the set's answerable
// questions from those of other sets, about which the paragraphs say nothing, and from its own unanswerable ones. The weights of
// the score were fitted to half a of the questions.
func TestFloorTopScore(t *testing.T) {
	race.Measure(t)
	sets := map[string]*eval.Set{}
	for _, name := range []string{"squad", "musique", "2wiki"} {
		set, err := beir.LoadSet(t, name).Half("b")
		require.NoError(t, err)
		sets[name] = set
	}
	ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	l := local.New(local.Options{})
	var sources []ingest.Source
	for _, d := range sets["squad"].Docs {
		sources = append(sources, ingest.Source{URI: d.ID, Name: "document.txt", Title: d.Title, Data: []byte(d.Text)})
	}
	if _, err := ingest.New(ix, l, ingest.Options{}).IngestDocuments(t.Context(), corpus.DefaultCollection, sources, nil); err != nil {
		t.Fatal(err)
	}
	p := library()
	p.Index, p.Generator = ix, speaking()
	var answerable, unanswerable, foreign [2][]float64 // as shown, and of the index
	measure := func(into *[2][]float64, question string) {
		into[0] = append(into[0], topScore(event.Fold(runIn(t, t.Context(), event.Direct, p, eventlog.NewMemory(), question))))
		placed, err := p.Vectors.SearchVector(t.Context(), corpus.DefaultCollection, question, 0)
		require.NoError(t, err)
		hits, err := ix.Search(t.Context(), index.Query{Collection: corpus.DefaultCollection, Text: question, Vector: placed.Vector, Space: placed.Space,
			Levels: []corpus.Level{corpus.Passage}, Limit: 20})
		if err != nil || len(hits) == 0 {
			t.Fatal(len(hits), err)
		}
		into[1] = append(into[1], hits[0].Score)
	}
	for i, q := range sets["squad"].Questions {
		switch {
		case i%3 != 0: // a third is enough
		case len(sets["squad"].Qrels[q.ID]) > 0:
			measure(&answerable, q.Text)
		default:
			measure(&unanswerable, q.Text)
		}
	}
	for _, name := range []string{"musique", "2wiki"} {
		for _, q := range sets[name].Questions {
			measure(&foreign, q.Text)
		}
	}
	shown, fused := auc(answerable[0], foreign[0]), auc(answerable[1], foreign[1])
	t.Logf("%d answerable, %d unanswerable, %d of other sets", len(answerable[0]), len(unanswerable[0]), len(foreign[0]))
	t.Logf("area under the curve, answerable against other sets: %.3f shown, %.3f by the index's score", shown, fused)
	t.Logf("answerable against unanswerable: %.3f shown, %.3f by the index's score", auc(answerable[0], unanswerable[0]), auc(answerable[1], unanswerable[1]))
	t.Logf("medians: %.2f answerable, %.2f unanswerable, %.2f of other sets; by the index's score %.2f, %.2f, %.2f", median(answerable[0]), median(unanswerable[0]),
		median(foreign[0]), median(answerable[1]), median(unanswerable[1]), median(foreign[1]))
	if shown < 0.9 || shown <= fused {
		t.Error("the score does not tell what is answered from what is not")
	}
}

// auc returns the probability that a value of high is greater than one of low; a tie counts half.
func auc(high, low []float64) float64 {
	sum := 0.0
	for _, h := range high {
		for _, l := range low {
			switch {
			case h > l:
				sum++
			case h == l:
				sum += 0.5
			}
		}
	}
	return sum / float64(len(high)*len(low))
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// TestScoresAreGradedOnce checks that without a grader the scores of searches are the grades, and that runs are the same.
func TestScoresAreGradedOnce(t *testing.T) {
	t.Parallel()
	for _, query := range []string{keeper, "How do volcanic eruptions change the orbit of comets?"} {
		graded := func(p *answer.Pipeline) (event.State, int) {
			_, c := counted(p)
			p.Scorer = countedGrader{grade.Coverage{}, c}
			if p.Grader != nil {
				p.Grader = p.Scorer
			}
			s := event.Fold(stored(t, begin(t, p, event.RunStarted{Question: event.Question{Query: query, Mode: event.Direct}})))
			return s, c.n["grade"]
		}
		p := library()
		p.Grader = grade.Coverage{}
		twice, calls := graded(p)
		p = library()
		p.Grader = nil
		once, fewer := graded(p)
		if fewer != calls-len(once.Searches) {
			t.Errorf("%s: graded %d times in %d searches, and %d times with a grader", query, fewer, len(once.Searches), calls)
		}
		if d := cmp.Diff(twice, once, withoutTimes); d != "" {
			t.Errorf("%s (-with a grader +without)\n%s", query, d)
		}
	}
}
