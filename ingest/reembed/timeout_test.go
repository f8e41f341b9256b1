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

// none is an index without collections. Only VectorStats is called.
type none struct{ index.Spaces }

func (none) VectorStats(context.Context, string) (index.VectorStats, error) {
	return index.VectorStats{}, nil
}

// hanging is an embedder that answers only if answers is set, and otherwise blocks until its context ends.
type hanging struct {
	asked   int
	answers bool
	rejects error
}

func (*hanging) Space() string { return "hanging" }

func (h *hanging) Embed(ctx context.Context, _ []string, _ model.Purpose) ([][]float32, error) {
	h.asked++
	if h.answers || h.rejects != nil {
		return [][]float32{{1}}, h.rejects
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestQueryTimeout checks that the first question waits for the timeout, and the next ones do not wait until the
// cooldown is over.
func TestQueryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{}
		k := reembed.New(none{}, h, nil, reembed.Options{QueryTimeout: time.Second, Cooldown: time.Minute})
		search := func() (model.Failure, time.Duration) {
			began := time.Now()
			_, err := k.SearchVector(t.Context(), "c", "a question", model.ForQuery)
			e, _ := errors.AsType[*model.Error](err)
			if e == nil {
				return "", time.Since(began)
			}
			return e.Failure, time.Since(began)
		}
		if f, took := search(); f != model.TimedOut || took != time.Second {
			t.Errorf("the first: %s after %v", f, took)
		}
		for range 3 {
			if f, took := search(); f != model.Skipped || took != 0 {
				t.Errorf("the next: %s after %v", f, took)
			}
		}
		time.Sleep(time.Minute) // in the synctest bubble
		h.answers = true
		if f, took := search(); f != "" || took != 0 || h.asked != 2 {
			t.Errorf("after the cooldown: %s after %v, asked %d times", f, took, h.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.answers = false
		if _, err := k.SearchVector(ctx, "c", "a question", model.ForQuery); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		h.answers = true
		if f, _ := search(); f != "" {
			t.Errorf("a cancelled call counts as a failure of the embedder: %s", f)
		}
		h.answers, h.rejects = false, &model.Error{Model: "hanging", Failure: model.Rejected}
		if f, _ := search(); f != model.Rejected {
			t.Errorf("a rejected text: %s", f)
		}
		h.answers, h.rejects = true, nil
		if f, _ := search(); f != "" {
			t.Errorf("a rejected text delays others: %s", f)
		}
	})
}
