package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// takeoversAtOnce bounds the runs that are claimed at once.
const takeoversAtOnce = 16

// TakeOver continues the runs of a server that has died. Of several servers that call it, one gets each run: see [eventlog.Sharer]. Call
// [Engine.Recover] before.
func (e *Engine) TakeOver(ctx context.Context, server string) (n Recovered, err error) {
	sharer, archive := e.sharing()
	if sharer == nil {
		return n, nil
	}
	e.peers.sweeping.Lock()
	defer e.peers.sweeping.Unlock()
	owned, err := sharer.Owned(ctx)
	if err == nil {
		n, err = e.takeAll(ctx, owned[server], server, Recovery{})
	}
	if err == nil {
		err = e.recoverHolds(ctx, archive)
	}
	if err != nil {
		return n, fmt.Errorf("take over runs: %w", err)
	}
	return n, nil
}

// sharing returns the store if other servers share it, and nil otherwise.
func (e *Engine) sharing() (eventlog.Sharer, eventlog.Archive) {
	sharer, ok := e.o.Store.(eventlog.Sharer)
	archive, listed := e.o.Store.(eventlog.Archive)
	if !ok || !listed {
		return nil, nil
	}
	return sharer, archive
}

// sweep continues the runs that no server answers: those of servers whose lease ran out while no other one noticed, and those that two sweeps in
// succession have found to belong to this server, which does not answer them.
func (e *Engine) sweep(ctx context.Context) error {
	if !e.peers.sweeping.TryLock() {
		return nil
	}
	defer e.peers.sweeping.Unlock()
	sharer, archive := e.sharing()
	if sharer == nil || e.Closing() {
		return nil
	}
	owned, err := sharer.Owned(ctx)
	if err != nil {
		return err
	}
	e.forgetUnbegun(owned)
	before := e.peers.unclaimed
	e.peers.unclaimed = map[event.RunID]bool{}
	for server, runs := range owned {
		switch {
		case server == sharer.Server():
			var again []event.RunID
			for _, id := range e.notHere(runs) {
				if e.peers.unclaimed[id] = true; before[id] {
					again = append(again, id)
				}
			}
			runs = again
		case e.o.Peers.Alive(server):
			continue
		}
		if _, err := e.takeAll(ctx, runs, server, Recovery{}); err != nil {
			return err
		}
	}
	e.mu.Lock()
	unstarted := len(e.peers.unstarted)
	e.mu.Unlock()
	if unstarted == 0 {
		return nil
	}
	return e.recoverHolds(ctx, archive)
}

// notHere returns the runs that are not in the table.
func (e *Engine) notHere(runs []event.RunID) (out []event.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range runs {
		if e.runs[id] == nil {
			out = append(out, id)
		}
	}
	return out
}

// takeAll claims runs of a server and continues or ends them, in a random order, so that servers that do the same seldom try the same run.
func (e *Engine) takeAll(ctx context.Context, runs []event.RunID, server string, how Recovery) (total Recovered, err error) {
	_, archive := e.sharing()
	rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, takeoversAtOnce)
	for _, id := range runs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s, serr := archive.Summary(ctx, id)
			var n Recovered
			switch {
			case errors.Is(serr, eventlog.ErrNotFound):
				serr = e.discardUnbegun(ctx, id, server)
			case serr == nil:
				e.recoverOne(ctx, s, server, how, &n)
			}
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, serr)
			total.Resumed, total.Failed = total.Resumed+n.Resumed, total.Failed+n.Failed
		})
	}
	wg.Wait()
	return total, err
}

// discardUnbegun removes what marks a run without a log as that of a server, unless it was found less than startTimeout ago: the server may live and
// be about to write the first event. Without its mark, nobody would continue the run when that server dies.
func (e *Engine) discardUnbegun(ctx context.Context, id event.RunID, server string) error {
	now := e.o.Now()
	e.mu.Lock()
	since, found := e.peers.unbegun[id]
	if !found {
		e.peers.unbegun[id] = now
	}
	e.mu.Unlock()
	if !found || now.Sub(since) < startTimeout {
		return nil
	}
	sharer, _ := e.sharing()
	_, err := sharer.Claim(ctx, eventlog.Summary{Start: event.RunStarted{Run: id}}, server)
	if errors.Is(err, eventlog.ErrNotFound) || errors.Is(err, eventlog.ErrConflict) {
		return nil
	}
	return err
}

// forgetUnbegun forgets when runs without a log were found that no server has any more.
func (e *Engine) forgetUnbegun(owned map[string][]event.RunID) {
	listed := map[event.RunID]bool{}
	for _, runs := range owned {
		for _, id := range runs {
			listed[id] = true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.peers.unbegun, func(id event.RunID, _ time.Time) bool { return !listed[id] })
}

// claim makes a run of a server a run of this one, if other servers share the store, and returns its recorder.
func (e *Engine) claim(ctx context.Context, s eventlog.Summary, from string) (*answer.Recorder, error) {
	var log []event.Event
	var err error
	if sharer, _ := e.sharing(); sharer != nil {
		last, cerr := sharer.Claim(ctx, s, from)
		if cerr != nil {
			return nil, cerr
		}
		log, err = eventlog.Read(ctx, e.o.Store, s.Start.Run, 0, last)
	} else {
		log, err = load(ctx, e.o.Store, s.Start.Run)
	}
	if len(log) > 0 && event.Terminal(log[len(log)-1].Body) {
		return nil, eventlog.ErrEnd // since it was listed
	}
	var rec *answer.Recorder
	if err == nil {
		rec, err = answer.ResumeRecorder(e.o.Store, e.o.Now, log)
	}
	if err != nil {
		return nil, &damagedError{err}
	}
	return rec, nil
}

// damagedError is the error of a log that belongs to this server but cannot be continued.
type damagedError struct{ error }
