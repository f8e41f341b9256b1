package reembed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/reembed"
	"github.com/sluice-rag/sluice/model"
)

// none has no collections.
type none struct{ whole }

// whole is an index of which only the figures are asked.
type whole = index.Spaces

func (none) VectorStats(context.Context, string) (index.VectorStats, error) {
	return index.VectorStats{}, nil
}

// hanging answers when it may, and else not before its caller leaves.
type hanging struct {
	asked   int
	answers bool
	refuses error
}

func (*hanging) Space() string { return "hanging" }

func (h *hanging) Embed(ctx context.Context, _ []string, _ model.Purpose) ([][]float32, error) {
	h.asked++
	if h.answers || h.refuses != nil {
		return [][]float32{{1}}, h.refuses
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestQuestionsDoNotWaitForAnEmbedder checks that the first question waits for the timeout, and the next ones do not wait until the
// cooldown is over.
func TestQuestionsDoNotWaitForAnEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{}
		k := reembed.New(none{}, h, nil, reembed.Options{QueryTimeout: time.Second, Cooldown: time.Minute})
		place := func() (model.Failure, time.Duration) {
			began := time.Now()
			_, err := k.SearchVector(t.Context(), "c", "a question", model.ForQuery)
			e, _ := errors.AsType[*model.Error](err)
			if e == nil {
				return "", time.Since(began)
			}
			return e.Failure, time.Since(began)
		}
		if f, took := place(); f != model.TimedOut || took != time.Second {
			t.Errorf("the first: %s after %v", f, took)
		}
		for range 3 {
			if f, took := place(); f != model.Skipped || took != 0 {
				t.Errorf("the next: %s after %v", f, took)
			}
		}
		time.Sleep(time.Minute) // of the bubble
		h.answers = true
		if f, took := place(); f != "" || took != 0 || h.asked != 2 {
			t.Errorf("after its rest: %s after %v, asked %d times", f, took, h.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.answers = false
		if _, err := k.SearchVector(ctx, "c", "a question", model.ForQuery); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left: %v", err)
		}
		h.answers = true
		if f, _ := place(); f != "" {
			t.Errorf("a caller that left is no failure of the embedder: %s", f)
		}
		h.answers, h.refuses = false, &model.Error{Model: "hanging", Failure: model.Rejected}
		if f, _ := place(); f != model.Rejected {
			t.Errorf("a text that is refused: %s", f)
		}
		h.answers, h.refuses = true, nil
		if f, _ := place(); f != "" {
			t.Errorf("a text that is refused costs others: %s", f)
		}
	})
}
