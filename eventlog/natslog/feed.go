package natslog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Sizes of what is in memory.
const (
	feedBytes  = 1 << 20  // of one run; older events are read from NATS
	endedBytes = 32 << 20 // of the runs that have ended
)

// feedIdle is how long a feed that nobody uses stays in memory. After the same time without events from this process, the readers of a run that
// this process writes follow it through NATS, in case another server continues it.
const feedIdle = 30 * time.Second

// feed holds the newest events of a run that is written or followed here, and wakes its readers.
type feed struct {
	id    event.RunID
	local bool          // its events come from the writer of this process and not from the consumer
	ready chan struct{} // closed when it has a position, or failed

	mu      sync.Mutex
	based   bool
	queue   []message     // that came before the position was known
	events  []event.Event // without gaps; the last one is number last
	bytes   int           // of events, as stored
	last    event.Seq
	seq     uint64 // stream sequence of the last message
	ended   bool
	err     error         // why it has no more events: errStale, [eventlog.ErrClosed] or the error of its opening
	changed chan struct{} // closed by the next change; nil if no reader waits
	waiting int           // readers
	used    time.Time     // by a reader
	pushed  time.Time
	joiner
}

// errStale means that a feed is not up to date any more. The caller looks again.
var errStale = errors.New("the feed of the run was closed")

func newFeed(id event.RunID, local bool) *feed {
	now := time.Now()
	f := &feed{id: id, local: local, ready: make(chan struct{}), used: now, pushed: now}
	if local {
		f.based = true
		close(f.ready)
	}
	return f
}

// wake wakes the readers. The caller holds mu.
func (f *feed) wake() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// end ends the feed with an error.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		f.wake()
	}
}

// push adds the events of a message. It returns false if they do not follow.
func (f *feed) push(seq uint64, es []event.Event, bytes int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pushLocked(seq, es, bytes)
}

func (f *feed) pushLocked(seq uint64, es []event.Event, bytes int) bool {
	if seq <= f.seq {
		return true // the consumer delivers what the writer has pushed already, or the other way round
	}
	for len(es) > 0 && es[0].Seq <= f.last {
		es = es[1:]
	}
	if len(es) > 0 && es[0].Seq != f.last+1 {
		f.err = errStale
		f.wake()
		return false
	}
	f.seq = seq
	if len(es) == 0 {
		return true
	}
	f.events, f.bytes = append(f.events, es...), f.bytes+bytes
	if f.bytes > feedBytes && len(f.events) > len(es) { // readers have slices of the old array
		n := len(f.events)
		keep := n - max(n/2, len(es))
		f.bytes -= f.bytes / n * keep
		f.events = slices.Clone(f.events[keep:])
	}
	f.last, f.ended = es[len(es)-1].Seq, event.Terminal(es[len(es)-1].Body)
	f.pushed = time.Now()
	f.wake()
	return true
}

// deliver adds a message of the consumer.
func (f *feed) deliver(m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
	case !f.based:
		f.queue = append(f.queue, m)
	default:
		f.deliverLocked(m)
	}
}

func (f *feed) deliverLocked(m message) {
	if m.seq <= f.seq {
		return
	}
	es, err := f.joiner.add(m.record)
	if err != nil {
		f.err = errStale // Load returns the error
		f.wake()
		return
	}
	if len(es) > 0 {
		size := len(m.data) * m.parts
		f.pushLocked(m.seq, es, size)
	}
}

// start sets the position of a feed that follows a run, and adds what came before that.
func (f *feed) start(t tail, key sealer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer close(f.ready)
	if f.err == nil {
		f.err = err
	}
	f.joiner.key = key
	f.based, f.last, f.seq, f.ended = true, t.last, t.seq, t.ended
	for _, m := range f.queue {
		f.deliverLocked(m)
	}
	f.queue = nil
	f.wake()
}

// load returns the events after the cursor. It does not know events that are no longer in memory, and those it has not got yet.
func (f *feed) load(after event.Seq) (es []event.Event, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = time.Now()
	n := len(f.events)
	switch first := f.last - event.Seq(n); { //nolint:gosec // a length
	case f.err != nil, !f.based, after < first, after > f.last, f.last == 0:
		return nil, false, nil
	case after == f.last && f.ended:
		return nil, true, eventlog.ErrEnd
	default:
		return f.events[after-first : n : n], true, nil
	}
}

// before reports whether the cursor is not past the feed's last event.
func (f *feed) reaches(after event.Seq) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil || !f.based || after <= f.last
}

