package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/store"
)

const taskColumns = "id, type, status, progress, resource, failure, tries, created_at, updated_at"

func scanTask(scan func(...any) error) (store.Task, error) {
	var t store.Task
	var created, updated int64
	err := scan(&t.ID, &t.Type, &t.Status, &t.Progress, &t.Resource, &t.Failure, &t.Tries, &created, &updated)
	t.CreatedAt, t.UpdatedAt = sqlitedb.FromMicros(created), sqlitedb.FromMicros(updated)
	return t, err
}

// PutTask implements [store.Tasks].
func (s *Store) PutTask(ctx context.Context, t store.Task) error {
	return wrap("put task", s.write.Change(ctx, func(tx *sqlitedb.Tx) error { return putTask(ctx, tx, t) }))
}

// putTask adds or replaces a task. A task without a file is loose: DeleteOldTasks deletes it later.
func putTask(ctx context.Context, tx *sqlitedb.Tx, t store.Task) error {
	_, err := sqlitedb.Exec(ctx, tx, "INSERT OR REPLACE INTO tasks ("+taskColumns+`, loose, unfetched)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NOT EXISTS (SELECT 1 FROM files WHERE id = ?5),
			EXISTS (SELECT 1 FROM files WHERE id = ?5 AND sha256 = ''))`,
		t.ID, t.Type, t.Status, t.Progress, t.Resource, t.Failure, t.Tries, sqlitedb.Micros(t.CreatedAt), sqlitedb.Micros(t.UpdatedAt))
	return err
}

// Task implements [store.Tasks].
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	t, err := getTask(ctx, s.read, id)
	return t, wrap("read task", err)
}

func getTask(ctx context.Context, q sqlitedb.Querier, id string) (store.Task, error) {
	return one(ctx, q, scanTask, "SELECT "+taskColumns+" FROM tasks WHERE id = ?", id)
}

// UpdateTask implements [store.Tasks].
func (s *Store) UpdateTask(ctx context.Context, id string, change func(*store.Task, *store.File) error) (t store.Task, err error) {
	err = s.write.Change(ctx, func(tx *sqlitedb.Tx) error {
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
		t.ID, t.CreatedAt, t.UpdatedAt = id, sqlitedb.FromMicros(sqlitedb.Micros(t.CreatedAt)), sqlitedb.FromMicros(sqlitedb.Micros(t.UpdatedAt))
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
func (s *Store) StartNext(ctx context.Context, at time.Time, unfetched bool) (store.Task, error) {
	t, err := one(ctx, s.write, scanTask, `UPDATE tasks SET status = 'running', tries = tries + 1, updated_at = ?
		WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND unfetched = ? ORDER BY created_at, id LIMIT 1) RETURNING `+taskColumns,
		sqlitedb.Micros(at), unfetched)
	return t, wrap("start task", err)
}

// Requeue implements [store.Tasks].
func (s *Store) Requeue(ctx context.Context, at time.Time, except []string) (int, error) {
	ids, err := json.Marshal(append([]string{}, except...))
	if err != nil {
		return 0, wrap("requeue tasks", err)
	}
	n, err := sqlitedb.Exec(ctx, s.write, `UPDATE tasks SET status = 'pending', progress = 0, updated_at = ?
		WHERE status = 'running' AND id NOT IN (SELECT value FROM json_each(?))`, sqlitedb.Micros(at), string(ids))
	return n, wrap("requeue tasks", err)
}

// DeleteOldTasks implements [store.Tasks].
func (s *Store) DeleteOldTasks(ctx context.Context, before time.Time) (int, error) {
	n, err := sqlitedb.Exec(ctx, s.write, `DELETE FROM tasks WHERE loose = 1 AND updated_at < ? AND status IN ('completed', 'failed', 'cancelled')`, sqlitedb.Micros(before))
	return n, wrap("delete old tasks", err)
}
