package filelog

import (
	"context"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

var _ eventlog.Syncer = (*Log)(nil)

// Sync implements [eventlog.Syncer]. It makes the events of all runs durable. Calls at the same time, and terminal events, share a sync of the
// file. With [SyncNever], it only writes them.
func (l *Log) Sync(ctx context.Context, _ event.RunID) error {
	done := &outcome{known: make(chan struct{})}
	task := func() {
		l.flush()
		if l.opts.Sync != SyncEnd || l.Err() != nil {
			part{done: done}.finish(l.Err())
			return
		}
		l.w.ends = append(l.w.ends, part{done: done})
		l.startSync()
	}
	select {
	case l.tasks <- task:
		return l.await(done)
	case <-l.stopped:
		return eventlog.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
