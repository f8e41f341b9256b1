// Package sqlstore stores sessions in an SQLite file or a PostgreSQL database.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

// readers is the number of connections for reads. They do not wait for the one connection for writes.
const readers = 4

// Store is a store of sessions in a file or a database. Call [Store.Close] after use.
type Store struct {
	read, write sqldb.DB
	file        *file // nil: PostgreSQL
}

// file is an SQLite file.
type file struct {
	path        string
	read, write *sqlitedb.DB
}

var _ session.Store = (*Store)(nil)

// Open opens the file at a path, creates it if it does not exist, and upgrades a file of an earlier version. Other processes may have it open.
// Files of a later version and damaged files are errors. To find damage, Open compares the file with the checksum of the last Close. If the
// file was not closed, Open checks its structure, which takes seconds for 100,000 sessions. Each transaction is synced.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	f := &file{}
	s := &Store{file: f}
	defer func() {
		if err != nil {
			err = s.wrap("open "+filepath.Base(path), errors.Join(err, s.Close()))
		}
	}()
	if f.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	verified, err := sqlitedb.Verify(f.path)
	if err != nil {
		return nil, err
	}
	if f.write, err = sqlitedb.Writer(path); err != nil {
		return nil, err
	}
	if err = f.write.Migrate(ctx, migrations); err != nil {
		return nil, err
	}
	if f.read, err = sqlitedb.Reader(path, readers); err != nil {
		return nil, err
	}
	s.read, s.write = f.read, f.write
	if !verified {
		if err = f.check(ctx); err != nil {
			return nil, err
		}
	}
	// A crash may have interrupted an erasure before it truncated the log.
	if err = s.truncate(ctx); errors.Is(err, errBlocked) {
		err = nil
	}
	return s, err
}

// check verifies the structure of the tables. It checks the tables of the index of words one by one, because a check of the whole file would also
// compare the index with all words, which takes three times as long.
func (f *file) check(ctx context.Context) error {
	for _, table := range []string{"sessions", "messages", "words_content", "words_data", "words_idx", "words_config"} {
		if err := f.read.Check(ctx, "quick_check", table); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for running transactions and closes the file.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	err := sqlitedb.CloseVerifiable(s.file.path, s.file.write, s.file.read)
	s.file.write, s.file.read = nil, nil
	return err
}

// wrap says what failed and, if the file is damaged, what to do.
func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if s.file != nil {
		err = sqlitedb.Explain(s.file.path, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// one returns the first row of a query; without one, the error is none.
func one[T any](ctx context.Context, q sqldb.Querier, none error, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	row, err := sqldb.One(ctx, q, scan, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = none
	}
	return row, err
}

// reading runs do in a transaction of a connection for reads.
func (s *Store) reading(ctx context.Context, what string, do func(tx sqldb.Querier) error) error {
	return s.wrap(what, s.read.Change(ctx, do))
}

// writing runs do in a transaction of the connection for writes.
func (s *Store) writing(ctx context.Context, what string, do func(tx sqldb.Querier) error) error {
	return s.wrap(what, s.write.Change(ctx, do))
}
