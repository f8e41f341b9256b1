package access

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
)

// touchEvery is how often the time of a key's last use is written.
const touchEvery = time.Minute

// keyState is what is only kept in memory of a key.
type keyState struct {
	limiter *rate.Limiter // nil: no limit
	touched atomic.Int64  // when its last use was written, in Unix milliseconds
}

func (a *Access) state(k auth.Key) *keyState {
	if s, ok := a.keys.Get(k.ID); ok {
		return s
	}
	s := &keyState{}
	s.touched.Store(k.Used.UnixMilli())
	if k.Rate.N > 0 {
		s.limiter = rate.NewLimiter(rate.Every(k.Rate.Interval()), k.Rate.N)
	}
	if earlier, found, _ := a.keys.PeekOrAdd(k.ID, s); found {
		return earlier
	}
	return s
}

// countRequest counts a request against the rate of its key, and records that the key was used.
func (a *Access) countRequest(ctx context.Context, k auth.Key) error {
	s, now := a.state(k), a.o.Now()
	if s.limiter != nil {
		if err := take(s.limiter, now, "too many requests with this key: its limit is "+k.Rate.String()); err != nil {
			return err
		}
	}
	if last := s.touched.Load(); now.Sub(time.UnixMilli(last)) >= touchEvery && s.touched.CompareAndSwap(last, now.UnixMilli()) {
		if err := a.store.Use(context.WithoutCancel(ctx), k.ID, now, 0); err != nil {
			a.o.Logger.Warn("could not record the use of a key", "key", k.ID, "error", err)
		}
	}
	return nil
}

// countQuestion counts a question against the quota of its key.
func (a *Access) countQuestion(ctx context.Context, k auth.Key) error {
	now := a.o.Now()
	err := a.store.Use(context.WithoutCancel(ctx), k.ID, now, 1)
	if !errors.Is(err, auth.ErrQuota) {
		return err
	}
	_, next := k.Quota.Window(now)
	return &auth.LimitError{After: next.Sub(now), Fault: fault.Wrap(fault.Quota, err,
		"the quota of this key is used up: %d questions a %s; the next begins at %s", k.Quota.N, k.Quota.Unit, next.Format(time.RFC3339))}
}

// take takes one event of a limiter, or returns an [auth.LimitError].
func take(l *rate.Limiter, now time.Time, message string) error {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &auth.LimitError{After: wait, Fault: fault.New(fault.Overloaded, "%s", message)}
}
