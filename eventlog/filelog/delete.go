package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

var _ eventlog.Deleter = (*Log)(nil)

// unwiped is a deleted run with its last record.
type unwiped struct {
	id   event.RunID
	tail place
}

// Delete implements [eventlog.Deleter]. First a record of the deletion is made durable, then the records of the run are overwritten in place. If
// the process ends in between, the next Open completes the deletion.
func (l *Log) Delete(ctx context.Context, id event.RunID) error {
	if l.closed.Load() {
		return eventlog.ErrClosed
	}
	result := make(chan error, 1)
	select {
	case l.tasks <- func() { result <- l.delete(id) }:
		return <-result
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return eventlog.ErrClosed
	}
}

// delete runs on the writer goroutine.
func (l *Log) delete(id event.RunID) error {
	l.flush()
	l.waitSync()
	if err := l.failed(); err != nil {
		return err
	}
	r := l.find(id)
	if r == nil {
		return eventlog.ErrNotFound
	}
	r.mu.Lock()
	gone, saved, tail := r.gone || r.sum.Last == 0, r.saved, r.tail
	rec := record{run: id, first: r.sum.Last + 1, count: 1, at: r.sum.UpdatedAt.UnixMicro(), mark: markDeleted, prev: tail}
	r.mu.Unlock()
	switch {
	case gone:
		return eventlog.ErrNotFound
	case !saved:
		return eventlog.ErrRunning
	}
	if err := l.opts.Reserve.Use(func() error { return l.note(rec) }); err != nil {
		if l.failed() == nil {
			err = l.block(err)
		}
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	if l.opts.Sync != SyncNever {
		if err := l.sync(); err != nil {
			return fmt.Errorf("delete run %s: %w", id, err)
		}
	}
	r.mu.Lock()
	r.gone = true
	l.mem.Remove(id)
	r.mu.Unlock()
	l.old.drop(id)
	l.remove(id)
	if err := l.opts.Reserve.Use(func() error { return l.wipe(id, tail) }); err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	if f := l.w.active().frags[id]; f != nil {
		f.Left = false
	}
	return nil
}

// note appends one record to the active segment.
func (l *Log) note(rec record) error {
	w := &l.w
	if seg := w.active(); seg.size > 0 && seg.size+headBytes+int64(len(rec.run)) > l.opts.SegmentBytes {
		if err := l.nextSegment(); err != nil {
			return err
		}
	}
	seg := w.active()
	w.buf = appendRecord(w.buf[:0], rec)
	off, n := seg.size, int64(len(w.buf))
	if err := w.write(); err != nil {
		w.buf = w.buf[:0]
		return err
	}
	seg.note(off, n, rec)
	return nil
}

// completeDeletions erases the runs whose deletion an earlier process did not complete.
func (l *Log) completeDeletions() error {
	for _, u := range l.unwiped {
		if err := l.wipe(u.id, u.tail); err != nil {
			return fmt.Errorf("wipe run %s: %w", u.id, err)
		}
	}
	l.unwiped = nil
	return nil
}

// wipe overwrites the records of a run, from the last to the first. If a record cannot be read, so that the previous one is unknown, the segments
// up to it are searched.
func (l *Log) wipe(id event.RunID, tail place) error {
	b := &backReader{dir: l.dir}
	defer b.close()
	touched := map[uint64]bool{}
	for p := tail; p != (place{}); {
		data, err := b.bytes(p)
		var r record
		if err == nil {
			r, _, err = parseRecord(data)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // the segment was deleted, and all before it
		case err != nil || r.run != id:
			return l.wipeAll(id, p.Seg, touched)
		}
		if err := l.overwrite(p.Seg, int64(p.Off), r, touched); err != nil {
			return err
		}
		if r.prev.Seg > p.Seg || r.prev.Seg == p.Seg && r.prev.Off >= p.Off {
			break
		}
		p = r.prev
	}
	return nil
}

// wipeAll overwrites the records of a run in the segments up to last.
func (l *Log) wipeAll(id event.RunID, last uint64, touched map[uint64]bool) error {
	nums, err := segments(l.dir)
	if err != nil {
		return err
	}
	for _, num := range nums {
		if num > last {
			break
		}
		data, err := os.ReadFile(segmentPath(l.dir, num))
		if err != nil {
			return err
		}
		scan(data, 0, func(off, _ int, r record) {
			if r.run == id && r.mark != markDeleted && err == nil {
				err = l.overwrite(num, int64(off), r, touched)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite replaces the events of a record by spaces.
func (l *Log) overwrite(num uint64, off int64, r record, touched map[uint64]bool) (err error) {
	if r.mark == markWiped {
		return nil
	}
	if !touched[num] { // it contains the question of the run, and a segment does not need it
		if err := atomicfile.Remove(indexPath(l.dir, num)); err != nil {
			return err
		}
		touched[num] = true
	}
	r.mark, r.ended = markWiped, false
	blank := make([]byte, len(r.lines))
	for i := range blank {
		blank[i] = ' '
	}
	r.lines = blank
	f, err := os.OpenFile(segmentPath(l.dir, num), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteAt(appendRecord(nil, r), off)
	return err
}
