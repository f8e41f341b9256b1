package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// How equal questions on several servers join one run: a server that is about to start a run reserves its key in the store. If another server has
// reserved it, that server is asked to add the question to its run. A reservation of a run that cannot be joined any more is replaced. The store
// accepts one of several reservations, so no two servers start a run for one key at the same time.

// remoteRun is a run of another server that questions have joined.
type remoteRun struct {
	eventlog.Reservation
	at time.Time
}

// errMoved is why a run did not start that was joined: its first question has joined the run of another server.
var errMoved = errors.New("another server answers the question")

const (
	reserveAttempts = 3
	reserveTimeout  = time.Second // of an attempt
	releaseTimeout  = 5 * time.Second
)

// reserve reserves the key of a run that is starting. If a run of another server has it, the question joins that one, whose id is returned. If the
// store does not reply, the run is not shared with other servers.
func (e *Engine) reserve(ctx context.Context, r *run, by request) event.RunID {
	sharer, _ := e.sharing()
	if r.key == "" || !e.o.SharedKeys || sharer == nil || e.o.Peers == nil || !e.o.Peers.Others() {
		return ""
	}
	sum := sha256.Sum256([]byte(r.key))
	key := hex.EncodeToString(sum[:])
	var current eventlog.Reservation
	for range reserveAttempts {
		once, stop := context.WithTimeout(ctx, reserveTimeout)
		got, err := sharer.Reserve(once, key, r.id, current)
		stop()
		switch {
		case err != nil:
			e.o.Logger.Debug("a question is not shared with other servers", "run", r.id, "error", err)
			return ""
		case got.Run == r.id:
			e.mu.Lock()
			defer e.mu.Unlock()
			if r.reserved = got; e.byKey[r.key] != r { // it was cancelled meanwhile
				e.release(r)
			}
			return ""
		case e.joinElsewhere(ctx, got, by):
			e.remember(r.key, got)
			return got.Run
		}
		current = got
	}
	return ""
}

// release removes the reservation of a run, in the background. The caller holds mu.
func (e *Engine) release(r *run) {
	if r.reserved.Seq == 0 {
		return
	}
	reserved := r.reserved
	r.reserved = eventlog.Reservation{}
	sharer, _ := e.sharing()
	e.wg.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), releaseTimeout)
		defer stop()
		_ = sharer.Release(ctx, reserved) // the next question of the key replaces it
	})
}

// remember notes a run of another server, so that the next questions of the key join it with one request.
func (e *Engine) remember(key string, r eventlog.Reservation) {
	now := e.o.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.joined, func(_ string, r remoteRun) bool { return now.Sub(r.at) > e.o.Deadline/2 })
	e.joined[key] = remoteRun{r, now}
}

// joinAgain joins a run of another server that questions of the key have joined before.
func (e *Engine) joinAgain(ctx context.Context, key string, by request) event.RunID {
	e.mu.Lock()
	r, ok := e.joined[key]
	e.mu.Unlock()
	if !ok {
		return ""
	}
	if e.joinElsewhere(ctx, r.Reservation, by) {
		return r.Run
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.joined[key] == r {
		delete(e.joined, key)
	}
	return ""
}

// joinElsewhere adds a question to a run of another server, and reports whether that was possible.
func (e *Engine) joinElsewhere(ctx context.Context, r eventlog.Reservation, by request) bool {
	if sharer, _ := e.sharing(); r.Server == sharer.Server() || !e.o.Peers.Alive(r.Server) {
		return false
	}
	done, err := e.o.Peers.Join(context.WithoutCancel(ctx), r.Server, Joining{Run: r.Run, Caller: by.caller, Attached: by.attached})
	if err != nil {
		e.o.Logger.Debug("a question could not join the run of another server", "run", r.Run, "error", err)
	}
	if done && by.attached {
		_ = e.Attach(r.Run) // until the caller detaches
	}
	return done
}

// joinForPeer adds a question that was asked on another server to a run. It replies when the run has started.
func (e *Engine) joinForPeer(j Joining, reply func(done bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runs[j.Run]
	if !e.joinable(r) {
		reply(false)
		return
	}
	e.add(r, request{caller: j.Caller, attached: j.Attached, peer: true})
	if r.shared = true; j.Attached {
		r.readElse = e.o.Now()
	}
	e.beginGrace(r)
	e.wg.Go(func() {
		<-r.begun
		reply(r.startErr == nil)
	})
}
