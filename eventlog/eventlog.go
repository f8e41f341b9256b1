// Package eventlog stores the event logs of runs. Readers pull events from a [Store] by cursor. There are no channels, so a store neither drops
// events nor waits for readers. [Tail] turns this into a stream.
package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Errors of a store. Test for them with [errors.Is].
var (
	ErrNotFound = errors.New("no such run")
	ErrConflict = errors.New("not the next event of the run")
	ErrEnd      = errors.New("the run has ended and nothing is after the cursor")
	ErrBeyond   = errors.New("the cursor is beyond the end of the log")
	ErrRunning  = errors.New("the run has not ended")

	ErrClosed error = fault.New(fault.Unavailable, "the run log is closed: the server is stopping; try again")
)

// Store stores logs. It is safe for concurrent use.
type Store interface {
	// Append adds all of es to a run, or none. The first event of a run creates the run. ErrConflict: the first of es is not the next in
	// sequence, or the run has ended, so there is a second writer.
	//
	// Readers see an event only after it was written: it survives the end of the process. They see the terminal event only
	// after the whole run is durable. Append returns after that for the first event of a run and for the terminal event; readers
	// see other events within milliseconds, so use Wait before Load to read what was just appended. An event whose write fails is
	// never seen. The store keeps es's elements, not es.
	Append(ctx context.Context, run event.RunID, es ...event.Event) error
	// Load returns events after the cursor, in order and without gaps: all of them, or as many as are cheap to return at once. Its cost
	// depends on what it returns and not on the length of the run. The slice is shared and must not be changed. Without new events, Load
	// returns an empty slice while the run is live and ErrEnd after its end. A cursor past the end is ErrBeyond.
	Load(ctx context.Context, run event.RunID, after event.Seq) ([]event.Event, error)
	// Wait waits until Load would return events or an error. It returns nil in the first case, and may return nil early.
	Wait(ctx context.Context, run event.RunID, after event.Seq) error
}

// Notifier is a Store that reports changes of a run without a goroutine for each reader. Its Load returns all events of a run that has not ended.
type Notifier interface {
	// Notify calls f after each append to the run that readers see, and when the store removes the run from memory, until stop is called. It may
	// not call f for a run that has ended. f must not block and must not call the store; it can be called once more after stop. A reader that
	// calls Notify before Load, and Load again after each call of f, misses nothing. ErrNotFound: there is no such run.
	Notify(run event.RunID, f func()) (stop func(), err error)
}

// Archive lists the runs of a Store.
type Archive interface {
	// Runs lists runs by descending id, the newest first, beginning with the first below the given id (empty: with the newest). A list shorter
	// than limit is the last one: runs without events and deleted runs are skipped and do not shorten a list.
	Runs(ctx context.Context, before event.RunID, limit int) ([]Summary, error)
	// Summary returns the summary of one run.
	Summary(ctx context.Context, run event.RunID) (Summary, error)
}

// Deleter is a Store that can delete runs.
type Deleter interface {
	// Delete deletes a run that has ended. When it returns, readers do not find the run any more, and its content is erased from the storage.
	// ErrRunning: the run has not ended. The id must not be used again.
	Delete(ctx context.Context, run event.RunID) error
}

// Syncer is a Store whose events survive a loss of power only from some later time on.
type Syncer interface {
	// Sync returns after all events that were appended to the run are durable.
	Sync(ctx context.Context, run event.RunID) error
}

// Sharer is a Store that several servers share. Each run belongs to one server: the one that began it, or the last one that claimed it.
type Sharer interface {
	// Server returns the name of this server.
	Server() string
	// Owned returns the runs of each server that have not ended or are ephemeral. It may include runs that have just ended.
	Owned(ctx context.Context) (map[string][]event.RunID, error)
	// Claim makes a run that belongs to the server from, which may be this one or an earlier process of it, a run of this process, and returns the
	// number of its last event; empty: to any server. No other process can append to the run any more, until one claims it. ErrConflict: it does not
	// belong to that server any more. ErrEnd: it has ended; if it is ephemeral, it is a run of this server now. ErrNotFound.
	Claim(ctx context.Context, s Summary, from string) (event.Seq, error)
	// Reserve reserves a key, of letters and digits, for a run of this server, which equal questions then join on all servers. The current
	// reservation of the key must be the given one; zero: there is none. If it is another one, Reserve changes nothing and returns that.
	Reserve(ctx context.Context, key string, run event.RunID, current Reservation) (Reservation, error)
	// Release removes a reservation, unless it was replaced.
	Release(ctx context.Context, r Reservation) error
}

// Reservation is the run that the questions of a key join on all servers.
type Reservation struct {
	Run    event.RunID
	Server string // to which the run belonged when it began
	Seq    uint64 // number of the reservation, at least 1
}

// Brief returns the first event of a run without its long fields, for lists of runs.
func Brief(s event.RunStarted) event.RunStarted {
	s.Summary, s.History, s.Instructions, s.Request = "", nil, "", nil
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

// Apply updates the summary with the next event of the run.
func (s *Summary) Apply(e event.Event) {
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

// Status returns the status of the run.
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

// Tail streams the events of a run after the cursor in batches and ends after the terminal event. A slow reader gets larger batches. Batches
// are shared and must not be changed. After the first error, of the store or of ctx, the sequence ends.
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
				continue // Wait may return early
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

// Read returns the events of a run after the cursor up to the appended event with the number last. It waits for events that are not visible
// yet.
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

// ListStored returns what [Archive.Runs] does without ephemeral runs.
func ListStored(ctx context.Context, a Archive, before event.RunID, limit int) ([]Summary, error) {
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

// CheckAppend returns ErrConflict if es must not follow a log that ends at last. Implementations of Store use it.
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
