// Package sqlite stores sessions in an SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/session"
)

// readers is the number of connections for reads. They do not wait for the one connection for writes.
const readers = 4

// Store is a store of sessions in a file. Call [Store.Close] after use.
type Store struct {
	name        string
	write, read *sqlitedb.DB
}

var _ session.Store = (*Store)(nil)

// Open opens the file path, creates it if it does not exist, and upgrades a file of an earlier version. Other processes may have it open. A
// file of a later version is an error, and so is one with a damaged structure, which Open checks: that takes seconds for 100,000 sessions. Each
// transaction is synced, so a crash loses none.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{name: filepath.Base(path)}
	defer func() {
		if err != nil {
			err = s.wrap("open "+s.name, errors.Join(err, s.Close()))
		}
	}()
	if err = checkSize(path); err != nil {
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
	if err = s.check(ctx); err != nil {
		return nil, err
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
		problem, err := sqlitedb.One(ctx, s.read, sqlitedb.Text, "PRAGMA quick_check("+table+")")
		if err != nil {
			return err
		}
		if problem != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, problem)
		}
	}
	return nil
}

// checkSize returns an error if the last page of the file is cut off: SQLite would read zeros for the rest. With a write-ahead log, a crash may have
// interrupted the write of that page, and the log has it.
func checkSize(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 || info.Size() == 0 {
		return nil
	}
	var head [18]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return fmt.Errorf("%w: it has %d bytes", errDamaged, info.Size())
	}
	pageSize := int64(binary.BigEndian.Uint16(head[16:])) // https://sqlite.org/fileformat.html
	if pageSize == 1 {
		pageSize = 1 << 16
	}
	if pageSize > 0 && info.Size()%pageSize != 0 {
		return fmt.Errorf("%w: its last page is cut off", errDamaged)
	}
	return nil
}

// Close waits for running transactions and closes the file.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sqlitedb.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

var errDamaged = errors.New("it is damaged")

// Result codes of SQLite: https://sqlite.org/rescode.html
const (
	corrupt      = 11
	notADatabase = 26
)

// wrap says what failed and, if the file is damaged, what to do.
func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*driver.Error](err)
	if ok && (e.Code()&0xff == corrupt || e.Code()&0xff == notADatabase) || errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w; stop the server and restore %s from a backup", err, s.name)
	}
	return fmt.Errorf("%s: %w", what, sqlitedb.WithDiskFull(err))
}

// one returns the first row of a query; without one, the error is none.
func one[T any](ctx context.Context, q sqlitedb.Querier, none error, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	row, err := sqlitedb.One(ctx, q, scan, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = none
	}
	return row, err
}

// reading runs do in a transaction of a connection for reads.
func (s *Store) reading(ctx context.Context, what string, do func(tx *sqlitedb.Tx) error) error {
	return s.wrap(what, s.read.Change(ctx, do))
}

// writing runs do in a transaction of the connection for writes.
func (s *Store) writing(ctx context.Context, what string, do func(tx *sqlitedb.Tx) error) error {
	return s.wrap(what, s.write.Change(ctx, do))
}

func integer(scan func(...any) error) (n int64, err error) {
	err = scan(&n)
	return n, err
}
