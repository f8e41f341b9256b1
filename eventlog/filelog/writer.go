package filelog

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// writer is what the writer goroutine owns: the files.
type writer struct {
	segs []*segment // ascending; the last is the active one
	file *os.File   // of the active one
	buf  []byte     // records to be written behind active.size
	done []written
	idle []*run // an empty queue, for the flush after this one
}

// written is a run's part in a flush.
type written struct {
	run   *run
	ended bool
	done  chan error
}

// The buffers that are kept for the next flush are smaller than these.
const (
	keepPend = 256 << 10
	keepBuf  = 8 << 20
)

func (w *writer) active() *segment { return w.segs[len(w.segs)-1] }

// work is the writer goroutine.
func (l *Log) work() {
	defer close(l.stopped)
	defer l.due.Stop()
	retain := time.NewTicker(l.opts.RetainEvery)
	defer retain.Stop()
	for {
		select {
		case <-l.due.C:
			l.flush()
		case <-l.now:
			l.flush()
		case f := <-l.do:
			f()
		case <-retain.C:
			if err := l.retain(); err != nil {
				l.opts.Log.Error("dropping old segments failed", "error", err)
			}
		case <-l.stop:
			l.flush()
			return
		}
	}
}

// flush writes what is pending of every run. It is the only place where files grow.
func (l *Log) flush() {
	l.qmu.Lock()
	batch := l.queue
	l.queue = l.w.idle
	l.qmu.Unlock()
	var taken int64
	end := false
	err := l.failed()
	for _, r := range batch {
		n, roll := l.take(r, err == nil)
		taken += n
		if roll && err == nil {
			err = l.roll()
			n, _ = l.take(r, err == nil)
			taken += n
		}
		end = end || l.w.done[len(l.w.done)-1].ended
	}
	if err == nil {
		err = l.w.write()
	}
	if sync := l.opts.Sync; err == nil && len(batch) > 0 && (sync == SyncWrite || sync == SyncEnd && end) {
		err = l.w.file.Sync()
	}
	if err != nil {
		err = l.fail(err)
	}
	l.finish(err, taken)
	clear(batch)
	l.w.idle = batch[:0]
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

// finish tells those who wait what became of a flush.
func (l *Log) finish(err error, taken int64) {
	l.pending.Add(-taken)
	l.qmu.Lock()
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
	l.qmu.Unlock()
	for _, d := range l.w.done {
		if d.ended && err == nil {
			d.run.mu.Lock()
			d.run.saved = true
			d.run.mu.Unlock()
			l.cool(d.run)
		}
		if d.done != nil {
			d.done <- err
		}
	}
	clear(l.w.done)
	l.w.done = l.w.done[:0]
	if cap(l.w.buf) > keepBuf {
		l.w.buf = nil
	}
}

// take makes a record of what is pending of a run. If the active segment is too full for it, it asks for another and does
// nothing. keep is false where nothing can be written any more.
func (l *Log) take(r *run, keep bool) (n int64, roll bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &l.w
	seg := w.active()
	off := seg.size + int64(len(w.buf))
	n = int64(len(r.pend))
	if keep && off > 0 && off+n+headBytes > l.opts.SegmentBytes {
		return 0, true
	}
	if keep && r.count > 0 {
		last := r.sum.Last
		rec := record{
			run: r.id, first: last - event.Seq(r.count) + 1, count: r.count, at: r.sum.UpdatedAt.UnixMicro(), ended: r.sum.Ended,
			prev: r.tail, lines: r.pend,
		}
		w.buf = appendRecord(w.buf, rec)
		size := seg.size + int64(len(w.buf)) - off
		seg.note(off, size, rec)
		r.tail = place{Seg: seg.num, Off: uint64(off), Len: uint32(size)}
		if r.first == 0 {
			r.first = seg.num
		}
	}
	w.done = append(w.done, written{run: r, ended: r.sum.Ended, done: r.done})
	r.queued, r.count, r.done = false, 0, nil
	if r.pend = r.pend[:0]; r.sum.Ended || cap(r.pend) > keepPend {
		r.pend = nil
	}
	return n, false
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
