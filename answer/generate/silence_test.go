package generate_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/local"
)

// silent is a model that gives its pieces a second apart, and then nothing until it is left.
type silent struct{ *chat }

func (c silent) Complete(ctx context.Context, _ model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		for _, p := range c.pieces {
			time.Sleep(time.Second) // of the bubble
			if ctx.Err() != nil {
				break
			}
			if !yield(p, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(model.Piece{}, ctx.Err())
	}
}

// A model that says nothing until the run's time is up leaves enough of it to the generator behind it; one that speaks may
// use all of it.
func TestSilentModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []model.Piece
		chain  bool
		speaks bool
	}{
		{name: "nothing"},
		{name: "nothing, in a chain", chain: true},
		{name: "reasoning", pieces: []model.Piece{{Reasoning: "Hm."}, {Reasoning: "Hm."}}},
		{name: "text", pieces: []model.Piece{text("Gold "), text("settles, ")}, speaks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var chat model.Chat = silent{says(c.pieces...)}
				if c.chain {
					chat = failover.New([]model.Chat{chat}, failover.Options{})
				}
				began := time.Now()
				answer, trace := told(ctx, generate.NewModel(chat, nil, local.New(local.Options{}), generate.Options{}),
					task("Gold settles because it is heavy."))
				took := time.Since(began)
				if c.speaks {
					if took != 30*time.Second || len(trace) > 0 {
						t.Errorf("it was left after %v: %q, %q", took, answer, trace)
					}
					return
				}
				if took < 25*time.Second || took > 29*time.Second+500*time.Millisecond || !strings.Contains(answer, "heavy") || len(trace) != 1 {
					t.Errorf("after %v: %q, told %q", took, answer, trace)
				}
			})
		})
	}
}
