package natslog

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/natsconn"
)

// How events are written:
//
//   - Each run has at most one message on its way. What is appended meanwhile is the next message.
//   - A message names the stream sequence of the run's message before it. If NATS refuses that, either another server has written to the run, or
//     this message was written before and its acknowledgement was lost: the message that stands there shows which.
//   - Without a reply the message is sent again until it is acknowledged or refused. Only the creation of a run is given up, and undone.

// maxAppend bounds the encoded size of one append.
const maxAppend = 64 << 20

// headerRoom is the part of a message's maximum size that is left for its headers and subject.
const headerRoom = 1 << 10

// writer writes the events of one run.
type writer struct {
	id     event.RunID
	ctx    context.Context // ends when the creation of the run is given up
	giveUp context.CancelFunc

	key    sealer
	unmark bool // remove the mark of the run after its end

	mu      sync.Mutex
	owned   bool      // the last message of the run is known, and is by this writer
	seq     uint64    // its stream sequence
	last    event.Seq // number of the last event that was accepted
	ended   bool      // that event is terminal
	pending []*batch
	newest  *batch // that was accepted
	busy    bool   // a goroutine writes
	lost    error  // accepted events could not be written; the next Append returns it
	gone    bool   // no longer in Log.writers
	used    time.Time
}

// batch is the events of one Append.
type batch struct {
	es      []event.Event
	lines   []byte
	done    chan struct{} // closed when err is set
	err     error
	awaited bool // by its Append
}

// Append implements [eventlog.Store]. Events that a call has accepted are written as soon as NATS takes them, also if that is after the call. A
// call waits for that with the first event of a run, the terminal event, and the first event that this process adds to the run of another one. While
// NATS does not reply, the others return at once until too much is unwritten. A call that has waited for Options.Timeout, or whose context ends,
// returns an error of code [fault.Unavailable] or the context's: its events are then not in the run, except for a terminal event, which is written later,
// and for which the context does not end the wait. If accepted events turn out to conflict with another writer, the next call returns
// [eventlog.ErrConflict].
func (l *Log) Append(ctx context.Context, id event.RunID, es ...event.Event) error {
	if len(es) == 0 {
		return nil
	}
	if l.ctx.Err() != nil {
		return eventlog.ErrClosed
	}
	if !id.Valid() {
		return fmt.Errorf("append: %.80q is not the id of a run", id)
	}
	last := es[len(es)-1]
	if err := eventlog.CheckAppend(es[0].Seq-1, false, es); err != nil || last.Seq != es[0].Seq+event.Seq(len(es)-1) { //nolint:gosec // a length
		return eventlog.ErrConflict
	}
	b := &batch{es: append([]event.Event(nil), es...), done: make(chan struct{})}
	for _, e := range es {
		var err error
		if b.lines, err = event.AppendJSON(b.lines, e); err != nil {
			return fmt.Errorf("append to %s: %w", id, err)
		}
		b.lines = append(b.lines, '\n')
	}
	if len(b.lines) > maxAppend {
		return fault.New(fault.TooLarge, "append: %d bytes at once are more than %d", len(b.lines), maxAppend)
	}
	terminal := event.Terminal(last.Body)
	if terminal {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.o.Timeout, errTimeout)
	defer cancel()
	if !terminal {
		if err := l.waitRoom(ctx); err != nil {
			return err
		}
	}
	w, err := l.accept(ctx, id, b)
	if err != nil || !b.awaited {
		return err
	}
	return l.await(ctx, w, b)
}

// accept adds a batch to what is to be written.
func (l *Log) accept(ctx context.Context, id event.RunID, b *batch) (*writer, error) {
	for {
		w := l.writer(id)
		again, err := l.acceptTo(ctx, w, b)
		if !again {
			return w, err
		}
	}
}

// acceptTo adds a batch to the writer. The caller repeats that with another writer if this one is no longer used.
func (l *Log) acceptTo(ctx context.Context, w *writer, b *batch) (again bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return true, nil
	}
	w.used = time.Now()
	if w.lost != nil {
		err := w.lost
		l.removeWriter(w)
		return false, err
	}
	if !w.owned && len(w.pending) == 0 && !w.busy && b.es[0].Seq > 1 {
		t, err := l.tail(ctx, w.id)
		if err == nil {
			w.key, err = l.sealer(ctx, w.id)
		}
		if err != nil && !errors.Is(err, errNone) {
			l.removeWriter(w)
			return false, err
		}
		w.seq, w.last, w.ended = t.seq, t.last, t.ended
	}
	if err := eventlog.CheckAppend(w.last, w.ended, b.es); err != nil || b.es[0].Seq != w.last+1 {
		if !w.owned && len(w.pending) == 0 && !w.busy {
			l.removeWriter(w)
		}
		return false, eventlog.ErrConflict
	}
	last := b.es[len(b.es)-1]
	b.awaited = !w.owned || event.Terminal(last.Body)
	w.last, w.ended = last.Seq, event.Terminal(last.Body)
	w.pending, w.newest = append(w.pending, b), b
	l.addPending(len(b.lines))
	if !w.busy {
		w.busy = true
		if !l.goWork(func() { l.write(w) }) {
			return false, eventlog.ErrClosed
		}
	}
	return false, nil
}

