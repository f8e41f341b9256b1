package filelog

import (
	"context"
	"errors"
	"fmt"
	"os"
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
}

// part is a run's part in a flush.
type part struct {
	run  *run
	news []event.Event
	done *outcome
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
		case <-l.stop:
			l.flush()
			l.settle()
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
	if err == nil {
		err = l.w.write()
	}
	if err == nil && l.opts.Sync == SyncWrite {
		err = l.w.file.Sync()
	}
	if err != nil {
		err = l.fail(err)
	}
	l.pending.Add(-taken)
	l.makeRoom()
	for _, p := range l.w.batch {
		l.wrote(p, err)
	}
	l.startSync()
	clear(l.w.batch)
	l.w.batch = l.w.batch[:0]
	if cap(l.w.buf) > keepBuf {
		l.w.buf = nil
	}
	clear(queue)
	l.w.idle = queue[:0]
	return true
}

// wrote shows a part that was written. The terminal event is shown after the next sync.
func (l *Log) wrote(p part, err error) {
	switch n := len(p.news); {
	case err != nil:
		p.tell(err)
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
	if len(w.syncing) > 0 || len(w.ends) == 0 {
		return
	}
	w.syncing, w.ends = w.ends, w.syncing
	file := w.file
	go func() { w.synced <- file.Sync() }()
}

// endSync shows the ends that are durable now, and starts the next sync.
func (l *Log) endSync(err error) {
	if err != nil {
		err = l.fail(err)
	}
	for _, p := range l.w.syncing {
		if err != nil {
			p.tell(err)
			continue
		}
		l.show(p)
	}
	clear(l.w.syncing)
	l.w.syncing = l.w.syncing[:0]
	l.startSync()
}

// settle waits until nothing is left to be synced.
func (l *Log) settle() {
	for len(l.w.syncing) > 0 {
		l.endSync(<-l.w.synced)
	}
}

// Err gives the error of the disk after which the log takes no more events; nil while it takes them.
func (l *Log) Err() error { return l.failed() }

func (l *Log) failed() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes the first error of the disk the answer to every append.
func (l *Log) fail(err error) error {
	err = fmt.Errorf("write log in %s: %w", l.dir, err)
	if !l.failure.CompareAndSwap(nil, &err) {
		return l.failed()
	}
	l.opts.Log.Error("the log takes no more events", "error", err)
	return err
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
	if keep && len(r.news) > 0 {
		l.stage(r, r.news, r.pend)
	}
	w.batch = append(w.batch, part{run: r, news: r.news, done: r.done})
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
	seg.note(off, size, rec)
	r.tail = place{Seg: seg.num, Off: uint64(off), Len: uint32(size)}
	if r.first == 0 {
		r.first = seg.num
	}
}

// write writes the buffer behind the active segment.
func (w *writer) write() error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.file.Write(w.buf)
	w.active().size += int64(n)
	w.buf = w.buf[:0]
	return err
}

// roll closes the active segment and opens the next.
func (l *Log) roll() error {
	w := &l.w
	l.settle() // of this file
	if err := l.failed(); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	if l.opts.Sync != SyncNever {
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	seg := w.active()
	if err := seg.saveIndex(l.dir); err != nil {
		return err
	}
	seg.frags = nil
	if err := w.file.Close(); err != nil {
		return err
	}
	return w.begin(l.dir, seg.num+1, l.opts.Sync)
}

// begin makes a new active segment.
func (w *writer) begin(dir string, num uint64, sync Sync) error {
	f, err := os.OpenFile(segmentPath(dir, num), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	w.file = f
	w.segs = append(w.segs, &segment{num: num, frags: map[event.RunID]*fragment{}})
	if sync == SyncNever {
		return nil
	}
	return syncDir(dir)
}

// close ends the active segment with an index, so that opening need not read it.
func (w *writer) close(l *Log) error {
	if err := l.failed(); err != nil {
		return errors.Join(err, w.file.Close())
	}
	var errs []error
	if l.opts.Sync != SyncNever {
		errs = append(errs, w.file.Sync())
	}
	if errs = append(errs, w.active().saveIndex(l.dir), w.file.Close()); errors.Join(errs...) != nil {
		return fmt.Errorf("close log in %s: %w", l.dir, errors.Join(errs...))
	}
	return nil
}
