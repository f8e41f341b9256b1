package hyde_test

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/answer/hyde"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

var _ hyde.Writer = hyde.Feedback{}

func hits(texts ...string) (out []index.Hit) {
	for _, s := range texts {
		out = append(out, index.Hit{Chunk: corpus.Chunk{Text: s}})
	}
	return out
}

func TestFeedback(t *testing.T) {
	for _, c := range []struct {
		question string
		hits     []index.Hit
		want     string
	}{
		{"Where does the gold settle?", nil, "gold settle"},
		{"Where does the gold settle?", hits("Gold settles behind riffles. Riffles slow the water.", "Water runs."), "gold settle water riffles behind slow runs"},
		{"", hits("", "\xff"), ""},
	} {
		got, err := hyde.Feedback{}.Write(context.Background(), c.question, c.hits)
		if err != nil || got.Words != c.want || got.Passage != c.want || got.By != "feedback" {
			t.Errorf("%q: %+v, %v, want %q", c.question, got, err, c.want)
		}
	}
}
