package filelog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// What happens when the disk fails:
//
//   - A write that fails is undone: the segment is cut to where it ended before. Events whose Append had returned stay pending. An Append that
//     waits for the write gets the error and its events are dropped, except for the end of a run, which stays pending as well.
//   - Until a write succeeds, every Append waits for its write. So a run that goes on is told that the disk fails, and its end, which may use
//     the disk reserve, follows what was pending.
//   - Every retryEvery, what is pending is written again; where nothing is, a file is written to see whether the disk works.
//   - After a sync that fails, the system may have dropped what was not synced yet. Those records are read back, compared with their
//     checksums, written again in place and synced again, with the disk reserve if need be. If that fails too, the log tries it again every
//     retryEvery and reports the error until it works, also when other writes succeed. If the records cannot be read back, the log takes no
//     more events until it is opened again.

// retryEvery is how long the log waits after a failure before it tries again by itself.
const retryEvery = time.Second

// Err returns the error of the last write if it failed, and nil if the log accepts events.
func (l *Log) Err() error {
	if err := l.failed(); err != nil {
		return err
	}
	if err := l.blocked.Load(); err != nil {
		return *err
	}
	return nil
}

// failed returns the error after which the log accepts no events until it is opened again.
func (l *Log) failed() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes every Append return an error until the log is opened again.
func (l *Log) fail(err error) error {
	err = fmt.Errorf("write log in %s: %w", l.dir, err)
	if !l.failure.CompareAndSwap(nil, &err) {
		return l.failed()
	}
	l.opts.Log.Error("the run log accepts no events until the server is restarted", "error", err)
	return err
}

// block records a failed write and schedules a retry.
func (l *Log) block(err error) error {
	err = fmt.Errorf("write log in %s: %w", l.dir, err)
	if l.blocked.Swap(&err) == nil {
		l.opts.Log.Error("the run log could not be written; it retries", "error", err)
	}
	l.w.retry.Reset(retryEvery)
	return err
}

// unblock records a successful write. While the last sync has failed, the log stays blocked.
func (l *Log) unblock() {
	if !l.w.unsynced && l.blocked.Load() != nil && l.blocked.Swap(nil) != nil {
		l.opts.Log.Info("the run log can be written again")
	}
}

// retryWrites runs on the writer goroutine after a failure.
func (l *Log) retryWrites() {
	if l.failed() != nil || !l.w.unsynced && l.blocked.Load() == nil {
		return
	}
	if l.w.unsynced && l.sync() != nil {
		return
	}
	if l.flush() {
		l.w.retry.Reset(retryEvery) // unless that wrote something, the next try looks again
		return
	}
	if err := l.probe(); err != nil {
		_ = l.block(err)
		return
	}
	l.unblock()
}

// probe writes and removes a file to find out whether the disk works.
func (l *Log) probe() error {
	path := filepath.Join(l.dir, "probe")
	return errors.Join(os.WriteFile(path, make([]byte, 64<<10), 0o600), os.Remove(path))
}

// undo is the state before a record was staged.
type undo struct {
	seg            *segment
	run            *run
	had            bool     // the segment had a fragment of the run
	before         fragment // what it was
	oldest, newest time.Time
	tail           place
	first          uint64
}

// unstage undoes staged records that were not written.
func (w *writer) unstage() {
	for i := len(w.staged) - 1; i >= 0; i-- {
		u := w.staged[i]
		u.seg.oldest, u.seg.newest = u.oldest, u.newest
		if u.had {
			u.seg.frags[u.run.id] = &u.before
		} else {
			delete(u.seg.frags, u.run.id)
		}
		u.run.tail, u.run.first = u.tail, u.first
	}
	w.clearStaged()
	w.buf = w.buf[:0]
}

func (w *writer) clearStaged() {
	clear(w.staged)
	w.staged = w.staged[:0]
}

// putBack makes the events of a failed write pending again, except for those whose Append returns the error.
func (l *Log) putBack(p part, err error) {
	r := p.run
	r.mu.Lock()
	defer r.mu.Unlock()
	defer p.finish(err)
	if r.gone {
		return
	}
	keep, lines := p.news, p.lines
	if p.done != nil && !p.ends() { // nothing was accepted after them
		keep, lines = p.news[:p.accepted], p.lines[:p.acceptedBytes]
		r.bytes -= int64(len(p.lines)-len(lines)) + int64(len(r.pend))
		l.pending.Add(-int64(len(r.pend)))
		r.news, r.pend = nil, nil
		if r.done != nil {
			part{done: r.done}.finish(err)
			r.done = nil
		}
	}
	if r.sum.Last == 0 { // it has not begun: there is no such run
		r.gone = true
		l.remove(r.id)
		return
	}
	l.pending.Add(int64(len(lines)))
	r.news = append(append([]event.Event(nil), keep...), r.news...)
	r.pend = append(append([]byte(nil), lines...), r.pend...)
	if r.done != nil {
		r.accepted += len(keep)
		r.acceptedBytes += len(lines)
	}
	r.last, r.ended = r.sum.Last, false
	if n := len(r.news); n > 0 {
		r.last, r.ended = r.news[n-1].Seq, event.Terminal(r.news[n-1].Body)
	}
	if len(r.news) > 0 && !r.queued {
		l.qmu.Lock()
		l.queue = append(l.queue, r) // nobody is woken: retryWrites comes
		l.qmu.Unlock()
		r.queued = true
	}
}

// sync makes the active segment durable and makes the waiting terminal events visible. No other sync may be running. If it fails, the Appends of
// these events get the error, the log is blocked, and [Log.retryWrites] calls sync again.
func (l *Log) sync() error {
	w := &l.w
	var err error
	if w.unsynced || w.file.Sync() != nil { // the system reports a failed sync once: the next one says nothing about the records before it
		err = l.opts.Reserve.Use(l.resync)
	}
	if w.unsynced = err != nil; w.unsynced {
		reported := l.failed()
		if reported == nil {
			reported = l.block(err)
		}
		for i := range w.ends {
			w.ends[i].finish(reported)
			w.ends[i].done = nil
		}
		return err
	}
	w.durable = w.active().size
	for _, p := range w.ends {
		l.show(p)
	}
	clear(w.ends)
	w.ends = w.ends[:0]
	return nil
}

// resync makes the records since the last successful sync durable after a sync failed: it reads them back and writes them again, since the
// operating system may consider the lost pages as written.
func (l *Log) resync() (err error) {
	seg := l.w.active()
	f, err := os.OpenFile(segmentPath(l.dir, seg.num), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data := make([]byte, seg.size-l.w.durable)
	if _, err := io.ReadFull(io.NewSectionReader(f, l.w.durable, int64(len(data))), data); err != nil {
		return l.fail(err)
	}
	end, bad := scan(data, 0, func(int, int, record) {})
	if end != len(data) || len(bad) > 0 {
		return l.fail(errors.New("records that a failed sync concerned cannot be read back"))
	}
	if _, err := f.WriteAt(data, l.w.durable); err != nil {
		return err
	}
	return f.Sync()
}
