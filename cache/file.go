package cache

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/sluice-rag/sluice/disk/cachedb"
	"github.com/sluice-rag/sluice/sqldb"
)

var errClosed = errors.New("the answer cache is closed")

// file is a [sqldb.DB] and the storage of a cache in an SQLite file.
type file struct {
	mu sync.Mutex
	db *cachedb.DB // nil once closed
}

// use runs do while no other operation runs.
func (f *file) use(do func(*cachedb.DB) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil {
		return errClosed
	}
	return do(f.db)
}

// Each implements [sqldb.Querier], for queries with one row at most.
func (f *file) Each(ctx context.Context, row func(func(...any) error) error, query string, args ...any) error {
	return f.use(func(db *cachedb.DB) error { return db.Check(fileChange{db}.Each(ctx, row, query, args...)) })
}

// Do implements [sqldb.Querier].
func (f *file) Do(ctx context.Context, query string, args ...any) (n int, err error) {
	err = f.use(func(db *cachedb.DB) (err error) {
		n, err = fileChange{db}.Do(ctx, query, args...)
		return db.Check(err)
	})
	return n, err
}

// Dialect implements [sqldb.Querier].
func (*file) Dialect() sqldb.Dialect { return sqldb.SQLite }

// Change implements [sqldb.DB].
func (f *file) Change(_ context.Context, do func(sqldb.Querier) error) error {
	return f.use(func(db *cachedb.DB) error { return db.Update(func() error { return do(fileChange{db}) }) })
}

// Close implements [sqldb.DB].
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil {
		return nil
	}
	err := f.db.Close()
	f.db = nil
	return err
}

func (f *file) makeRoom(_ context.Context, bytes int64) error {
	return f.use(func(db *cachedb.DB) error { return db.Check(db.MakeRoom(bytes)) })
}

func (f *file) stats(context.Context) (s Stats, err error) {
	err = f.use(func(db *cachedb.DB) (err error) {
		s.Entries, s.Bytes, err = db.Stats()
		return err
	})
	return s, err
}

func (f *file) clear(context.Context) error {
	return f.use(func(db *cachedb.DB) error { return db.Clear() })
}

// fileChange is a transaction of a file.
type fileChange struct{ db *cachedb.DB }

// Each implements [sqldb.Querier], for queries with one row at most.
func (c fileChange) Each(_ context.Context, row func(func(...any) error) error, query string, args ...any) error {
	err := row(c.db.QueryRow(query, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// Do implements [sqldb.Querier].
func (c fileChange) Do(_ context.Context, query string, args ...any) (int, error) {
	r, err := c.db.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// Dialect implements [sqldb.Querier].
func (fileChange) Dialect() sqldb.Dialect { return sqldb.SQLite }
