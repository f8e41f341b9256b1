package sluice

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// shared is what a run is to those who asked for it. It is guarded by the engine's mu, but for what begun guards.
type shared struct {
	key   string // empty: nobody may join
	since time.Time
	asked int // questions that it answers
	loose int // those of them that no reader stands for
	stops int // how often it was cancelled

	begun chan struct{} // closed when its first event is in the log, or could not be written
	err   error         // why it could not
}

// begin tells those who joined that the run has begun, or why it has not.
func (s *shared) begin(err error) {
	s.err = err
	close(s.begun)
}

// awaited tells whether somebody who has no reader wants a run that others read too.
func (s *shared) awaited() bool { return s.asked > 1 && s.loose > 0 }

func (r *run) askedBy(attached bool) {
	r.asked++
	if attached {
		r.readers++
	} else {
		r.loose++
	}
	if r.grace != nil {
		r.grace.Stop()
		r.grace = nil
	}
}

// share makes a new run one that may be joined under the key.
func (e *Engine) share(r *run, key string, attached bool) {
	r.shared = shared{key: key, since: e.o.Now(), begun: make(chan struct{})}
	r.askedBy(attached)
	if key != "" {
		e.equal[key] = r
	}
}

// unshare lets nobody join a run any more.
func (e *Engine) unshare(r *run) {
	if e.equal[r.key] == r {
		delete(e.equal, r.key)
	}
}

// join gives the run that answers a question of the key, if there is one with time enough left.
func (e *Engine) join(key string, attached bool) *run {
	r := e.equal[key]
	if r == nil || e.o.Now().Sub(r.since) > e.o.Deadline/2 {
		return nil
	}
	r.askedBy(attached)
	return r
}

// joined waits until a run that was joined has begun.
func (e *Engine) joined(ctx context.Context, r *run, attached bool) (event.RunID, error) {
	select {
	case <-r.begun:
	case <-ctx.Done():
		e.mu.Lock()
		r.asked--
		if !attached {
			r.loose--
		}
		e.mu.Unlock()
		if attached {
			e.detacher(r.id)()
		}
		return "", ctx.Err()
	}
	if r.err != nil {
		return "", fmt.Errorf("start run: %w", r.err)
	}
	return r.id, nil
}

// withdraw takes back one of the questions that a run answers, and tells whether it was the last.
func (e *Engine) withdraw(r *run) bool {
	if r.stops++; r.stops < r.asked {
		return false
	}
	e.unshare(r)
	return true
}
