package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// shared is what a run is to those who asked for it. It is guarded by the engine's mu, but for what begun guards.
type shared struct {
	key    string // empty: nobody may join
	since  time.Time
	askers []asker // of the questions that it answers and that were not cancelled
	joined bool    // it has answered several questions

	begun chan struct{} // closed when its first event is in the log, or could not be written
	err   error         // why it could not
}

// asker is who asked one of the questions that a run answers.
type asker struct {
	id       string // see [Caller]
	attached bool   // asked by [Engine.AskAttached]
}

// begin tells those who joined that the run has begun, or why it has not.
func (s *shared) begin(err error) {
	s.err = err
	close(s.begun)
}

// awaited tells whether somebody who has no reader wants a run that others read too.
func (s *shared) awaited() bool {
	return s.joined && slices.ContainsFunc(s.askers, func(a asker) bool { return !a.attached })
}

func (r *run) askedBy(a asker) {
	r.askers = append(r.askers, a)
	if a.attached {
		r.readers++
	}
	if r.grace != nil {
		r.grace.Stop()
		r.grace = nil
	}
}

// share makes a new run one that may be joined under the key.
func (e *Engine) share(r *run, key string, a asker) {
	r.shared = shared{key: key, since: e.o.Now(), begun: make(chan struct{})}
	r.askedBy(a)
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

// joinable gives the run that answers a question of the key, if there is one with time enough left.
func (e *Engine) joinable(key string) *run {
	r := e.equal[key]
	if r == nil || e.o.Now().Sub(r.since) > e.o.Deadline/2 {
		return nil
	}
	return r
}

// join adds an asker to the run that answers a question of the key, if there is one.
func (e *Engine) join(key string, a asker) *run {
	r := e.joinable(key)
	if r == nil {
		return nil
	}
	r.askedBy(a)
	r.joined = true
	return r
}

// joined waits until a run that was joined has begun.
func (e *Engine) joined(ctx context.Context, r *run, a asker) (event.RunID, error) {
	select {
	case <-r.begun:
	case <-ctx.Done():
		e.mu.Lock()
		r.drop(a)
		e.mu.Unlock()
		if a.attached {
			e.detacher(r.id)()
		}
		return "", ctx.Err()
	}
	if r.err != nil {
		return "", fmt.Errorf("start run: %w", r.err)
	}
	return r.id, nil
}

// drop removes one of an asker's questions from those that a run answers, and tells whether there was one.
func (r *run) drop(a asker) bool {
	i := slices.Index(r.askers, a)
	if i < 0 {
		i = slices.IndexFunc(r.askers, func(b asker) bool { return a.id == b.id })
	}
	if i < 0 {
		return false
	}
	r.askers = slices.Delete(r.askers, i, i+1)
	return true
}

// withdraw takes back one of an asker's questions, and tells whether nobody wants the answer any more. Everybody may cancel a
// run that answers a single question.
func (e *Engine) withdraw(r *run, id string) bool {
	if r.joined && (!r.drop(asker{id: id}) || len(r.askers) > 0) {
		e.unread(r)
		return false
	}
	e.unshare(r)
	return true
}

// unread begins the grace period of a run that has no reader and that nobody waits for without one.
func (e *Engine) unread(r *run) {
	if r.readers > 0 || r.grace != nil || e.o.Grace < 0 || r.awaited() {
		return
	}
	r.graces++
	n := r.graces
	r.grace = time.AfterFunc(e.grace(r), func() { e.abandon(r.id, n) })
}
