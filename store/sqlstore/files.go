package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

const fileColumns = "id, name, media_type, purpose, bytes, md5, sha256, url, status, failure, options, fields, created_at, updated_at"

func scanFile(scan func(...any) error) (store.File, error) {
	var f store.File
	var created, updated int64
	err := scan(&f.ID, &f.Name, &f.MediaType, &f.Purpose, &f.Bytes, &f.MD5, &f.SHA256, &f.URL, &f.Status, &f.Failure,
		(*[]byte)(&f.Options), (*[]byte)(&f.Fields), &created, &updated)
	f.CreatedAt, f.UpdatedAt = sqldb.FromMicros(created), sqldb.FromMicros(updated)
	f.Options, f.Fields = present(f.Options), present(f.Fields)
	return f, err
}

// present returns nil for an empty value, which is not JSON. PostgreSQL tells it from NULL, and SQLite does not.
func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// AddFile implements [store.Files].
func (s *Store) AddFile(ctx context.Context, f store.File, t store.Task, stores []string) error {
	err := s.write.Change(ctx, func(tx sqldb.Querier) error {
		n, err := tx.Do(ctx, "INSERT INTO files ("+fileColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
			f.ID, f.Name, f.MediaType, f.Purpose, f.Bytes, f.MD5, f.SHA256, f.URL, f.Status, f.Failure,
			[]byte(f.Options), []byte(f.Fields), sqldb.Micros(f.CreatedAt), sqldb.Micros(f.UpdatedAt))
		if err == nil && n == 0 {
			err = fmt.Errorf("file %q: %w", f.ID, store.ErrExists)
		}
		if err == nil {
			err = putTask(ctx, tx, t)
		}
		for _, id := range stores {
			if err == nil {
				err = join(ctx, tx, id, []string{f.ID})
			}
		}
		return err
	})
	return wrap("add file", err)
}

// File implements [store.Files].
func (s *Store) File(ctx context.Context, id string) (store.File, error) {
	f, err := getFile(ctx, s.read, id)
	return f, wrap("read file", err)
}

func getFile(ctx context.Context, q sqldb.Querier, id string) (store.File, error) {
	return one(ctx, q, scanFile, "SELECT "+fileColumns+" FROM files WHERE id = ?", id)
}

// FileBySHA256 implements [store.Finder].
func (s *Store) FileBySHA256(ctx context.Context, sha256 string) (store.File, error) {
	if sha256 == "" {
		return store.File{}, wrap("find file", store.ErrNotFound)
	}
	f, err := one(ctx, s.read, scanFile, "SELECT "+fileColumns+` FROM files WHERE sha256 = ? AND sha256 <> ''
		ORDER BY status <> 'completed', status IN ('failed', 'cancelled'), created_at LIMIT 1`, sha256)
	return f, wrap("find file", err)
}

// Files implements [store.Files].
func (s *Store) Files(ctx context.Context, after string, limit int) ([]store.File, error) {
	fs, err := sqldb.All(ctx, s.read, scanFile, "SELECT "+fileColumns+" FROM files WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	return fs, wrap("list files", err)
}

// FilesByID implements [store.Finder].
func (s *Store) FilesByID(ctx context.Context, ids []string) ([]store.File, error) {
	in, list := sqldb.In(s.read, "id", ids)
	fs, err := sqldb.All(ctx, s.read, scanFile, "SELECT "+fileColumns+" FROM files WHERE "+in+" ORDER BY id", list)
	return fs, wrap("read files", err)
}

// UpdateFile implements [store.Files].
func (s *Store) UpdateFile(ctx context.Context, id string, change func(*store.File) error) (f store.File, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		if f, err = getFile(ctx, tx, id); err != nil {
			return err
		}
		if err := change(&f); err != nil {
			return err
		}
		f.ID = id
		return putFile(ctx, tx, &f)
	})
	return f, wrap("change file", err)
}

// putFile updates the row of a file and its memberships. A membership in the outbox stays pending.
func putFile(ctx context.Context, tx sqldb.Querier, f *store.File) error {
	f.CreatedAt, f.UpdatedAt = sqldb.FromMicros(sqldb.Micros(f.CreatedAt)), sqldb.FromMicros(sqldb.Micros(f.UpdatedAt))
	if _, err := tx.Do(ctx, `UPDATE files SET name = ?, media_type = ?, purpose = ?, bytes = ?, md5 = ?, sha256 = ?, url = ?, status = ?,
		failure = ?, options = ?, fields = ?, created_at = ?, updated_at = ? WHERE id = ?`,
		f.Name, f.MediaType, f.Purpose, f.Bytes, f.MD5, f.SHA256, f.URL, f.Status,
		f.Failure, []byte(f.Options), []byte(f.Fields), sqldb.Micros(f.CreatedAt), sqldb.Micros(f.UpdatedAt), f.ID); err != nil {
		return err
	}
	_, err := tx.Do(ctx, `UPDATE members SET bytes = ?1, status = CASE
			WHEN EXISTS (SELECT 1 FROM changes c WHERE c.store = members.store AND c.file = members.file) THEN 'pending' ELSE ?2 END
		WHERE file = ?3 AND (bytes <> ?1 OR status <> ?2)`, f.Bytes, memberStatus(f.Status), f.ID)
	return err
}

// memberStatus returns the status of a membership that the index has applied, from the status of the file.
func memberStatus(s store.Status) store.Status {
	if s.Final() {
		return s
	}
	return store.Pending
}

// RemoveFile implements [store.Files].
func (s *Store) RemoveFile(ctx context.Context, id string, at time.Time) (f store.File, last bool, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		if f, err = getFile(ctx, tx, id); err != nil {
			return err
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM changes WHERE file = ? AND (store = '' OR store IN (SELECT store FROM members WHERE file = ?))", []any{id, id}},
			{"INSERT INTO changes (store, file) SELECT store, file FROM members WHERE file = ? ORDER BY store", []any{id}},
			{"INSERT INTO changes (store, file) VALUES ('', ?)", []any{id}},
			{"DELETE FROM members WHERE file = ?", []any{id}},
			{"DELETE FROM files WHERE id = ?", []any{id}},
			{"UPDATE tasks SET loose = 1, updated_at = ? WHERE resource = ?", []any{sqldb.Micros(at), id}},
			{"UPDATE tasks SET status = 'cancelled', failure = ? WHERE resource = ? AND status IN ('pending', 'running')",
				[]any{"the file was deleted", id}},
		} {
			if _, err := tx.Do(ctx, step.query, step.args...); err != nil {
				return err
			}
		}
		others, err := sqldb.All(ctx, tx, sqldb.Text, "SELECT id FROM files WHERE sha256 = ? AND sha256 <> '' LIMIT 1", f.SHA256)
		last = len(others) == 0
		return err
	})
	return f, last, wrap("remove file", err)
}

// databaseName names the database in errors.
const databaseName = "files.db"

// wrap adds the failed operation to an error, and what [sqlitedb.Explain] says.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, sqlitedb.Explain(databaseName, err))
}
