package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Peers are the other servers that share the store of an engine. Each server has a lease, which it renews while it runs. When the lease has run
// out, others take over its runs: see [Engine.TakeOver]. All methods may be called at once.
type Peers interface {
	// Alive reports whether the lease of a server has not run out. This server is alive.
	Alive(server string) bool
	// Others reports whether another server is alive.
	Others() bool
	// Serve answers the requests of other servers until stop is called.
	Serve(h Handlers) (stop func(), err error)
	// Cancel asks the other servers to cancel a run. It returns false if none of them that replies answers the run.
	Cancel(ctx context.Context, c Cancellation) (done bool, err error)
	// Join asks the server that answers a run to add a question to it. It returns false if the run cannot be joined any more.
	Join(ctx context.Context, server string, j Joining) (done bool, err error)
	// Read tells the other servers that runs have readers here. It is repeated every second while they have.
	Read(runs []event.RunID)
}

// Handlers answer the requests of other servers.
type Handlers struct {
	Cancel func(Cancellation) bool                // reports whether this server answers the run
	Join   func(j Joining, reply func(done bool)) // replies when the run has started, or else that the question was not added to it; it does not block
	Read   func([]event.RunID)
}

// Cancellation is a request to cancel a run.
type Cancellation struct {
	Run    event.RunID
	Caller string // whose question is withdrawn: see [Engine.Cancel]
	All    bool   // all questions are withdrawn
}

// Joining is a question that was asked on another server than that which answers its run.
type Joining struct {
	Run      event.RunID
	Caller   string // see [Caller.ID]
	Attached bool   // the caller reads the run
}

const (
	readEvery  = time.Second    // how often readers are reported
	readKeep   = 3 * readEvery  // how long a report counts
	firstSweep = 4 * readEvery  // when runs are first looked for that no server answers
	sweepEvery = 15 * readEvery // how often later
)

// peering is the work of an engine with peers.
type peering struct {
	sweeping  sync.Mutex                // held while runs are taken over
	unclaimed map[event.RunID]bool      // runs of this server that the last sweep found and that are not in the engine's table
	unstarted map[event.RunID]time.Time // holds of runs without a log, and when they were found; guarded by Engine.mu
	unbegun   map[event.RunID]time.Time // runs of servers without a log, and when they were found; guarded by Engine.mu
	begin     sync.Once
	stop      context.CancelFunc // nil: [Engine.Recover] was not called
	work      sync.WaitGroup
}

// joinPeers begins to answer the requests of other servers, and to look for runs that no server answers.
func (e *Engine) joinPeers() (err error) {
	if e.o.Peers == nil {
		return nil
	}
	e.peers.begin.Do(func() {
		var leave func()
		if leave, err = e.o.Peers.Serve(Handlers{Cancel: e.cancelHere, Join: e.joinForPeer, Read: e.readElsewhere}); err != nil {
			err = fmt.Errorf("join other servers: %w", err)
			return
		}
		var ctx context.Context
		ctx, e.peers.stop = context.WithCancel(context.Background())
		e.peers.work.Go(func() {
			defer leave()
			e.attend(ctx)
		})
	})
	return err
}

func (e *Engine) closePeers() {
	if e.peers.stop != nil {
		e.peers.stop()
	}
	e.peers.work.Wait()
}

// attend reports readers and sweeps until the context ends.
func (e *Engine) attend(ctx context.Context) {
	report, sweep := time.NewTicker(readEvery), time.NewTimer(firstSweep)
	defer report.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-report.C:
			if runs := e.readHere(); len(runs) > 0 {
				e.o.Peers.Read(runs)
			}
		case <-sweep.C:
			sweep.Reset(sweepEvery)
			e.peers.work.Go(func() {
				if err := e.sweep(ctx); err != nil && ctx.Err() == nil {
					e.o.Logger.Warn("could not look for unfinished runs of other servers", "error", err)
				}
			})
		}
	}
}

// readHere returns the runs that are read here and not answered here.
func (e *Engine) readHere() (runs []event.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.readers {
		if !e.runs[id].live() {
			runs = append(runs, id)
		}
	}
	return runs
}

// readElsewhere notes that runs are read on another server. The grace period of a live one begins again.
func (e *Engine) readElsewhere(runs []event.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range runs {
		r := e.runs[id]
		if r == nil {
			continue
		}
		if r.readElse = e.o.Now(); r.live() && r.timer != nil {
			r.stopGrace()
			e.beginGrace(r)
		}
	}
}

// cancelHere cancels a run that this server answers, and reports whether it does.
func (e *Engine) cancelHere(c Cancellation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runs[c.Run]
	switch {
	case !r.live():
		return false
	case c.All:
		e.cancelRun(r, errCancelled())
	default:
		e.withdraw(r, c.Caller)
	}
	return true
}

// cancelElsewhere cancels a run that another server answers. If none replies, this one takes the run over and ends it.
func (e *Engine) cancelElsewhere(ctx context.Context, c Cancellation) error {
	archive, ok := e.o.Store.(eventlog.Archive)
	if !ok || e.o.Peers == nil {
		return nil
	}
	s, err := archive.Summary(ctx, c.Run)
	if err != nil || s.Ended {
		return err
	}
	if done, err := e.o.Peers.Cancel(ctx, c); done || err != nil {
		return err
	}
	rec, err := e.claim(ctx, s, "")
	if errors.Is(err, eventlog.ErrEnd) {
		return nil
	}
	if err != nil {
		return err
	}
	err = answer.Run(ctx, failingAnswerer{errCancelled()}, rec, answer.Ending{Refund: e.refund, Shared: true})
	if errors.Is(err, answer.ErrNoEnd) || errors.Is(err, answer.ErrTakenOver) {
		return err
	}
	e.o.Ended(rec.State())
	if s.Start.Ephemeral {
		e.recoverEphemeral(c.Run)
	}
	return nil
}

// endElsewhere cancels a run that another server answers, for all of its callers, and waits for its end.
func (e *Engine) endElsewhere(ctx context.Context, id event.RunID) error {
	archive, ok := e.o.Store.(eventlog.Archive)
	if !ok || e.o.Peers == nil {
		return nil
	}
	s, err := archive.Summary(ctx, id)
	if err != nil || s.Ended {
		return err
	}
	if err := e.cancelElsewhere(ctx, Cancellation{Run: id, All: true}); err != nil {
		return err
	}
	for _, err := range eventlog.Tail(ctx, e.o.Store, id, s.Last) {
		if err != nil {
			return err
		}
	}
	return nil
}
