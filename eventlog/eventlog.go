// Package eventlog keeps the logs of runs. A [Store] is asked for what is new by cursor; it never hands out a channel,
// so it can neither drop an event nor wait for a reader. [Tail] makes a stream of it.
package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// The errors of a store, to be asked for with [errors.Is].
var (
	ErrNotFound = errors.New("no such run")
	ErrConflict = errors.New("not the next event of the run")
	ErrEnd      = errors.New("the run has ended and nothing is after the cursor")
	ErrBeyond   = errors.New("the cursor is beyond the end of the log")
	ErrClosed   = errors.New("the store is closed")
	ErrRunning  = errors.New("the run has not ended")
)

// Store keeps logs. All methods may be called at once.
type Store interface {
	// Append adds events to a run, all or none. The first event of a run creates it. ErrConflict: the first of es is not
	// the next in sequence, or the run has ended, so there is a second writer.
	//
	// Readers see an event only after it was written: it survives the end of the process. They see the terminal event only
	// after the whole run is durable. Append returns after that for the first event of a run and for the terminal event; readers
	// see other events within milliseconds, so use Wait before Load to read what was just appended. An event whose write fails is
	// never seen. The store keeps es's elements, not es.
	Append(ctx context.Context, run event.RunID, es ...event.Event) error
	// Load gives events after the cursor, in order and without gaps: all there are, or as many as are cheap to give at
	// once. It costs what it gives and not the run. The slice is shared: the caller must not change it. Nothing new gives
	// none and no error while the run is live, ErrEnd after its end; a cursor past the end gives ErrBeyond.
	Load(ctx context.Context, run event.RunID, after event.Seq) ([]event.Event, error)
	// Wait returns nil once Load would not give an empty slice and no error.
	Wait(ctx context.Context, run event.RunID, after event.Seq) error
}

// Archive is a Store's list of runs.
type Archive interface {
	// Runs lists runs by descending id, the newest first, from before the given one (empty: from the newest). A list shorter
	// than the limit is the end: runs without an event and deleted ones are passed over and do not shorten it.
	Runs(ctx context.Context, before event.RunID, limit int) ([]Summary, error)
	// Summary gives one run's.
	Summary(ctx context.Context, run event.RunID) (Summary, error)
}

// Deleter is a Store that can forget a run.
type Deleter interface {
	// Delete removes a run that has ended: no reader finds it any more, and what was in it is gone from where it was kept when
	// the call returns. ErrRunning: it has not ended. A run of the same id may not follow.
	Delete(ctx context.Context, run event.RunID) error
}

// Brief is what is kept at hand of a run's first event, for a list: without what may be long and only its log tells.
func Brief(s event.RunStarted) event.RunStarted {
	s.History, s.Instructions, s.Request = nil, "", nil
	return s
}

// Summary is what a list of runs shows.
type Summary struct {
	Start     event.RunStarted // as [Brief] gives it
	StartedAt time.Time
	UpdatedAt time.Time  // time of the last event
	Last      event.Seq  // sequence number of the last event that readers see
	Ended     bool       // the last event is terminal
	Code      fault.Code // of a run that failed
}

// Note takes up the next event of the summary's run.
func (s *Summary) Note(e event.Event) {
	s.Last, s.UpdatedAt = e.Seq, e.At
	switch b := e.Body.(type) {
	case event.RunStarted:
		s.Start, s.StartedAt = Brief(b), e.At
	case event.RunFinished:
		s.Ended = true
	case event.RunFailed:
		s.Ended, s.Code = true, b.Code
	}
}

// Status is where the run is.
func (s *Summary) Status() event.Status {
	switch {
	case !s.Ended:
		return event.Running
	case s.Code == fault.Cancelled:
		return event.Cancelled
	case s.Code != "":
		return event.Failed
	}
	return event.Finished
}

// Tail streams a run from after the cursor: batches of everything that is new, live or long finished, and ends after the
// terminal event. A reader that lags gets more at once. Batches are shared and must not be changed. The first error, of
// the store or of ctx, is the last thing it yields.
func Tail(ctx context.Context, s Store, run event.RunID, after event.Seq) iter.Seq2[[]event.Event, error] {
	return func(yield func([]event.Event, error) bool) {
		for {
			err := s.Wait(ctx, run, after)
			var batch []event.Event
			if err == nil {
				batch, err = s.Load(ctx, run, after)
			}
			if errors.Is(err, ErrEnd) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(batch) == 0 {
				continue // a store may wake early
			}
			if !yield(batch, nil) {
				return
			}
			last := batch[len(batch)-1]
			if event.Terminal(last.Body) {
				return
			}
			after = last.Seq
		}
	}
}

// Read gives the events of a run from after the cursor to the number last, which was appended, and waits for those that
// readers do not see yet.
func Read(ctx context.Context, s Store, run event.RunID, after, last event.Seq) ([]event.Event, error) {
	var log []event.Event
	for after < last {
		if err := s.Wait(ctx, run, after); err != nil {
			return nil, err
		}
		batch, err := s.Load(ctx, run, after)
		if err != nil {
			return nil, err
		}
		for _, e := range batch {
			if e.Seq <= last {
				log, after = append(log, e), e.Seq
			}
		}
	}
	return log, nil
}

// Stored is Runs without ephemeral runs, which no list shows.
func Stored(ctx context.Context, a Archive, before event.RunID, limit int) ([]Summary, error) {
	var out []Summary
	for len(out) < limit {
		page, err := a.Runs(ctx, before, limit)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if before = s.Start.Run; !s.Start.Ephemeral && len(out) < limit {
				out = append(out, s)
			}
		}
		if len(page) < limit {
			break
		}
	}
	return out, nil
}

// CheckAppend tells whether es may follow a log that ends at last: ErrConflict, wrapped, if not. Stores share it.
func CheckAppend(last event.Seq, ended bool, es []event.Event) error {
	for _, e := range es {
		if ended || e.Body == nil || !e.Follows(last) {
			return ErrConflict
		}
		if _, start := e.Body.(event.RunStarted); start != (e.Seq == 1) {
			return ErrConflict
		}
		last, ended = e.Seq, event.Terminal(e.Body)
	}
	return nil
}
