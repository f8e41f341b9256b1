package natslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/natsconn"
)

// Delete implements [eventlog.Deleter]. It notes the deletion in the index, purges the subject of the run, overwrites the key of its events, and
// removes the note. If the process ends in between, the next Open of any server completes the deletion. Other servers drop what they have of the run
// in memory when they hear of it, at the latest after 30 seconds without readers.
//
// In a cluster, the log of its consensus may keep a copy of the key until its next snapshot, which NATS makes every few minutes. So do backups.
func (l *Log) Delete(ctx context.Context, id event.RunID) error {
	if err := l.check(id); err != nil {
		return err
	}
	t, err := l.tail(ctx, id)
	switch {
	case errors.Is(err, errNone):
		return eventlog.ErrNotFound
	case err != nil:
		return fmt.Errorf("delete run %s: %w", id, err)
	case !t.ended:
		return eventlog.ErrRunning
	}
	if _, err := l.putMark(ctx, l.names.deleting(id)); err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	if err := l.completeDeletion(ctx, id); err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	return nil
}

func (l *Log) completeDeletion(ctx context.Context, id event.RunID) error {
	if err := l.purge(ctx, l.runs, l.names.run(id)); err != nil {
		return err
	}
	if err := l.eraseKey(ctx, id); err != nil {
		return err
	}
	l.forget(id)
	_ = l.nc.Publish(l.names.deleted, []byte(id)) // the others forget it without that, too, but later
	return errors.Join(l.purge(ctx, l.index, l.names.deleting(id)), l.purge(ctx, l.index, l.names.owned(l.o.Server, id)))
}

// completeDeletions completes the deletions that an earlier process has begun.
func (l *Log) completeDeletions(ctx context.Context) error {
	subjects, err := l.subjects(ctx, l.index, l.names.mark+"delete.>")
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if id := runID(s); id != "" {
			if err := l.completeDeletion(ctx, id); err != nil {
				return fmt.Errorf("delete run %s: %w", id, err)
			}
		}
	}
	return nil
}

// DeleteTenant deletes the streams of a tenant with all of its runs. No log of it may be open.
func DeleteTenant(ctx context.Context, c *natsconn.Conn, prefix, tenant string) error {
	o := Options{Prefix: prefix, Tenant: tenant}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("delete log in NATS: %w", err)
	}
	o = o.withDefaults()
	n := newNames(o.Prefix, o.Tenant)
	for _, stream := range []string{n.runs, n.index} {
		if err := c.JS.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("delete log in NATS: %w", err)
		}
	}
	return nil
}

// Discard removes what a process has left that began a run and wrote no event of it. No process may be beginning the run.
func (l *Log) Discard(ctx context.Context, id event.RunID) error {
	if err := l.check(id); err != nil {
		return err
	}
	if _, err := l.tail(ctx, id); !errors.Is(err, errNone) {
		return err
	}
	l.keys.Remove(id)
	return l.eraseKey(ctx, id)
}

// InUse reports whether a log of a tenant is open in any process.
func InUse(ctx context.Context, c *natsconn.Conn, prefix, tenant string) (bool, error) {
	o := Options{Prefix: prefix, Tenant: tenant}.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.NC.RequestWithContext(ctx, newNames(o.Prefix, o.Tenant).deleted, nil) // logs subscribe to it, and do not reply
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return false, nil
	case errors.Is(err, context.DeadlineExceeded):
		return true, nil
	}
	return false, err
}
