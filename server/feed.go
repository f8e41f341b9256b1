package server

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/wire"
)

// errQuiet says that nothing happened until a deadline.
var errQuiet = errors.New("nothing has happened")

// piece is how many events are projected at once where each of them is told.
const piece = 100

// feed reads a run's log as a protocol wants to be told of it. It is for one goroutine at a time.
type feed struct {
	engine *engine.Engine
	run    event.RunID
	paced  wire.Throttled // nil: nothing waits
	rest   []event.Event
}

func newFeed(e *engine.Engine, run event.RunID, p wire.Protocol) feed {
	f := feed{engine: e, run: run}
	if paced, ok := p.(wire.Throttled); ok && paced.MinInterval() > 0 {
		f.paced = paced
	}
	return f
}

// next waits for events behind a place that are due: in a protocol with a pace, those that may wait are due an interval after
// the last frame, or together with one that may not. Errors: errQuiet, if nothing is due until the deadline; [io.EOF] behind
// the end; those of the log and of ctx.
func (f *feed) next(ctx context.Context, after event.Seq, shown, quiet time.Time) ([]event.Event, error) {
	if len(f.rest) == 0 {
		var err error
		if f.rest, err = f.load(ctx, after, quiet); err != nil {
			return nil, err
		}
	}
	if f.paced == nil {
		n := min(piece, len(f.rest))
		batch := f.rest[:n]
		f.rest = f.rest[n:]
		return batch, nil
	}
	batch := f.rest
	f.rest = nil
	due := shown.Add(f.paced.MinInterval())
	for fresh := batch; ; {
		if f.urgent(fresh) || !time.Now().Before(due) {
			return batch, nil
		}
		var err error
		fresh, err = f.load(ctx, batch[len(batch)-1].Seq, due)
		if err != nil && !errors.Is(err, errQuiet) {
			return nil, err // what waits is still in the log
		}
		batch = append(batch[:len(batch):len(batch)], fresh...)
	}
}

func (f *feed) urgent(es []event.Event) bool {
	for _, e := range es {
		if !f.paced.Coalesces(e.Body) || event.Terminal(e.Body) {
			return true
		}
	}
	return false
}

// load gives what is behind a place, once there is something.
func (f *feed) load(ctx context.Context, after event.Seq, deadline time.Time) ([]event.Event, error) {
	es, err := f.engine.Store().Load(ctx, f.run, after)
	if errors.Is(err, eventlog.ErrEnd) {
		return nil, io.EOF
	}
	if err != nil || len(es) > 0 {
		return es, err
	}
	wait, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for es, err := range f.engine.Events(wait, f.run, after) {
		if err != nil && wait.Err() != nil && ctx.Err() == nil {
			return nil, errQuiet
		}
		return es, err
	}
	return nil, io.EOF
}

// until gives the events of the log from behind one place to another, which are there.
func (f *feed) until(ctx context.Context, after, to event.Seq) ([]event.Event, error) {
	var all []event.Event
	f.rest = nil
	for after < to {
		es, err := f.engine.Store().Load(ctx, f.run, after)
		if err != nil {
			return nil, err
		}
		if len(es) == 0 {
			return nil, eventlog.ErrBeyond
		}
		es = es[:min(uint64(len(es)), uint64(to-after))]
		if after = es[len(es)-1].Seq; all == nil {
			all = es[:len(es):len(es)]
		} else {
			all = append(all, es...)
		}
	}
	return all, nil
}
