package filelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// writer is what the writer goroutine owns: the files.
type writer struct {
	segs  []*segment // ascending; the last is the active one
	file  *os.File   // of the active one
	buf   []byte     // records to be written behind active.size
	batch []part     // of the flush
	idle  []*run     // an empty queue, for the flush after this one

	ends    []part     // written, and to be synced before they are shown
	syncing []part     // those of them that are being synced
	synced  chan error // what became of it
	target  int64      // size of the active segment when that sync began

	staged   []undo // of the records in buf
	torn     bool   // the active segment may have part of a failed write behind its size
	durable  int64  // how much of the active segment is known to be synced
	unsynced bool   // a sync failed, and what was written since durable is to be written again
	retry    *time.Timer
}

// part is a run's part in a flush.
type part struct {
	run   *run
	news  []event.Event
	lines []byte // of the news
	done  *outcome
	// Nobody waits for the first events and bytes: their Append has returned.
	accepted, acceptedBytes int
}

func (p part) ends() bool { return len(p.news) > 0 && event.Terminal(p.news[len(p.news)-1].Body) }

// tell gives those who wait for the write what became of it.
func (p part) tell(err error) {
	if p.done != nil {
		p.done.err = err
		close(p.done.known)
	}
}

// The buffers that are kept for the next flush are smaller than these.
const (
	keepPend = 256 << 10
	keepNews = 256
	keepBuf  = 8 << 20
)

func (w *writer) active() *segment { return w.segs[len(w.segs)-1] }

// work is the writer goroutine.
func (l *Log) work() {
	defer close(l.stopped)
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	retain := time.NewTicker(l.opts.RetainEvery)
	defer retain.Stop()
	var last time.Time
	flush := func() {
		began := time.Now()
		if l.flush() {
			last = began
		}
	}
	for {
		select {
		case <-l.some:
			if wait := l.opts.FlushEvery - time.Since(last); wait > 0 {
				due.Reset(wait)
			} else {
				flush()
			}
		case <-due.C:
			flush()
		case <-l.now:
			flush()
		case err := <-l.w.synced:
			l.endSync(err)
		case f := <-l.do:
			f()
		case <-retain.C:
			if err := l.retain(); err != nil {
				l.opts.Log.Error("dropping old segments failed", "error", err)
			}
		case <-l.w.retry.C:
			l.tryAgain()
		case <-l.stop:
			l.flush()
			l.settle()
			if l.w.unsynced {
				_ = l.sync() // the last retry
			}
			return
		}
	}
}

// flush writes what is pending of every run and shows it to the readers; false: there was nothing. It is the only place where
// files grow.
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
			err = l.roll()
			n, _ = l.take(r, err == nil)
		}
		taken += n
	}
	l.pending.Add(-taken)
	if err == nil {
		err = l.commit()
	}
	if err != nil {
		l.giveBack(err)
	}
	l.makeRoom()
	if cap(l.w.buf) > keepBuf {
		l.w.buf = nil
	}
	clear(queue)
	l.w.idle = queue[:0]
	return true
}

// commit writes the batch and shows it. The ends of runs may use the disk reserve.
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
	w.forgetStaged()
	if some {
		l.unblock()
	}
	for _, p := range w.batch {
		l.wrote(p)
	}
	l.startSync()
	l.clearBatch()
	return nil
}

func (l *Log) clearBatch() {
	clear(l.w.batch)
	l.w.batch = l.w.batch[:0]
}

// giveBack ends a flush that could not write the batch.
func (l *Log) giveBack(err error) {
	l.w.unstage()
	if latched := l.failed(); latched != nil {
		for _, p := range l.w.batch {
			p.tell(latched)
		}
	} else {
		err = l.block(err)
		for _, p := range l.w.batch {
			l.putBack(p, err)
		}
	}
	l.clearBatch()
}

// wrote shows a part that was written. The terminal event is shown after the next sync.
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

// show makes the events of a part visible to readers.
func (l *Log) show(p part) {
	ended := p.ends()
	l.publish(p.run, p.news)
	if ended {
		l.cool(p.run)
	}
	p.tell(nil)
}

func (l *Log) publish(r *run, es []event.Event) {
	if len(es) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := l.mem.Append(context.Background(), r.id, es...); err != nil {
		l.opts.Log.Error("events cannot be shown", "run", r.id, "error", err) // a mistake of this package
		return
	}
	if es[0].Seq == 1 {
		r.sum.Note(es[0])
	}
	r.sum.Note(es[len(es)-1])
	r.saved = r.sum.Ended
	if clear(es); !r.ended && cap(es) <= keepNews {
		r.spare = es[:0]
	}
}

// startSync makes the ends that were written durable, apart from this goroutine: events of other runs do not wait for it. The ends
// that are written meanwhile share the next sync.
func (l *Log) startSync() {
	w := &l.w
	if w.unsynced || len(w.syncing) > 0 || len(w.ends) == 0 {
		return
	}
	w.syncing, w.ends = w.ends, w.syncing
	w.target = w.active().size
	file := w.file
	go func() { w.synced <- file.Sync() }()
}

// endSync shows the ends that are durable now, and starts the next sync. If the sync has failed, what was written since the last one is
// written again; if that fails too, the ends are shown when a later retry succeeds.
func (l *Log) endSync(err error) {
	w := &l.w
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

// settle waits until nothing is left to be synced.
func (l *Log) settle() {
	for len(l.w.syncing) > 0 {
		l.endSync(<-l.w.synced)
	}
}

// makeRoom wakes the appends that wait until less is pending.
func (l *Log) makeRoom() {
	l.qmu.Lock()
	defer l.qmu.Unlock()
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// take moves what is pending of a run to the flush. If the active segment is too full for it, it asks for another and does
// nothing. keep is false where nothing can be written any more.
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
		before := *f
		u.before = &before
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

// roll writes the batch, closes the active segment and opens the next.
func (l *Log) roll() error {
	w := &l.w
	if err := l.commit(); err != nil {
		return err
	}
	l.settle()                           // of this file
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

// begin makes a new active segment.
func (w *writer) begin(dir string, num uint64, sync Sync) error {
	f, err := os.OpenFile(segmentPath(dir, num), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	if sync != SyncNever {
		if err := syncDir(dir); err != nil {
			return errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	w.file, w.torn, w.durable = f, false, 0
	w.segs = append(w.segs, &segment{num: num, frags: map[event.RunID]*fragment{}})
	return nil
}

// close ends the active segment with an index, so that opening need not read it.
func (w *writer) close(l *Log) error {
	if err := l.failed(); err != nil {
		return errors.Join(err, w.file.Close())
	}
	if err := l.Err(); err != nil && (w.unsynced || len(l.queue) > 0) { // events are lost
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
