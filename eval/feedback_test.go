package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestFeedback(t *testing.T) {
	t.Parallel()
	rated := func(id string, good bool) eval.RatedAnswer {
		return eval.RatedAnswer{ID: id, Question: event.Question{Query: id}, Good: good, Reason: "old\nprice", Answer: "The fee is 5 euros.", Documents: []corpus.DocumentID{"d1", "d2"},
			Sentences: []string{"The fee is 5 euros.", "Boats pay nothing."}}
	}
	said := func(text string, cited ...string) event.State {
		s := event.State{Status: event.Finished, Stop: event.StopEnd, Text: []byte(text)}
		for i, doc := range cited {
			s.Sources = append(s.Sources, event.Source{N: i + 1, Document: corpus.DocumentID(doc), Text: "Note. Boats pay nothing.", Quote: 6, QuoteEnd: 24, Cited: true})
			s.Citations = append(s.Citations, event.Citation{Cited: event.Cited{N: i + 1}})
		}
		return s
	}
	answers := map[string]event.State{
		"same":      said("the fee is 5 euros!", "d1", "d2"),
		"other":     said("The fee is 7 euros.", "d3"),
		"unchanged": said("The fee is 5 euros.", "d1"),
		"failed":    {Status: event.Failed, Failure: &event.RunFailed{Message: "no model"}},
	}
	r, err := eval.Feedback(t.Context(), []eval.RatedAnswer{rated("same", true), rated("other", true), rated("unchanged", false), rated("failed", false)},
		func(_ context.Context, q event.Question) (event.State, error) { return answers[q.Query], nil })
	require.NoError(t, err)
	for i, want := range []struct {
		sentences, documents float64
		changed              bool
	}{{1, 1, false}, {0.5, 0, true}, {1, 0.5, false}, {0, 0, true}} {
		if got := r.Results[i]; *got.HeldSentences != want.sentences || *got.HeldDocuments != want.documents || got.Changed != want.changed {
			t.Errorf("%s: %v, %v, %v", got.ID, *got.HeldSentences, *got.HeldDocuments, got.Changed)
		}
	}
	if g, b := r.Rows[0], r.Rows[1]; !g.Good || g.Answers != 2 || g.Failed != 0 || g.Sentences.Mean != 0.75 || g.Changed.Mean != 0.5 || b.Answers != 2 || b.Failed != 1 || b.Documents.Mean != 0.25 {
		t.Errorf("%+v", r.Rows)
	}
	var out strings.Builder
	if err := eval.WriteFeedback(&out, r); err != nil || !strings.Contains(out.String(), "bad, unchanged: unchanged\n  reason: old price\n  answer: The fee is 5 euros.") || strings.Contains(out.String(), "other") {
		t.Errorf("%v\n%s", err, out.String())
	}
	broken := errors.New("broken")
	if _, err := eval.Feedback(t.Context(), []eval.RatedAnswer{rated("same", true)}, func(context.Context, event.Question) (event.State, error) { return event.State{}, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}
