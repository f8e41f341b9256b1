// Package filelog stores the logs of runs in a folder. It is the default store and needs no other program.
//
// One goroutine collects the new events of all runs, writes them to the active segment file with one write(2), and then makes them visible to
// readers. Events that are appended during a write are written by the next one. A terminal event becomes visible, and its Append returns, when
// it is durable. Live runs and recently read runs are in memory, so most reads do not use the disk. Segments are append-only and are deleted as
// a whole, the oldest first; only deleted runs are overwritten in place.
//
// The folder holds the segments N.log; the indexes N.idx, which list the runs of each full segment, so that Open does not read the segment;
// lock; and, while the log is open, boot, which holds the boot id of the machine. A missing or damaged index is rebuilt from its segment. A torn
// end is cut off. Other damage affects the runs whose records it hit: reading them returns [ErrDamaged].
//
// If the process is killed, no event that a reader saw is lost, and live runs can be continued. If the machine stops, live runs may lose their
// last events: see [Open].
package filelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Errors of this store in addition to those of [eventlog]. Test for them with [errors.Is].
var (
	ErrLocked  = errors.New("another process has the log open")
	ErrDamaged = errors.New("the run's records are damaged")
)

// Sync says when writes are made durable against a loss of power. A crash of the process alone loses nothing that was written.
type Sync int

// The values of Sync. With each of them, readers see an event after its write.
const (
	SyncEnd   Sync = iota // with every write that ends a run; runs that end together share one sync
	SyncWrite             // with every write
	SyncNever             // when the operating system decides
)

// Options configure a log. The zero value suits a server.
type Options struct {
	Sync         Sync             // default SyncEnd
	SegmentBytes int64            // size at which a segment is full; default 64 MiB
	CacheBytes   int64            // approximate size of the ended runs in memory; default 64 MiB
	PendingBytes int64            // size of the unwritten events from which on Append waits; default 1 MiB
	MaxAge       time.Duration    // age at which runs are deleted, up to a quarter later; 0: never
	MaxBytes     int64            // total size above which the oldest segments are deleted; 0: none
	RetainEvery  time.Duration    // how often both are checked; default 1 minute
	Reserve      *reserve.File    // disk space for deletes and terminal events; nil: none
	Now          func() time.Time // for MaxAge; default time.Now
	Log          *slog.Logger     // default: silent
}

// Validate returns an error that lists all invalid fields.
func (o Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"SegmentBytes", o.SegmentBytes}, {"CacheBytes", o.CacheBytes},
		{"PendingBytes", o.PendingBytes}, {"MaxAge", int64(o.MaxAge)}, {"MaxBytes", o.MaxBytes},
		{"RetainEvery", int64(o.RetainEvery)},
	} {
		if f.n < 0 {
			errs = append(errs, fmt.Errorf("%s is negative", f.name))
		}
	}
	if o.Sync < SyncEnd || o.Sync > SyncNever {
		errs = append(errs, errors.New("Sync is none of the choices"))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 64<<20)
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.PendingBytes = cmp.Or(o.PendingBytes, 1<<20)
	o.RetainEvery = cmp.Or(o.RetainEvery, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is an [eventlog.Store], an [eventlog.Archive] and an [eventlog.Deleter] in a folder. It is safe for concurrent use.
//
// Lock order: a run's mu, then any of the others; none of the others holds another.
type Log struct {
	dir  string
	opts Options
	lock *flock.Flock
	mem  *eventlog.Memory // visible events of the runs in memory
	old  *lru             // ended runs in memory

	mu   sync.RWMutex
	runs map[event.RunID]*run
	ids  []event.RunID // the keys of runs, ascending

	pending atomic.Int64          // unwritten bytes
	waiting atomic.Int32          // Appends that wait for room
	failure atomic.Pointer[error] // after it, the log accepts no events
	blocked atomic.Pointer[error] // the last write failed
	closed  atomic.Bool

	qmu     sync.Mutex
	queue   []*run // runs with pending events
	closing bool

	queued  chan struct{} // signals that the queue is no longer empty
	room    chan struct{} // wakes one of the Appends that wait for room
	tasks   chan func()   // functions to run on the writer goroutine
	stop    chan struct{}
	stopped chan struct{}

	w       writer    // used by the writer goroutine only
	unwiped []unwiped // deleted runs that Open must erase
}

// run is the state of a run.
type run struct {
	id event.RunID

	mu     sync.Mutex
	sum    eventlog.Summary // of the visible events; Last is 0 until the first write
	last   event.Seq        // number of the last event that was appended
	ended  bool             // the last appended event is terminal
	hot    bool             // its events are in Log.mem
	saved  bool             // it has ended and all its events are visible
	gone   bool             // it is no longer in Log.runs
	damage error
	first  uint64 // segment of its first record
	tail   place  // its last record
	bytes  int64  // encoded size of its events
	queued bool
	news   []event.Event // unwritten events
	pend   []byte        // encoded lines of news
	done   *outcome      // of their write; nil: no Append waits for it
	// How many of news, and bytes of pend, belong to Appends that have returned already.
	accepted, acceptedBytes int
	spare                   []event.Event // an empty slice to reuse for the next news
}

// Open opens the log in the folder dir and creates it if it does not exist. [ErrLocked]: it is open already, in this process or another one.
//
// If the machine stopped while the log was open, or the folder comes from another machine, live runs may lack events that readers saw. Open
// ends them with an [event.RunFailed] whose number is the last one plus an [event.Gap]: so a reader with any cursor gets the end of the run,
// and no number is used twice.
func Open(dir string, opts Options) (*Log, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	lock, err := Lock(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	opts = opts.withDefaults()
	l := &Log{
		dir: dir, opts: opts, lock: lock, mem: eventlog.NewMemory(), old: newLRU(opts.CacheBytes),
		runs:   map[event.RunID]*run{},
		queued: make(chan struct{}, 1), room: make(chan struct{}, 1), tasks: make(chan func()),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	l.w.synced = make(chan error, 1)
	l.w.backing = make(chan struct{}, 1)
	l.w.retry = time.NewTimer(time.Hour)
	l.w.retry.Stop()
	if err := l.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), l.lock.Unlock())
	}
	go l.work()
	return l, nil
}

