// Package filelog keeps the logs of runs in a folder. It is the default store: nothing else has to run.
//
// One goroutine gathers what is new of all runs, writes it to the active segment file with one write(2), and then shows it to the
// readers. What is appended during a write shares the next one. A run's terminal event is shown, and its Append returns, when it is
// durable. Running and lately read runs are in memory, so readers do not read the disk.
// Segments are only appended to, and dropped as a whole from the oldest; only what is deleted is written over.
//
// A folder holds N.log, the segments; N.idx, for each full segment what runs are in it, so that opening does not read it;
// lock; and, while the log is open, boot, the boot of the machine in which it was opened. An index that is missing or damaged is made
// again from its segment. A torn end is cut off. Damage elsewhere costs the runs whose records it hit: to read those gives
// [ErrDamaged], everything else is kept.
//
// If the process is killed, no event that a reader saw is lost, and runs that have not ended can be appended to. If the machine
// goes down, such runs may lose the end of what was written: see [Open].
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
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/reserve"
)

// The errors of this store besides [eventlog]'s, to be asked for with [errors.Is].
var (
	ErrLocked  = errors.New("another process has the log open")
	ErrDamaged = errors.New("the run's records are damaged")
)

// Sync says when a write is made to outlast a loss of power. A crash of the program alone loses nothing that was written.
type Sync int

// The choices. With each, readers see an event after its write.
const (
	SyncEnd   Sync = iota // with every write that ends a run; runs that end together share one
	SyncWrite             // with every write
	SyncNever             // when the system likes
)

// Options tune a log. The zero value is good for a server.
type Options struct {
	FlushEvery   time.Duration    // the shortest time between two writes that no append waits for; 0: none, so what comes during a write shares the next
	Sync         Sync             // default SyncEnd
	SegmentBytes int64            // size at which a segment is full; default 64 MiB
	CacheBytes   int64            // about how much of ended runs is kept in memory, by their encoded size; default 64 MiB
	PendingBytes int64            // how much may wait for its write before Append waits too; default 16 MiB
	MaxAge       time.Duration    // runs are dropped when they are older, by a quarter of it at most; 0: never
	MaxBytes     int64            // the oldest segments are dropped while all are larger than this; 0: never
	RetainEvery  time.Duration    // how often that is looked after; default 1 minute
	Reserve      *reserve.File    // of disk space, for deletes and the ends of runs; nil: none
	Now          func() time.Time // for MaxAge; default time.Now
	Log          *slog.Logger     // default: silent
}

// Validate tells every field that is out of range.
func (o Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"FlushEvery", int64(o.FlushEvery)}, {"SegmentBytes", o.SegmentBytes}, {"CacheBytes", o.CacheBytes},
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
	o.PendingBytes = cmp.Or(o.PendingBytes, 16<<20)
	o.RetainEvery = cmp.Or(o.RetainEvery, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is an [eventlog.Store], an [eventlog.Archive] and an [eventlog.Deleter] in a folder. All methods may be called at once.
//
// Lock order: a run's mu, then any of the others; none of the others holds another.
type Log struct {
	dir  string
	opts Options
	lock *flock.Flock
	mem  *eventlog.Memory // what readers see of hot runs
	old  *lru             // the hot runs that have ended and are written

	mu   sync.RWMutex
	runs map[event.RunID]*run
	ids  []event.RunID // the keys of runs, ascending

	pending atomic.Int64          // bytes that wait for their write
	failure atomic.Pointer[error] // the log takes no more events
	blocked atomic.Pointer[error] // the last write failed
	closed  atomic.Bool

	qmu     sync.Mutex
	queue   []*run        // runs with pending events
	room    chan struct{} // closed by the next flush, if an append waits for room
	closing bool

	some    chan struct{} // the queue is no longer empty
	now     chan struct{} // do not wait for more
	do      chan func()   // work for the writer goroutine
	stop    chan struct{}
	stopped chan struct{}

	w       writer    // belongs to the writer goroutine
	unwiped []unwiped // deleted runs that opening finds records of
}

// run is what is known of a run.
type run struct {
	id event.RunID

	mu     sync.Mutex
	sum    eventlog.Summary // of what readers see; Last is 0 until the first write
	last   event.Seq        // number of the last event that was appended
	ended  bool             // that one is terminal
	hot    bool             // its events are in Log.mem
	saved  bool             // it has ended and readers see all of it
	gone   bool             // it is no longer in Log.runs
	damage error
	first  uint64 // segment of its first record
	tail   place  // its last record
	bytes  int64  // encoded size of its events
	queued bool
	news   []event.Event // they wait for their write
	pend   []byte        // their lines
	done   *outcome      // of their write; nil: nobody waits
	// Of the news and pend, the parts whose Append had returned when somebody began to wait.
	accepted, acceptedBytes int
	spare                   []event.Event // an empty slice for the news after these
}

// Open opens the log in dir, which it makes if need be. [ErrLocked]: it is open already, here or in another process.
//
// If the machine went down while the log was open, or another one was used, runs that had not ended may lack events that readers
// saw. Open ends them with a [event.RunFailed] whose number is an [event.Gap] behind the last: so a reader gets the end with any
// cursor, and no number is used again.
func Open(dir string, opts Options) (*Log, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	opts = opts.withDefaults()
	l := &Log{
		dir: dir, opts: opts, lock: flock.New(lockPath(dir)), mem: eventlog.NewMemory(), old: newLRU(opts.CacheBytes),
		runs: map[event.RunID]*run{},
		some: make(chan struct{}, 1), now: make(chan struct{}, 1), do: make(chan func()),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	l.w.synced = make(chan error, 1)
	l.w.retry = time.NewTimer(time.Hour)
	l.w.retry.Stop()
	switch ok, err := l.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("open log: lock %s: %w", dir, err)
	case !ok:
		return nil, fmt.Errorf("open log %s: %w", dir, ErrLocked)
	}
	if err := l.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), l.lock.Unlock())
	}
	go l.work()
	return l, nil
}

// Close writes what is pending and ends the store: every call then gives [eventlog.ErrClosed], and readers asleep wake
// with it. It gives the error that writing met, if one did. A second Close does nothing.
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

// create gives the run of the id, new if there is none.
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

// state tells what the summary alone tells of a cursor. The caller holds r.mu.
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
		l.cool(r)
	}
	return es, err
}

func (l *Log) loadCold(r *run, after event.Seq) ([]event.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if some, err := r.state(after); !some {
		return nil, err
	}
	if err := l.heat(r); err != nil {
		return nil, err
	}
	return l.mem.Load(context.Background(), r.id, after)
}

// heat brings a run into memory. The caller holds r.mu and calls cool after it.
func (l *Log) heat(r *run) error {
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

// cool lets an ended run leave memory when it is full of newer ones.
func (l *Log) cool(r *run) {
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
		r := l.find(id) // it is on disk alone
		if r == nil {
			return eventlog.ErrNotFound
		}
		r.mu.Lock()
		some, err := r.state(after)
		if !some && err == nil {
			err = l.heat(r)
		}
		r.mu.Unlock()
		if some || err != nil {
			return err
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
			if s, ok := r.summary(); ok { // others were just begun or deleted
				out = append(out, s)
			}
		}
		before = page[len(page)-1].id
	}
	return out, nil
}

// before returns runs by descending id from before the given one, or from the newest, in whatever state they are.
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
