package filelog

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Retain deletes the oldest segments according to Options.MaxAge and MaxBytes. It also runs every RetainEvery. A segment that contains the beginning
// of a live run is kept, and all segments after it. A run is deleted together with its first record.
func (l *Log) Retain(ctx context.Context) error {
	result := make(chan error, 1)
	select {
	case l.tasks <- func() { l.flush(); l.waitSync(); result <- l.retain() }:
		return <-result
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return eventlog.ErrClosed
	}
}

// retain runs on the writer goroutine.
func (l *Log) retain() error {
	if err := l.failed(); err != nil {
		return err
	}
	now := l.opts.Now()
	if act := l.w.active(); l.opts.MaxAge > 0 && act.size > 0 && now.Sub(act.oldest) > l.opts.MaxAge/4 {
		if err := l.nextSegment(); err != nil {
			return l.block(err)
		}
	}
	var total int64
	for _, s := range l.w.segs {
		total += s.size
	}
	for len(l.w.segs) > 1 {
		s := l.w.segs[0]
		tooOld := l.opts.MaxAge > 0 && now.Sub(s.newest) > l.opts.MaxAge
		tooMuch := l.opts.MaxBytes > 0 && total > l.opts.MaxBytes
		if !tooOld && !tooMuch || !l.dropRuns(s.num) {
			return nil
		}
		if err := removeSegment(l.dir, s.num); err != nil {
			return fmt.Errorf("drop segment %d: %w", s.num, err)
		}
		l.opts.Log.Info("an old segment is dropped", "path", segmentPath(l.dir, s.num), "bytes", s.size)
		l.w.segs = l.w.segs[1:]
		total -= s.size
	}
	return nil
}

// dropRuns deletes the runs that begin in the oldest segment, num, unless one of them is live. It reports whether it did.
func (l *Log) dropRuns(num uint64) bool {
	var leave []*run
	l.mu.RLock()
	all := make([]*run, 0, len(l.ids))
	for _, id := range l.ids {
		all = append(all, l.runs[id])
	}
	l.mu.RUnlock()
	for _, r := range all {
		r.mu.Lock()
		here, ended := r.first == num, r.saved
		r.mu.Unlock()
		if here && !ended {
			return false
		}
		if here {
			leave = append(leave, r)
		}
	}
	for _, r := range leave {
		r.mu.Lock()
		r.gone = true
		l.mem.Remove(r.id)
		r.mu.Unlock()
		l.old.drop(r.id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range leave {
		delete(l.runs, r.id)
	}
	l.ids = slices.DeleteFunc(l.ids, func(id event.RunID) bool { return l.runs[id] == nil })
	return true
}