// Lock takes the lock of the log in the folder dir, which it creates if it does not exist. [ErrLocked]: the log is open, in this process or another one.
func Lock(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	lock := flock.New(lockPath(dir))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		time.Sleep(50 * time.Millisecond) // a process that looks whether the log is open holds the lock for a moment
		ok, err = lock.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("lock %s: %w", dir, ErrLocked)
	}
	return lock, nil
}

// Close writes pending events and closes the store. Waiting readers and all later calls get [eventlog.ErrClosed]. Close returns the error of
// the last write. A second Close does nothing.
func (l *Log) Close() error {
	l.qmu.Lock()
	again := l.closing
	l.closing = true
	l.qmu.Unlock()
	if again {
		<-l.stopped
		return nil
	}
	close(l.stop)
	<-l.stopped
	l.closed.Store(true)
	l.mu.RLock()
	for _, id := range l.ids {
		l.mem.Remove(id)
	}
	l.mu.RUnlock()
	err := l.w.close(l)
	if err == nil {
		err = removeBoot(l.dir)
	}
	return errors.Join(err, l.lock.Unlock())
}

var _ io.Closer = (*Log)(nil)

func (l *Log) find(id event.RunID) *run {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.runs[id]
}

// create returns the run with the id and creates it if it does not exist.
func (l *Log) create(id event.RunID) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil {
		r = &run{id: id, hot: true}
		l.insert(r)
	}
	return r
}

func (l *Log) insert(r *run) {
	l.runs[r.id] = r
	if n := len(l.ids); n == 0 || l.ids[n-1] < r.id {
		l.ids = append(l.ids, r.id)
		return
	}
	i, _ := slices.BinarySearch(l.ids, r.id)
	l.ids = slices.Insert(l.ids, i, r.id)
}

func (l *Log) remove(id event.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, id)
	if i, ok := slices.BinarySearch(l.ids, id); ok {
		l.ids = slices.Delete(l.ids, i, i+1)
	}
}

// state reports whether there are visible events after a cursor, and the error of the cursor. The caller holds r.mu.
func (r *run) state(after event.Seq) (some bool, err error) {
	switch {
	case r.gone || r.sum.Last == 0:
		return false, eventlog.ErrNotFound
	case r.damage != nil:
		return false, r.damage
	case after > r.sum.Last:
		return false, eventlog.ErrBeyond
	case after == r.sum.Last && r.sum.Ended:
		return false, eventlog.ErrEnd
	}
	return after < r.sum.Last, nil
}

// Load implements [eventlog.Store].
func (l *Log) Load(ctx context.Context, id event.RunID, after event.Seq) ([]event.Event, error) {
	if l.closed.Load() {
		return nil, eventlog.ErrClosed
	}
	es, err := l.mem.Load(ctx, id, after)
	if !errors.Is(err, eventlog.ErrNotFound) {
		if len(es) > 0 && event.Terminal(es[len(es)-1].Body) {
			l.old.touch(id)
		}
		return es, err
	}
	r := l.find(id)
	if r == nil {
		return nil, eventlog.ErrNotFound
	}
	es, err = l.loadCold(r, after)
	if err == nil {
		l.cache(r)
	}
	return es, err
}

