package filelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/event"
)

// writer is the state of the writer goroutine, which owns the files.
type writer struct {
	segs  []*segment // ascending; the last is the active one
	file  *os.File   // of the active segment
	buf   []byte     // records to be appended at active.size
	batch []part     // of the flush
	idle  []*run     // an empty queue to reuse in the next flush

	ends    []part     // terminal events that are written but not durable
	syncing []part     // terminal events that the running sync makes durable
	inSync  bool       // a sync is running beside the writer goroutine
	synced  chan error // its result
	target  int64      // size of the active segment when that sync began

	backed  int64         // so much of the active segment is on its way to the disk
	backing chan struct{} // holds a value while a write-back runs

	staged   []undo // undo log of the records in buf
	torn     bool   // the file may hold part of a failed write after active.size
	durable  int64  // size of the active segment that is durable
	unsynced bool   // a sync failed, so everything after durable must be written again
	retry    *time.Timer
}

// part holds the events of one run in a flush.
type part struct {
	run   *run
	news  []event.Event
	lines []byte // of the news
	done  *outcome
	// How many of the events, and of the bytes, belong to Appends that have returned already.
	accepted, acceptedBytes int
}

func (p part) ends() bool { return len(p.news) > 0 && event.Terminal(p.news[len(p.news)-1].Body) }

// finish returns the result of the write to waiting Appends.
func (p part) finish(err error) {
	if p.done != nil {
		p.done.err = err
		close(p.done.known)
	}
}

// Larger buffers are not reused.
const (
	keepPend = 256 << 10
	keepNews = 256
	keepBuf  = 8 << 20
)

// backBytes is how much of the active segment is written before its write-back starts.
const backBytes = 1 << 20

// pageBytes is at least the size of a page. A page that is being written back would make the next write to it wait on some disks.
const pageBytes = 64 << 10

// joinWithin is the time after a flush in which the next one lets other goroutines run first.
const joinWithin = time.Millisecond

func (w *writer) active() *segment { return w.segs[len(w.segs)-1] }

// work is the writer goroutine.
func (l *Log) work() {
	defer close(l.stopped)
	retain := time.NewTicker(l.opts.RetainEvery)
	defer retain.Stop()
	var last time.Time
	flush := func() {
		began := time.Now()
		if began.Sub(last) < joinWithin {
			// Many events arrive. Those of the goroutines that are ready share the write, the wake-ups and the work of the readers.
			runtime.Gosched()
		}
		if l.flush() {
			last = began
		}
	}
	for {
		select {
		case <-l.queued:
			flush()
		case err := <-l.w.synced:
			l.finishSync(err)
		case f := <-l.tasks:
			f()
		case <-retain.C:
			if err := l.retain(); err != nil {
				l.opts.Log.Error("dropping old segments failed", "error", err)
			}
		case <-l.w.retry.C:
			l.retryWrites()
		case <-l.stop:
			l.flush()
			l.waitSync()
			if l.w.unsynced {
				_ = l.sync() // the last retry
			}
			return
		}
	}
}

// flush writes the pending events of all runs and makes them visible. It reports whether there were any.
func (l *Log) flush() bool {
	l.qmu.Lock()
	queue := l.queue
	l.queue = l.w.idle
	l.qmu.Unlock()
	if len(queue) == 0 {
		l.w.idle = queue
		return false
	}
	var taken int64
	err := l.failed()
	for _, r := range queue {
		n, roll := l.take(r, err == nil)
		if roll {
			err = l.nextSegment()
			n, _ = l.take(r, err == nil)
		}
		taken += n
	}
	l.pending.Add(-taken)
	if err == nil {
		err = l.commit()
	}
	if err != nil {
		l.abortBatch(err)
	}
	l.wakeOne()
	if cap(l.w.buf) > keepBuf {
		l.w.buf = nil
	}
	clear(queue)
	l.w.idle = queue[:0]
	return true
}

// commit writes the batch and makes it visible. Terminal events may use the disk reserve.
func (l *Log) commit() error {
	w := &l.w
	var err error
	some := len(w.buf) > 0
	if slices.ContainsFunc(w.batch, part.ends) {
		err = l.opts.Reserve.Use(w.write)
	} else {
		err = w.write()
	}
	if err == nil && l.opts.Sync == SyncWrite {
		if err = l.sync(); err != nil {
			return l.fail(err)
		}
	}
	if err != nil {
		return err
	}
	w.clearStaged()
	if some {
		l.unblock()
	}
	for _, p := range w.batch {
		l.wrote(p)
	}
	l.startSync()
	w.writeBack()
	l.clearBatch()
	return nil
}

