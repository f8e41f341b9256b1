package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// Recovery selects what [Engine.Recover] does with the runs that an earlier process left without a terminal event. The zero value
// resumes those whose deadline has not passed.
type Recovery struct {
	Fail  bool            // end all of them
	Ready <-chan struct{} // resumed runs wait until it is closed, at most until their deadline; nil: they do not wait
}

// Recovered counts the runs that [Engine.Recover] resumed and those that it ended.
type Recovered struct{ Resumed, Failed int }

// Recover resumes the runs that an earlier process left without a terminal event, or ends them. Resumed runs are live when it
// returns: they can be read, cancelled and deleted, and are cancelled after the grace period, at least 10 seconds, if nobody reads
// them. So call it just before readers can connect. If several servers share the store, these are the runs of this server: see [eventlog.Sharer].
// From then on it answers the requests of the other ones: see [Options.Peers]. The answerer gets a recorder with the run's log. Questions may be asked
// while Recover works.
func (e *Engine) Recover(ctx context.Context, how Recovery) (n Recovered, err error) {
	archive, ok := e.o.Store.(eventlog.Archive)
	if !ok {
		return n, nil
	}
	if err := e.joinPeers(); err != nil {
		return n, err
	}
	if sharer, _ := e.sharing(); sharer != nil { // the archive has the runs of other servers, too
		e.peers.sweeping.Lock()
		defer e.peers.sweeping.Unlock()
		owned, err := sharer.Owned(ctx)
		if err == nil {
			n, err = e.takeAll(ctx, owned[sharer.Server()], sharer.Server(), how)
		}
		if err != nil {
			return n, fmt.Errorf("recover runs: %w", err)
		}
		return n, e.recoverHolds(ctx, archive)
	}
	const page = 1000
	before := event.RunID("")
	for {
		runs, err := archive.Runs(ctx, before, page)
		if err != nil {
			return n, fmt.Errorf("recover runs: %w", err)
		}
		e.recoverAll(ctx, runs, how, &n)
		if len(runs) < page {
			return n, e.recoverHolds(ctx, archive)
		}
		before = runs[len(runs)-1].Start.Run
	}
}

func (e *Engine) recoverAll(ctx context.Context, runs []eventlog.Summary, how Recovery, n *Recovered) {
	for _, s := range runs {
		e.recoverOne(ctx, s, "", how, n)
	}
}

// recoverOne recovers a run of a server.
func (e *Engine) recoverOne(ctx context.Context, s eventlog.Summary, from string, how Recovery, n *Recovered) {
	id := s.Start.Run
	e.mu.Lock()
	r := e.runs[id]
	own := r != nil && !r.lost
	e.mu.Unlock()
	if own {
		return // this process started it
	}
	err := eventlog.ErrEnd
	if sharer, _ := e.sharing(); !s.Ended {
		err = e.recover(ctx, s, from, how, n)
	} else if sharer != nil {
		_, err = sharer.Claim(ctx, s, from)
	}
	switch {
	case err == nil, errors.Is(err, eventlog.ErrConflict), errors.Is(err, answer.ErrTakenOver), errors.Is(err, eventlog.ErrNotFound):
	case errors.Is(err, eventlog.ErrEnd):
		if s.Code == fault.Internal || s.Code == fault.NoSpace { // a run that failed otherwise cannot have been charged
			e.refund(ctx, id)
		}
		if s.Start.Ephemeral {
			e.recoverEphemeral(id)
		}
	default:
		e.o.Logger.Warn("run could not be recovered", "run", id, "error", err)
		if errors.Is(err, answer.ErrNoEnd) {
			e.mu.Lock()
			e.runs[id] = &run{id: id, state: ended, lost: true}
			e.mu.Unlock()
		}
	}
}

var errStopped = fault.New(fault.Internal, "the server stopped before the answer was finished")

