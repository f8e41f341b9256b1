package eval_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// letters finds a claim supported if its cited passages together hold each of its letters.
type letters struct{ err error }

func (l letters) Verify(_ context.Context, _ string, claims []verify.Claim) (verify.Check, error) {
	check := verify.Check{By: "letters", Verdicts: make([]verify.Verdict, len(claims))}
	for i, c := range claims {
		var all strings.Builder
		for _, p := range c.Cited {
			all.WriteString(p.Text)
		}
		check.Verdicts[i].Verdict = event.Supported
		for _, r := range c.Text {
			if !strings.ContainsRune(all.String(), r) {
				check.Verdicts[i].Verdict = event.Unsupported
			}
		}
	}
	return check, l.err
}

func cites(claim string, passages ...string) eval.Statement {
	s := eval.Statement{Text: claim}
	for _, p := range passages {
		s.Cited = append(s.Cited, corpus.Chunk{ID: corpus.ChunkID(p), Text: p})
	}
	return s
}

func TestCitations(t *testing.T) {
	for _, c := range []struct {
		name              string
		statements        []eval.Statement
		recall, precision float64
	}{
		{"one that supports", []eval.Statement{cites("ab", "ab")}, 1, 1},
		{"one that does not", []eval.Statement{cites("ab", "a")}, 0, 0},
		{"none", []eval.Statement{cites("ab")}, 0, 0},
		{"each is needed", []eval.Statement{cites("ab", "a", "b")}, 1, 1},
		{"one is of no use", []eval.Statement{cites("ab", "ab", "x")}, 1, 0.5},
		{"each is enough", []eval.Statement{cites("ab", "ab", "abc")}, 1, 1},
		{"alone not enough, and not needed", []eval.Statement{cites("ab", "ab", "a")}, 1, 0.5},
		{"either of two is needed with the third", []eval.Statement{cites("ab", "a", "ax", "b")}, 1, 1.0 / 3}, // as ALCE: neither a nor ax is needed
		{"of several statements", []eval.Statement{cites("ab", "ab"), cites("cd", "c", "x"), cites("ef")}, 1.0 / 3, 1.0 / 3},
		{"no statements", nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := eval.Citations(t.Context(), letters{}, "", c.statements)
			require.NoError(t, err)
			near(t, "recall", got.Recall, c.recall)
			near(t, "precision", got.Precision, c.precision)
		})
	}
	gone := errors.New("gone")
	if _, err := eval.Citations(t.Context(), letters{gone}, "", []eval.Statement{cites("ab", "a", "b")}); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestStatements(t *testing.T) {
	s := &event.State{Text: []byte("The lock opened in 1932. Boats pay nothing, said the master. Is that so? The documents do not hold an answer."),
		Sources: []event.Source{{N: 1, Chunk: "l", Document: "lock", Text: "opened 1932"}, {N: 2, Chunk: "f", Document: "fees", Text: "nothing"}},
		Citations: []event.Citation{{Cited: event.Cited{N: 1, Chunk: "l"}, At: 24}, {Cited: event.Cited{N: 1, Chunk: "l"}, At: 24},
			{Cited: event.Cited{N: 2, Chunk: "f"}, At: 43}, {Cited: event.Cited{N: 9, Chunk: "?"}, At: 60}}}
	want := []eval.Statement{
		{Text: "The lock opened in 1932.", Cited: []corpus.Chunk{{ID: "l", Document: "lock", Text: "opened 1932"}}},
		{Text: "Boats pay nothing, said the master.", Cited: []corpus.Chunk{{ID: "f", Document: "fees", Text: "nothing"}, {ID: "?"}}},
	}
	if d := cmp.Diff(want, eval.Statements(s)); d != "" {
		t.Error(d)
	}
	if got := eval.Statements(&event.State{}); got != nil {
		t.Errorf("statements of nothing: %+v", got)
	}
	many := &event.State{Text: []byte(strings.Repeat("The boats pay for it all. ", 10_000))}
	for i := range 10_000 {
		many.Citations = append(many.Citations, event.Citation{Cited: event.Cited{Chunk: corpus.ChunkID(rune(i))}, At: 25})
	}
	got := eval.Statements(many)
	if len(got) > 200 || slices.ContainsFunc(got, func(s eval.Statement) bool { return len(s.Cited) > 3 }) {
		t.Errorf("%d statements", len(got))
	}
}
