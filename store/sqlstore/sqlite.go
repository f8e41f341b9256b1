// Package sqlstore implements the interfaces of package store with an SQLite file or a PostgreSQL database.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

// readConns is the number of connections for reads. They do not wait for the one connection for writes.
const readConns = 4

// Store is a store in a file or a database. It implements all interfaces of package store. Call [Store.Close] after use.
type Store struct {
	read, write sqldb.DB
	file        *file // nil: PostgreSQL
}

// file is an SQLite file.
type file struct {
	path        string
	read, write *sqlitedb.DB
}

var (
	_ store.Files        = (*Store)(nil)
	_ store.Finder       = (*Store)(nil)
	_ store.VectorStores = (*Store)(nil)
	_ store.Memberships  = (*Store)(nil)
	_ store.Tasks        = (*Store)(nil)
	_ store.Eraser       = (*Store)(nil)
	_ store.Sources      = (*Store)(nil)
	_ store.Ingestions   = (*Store)(nil)
	_ store.SourceFinder = (*Store)(nil)
)

// Open opens the file path. It creates the file if it does not exist, and upgrades a file of an earlier version. A file of a later version is an
// error, and so is a damaged file: Open compares it with the checksum of the last Close or, if it was not closed, checks its structure. Each
// transaction is synced, so a crash loses none.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	f := &file{}
	defer func() {
		if err != nil {
			err = wrap("open "+filepath.Base(path), errors.Join(err, f.close()))
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	verified, err := sqlitedb.Verify(path)
	if err != nil {
		return nil, err
	}
	if f.write, err = sqlitedb.Writer(path); err != nil {
		return nil, err
	}
	if !verified {
		if err = f.write.Check(ctx, "quick_check", ""); err != nil {
			return nil, err
		}
	}
	if err = f.write.Migrate(ctx, migrations); err != nil {
		return nil, err
	}
	f.path = path // from here on, close writes the checksum
	f.read, err = sqlitedb.Reader(path, readConns)
	return &Store{f.read, f.write, f}, err
}

// Check verifies the structure of the file: its pages, rows and indexes. It does nothing with PostgreSQL.
func (s *Store) Check(ctx context.Context) error {
	if s.file == nil {
		return nil
	}
	return wrap("check database", s.file.read.Check(ctx, "integrity_check", ""))
}

// Close waits for running transactions and closes the file. A second Close does nothing.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.close()
}

func (f *file) close() error {
	var err error
	if f.path != "" {
		err = sqlitedb.CloseVerifiable(f.path, f.write, f.read)
	} else if f.write != nil {
		err = f.write.Close()
	}
	*f = file{}
	return err
}

// Erase implements [store.Eraser]. The database overwrites deleted content itself; Erase copies the write-ahead log, which holds earlier versions of
// pages, into it and truncates the log. While transactions run, Erase does nothing and does not wait. PostgreSQL erases deleted rows later by itself.
func (s *Store) Erase(ctx context.Context) (err error) {
	defer func() { err = wrap("truncate write-ahead log", err) }()
	if s.file == nil {
		return nil
	}
	conn, err := s.file.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_, rerr := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout = %d", sqlitedb.BusyTimeout.Milliseconds()))
		err = errors.Join(err, rerr, conn.Close())
	}()
	if _, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	var busy, pages, copied int
	return conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
}

// one returns the first row of a query, or [store.ErrNotFound].
func one[T any](ctx context.Context, q sqldb.Querier, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	row, err := sqldb.One(ctx, q, scan, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return row, err
}