func (l *Log) clearBatch() {
	clear(l.w.batch)
	l.w.batch = l.w.batch[:0]
}

// abortBatch ends a flush whose write failed.
func (l *Log) abortBatch(err error) {
	l.w.unstage()
	if latched := l.failed(); latched != nil {
		for _, p := range l.w.batch {
			p.finish(latched)
		}
	} else {
		err = l.block(err)
		for _, p := range l.w.batch {
			l.putBack(p, err)
		}
	}
	l.clearBatch()
}

// wrote makes a written part visible, except for a terminal event, which becomes visible after the next sync.
func (l *Log) wrote(p part) {
	switch n := len(p.news); {
	case p.ends() && l.opts.Sync == SyncEnd:
		l.show(part{run: p.run, news: p.news[:n-1]})
		p.news = p.news[n-1:]
		l.w.ends = append(l.w.ends, p)
	default:
		l.show(p)
	}
}

// show makes the events of a part visible.
func (l *Log) show(p part) {
	ended := p.ends()
	l.publish(p.run, p.news)
	if ended {
		l.cache(p.run)
	}
	p.finish(nil)
}

func (l *Log) publish(r *run, es []event.Event) {
	if len(es) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := l.mem.Append(context.Background(), r.id, es...); err != nil {
		l.opts.Log.Error("events cannot be made visible", "run", r.id, "error", err) // a bug in this package
		return
	}
	if es[0].Seq == 1 {
		r.sum.Apply(es[0])
	}
	r.sum.Apply(es[len(es)-1])
	r.saved = r.sum.Ended
	if clear(es); !r.ended && cap(es) <= keepNews {
		r.spare = es[:0]
	}
}

// startSync starts a sync of the active segment in a goroutine of its own, so that events of other runs do not wait for it. It does so if
// terminal events wait for it, or if so much is not durable yet that the sync of the full segment, for which all runs wait, would take long.
// Terminal events that are written during a sync share the next one.
func (l *Log) startSync() {
	w := &l.w
	due := len(w.ends) > 0 || l.opts.Sync == SyncEnd && w.active().size-w.durable >= syncBytes
	if w.unsynced || w.inSync || !due {
		return
	}
	w.inSync = true
	w.syncing, w.ends = w.ends, w.syncing
	w.target = w.active().size
	file := w.file
	go func() { w.synced <- file.Sync() }()
}

// writeBack starts to write the data of the active segment to the disk in a goroutine, so that there is less to write in the next sync.
func (w *writer) writeBack() {
	from, to := w.backed, w.active().size&^(pageBytes-1)
	if to-from < backBytes {
		return
	}
	select {
	case w.backing <- struct{}{}:
	default:
		return // the last one goes on
	}
	w.backed = to
	file := w.file
	go func() {
		startWriteBack(file, from, to-from)
		<-w.backing
	}()
}

// finishSync makes the durable terminal events visible and starts the next sync. If the sync failed, everything since the last successful one is
// written again; if that fails too, the events become visible when a later retry succeeds.
func (l *Log) finishSync(err error) {
	w := &l.w
	w.inSync = false
	if err != nil {
		w.ends = append(w.ends, w.syncing...)
		w.unsynced = true
		_ = l.sync() // it reports its error
	} else {
		w.durable = w.target
		for _, p := range w.syncing {
			l.show(p)
		}
	}
	clear(w.syncing)
	w.syncing = w.syncing[:0]
	l.startSync()
}

// waitSync waits until no sync is running or due.
func (l *Log) waitSync() {
	for l.w.inSync {
		l.finishSync(<-l.w.synced)
	}
}

// take moves the pending events of a run into the batch. If they do not fit into the active segment, take does nothing and roll is true. With
// keep false, the events are only removed, because the log has failed.
func (l *Log) take(r *run, keep bool) (n int64, roll bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &l.w
	off := w.active().size + int64(len(w.buf))
	n = int64(len(r.pend))
	if keep && off > 0 && off+n+headBytes > l.opts.SegmentBytes {
		return 0, true
	}
	p := part{run: r, news: r.news, lines: r.pend, done: r.done, accepted: r.accepted, acceptedBytes: r.acceptedBytes}
	switch {
	case !keep:
		r.pend = nil // these bytes are the part's
	case len(r.news) > 0:
		l.stage(r, r.news, r.pend)
		p.lines = w.buf[len(w.buf)-len(r.pend):]
	}
	w.batch = append(w.batch, p)
	r.queued, r.news, r.spare, r.done = false, r.spare, nil, nil
	if r.pend = r.pend[:0]; r.ended || cap(r.pend) > keepPend {
		r.pend = nil
	}
	return n, false
}