// goWork starts a goroutine that Close waits for. It returns false if the log is closed.
func (l *Log) goWork(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Go(f)
	return true
}

// await waits until a batch is written.
func (l *Log) await(ctx context.Context, w *writer, b *batch) error {
	select {
	case <-b.done:
		return b.err
	case <-l.ctx.Done():
		return eventlog.ErrClosed
	case <-ctx.Done():
	}
	if b.es[0].Seq == 1 {
		w.giveUp()
		select {
		case <-b.done: // with an error, unless it was just written
		case <-l.ctx.Done():
			return eventlog.ErrClosed
		}
		if b.err == nil {
			return nil
		}
	}
	return l.stopped(ctx)
}

func (l *Log) lastFailure() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return errTimeout
}

// writer returns the writer of a run, which it makes if need be.
func (l *Log) writer(id event.RunID) *writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.writers[id]
	if w == nil {
		w = &writer{id: id, used: time.Now()}
		w.ctx, w.giveUp = context.WithCancel(l.ctx)
		l.writers[id] = w
	}
	return w
}

// removeWriter makes the next Append look at the stream again. The caller holds w.mu.
func (l *Log) removeWriter(w *writer) {
	w.gone = true
	w.giveUp()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writers[w.id] == w {
		delete(l.writers, w.id)
	}
}

// disposable reports whether nobody has used the writer for a long time, and marks it as removed.
func (w *writer) disposable(now time.Time) bool {
	if !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	if !w.busy && w.lost == nil && now.Sub(w.used) > 20*feedIdle {
		w.gone = true
		w.giveUp()
	}
	return w.gone
}

// write writes what is pending, until nothing is.
func (l *Log) write(w *writer) {
	for {
		group, seq, first := w.take(l.partBytes())
		if group == nil {
			return
		}
		var err error
		if first {
			start, _ := group[0].es[0].Body.(event.RunStarted)
			w.key, _ = newSealer(randomKey())
			w.unmark = !start.Ephemeral
			err = l.mark(w.ctx, w.id, w.key)
		}
		r := newRecord(group)
		if err == nil {
			seq, err = l.writeRecord(w, r, seq)
		}
		if err == nil {
			l.wrote(w, group, seq)
			continue
		}
		closed := l.ctx.Err() != nil
		if closed {
			err = eventlog.ErrClosed
		}
		l.fail(w, group, err)
		if first && !closed {
			l.undo(w, r)
		}
		return
	}
}

// take returns the batches of the next record, and the sequence of the message before it. It returns nil, and the writer is not busy any more, if
// there are none.
func (w *writer) take(limit int) (group []*batch, seq uint64, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0
	for i, b := range w.pending {
		if size += len(b.lines); i > 0 && size > limit {
			break
		}
		group = append(group, b)
	}
	if group == nil {
		w.busy = false
		return nil, 0, false
	}
	w.pending = w.pending[len(group):]
	return group, w.seq, group[0].es[0].Seq == 1
}

// partBytes is how much of a record one message holds.
func (l *Log) partBytes() int { return max(int(l.nc.MaxPayload())-headerRoom, headerRoom) }

// newRecord returns the record of the batches.
func newRecord(group []*batch) record {
	es := group[len(group)-1].es
	last := es[len(es)-1]
	return record{first: group[0].es[0].Seq, last: last.Seq, end: event.Terminal(last.Body), write: rand.Text(), data: joinLines(group)}
}

// writeRecord writes one record and returns the stream sequence of its last message.
func (l *Log) writeRecord(w *writer, r record, seq uint64) (uint64, error) {
	for _, part := range r.split(l.partBytes()) {
		m := &nats.Msg{Subject: l.names.run(w.id), Header: part.header(), Data: w.key.seal(part).data}
		next, err := l.send(w.ctx, m, part, seq)
		if err != nil {
			return 0, err
		}
		seq = next
	}
	return seq, nil
}

func joinLines(group []*batch) []byte {
	if len(group) == 1 {
		return group[0].lines
	}
	var data []byte
	for _, b := range group {
		data = append(data, b.lines...)
	}
	return data
}

// send writes one message after the run's message with a stream sequence; 0: the run has none. It repeats that until NATS acknowledges or refuses it.
func (l *Log) send(ctx context.Context, m *nats.Msg, r record, after uint64) (uint64, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		once, cancel := context.WithTimeout(ctx, written)
		seq, err := l.sendOnce(once, m, r, after)
		cancel()
		if err == nil {
			l.recovered()
			return seq, nil
		}
		if !transient(err) && ctx.Err() == nil {
			l.recovered()
			return 0, err
		}
		if ctx.Err() != nil {
			l.failure.Store(nil) // nothing is written any more
			return 0, ctx.Err()
		}
		l.failing(err)
		if err := l.pause(ctx, pause, err); err != nil {
			return 0, err
		}
	}
}

// errInFlight means that a message which was sent before has not been written yet.
var errInFlight = fmt.Errorf("%w: the message before is on its way", errLost)

