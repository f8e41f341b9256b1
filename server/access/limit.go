package access

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
)

// Writes of the last uses of keys.
const (
	touchEvery = time.Minute // per key
	maxUses    = 4           // at once; further ones wait for the next request of their key
	useTimeout = 2 * time.Second
)

// keyState is what is only kept in memory of a key.
type keyState struct {
	touched atomic.Int64 // when its last use was written, in Unix milliseconds
	refused atomic.Int64 // until when its rate is used up, in Unix microseconds
}

func (a *Access) state(k auth.Key) *keyState {
	if s, ok := a.keys.Get(k.ID); ok {
		return s
	}
	s := &keyState{}
	s.touched.Store(k.Used.UnixMilli())
	if earlier, found, _ := a.keys.PeekOrAdd(k.ID, s); found {
		return earlier
	}
	return s
}

// countRequest counts a request against the rate of its key, and records that the key was used. The reply says how much of the rate is left, if its
// protocol has headers for that.
func (a *Access) countRequest(w http.ResponseWriter, r *http.Request, k auth.Key) error {
	ctx, s, now := r.Context(), a.state(k), a.o.Now()
	if k.Rate.N > 0 {
		wait, full, err := a.take(ctx, s, k, now)
		if err != nil {
			return a.unavailable(ctx, err)
		}
		server.ShowRate(w, r, a.replies, k.Rate, full)
		if wait > 0 {
			return &auth.LimitError{After: wait, Fault: fault.New(fault.Overloaded, "too many requests with this key: its limit is %s", k.Rate)}
		}
	}
	a.touch(s, k.ID, now)
	return nil
}

// take takes a request of the rate of a key, or returns how long to wait. After a refusal, it refuses further requests without counting them until the
// wait is over: no server can accept one before.
func (a *Access) take(ctx context.Context, s *keyState, k auth.Key, now time.Time) (wait, full time.Duration, err error) {
	if wait = time.UnixMicro(s.refused.Load()).Sub(now); wait > 0 && wait <= k.Rate.Interval() {
		return wait, wait + time.Duration(k.Rate.N-1)*k.Rate.Interval(), nil
	}
	if wait, full, err = a.o.Rates.Take(ctx, k.ID, k.Rate, now); wait > 0 {
		s.refused.Store(now.Add(wait).UnixMicro())
	}
	return wait, full, err
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

// countQuestions counts questions of a request against the quota of their key; a number below zero gives them back. Both are done at the time now, so
// that a question of the last day is not given back to this one.
func (a *Access) countQuestions(ctx context.Context, k auth.Key, n int, now time.Time) error {
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

// buckets are token buckets in memory, by name. The last ones that were used are kept.
type buckets struct {
	*lru.Cache[string, *rate.Limiter]
}

func newBuckets(size int) (buckets, error) {
	c, err := lru.New[string, *rate.Limiter](size)
	return buckets{c}, err
}

// Take implements [auth.Rates].
func (b buckets) Take(_ context.Context, name string, l auth.Limit, at time.Time) (wait, full time.Duration, err error) {
	wait = b.take(name, l.Interval(), l.N, at)
	if bucket, ok := b.Peek(name); ok {
		full = time.Duration((float64(l.N) - bucket.TokensAt(at)) * float64(l.Interval()))
	}
	return wait, max(full, 0), nil
}

// take takes an event of a bucket, or returns how long to wait for it.
func (b buckets) take(name string, every time.Duration, burst int, at time.Time) (wait time.Duration) {
	l, ok := b.Get(name)
	if !ok {
		l = rate.NewLimiter(rate.Every(every), burst)
		if earlier, found, _ := b.PeekOrAdd(name, l); found {
			l = earlier
		}
	}
	r := l.ReserveN(at, 1)
	if wait = r.DelayFrom(at); wait > 0 {
		r.CancelAt(at)
	}
	return wait
}
