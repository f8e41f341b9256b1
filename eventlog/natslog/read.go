package natslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// How a reader gets events:
//
//   - The newest events of a run that is written or followed here are in its feed.
//   - Otherwise the message with the event after the cursor is searched for: a stream has no index of events, but each message says which events
//     it holds, so an interpolation search over the sequences of the stream needs a few gets. From there on, batches of messages are read. The
//     place where each batch ended is remembered, so a reader that goes on needs no search.

// Load implements [eventlog.Store]. While NATS does not reply, it waits for it: see Options.Timeout.
func (l *Log) Load(ctx context.Context, id event.RunID, after event.Seq) ([]event.Event, error) {
	if err := l.check(id); err != nil {
		return nil, err
	}
	if f := l.feed(id); f != nil {
		if es, known, err := f.load(after); known {
			return es, err
		}
	}
	if from, ok := l.places.Get(cursor{id, after}); ok || after == 0 {
		if es, err := l.loadFrom(ctx, id, after, from); err != nil || len(es) > 0 {
			return es, err
		}
	}
	t, err := l.tailAfter(ctx, id, after)
	switch {
	case errors.Is(err, errNone):
		return nil, eventlog.ErrNotFound
	case err != nil:
		return nil, err
	case after > t.last:
		return nil, eventlog.ErrBeyond
	case after == t.last && t.ended:
		return nil, eventlog.ErrEnd
	case after == t.last:
		return nil, nil
	}
	from, err := l.search(ctx, id, after, t)
	if err != nil {
		return nil, err
	}
	es, err := l.loadFrom(ctx, id, after, from)
	if err == nil && len(es) == 0 {
		es, err = l.loadStored(ctx, id, after, from)
	}
	return es, err
}

// check returns an error for a log that is closed or an id that cannot exist.
func (l *Log) check(id event.RunID) error {
	if l.ctx.Err() != nil {
		return eventlog.ErrClosed
	}
	if !id.Valid() {
		return eventlog.ErrNotFound
	}
	return nil
}

// loadFrom returns events after the cursor from a batch of messages that begins at a stream sequence. It returns none if the replica that
// replied has none.
func (l *Log) loadFrom(ctx context.Context, id event.RunID, after event.Seq, from uint64) ([]event.Event, error) {
	ms, err := l.batch(ctx, l.names.run(id), from)
	if err != nil || len(ms) == 0 {
		return nil, wrapRead(id, err)
	}
	r, err := l.reading(ctx, id, after)
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		if err := r.add(m); err != nil {
			return nil, r.wrap(id, err)
		}
	}
	// A record may have more parts than a batch.
	for len(ms) > 0 && len(r.events) == 0 && r.open() {
		if ms, err = l.batch(ctx, l.names.run(id), r.seq+1); err != nil {
			return nil, wrapRead(id, err)
		}
		for _, m := range ms {
			if err := r.add(m); err != nil {
				return nil, r.wrap(id, err)
			}
		}
	}
	if n := len(r.events); n > 0 {
		l.places.Add(cursor{id, r.events[n-1].Seq}, r.complete+1)
	}
	return r.events, nil
}

// loadStored is loadFrom of the leader of the stream: it reads one record.
func (l *Log) loadStored(ctx context.Context, id event.RunID, after event.Seq, from uint64) ([]event.Event, error) {
	r, err := l.reading(ctx, id, after)
	if err != nil {
		return nil, err
	}
	for len(r.events) == 0 {
		m, err := l.next(ctx, l.names.run(id), from)
		if errors.Is(err, errNone) {
			return nil, eventlog.ErrNotFound // it was deleted meanwhile
		}
		if err == nil {
			err = r.add(m)
		}
		if err != nil {
			return nil, r.wrap(id, err)
		}
		from = m.seq + 1
	}
	l.places.Add(cursor{id, r.events[len(r.events)-1].Seq}, r.complete+1)
	return r.events, nil
}

// reading collects events after a cursor from the messages of a run.
type reading struct {
	after    event.Seq
	events   []event.Event
	seq      uint64 // stream sequence of the last message
	complete uint64 // of the last message that completed a record
	joiner
}

// reading begins to read a run. A run without a key was deleted.
func (l *Log) reading(ctx context.Context, id event.RunID, after event.Seq) (*reading, error) {
	key, err := l.sealer(ctx, id)
	if errors.Is(err, errNone) {
		return nil, eventlog.ErrNotFound
	}
	if err != nil {
		return nil, wrapRead(id, err)
	}
	return &reading{after: after, joiner: joiner{key: key}}, nil
}