// stage appends a record of a run's next events to the buffer.
func (l *Log) stage(r *run, es []event.Event, lines []byte) {
	w := &l.w
	seg := w.active()
	off := seg.size + int64(len(w.buf))
	last := es[len(es)-1]
	rec := record{
		run: r.id, first: es[0].Seq, count: uint32(len(es)), at: last.At.UnixMicro(), ended: event.Terminal(last.Body),
		prev: r.tail, lines: lines,
	}
	w.buf = appendRecord(w.buf, rec)
	size := seg.size + int64(len(w.buf)) - off
	u := undo{seg: seg, run: r, oldest: seg.oldest, newest: seg.newest, tail: r.tail, first: r.first}
	if f := seg.frags[r.id]; f != nil {
		u.had, u.before = true, *f
	}
	w.staged = append(w.staged, u)
	seg.note(off, size, rec)
	r.tail = place{Seg: seg.num, Off: uint64(off), Len: uint32(size)}
	if r.first == 0 {
		r.first = seg.num
	}
}

// write appends the buffer to the active segment. If it fails, the segment ends where it did before, and the buffer is kept.
func (w *writer) write() error {
	if len(w.buf) == 0 {
		return nil
	}
	seg := w.active()
	if w.torn {
		if err := w.file.Truncate(seg.size); err != nil {
			return err
		}
		w.torn = false
	}
	if _, err := w.file.Write(w.buf); err != nil {
		w.torn = w.file.Truncate(seg.size) != nil
		return err
	}
	seg.size += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// nextSegment writes the batch, syncs and closes the active segment, and opens the next one.
func (l *Log) nextSegment() error {
	w := &l.w
	if err := l.commit(); err != nil {
		return err
	}
	l.waitSync()                         // of this file
	if w.unsynced || l.failed() != nil { // the log is blocked or closed
		return l.Err()
	}
	seg, old := w.active(), w.file
	if l.opts.Sync != SyncNever {
		if err := l.sync(); err != nil {
			return err
		}
	}
	if err := l.opts.Reserve.Use(func() error { return w.begin(l.dir, seg.num+1, l.opts.Sync) }); err != nil {
		return err
	}
	if err := seg.saveIndex(l.dir); err != nil { // opening the log makes it again
		l.opts.Log.Warn("the index of a segment could not be written", "path", indexPath(l.dir, seg.num), "error", err)
	}
	seg.frags = nil
	_ = old.Close() // it is synced
	return nil
}

// begin creates a new active segment.
func (w *writer) begin(dir string, num uint64, sync Sync) error {
	f, err := os.OpenFile(segmentPath(dir, num), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	if sync != SyncNever {
		if err := atomicfile.SyncDir(dir); err != nil {
			return errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	w.file, w.torn, w.durable, w.backed = f, false, 0, 0
	w.segs = append(w.segs, &segment{num: num, frags: map[event.RunID]*fragment{}})
	return nil
}

// close closes the active segment and writes its index, so that Open does not have to read the segment.
func (w *writer) close(l *Log) error {
	w.backing <- struct{}{} // after the last write-back
	if err := l.failed(); err != nil {
		return errors.Join(err, w.file.Close())
	}
	if err := l.Err(); err != nil && (w.unsynced || len(l.queue) > 0) { // unwritten events are lost
		return errors.Join(err, w.file.Close())
	}
	if w.torn {
		if err := w.file.Truncate(w.active().size); err != nil {
			return errors.Join(err, w.file.Close())
		}
	}
	var errs []error
	if l.opts.Sync != SyncNever {
		errs = append(errs, w.file.Sync())
	}
	if err := w.active().saveIndex(l.dir); err != nil { // opening the log makes it again
		l.opts.Log.Warn("the index of a segment could not be written", "path", indexPath(l.dir, w.active().num), "error", err)
	}
	if errs = append(errs, w.file.Close()); errors.Join(errs...) != nil {
		return fmt.Errorf("close log in %s: %w", l.dir, errors.Join(errs...))
	}
	return nil
}
