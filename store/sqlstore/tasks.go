package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

const taskColumns = "id, type, status, progress, resource, failure, tries, created_at, updated_at, server, delay"

func scanTask(scan func(...any) error) (store.Task, error) {
	var t store.Task
	var created, updated, delay int64
	err := scan(&t.ID, &t.Type, &t.Status, &t.Progress, &t.Resource, &t.Failure, &t.Tries, &created, &updated, &t.Server, &delay)
	t.CreatedAt, t.UpdatedAt, t.Delay = sqldb.FromMicros(created), sqldb.FromMicros(updated), time.Duration(delay)*time.Microsecond
	return t, err
}

// PutTask implements [store.Tasks].
func (s *Store) PutTask(ctx context.Context, t store.Task) error {
	return wrap("put task", s.write.Change(ctx, func(tx sqldb.Querier) error { return putTask(ctx, tx, t) }))
}

// putTask adds or replaces a task. A task without a file is loose: DeleteOldTasks deletes it later.
func putTask(ctx context.Context, tx sqldb.Querier, t store.Task) error {
	_, err := tx.Do(ctx, "INSERT INTO tasks ("+taskColumns+`, loose, unfetched)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, (SELECT CASE count(*) WHEN 0 THEN 1 ELSE 0 END FROM files WHERE id = ?5),
			(SELECT count(*) FROM files WHERE id = ?5 AND sha256 = ''))
		ON CONFLICT (id) DO UPDATE SET type = excluded.type, status = excluded.status, progress = excluded.progress, resource = excluded.resource, failure = excluded.failure,
			tries = excluded.tries, created_at = excluded.created_at, updated_at = excluded.updated_at, server = excluded.server, delay = excluded.delay, loose = excluded.loose, unfetched = excluded.unfetched`,
		t.ID, t.Type, t.Status, t.Progress, t.Resource, t.Failure, t.Tries, sqldb.Micros(t.CreatedAt), sqldb.Micros(t.UpdatedAt), t.Server, t.Delay.Microseconds())
	return err
}

// Task implements [store.Tasks].
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	t, err := getTask(ctx, s.read, id)
	return t, wrap("read task", err)
}

func getTask(ctx context.Context, q sqldb.Querier, id string) (store.Task, error) {
	return one(ctx, q, scanTask, "SELECT "+taskColumns+" FROM tasks WHERE id = ?", id)
}

// UpdateTask implements [store.Tasks].
func (s *Store) UpdateTask(ctx context.Context, id string, change func(*store.Task, *store.File) error) (t store.Task, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		if t, err = getTask(ctx, tx, id); err != nil {
			return err
		}
		var f *store.File
		switch found, err := getFile(ctx, tx, t.Resource); {
		case err == nil:
			f = &found
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		resource := t.Resource
		if err := change(&t, f); err != nil {
			return err
		}
		t.ID, t.CreatedAt, t.UpdatedAt = id, sqldb.FromMicros(sqldb.Micros(t.CreatedAt)), sqldb.FromMicros(sqldb.Micros(t.UpdatedAt))
		if f != nil {
			f.ID = resource
			if err := putFile(ctx, tx, f); err != nil {
				return err
			}
		}
		return putTask(ctx, tx, t)
	})
	return t, wrap("change task", err)
}

// StartNext implements [store.Tasks].
func (s *Store) StartNext(ctx context.Context, at time.Time, unfetched bool, server string) (store.Task, error) {
	queue := 0
	if unfetched {
		queue = 1
	}
	// A delay also ends if the clock is set back.
	t, err := one(ctx, s.write, scanTask, `UPDATE tasks SET status = 'running', tries = tries + 1, updated_at = ?1, server = ?2
		WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND unfetched = ?3 AND (delay = 0 OR abs(?1 - updated_at) >= delay) ORDER BY `+taskDue+`, id LIMIT 1) RETURNING `+taskColumns,
		sqldb.Micros(at), server, queue)
	if errors.Is(err, store.ErrNotFound) {
		var due int64
		due, err = one(ctx, s.read, sqldb.Integer, "SELECT "+taskDue+" FROM tasks WHERE status = 'pending' AND unfetched = ? ORDER BY "+taskDue+", id LIMIT 1", queue)
		if err == nil {
			err = &store.NotDueError{Left: max(sqldb.FromMicros(due).Sub(at), 0)}
		}
	}
	return t, wrap("start task", err)
}

// Requeue implements [store.Tasks].
func (s *Store) Requeue(ctx context.Context, at time.Time, stopped func(store.Task) bool) (n int, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		running, err := sqldb.All(ctx, tx, scanTask, "SELECT "+taskColumns+" FROM tasks WHERE status = 'running'")
		if err != nil {
			return err
		}
		var ids []string
		for _, t := range running {
			if stopped(t) {
				ids = append(ids, t.ID)
			}
		}
		in, list := sqldb.In(tx, "id", ids)
		n, err = tx.Do(ctx, "UPDATE tasks SET status = 'pending', progress = 0, delay = 0, updated_at = ? WHERE "+in, sqldb.Micros(at), list)
		return err
	})
	return n, wrap("requeue tasks", err)
}

// DeleteOldTasks implements [store.Tasks].
func (s *Store) DeleteOldTasks(ctx context.Context, before time.Time) (int, error) {
	n, err := s.write.Do(ctx, `DELETE FROM tasks WHERE loose = 1 AND updated_at < ? AND status IN ('completed', 'failed', 'cancelled')`, sqldb.Micros(before))
	return n, wrap("delete old tasks", err)
}