func wrapRead(id event.RunID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read run %s: %w", id, err)
}

var errGap = errors.New("events are missing")

// open reports whether the last message belongs to a record that is not complete.
func (r *reading) open() bool { return r.joiner.write != "" && !r.joiner.whole() }

func (r *reading) add(m message) error {
	r.seq = m.seq
	es, err := r.joiner.add(m.record)
	if err != nil || len(es) == 0 {
		return err
	}
	r.complete = m.seq
	for len(es) > 0 && es[0].Seq <= r.after {
		es = es[1:]
	}
	if len(es) == 0 {
		return nil
	}
	if es[0].Seq != r.after+1 {
		return errGap
	}
	r.events, r.after = append(r.events, es...), es[len(es)-1].Seq
	return nil
}

// wrap returns the error of a run that could not be read. One whose beginning is missing was deleted because of its age, or is being deleted.
func (r *reading) wrap(id event.RunID, err error) error {
	if errors.Is(err, errGap) {
		return eventlog.ErrNotFound
	}
	return fmt.Errorf("read run %s: %w", id, err)
}

// search returns a stream sequence at or before which the record with the event after the cursor begins, and after which no other event of the
// run is skipped. The cursor is before the end of the run.
func (l *Log) search(ctx context.Context, id event.RunID, after event.Seq, t tail) (uint64, error) {
	if after == 0 {
		return 0, nil
	}
	subject, target := l.names.run(id), after+1
	first, err := l.next(ctx, subject, 0)
	if err != nil {
		return 0, fmt.Errorf("read run %s: %w", id, err)
	}
	if first.last >= target {
		return first.seq, nil
	}
	low, high := first, message{seq: t.seq, record: record{last: t.last}} // the last event of low is before the target, that of high is not
	for step := 0; high.seq > low.seq+1 && (low.last != after || !low.whole()); step++ {
		mid := low.seq + 1 + (high.seq-low.seq-1)/2
		if span := high.last - low.last; step%2 == 0 && span > 0 { // interpolation; every second step is bisection, for runs with pauses
			mid = low.seq + max(1, min(high.seq-low.seq-1, uint64(float64(high.seq-low.seq)*float64(target-low.last)/float64(span))))
		}
		m, err := l.next(ctx, subject, mid)
		if err != nil {
			return 0, fmt.Errorf("read run %s: %w", id, err)
		}
		if m.last >= target {
			high.seq, high.last = mid, m.last
		} else {
			low = m
		}
	}
	if low.last == after && low.whole() {
		return low.seq + 1, nil
	}
	return high.seq, nil
}

// record returns the events of a record of several parts, whose last message is m.
func (l *Log) record(ctx context.Context, m message) ([]event.Event, error) {
	var from uint64
	if m.first > 1 {
		var err error
		if from, err = l.search(ctx, runID(m.subject), m.first-1, tail{seq: m.seq, last: m.last}); err != nil {
			return nil, err
		}
	}
	r, err := l.reading(ctx, runID(m.subject), m.first-1)
	if err != nil {
		return nil, err
	}
	for r.seq < m.seq {
		part, err := l.next(ctx, m.subject, from)
		if err == nil {
			err = r.add(part)
		}
		if err != nil {
			return nil, err
		}
		from = part.seq + 1
	}
	if len(r.events) == 0 {
		return nil, errRecord
	}
	return r.events, nil
}

// Wait implements [eventlog.Store].
func (l *Log) Wait(ctx context.Context, id event.RunID, after event.Seq) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.check(id); err != nil {
			return err
		}
		if f := l.feed(id); f != nil && f.reaches(after) {
			if err := f.wait(ctx, after); !errors.Is(err, errStale) {
				return err
			}
		}
		t, err := l.tailAfter(ctx, id, after)
		switch {
		case errors.Is(err, errNone):
			return eventlog.ErrNotFound
		case err != nil:
			return err
		case after > t.last:
			return eventlog.ErrBeyond
		case after == t.last && t.ended:
			return eventlog.ErrEnd
		case after < t.last:
			return nil
		}
		if err := l.open(ctx, id); err != nil {
			return err
		}
		if f := l.feed(id); f != nil { // it may not have got the event of the cursor yet
			if err := f.wait(ctx, after); !errors.Is(err, errStale) {
				return err
			}
		}
	}
}
