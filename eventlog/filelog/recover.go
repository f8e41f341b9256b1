package filelog

import (
	"fmt"
	"os"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// recover reads the folder and opens the active segment.
func (l *Log) recover() error {
	nums, err := segments(l.dir)
	if err != nil {
		return err
	}
	orphans := map[event.RunID]place{}
	for i, num := range nums {
		s, end, bad, err := loadSegment(l.dir, num)
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
		path := segmentPath(l.dir, num)
		for _, b := range bad {
			l.opts.Log.Error("a segment is damaged", "path", path, "from", b.from, "to", b.to)
		}
		last := i == len(nums)-1
		switch {
		case last && end < s.size:
			l.opts.Log.Warn("the torn end of the log is cut off", "path", path, "bytes", s.size-end)
			if err := os.Truncate(path, end); err != nil {
				return err
			}
			s.size = end
		case !last && end < s.size:
			l.opts.Log.Error("a segment is damaged", "path", path, "from", end, "to", s.size)
		}
		l.merge(s, nums[0], orphans)
		if !last {
			l.reindex(s)
		}
		l.w.segs = append(l.w.segs, s)
	}
	if err := l.completeDeletions(); err != nil {
		return err
	}
	if len(nums) == 0 {
		err = l.opts.Reserve.Use(func() error { return l.w.begin(l.dir, 1, l.opts.Sync) })
	} else {
		l.w.durable = l.w.active().size
		l.w.file, err = os.OpenFile(segmentPath(l.dir, l.w.active().num), os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return err
	}
	if err := l.endInterruptedRuns(); err != nil {
		return fmt.Errorf("end the runs that a loss of power cut: %w", err)
	}
	for _, r := range l.runs {
		r.last, r.ended = r.sum.Last, r.sum.Ended
	}
	return nil
}

// endInterruptedRuns ends the runs that were live when the machine stopped, and writes the present boot id.
func (l *Log) endInterruptedRuns() error {
	boot := bootID()
	if !machineStopped(l.dir, boot) {
		return l.opts.Reserve.Use(func() error { return writeBoot(l.dir, boot, l.opts.Sync) })
	}
	for _, id := range l.ids {
		r := l.runs[id]
		if r.sum.Ended || r.sum.Last >= event.Gap {
			continue
		}
		e := event.Event{Seq: r.sum.Last + event.Gap + 1, At: l.opts.Now().UTC().Truncate(time.Microsecond),
			Body: event.RunFailed{Code: fault.Internal, Message: "the machine stopped before the answer was finished"}}
		if e.At.Before(r.sum.UpdatedAt) {
			e.At = r.sum.UpdatedAt
		}
		line, err := event.AppendJSON(nil, e)
		if err != nil {
			return err
		}
		l.stage(r, []event.Event{e}, append(line, '\n'))
		r.sum.Apply(e)
		r.saved = true
		r.bytes += int64(len(line)) + 1
	}
	l.w.clearStaged()
	if err := l.opts.Reserve.Use(l.w.write); err != nil {
		return err
	}
	if l.opts.Sync != SyncNever {
		if err := l.w.file.Sync(); err != nil {
			return err
		}
	}
	l.w.durable = l.w.active().size
	return l.opts.Reserve.Use(func() error { return writeBoot(l.dir, boot, l.opts.Sync) })
}

// reindex writes the index of a full segment if it is missing or incomplete.
func (l *Log) reindex(s *segment) {
	if (&segment{num: s.num, size: s.size, frags: map[event.RunID]*fragment{}}).loadIndex(l.dir) != s.size {
		if err := s.saveIndex(l.dir); err != nil { // the next Open rebuilds it
			l.opts.Log.Warn("the index of a segment could not be written", "path", indexPath(l.dir, s.num), "error", err)
		}
	}
	s.frags = nil
}

// merge adds the fragments of a segment to the runs. orphans are the runs whose beginning was in a segment before oldest, which was deleted; each
// has the place of its last record so far.
func (l *Log) merge(s *segment, oldest uint64, orphans map[event.RunID]place) {
	for id, f := range s.frags {
		r := l.runs[id]
		if f.Deleted {
			if r != nil || f.Left { // the process ended before all records were erased
				l.unwiped = append(l.unwiped, unwiped{id, f.Tail})
			}
			if r != nil {
				l.remove(id)
			}
			delete(orphans, id)
			continue
		}
		prev, orphan := orphans[id]
		switch {
		case r == nil && f.First != 1 && (f.Prev.Seg < oldest || orphan && prev == f.Prev):
			orphans[id] = f.Tail
			continue
		case r == nil:
			r = &run{id: id, first: s.num}
			l.insert(r)
			if f.First != 1 || f.Start == nil {
				r.sum.Start, r.sum.StartedAt = event.RunStarted{Run: id}, f.At
				f.Damage = "its beginning is lost"
				break
			}
			r.sum.Start, r.sum.StartedAt = *f.Start, f.StartAt
		case !f.follows(r.sum.Last) || f.Prev != r.tail || r.sum.Ended:
			f.Damage = fmt.Sprintf("event %d in segment %d does not follow event %d", f.First, s.num, r.sum.Last)
		}
		r.sum.Last, r.sum.UpdatedAt, r.tail = f.Last, f.At, f.Tail
		r.bytes += f.Bytes
		r.sum.Ended, r.sum.Code = r.sum.Ended || f.Ended, f.Code
		r.saved = r.sum.Ended
		if f.Damage != "" && r.damage == nil {
			l.opts.Log.Error("a run is damaged", "run", id, "cause", f.Damage)
			r.fail(fmt.Errorf("read run %s: %w: %s", id, ErrDamaged, f.Damage))
		}
		if r.damage != nil {
			r.fail(r.damage)
		}
	}
}

// fail marks a run as damaged. It counts as ended and failed.
func (r *run) fail(err error) {
	r.damage = err
	r.sum.Ended, r.sum.Code, r.saved = true, fault.Internal, true
}

var (
	_ eventlog.Store   = (*Log)(nil)
	_ eventlog.Archive = (*Log)(nil)
)