func (l *Log) loadCold(r *run, after event.Seq) ([]event.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if some, err := r.state(after); !some {
		return nil, err
	}
	if err := l.load(r); err != nil {
		return nil, err
	}
	return l.mem.Load(context.Background(), r.id, after)
}

// load reads a run into memory. The caller holds r.mu, and calls cache after it.
func (l *Log) load(r *run) error {
	if r.hot {
		return nil
	}
	if l.closed.Load() {
		return eventlog.ErrClosed
	}
	es, err := l.read(r.id, r.tail, r.sum.Last)
	if errors.Is(err, ErrDamaged) {
		l.opts.Log.Error("a run is damaged", "run", r.id, "error", err)
		r.fail(err)
	}
	if err != nil {
		return err
	}
	if err := l.mem.Append(context.Background(), r.id, es...); err != nil {
		return fmt.Errorf("read run %s: %w", r.id, err)
	}
	r.hot = true
	return nil
}

// cache adds an ended run to the runs in memory and removes those that were used longest ago.
func (l *Log) cache(r *run) {
	r.mu.Lock()
	ok, size := r.hot && r.saved && !r.gone, r.bytes+64*int64(r.sum.Last)
	r.mu.Unlock()
	if !ok {
		return
	}
	for _, v := range l.old.add(r, size) {
		v.mu.Lock()
		if v.hot && !v.gone {
			l.mem.Remove(v.id)
			v.hot = false
		}
		v.mu.Unlock()
	}
}

// Wait implements [eventlog.Store].
func (l *Log) Wait(ctx context.Context, id event.RunID, after event.Seq) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.closed.Load() {
			return eventlog.ErrClosed
		}
		if err := l.mem.Wait(ctx, id, after); !errors.Is(err, eventlog.ErrNotFound) {
			return err
		}
		r := l.find(id) // it is only on disk
		if r == nil {
			return eventlog.ErrNotFound
		}
		r.mu.Lock()
		some, err := r.state(after)
		if !some && err == nil {
			err = l.load(r)
		}
		r.mu.Unlock()
		if some || err != nil {
			return err
		}
	}
}

// Notify implements [eventlog.Notifier].
func (l *Log) Notify(id event.RunID, f func()) (stop func(), err error) {
	for {
		if l.closed.Load() {
			return nil, eventlog.ErrClosed
		}
		if stop, err := l.mem.Notify(id, f); !errors.Is(err, eventlog.ErrNotFound) {
			return stop, err
		}
		r := l.find(id) // it is only on disk
		if r == nil {
			return nil, eventlog.ErrNotFound
		}
		r.mu.Lock()
		_, err := r.state(0)
		ended := r.sum.Ended
		if err == nil && !ended {
			err = l.load(r)
		}
		r.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if ended {
			return func() {}, nil
		}
	}
}

// Runs implements [eventlog.Archive]. A damaged run is listed as one that failed with [fault.Internal].
func (l *Log) Runs(ctx context.Context, before event.RunID, limit int) ([]eventlog.Summary, error) {
	var out []eventlog.Summary
	for len(out) < limit {
		if l.closed.Load() {
			return nil, eventlog.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		page := l.before(before, limit-len(out))
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if s, ok := r.summary(); ok { // others were just created or deleted
				out = append(out, s)
			}
		}
		before = page[len(page)-1].id
	}
	return out, nil
}

// before returns runs in any state by descending id, beginning below id, or with the newest if id is empty.
func (l *Log) before(id event.RunID, limit int) []*run {
	l.mu.RLock()
	defer l.mu.RUnlock()
	end := len(l.ids)
	if id != "" {
		end, _ = slices.BinarySearch(l.ids, id)
	}
	var page []*run
	for i := end - 1; i >= 0 && len(page) < limit; i-- {
		page = append(page, l.runs[l.ids[i]])
	}
	return page
}

// Summary implements [eventlog.Archive].
func (l *Log) Summary(_ context.Context, id event.RunID) (eventlog.Summary, error) {
	if l.closed.Load() {
		return eventlog.Summary{}, eventlog.ErrClosed
	}
	if r := l.find(id); r != nil {
		if s, ok := r.summary(); ok {
			return s, nil
		}
	}
	return eventlog.Summary{}, eventlog.ErrNotFound
}

func (r *run) summary() (eventlog.Summary, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum, r.sum.Last > 0 && !r.gone
}