// wait waits until there are events after the cursor, or the run has ended.
func (f *feed) wait(ctx context.Context, after event.Seq) error {
	select {
	case <-f.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting++
	defer func() { f.waiting--; f.used = time.Now() }()
	for {
		switch {
		case f.err != nil:
			return f.err
		case after < f.last:
			return nil
		case f.ended && after == f.last:
			return eventlog.ErrEnd
		case f.ended:
			return eventlog.ErrBeyond
		}
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		f.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// disposable reports whether the feed can be removed from memory.
func (f *feed) disposable(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return true
	case !f.based:
		return false
	case f.local && !f.ended:
		return now.Sub(f.pushed) > feedIdle
	}
	return f.waiting == 0 && now.Sub(f.used) > feedIdle && now.Sub(f.pushed) > feedIdle
}

// spare returns the size of a feed of a run that has ended and that nobody waits for.
func (f *feed) spare() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended || f.waiting > 0 {
		return 0
	}
	return f.bytes
}

// feed returns the feed of a run; nil: there is none.
func (l *Log) feed(id event.RunID) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.feeds[id]
}

// drop removes the feed of a run, whose readers look again.
func (l *Log) drop(id event.RunID) {
	if f := l.feed(id); f != nil {
		l.dropFeed(f)
	}
}

func (l *Log) dropFeed(f *feed) {
	l.mu.Lock()
	if l.feeds[f.id] == f {
		delete(l.feeds, f.id)
	}
	l.mu.Unlock()
	l.follow.remove(f)
	f.end(errStale)
}

// forget removes what is in memory of a run that was deleted.
func (l *Log) forget(id event.RunID) {
	l.keys.Remove(id)
	l.drop(id)
}

// open makes a feed that follows a run, unless there is one, and waits until it has a position.
func (l *Log) open(ctx context.Context, id event.RunID) error {
	l.mu.Lock()
	f := l.feeds[id]
	switch {
	case l.closed:
		l.mu.Unlock()
		return eventlog.ErrClosed
	case f == nil:
		f = newFeed(id, false)
		l.feeds[id] = f
		l.work.Go(func() { l.attach(f) })
	}
	l.mu.Unlock()
	select {
	case <-f.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach makes a feed follow its run. First the consumer includes the run, then its position is read, so that no message is missed in between.
func (l *Log) attach(f *feed) {
	var t tail
	seq, err := l.follow.add(f)
	if err == nil {
		t, err = l.wholeTail(f.id, seq)
	}
	var key sealer
	if err == nil {
		key, err = l.sealer(l.ctx, f.id)
	}
	if errors.Is(err, errNone) {
		err = errStale
	}
	f.start(t, key, err)
	if err != nil {
		l.dropFeed(f)
	}
}

// wholeTail returns the end of a run: see tailSince. If its last record is being written, it waits for that, but not for a writer that does not go on.
func (l *Log) wholeTail(id event.RunID, seq uint64) (t tail, err error) {
	for range 20 {
		if t, err = l.tailSince(l.ctx, id, seq); err != nil || t.whole || t.claim != "" {
			break
		}
		if err := l.pause(l.ctx, firstPause, nil); err != nil {
			return t, err
		}
	}
	return t, err
}

// publish shows the events of a record that this process has written to its readers.
func (l *Log) publish(id event.RunID, seq uint64, es []event.Event, bytes int) {
	l.mu.Lock()
	f := l.feeds[id]
	if f == nil && !l.closed {
		f = newFeed(id, true)
		f.last = es[0].Seq - 1
		l.feeds[id] = f
	}
	l.mu.Unlock()
	if f == nil {
		return
	}
	select {
	case <-f.ready:
		if !f.push(seq, es, bytes) {
			l.dropFeed(f)
		}
	default: // it follows the run and will get the record from the consumer
	}
	if event.Terminal(es[len(es)-1].Body) {
		l.limitEnded()
	}
}

// limitEnded removes runs that have ended from memory if they take too much.
func (l *Log) limitEnded() {
	l.mu.Lock()
	total := 0
	var spare []*feed
	for _, f := range l.feeds {
		if n := f.spare(); n > 0 {
			total += n
			spare = append(spare, f)
		}
	}
	l.mu.Unlock()
	if total <= endedBytes {
		return
	}
	for _, f := range spare {
		l.dropFeed(f)
	}
}

// tidy removes what nobody uses from memory.
func (l *Log) tidy(now time.Time) {
	l.mu.Lock()
	var feeds []*feed
	for _, f := range l.feeds {
		if f.disposable(now) {
			feeds = append(feeds, f)
		}
	}
	for id, w := range l.writers {
		if w.disposable(now) {
			delete(l.writers, id)
		}
	}
	l.mu.Unlock()
	for _, f := range feeds {
		l.dropFeed(f)
	}
}
