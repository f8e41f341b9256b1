// Package sqlite stores sessions in an SQLite file.
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

// Store is a store of sessions in a file. Call [Store.Close] after use.
type Store struct {
	path        string
	write, read *sqlitedb.DB
}

var _ session.Store = (*Store)(nil)

// Open opens the file at a path, creates it if it does not exist, and upgrades a file of an earlier version. Other processes may have it open.
// Files of a later version and damaged files are errors. To find damage, Open compares the file with the checksum of the last Close. If the
// file was not closed, Open checks its structure, which takes seconds for 100,000 sessions. Each transaction is synced.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{path: path}
	defer func() {
		if err != nil {
			err = s.wrap("open "+filepath.Base(s.path), errors.Join(err, s.Close()))
		}
	}()
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	verified, err := sqlitedb.Verify(s.path)
	if err != nil {
		return nil, err
	}
	if s.write, err = sqlitedb.Writer(path); err != nil {
		return nil, err
	}
	if err = s.write.Migrate(ctx, migrations); err != nil {
		return nil, err
	}
	if s.read, err = sqlitedb.Reader(path, readers); err != nil {
		return nil, err
	}
	if !verified {
		if err = s.check(ctx); err != nil {
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
func (s *Store) check(ctx context.Context) error {
	for _, table := range []string{"sessions", "messages", "words_content", "words_data", "words_idx", "words_config"} {
		if err := s.read.Check(ctx, "quick_check", table); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for running transactions and closes the file.
func (s *Store) Close() error {
	err := sqlitedb.CloseVerifiable(s.path, s.write, s.read)
	s.write, s.read = nil, nil
	return err
}

// wrap says what failed and, if the file is damaged, what to do.
func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, sqlitedb.Explain(s.path, err))
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