// recover resumes one run, or ends it. Errors: those of claim, and [answer.ErrNoEnd].
func (e *Engine) recover(ctx context.Context, s eventlog.Summary, from string, how Recovery, n *Recovered) error {
	id := s.Start.Run
	rec, err := e.claim(ctx, s, from)
	if damaged, ok := errors.AsType[*damagedError](err); ok {
		e.o.Logger.Warn("the log of a run cannot be continued", "run", id, "error", damaged.error)
		return e.endDamaged(ctx, s, n)
	}
	if err != nil {
		return err
	}
	payment, err := e.o.Billing.Payment(ctx, id)
	if err != nil {
		return err
	}
	if payment == event.Charged && rec.Complete() {
		err := answer.Run(ctx, completeAnswerer{}, rec, answer.Ending{Settle: e.settle, Shared: e.o.Peers != nil})
		if err == nil {
			e.endedElsewhere(rec)
		}
		if err == nil && s.Start.Ephemeral {
			e.recoverEphemeral(id)
		}
		return err
	}
	left := min(e.o.Deadline, e.o.Deadline-e.o.Now().Sub(s.StartedAt))
	cause := error(errStopped)
	if !how.Fail && left > 0 && payment != event.Voided {
		begin := e.limiter.begin
		if e.o.Peers != nil {
			begin = e.limiter.resume
		}
		if cause = e.resume(rec, left, how.Ready, begin); cause == nil {
			n.Resumed++
			return nil
		}
		if e.o.Peers != nil && e.Closing() {
			return answer.ErrTakenOver // another server continues it
		}
	}
	err = answer.Run(ctx, failingAnswerer{cause}, rec, answer.Ending{Refund: e.refund, Shared: e.o.Peers != nil})
	if errors.Is(err, answer.ErrNoEnd) || errors.Is(err, answer.ErrTakenOver) {
		return err
	}
	e.endedElsewhere(rec)
	e.countFailed(s, n)
	return nil
}

// endedElsewhere reports the end of a run that another server may have begun. The callers of Recover look after those of this server.
func (e *Engine) endedElsewhere(rec *answer.Recorder) {
	if e.o.Peers != nil {
		e.o.Ended(rec.State())
	}
}

// completeAnswerer is the answerer of runs whose answer is complete.
type completeAnswerer struct{}

// Answer implements [answer.Answerer].
func (completeAnswerer) Answer(context.Context, *answer.Recorder) error { return nil }

// endDamaged ends a run whose log cannot be read or is invalid. If the store refuses the terminal event, the error is an [answer.ErrNoEnd].
func (e *Engine) endDamaged(ctx context.Context, s eventlog.Summary, n *Recovered) error {
	at := e.o.Now().UTC().Truncate(time.Microsecond)
	if at.Before(s.UpdatedAt) {
		at = s.UpdatedAt
	}
	e.refund(ctx, s.Start.Run)
	end := event.RunFailed{Code: errStopped.Code, Message: errStopped.Message}
	err := e.o.Store.Append(ctx, s.Start.Run, event.Event{Seq: s.Last + 1, At: at, Body: end})
	if err != nil {
		return errors.Join(err, answer.ErrNoEnd)
	}
	e.countFailed(s, n)
	return nil
}

// countFailed counts a run that was ended. An ephemeral run stays for its readers during the grace period.
func (e *Engine) countFailed(s eventlog.Summary, n *Recovered) {
	n.Failed++
	if s.Start.Ephemeral {
		e.recoverEphemeral(s.Start.Run)
	}
}

// failingAnswerer fails every run.
type failingAnswerer struct{ error }

// Answer implements [answer.Answerer].
func (f failingAnswerer) Answer(context.Context, *answer.Recorder) error { return f.error }

// recoverEphemeral deletes an ephemeral run of an earlier process, after a grace period for its readers.
func (e *Engine) recoverEphemeral(id event.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[id] == nil && !e.closing {
		e.expireLater(&run{id: id, state: ended, ephemeral: true, recovered: true})
	}
}

// resume answers the rest of a run. The error is why it cannot.
func (e *Engine) resume(rec *answer.Recorder, left time.Duration, ready <-chan struct{}, begin func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, err := e.addRun(context.Background(), rec.State().RunStarted, begin)
	if err != nil {
		return err
	}
	r.recovered, r.state, r.rec = true, answering, rec
	e.beginGrace(r)
	go func() {
		if ready != nil {
			late := time.NewTimer(left)
			defer late.Stop()
			began := e.o.Now()
			select {
			case <-ready:
			case <-late.C:
			case <-r.ctx.Done():
			}
			left -= e.o.Now().Sub(began)
		}
		rec.Continue()
		e.answer(r, rec, left)
	}()
	return nil
}

// load reads a whole log.
func load(ctx context.Context, store eventlog.Store, id event.RunID) ([]event.Event, error) {
	var log []event.Event
	after := event.Seq(0)
	for {
		batch, err := store.Load(ctx, id, after)
		if errors.Is(err, eventlog.ErrEnd) || err == nil && len(batch) == 0 {
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		log, after = append(log, batch...), batch[len(batch)-1].Seq
	}
}