func (l *Log) sendOnce(ctx context.Context, m *nats.Msg, r record, after uint64) (uint64, error) {
	ack, err := l.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
	if err == nil {
		return ack.Sequence, nil
	}
	if !natsconn.WrongSequence(err) {
		return 0, err
	}
	stands, err := l.message(ctx, getRequest{Next: m.Subject, Seq: after + 1})
	switch {
	case err == nil && stands.write == r.write && stands.part == r.part:
		return stands.seq, nil // the acknowledgement was lost
	case err == nil:
		return 0, eventlog.ErrConflict
	case !errors.Is(err, errNone):
		return 0, err
	case after == 0:
		return 0, errInFlight
	}
	if _, err := l.message(ctx, getRequest{Last: m.Subject}); errors.Is(err, errNone) {
		return 0, eventlog.ErrConflict // the run was deleted
	}
	return 0, errInFlight
}

// undo removes what was written of a run whose creation failed or was given up.
func (l *Log) undo(w *writer, r record) {
	for pause := firstPause; l.ctx.Err() == nil; pause = min(2*pause, lastPause) {
		key, err := l.get(l.ctx, l.names.index, getRequest{Last: l.names.key(w.id)})
		own := err == nil && bytes.Equal(key.Data, w.key.raw)
		if own {
			var m message
			if m, err = l.next(l.ctx, l.names.run(w.id), 0); err == nil && m.write == r.write {
				err = l.purge(l.ctx, l.runs, l.names.run(w.id))
			}
		}
		if own && (err == nil || errors.Is(err, errNone)) {
			err = l.eraseKey(l.ctx, w.id)
		}
		if err == nil || !transient(err) {
			return
		}
		_ = l.pause(l.ctx, pause, err)
	}
}

// wrote shows a record that was written to the readers and to those who wait for it.
func (l *Log) wrote(w *writer, group []*batch, seq uint64) {
	l.saw(seq)
	var es []event.Event
	size := 0
	for _, b := range group {
		es, size = append(es, b.es...), size+len(b.lines)
	}
	w.mu.Lock()
	if w.lost == nil { // otherwise another server has claimed the run since, and its readers follow it
		l.publish(w.id, seq, es, size)
	}
	w.seq, w.owned, w.used = seq, true, time.Now()
	ended := event.Terminal(es[len(es)-1].Body)
	if ended {
		l.removeWriter(w)
	}
	w.mu.Unlock()
	if ended && w.unmark { // Delete does it for an ephemeral run
		l.addEnded(w.id)
	}
	l.addPending(-size)
	for _, b := range group {
		close(b.done)
	}
}

// fail gives the error to those who wait for events that cannot be written, and to the next Append.
func (l *Log) fail(w *writer, group []*batch, err error) {
	w.mu.Lock()
	group = append(group, w.pending...)
	w.pending, w.busy = nil, false
	reported := false
	size := 0
	for _, b := range group {
		b.err = err
		reported = reported || b.awaited
		size += len(b.lines)
	}
	if w.lost = err; reported {
		l.removeWriter(w)
	}
	w.mu.Unlock()
	l.drop(w.id) // another server may write the run
	l.addPending(-size)
	for _, b := range group {
		close(b.done)
	}
	last := group[len(group)-1].es
	l.o.Log.Warn("events of a run could not be written", "run", w.id, "from", group[0].es[0].Seq, "to", last[len(last)-1].Seq, "error", err)
}

func (l *Log) failing(err error) {
	err = fmt.Errorf("write log in NATS: %w", err)
	if l.failure.Swap(&err) == nil {
		l.o.Log.Error("the run log could not be written; it retries", "error", err)
	}
}

func (l *Log) recovered() {
	if l.failure.Load() != nil && l.failure.Swap(nil) != nil {
		l.o.Log.Info("the run log can be written again")
	}
}

// addPending changes the size of the unwritten events.
func (l *Log) addPending(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending += int64(n)
	if n < 0 && l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// waitRoom waits until the unwritten events are small enough.
func (l *Log) waitRoom(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.pending <= l.o.PendingBytes {
			l.mu.Unlock()
			return nil
		}
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-l.ctx.Done():
			return eventlog.ErrClosed
		case <-ctx.Done():
			return l.stopped(ctx)
		}
	}
}

// Sync implements [eventlog.Syncer]: it returns when NATS has acknowledged all events that were appended to the run.
func (l *Log) Sync(ctx context.Context, id event.RunID) error {
	l.mu.Lock()
	w := l.writers[id]
	l.mu.Unlock()
	if w == nil {
		return nil
	}
	w.mu.Lock()
	b, lost := w.newest, w.lost
	w.mu.Unlock()
	if lost != nil || b == nil {
		return lost
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.o.Timeout, errTimeout)
	defer cancel()
	select {
	case <-b.done:
		return b.err
	case <-l.ctx.Done():
		return eventlog.ErrClosed
	case <-ctx.Done():
		return l.stopped(ctx)
	}
}

// stopped returns the error of an Append whose context has ended.
func (l *Log) stopped(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return fault.Wrap(fault.Unavailable, l.lastFailure(), "the run log cannot be written; try again")
	}
	return ctx.Err()
}
