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

// Writes of the last uses of keys.
const (
	touchEvery = time.Minute // per key
	maxUses    = 4           // at once; further ones wait for the next request of their key
	useTimeout = 2 * time.Second
)

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
func (a *Access) countRequest(k auth.Key) error {
	s, now := a.state(k), a.o.Now()
	if s.limiter != nil {
		if wait := take(s.limiter, now); wait > 0 {
			return &auth.LimitError{After: wait, Fault: fault.New(fault.Overloaded, "too many requests with this key: its limit is %s", k.Rate)}
		}
	}
	a.touch(s, k.ID, now)
	return nil
}

// touch writes the last use of a key in the background if it is due, so that no request waits for the disk.
func (a *Access) touch(s *keyState, id string, now time.Time) {
	last := s.touched.Load()
	if now.Sub(time.UnixMilli(last)) < touchEvery {
		return
	}
	select {
	case a.uses <- struct{}{}:
	default:
		return
	}
	if !s.touched.CompareAndSwap(last, now.UnixMilli()) {
		<-a.uses
		return
	}
	a.work.Go(func() {
		defer func() { <-a.uses }()
		ctx, cancel := context.WithTimeout(context.Background(), useTimeout)
		defer cancel()
		if err := a.store.Use(ctx, id, now, 0); err != nil {
			a.o.Logger.Warn("could not record the use of a key", "key", id, "error", err)
		}
	})
}

// countQuestions counts questions against the quota of their key; a number below zero gives them back.
func (a *Access) countQuestions(ctx context.Context, k auth.Key, n int) error {
	now := a.o.Now()
	err := a.store.Use(context.WithoutCancel(ctx), k.ID, now, n)
	if err == nil {
		return nil
	}
	if !errors.Is(err, auth.ErrQuota) {
		return a.unavailable(ctx, err)
	}
	_, next := k.Quota.Window(now)
	return &auth.LimitError{After: next.Sub(now), Fault: fault.Wrap(fault.Quota, err,
		"the quota of this key is used up: %d questions a %s; the next begins at %s", k.Quota.N, k.Quota.Unit, next.Format(time.RFC3339))}
}

// take takes one event of a limiter, or returns how long to wait for it.
func take(l *rate.Limiter, now time.Time) (wait time.Duration) {
	r := l.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
