// Package sqlite implements the interfaces of package store with an SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/store"
)

// busyTimeout is how long a statement waits for a lock of another process, such as a backup.
const busyTimeout = 10 * time.Second

// readConns is the number of connections for reads. They do not wait for the one connection for writes.
const readConns = 4

// Store is a store in a file. It implements all interfaces of package store. Call [Store.Close] after use.
type Store struct {
	path        string
	read, write *database
}

// database caches prepared statements, so that each connection parses a statement once.
type database struct {
	*sql.DB
	prepared sync.Map // *sql.Stmt by text, bounded by the number of statements in this package
	pending  sync.Map // texts to prepare before the next transaction: during a transaction, its connection is in use
}

// prepare returns the prepared statement of a text.
func (d *database) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := d.prepared.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := d.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	first, loaded := d.prepared.LoadOrStore(query, s)
	if loaded {
		err = s.Close() //nolint:sqlclosecheck // another goroutine was first
	}
	return first.(*sql.Stmt), err
}

// begin begins a transaction. Before, it prepares the statements that earlier transactions could not cache.
func (d *database) begin(ctx context.Context) (*transaction, error) {
	for query := range d.pending.Range {
		if _, err := d.prepare(ctx, query.(string)); err != nil { //nolint:sqlclosecheck // database.Close closes it
			return nil, err
		}
		d.pending.Delete(query)
	}
	tx, err := d.BeginTx(ctx, nil)
	return &transaction{tx, d}, err
}

// Close closes the statements and the database.
func (d *database) Close() error {
	var errs []error
	for _, s := range d.prepared.Range {
		errs = append(errs, s.(*sql.Stmt).Close())
	}
	return errors.Join(append(errs, d.DB.Close())...)
}

// transaction is a transaction that uses the prepared statements of its database.
type transaction struct {
	*sql.Tx
	db *database
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := t.db.prepared.Load(query); ok {
		return t.StmtContext(ctx, s.(*sql.Stmt)), nil
	}
	t.db.pending.Store(query, true)
	return t.PrepareContext(ctx, query) // the end of the transaction closes it
}

var (
	_ store.Files        = (*Store)(nil)
	_ store.Finder       = (*Store)(nil)
	_ store.VectorStores = (*Store)(nil)
	_ store.Memberships  = (*Store)(nil)
	_ store.Tasks        = (*Store)(nil)
	_ store.Eraser       = (*Store)(nil)
)

// Open opens the file path. It creates the file if it does not exist, and upgrades a file of an earlier version. A file of a later version is an
// error, and so is a damaged file: Open compares it with the checksum of the last Close or, if it was not closed, checks its structure. Each
// transaction is synced, so a crash loses none.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{}
	defer func() {
		if err != nil {
			err = wrap("open "+filepath.Base(path), errors.Join(err, s.Close()))
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	verified, err := verify(path)
	if err != nil {
		return nil, err
	}
	// SQLite would create the file with the permissions of the umask.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = f.Close(); err != nil {
		return nil, err
	}
	if s.write, err = connect(path, 1, "journal_mode(wal)", "synchronous(full)", "secure_delete(1)", "journal_size_limit(67108864)"); err != nil {
		return nil, err
	}
	if !verified {
		if err = s.check(ctx, s.write, "quick_check"); err != nil {
			return nil, err
		}
	}
	if err = s.migrate(ctx); err != nil {
		return nil, err
	}
	s.path = path // from here on, Close writes the checksum
	s.read, err = connect(path, readConns, "query_only(1)")
	return s, err
}

func connect(path string, n int, pragmas ...string) (*database, error) {
	q := url.Values{"_txlock": {"immediate"}}
	if n > 1 {
		q.Set("_txlock", "deferred")
	}
	for _, p := range append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "foreign_keys(0)") {
		q.Add("_pragma", p)
	}
	at := url.URL{Path: filepath.ToSlash(path)}
	db, err := sql.Open("sqlite", "file:"+at.EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return &database{DB: db}, nil
}

// Close waits for running transactions and closes the file. A second Close does nothing.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		incremented := s.path != "" && s.incrementGeneration(context.Background()) == nil
		errs = append(errs, s.write.Close())
		if incremented && errors.Join(errs...) == nil {
			s.writeChecksum()
		}
	}
	s.path = ""
	return errors.Join(errs...)
}

// migrate upgrades the file to the latest version in one transaction.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx *transaction) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("its version %d is of a later release; this release supports version %d", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
				return fmt.Errorf("upgrade to version %d: %w", version+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// change runs do in a write transaction. Only one runs at a time.
func (s *Store) change(ctx context.Context, do func(*transaction) error) error {
	tx, err := s.write.begin(ctx)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// Erase implements [store.Eraser]. The database overwrites deleted content itself; Erase copies the write-ahead log, which holds earlier versions of
// pages, into it and truncates the log. While transactions run, Erase does nothing and does not wait.
func (s *Store) Erase(ctx context.Context) (err error) {
	defer func() { err = wrap("truncate write-ahead log", err) }()
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_, rerr := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
		err = errors.Join(err, rerr, conn.Close())
	}()
	if _, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	var busy, pages, copied int
	return conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
}

// ignoreDone drops the error of a transaction that was already rolled back because its context has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// querier is a database or a transaction.
type querier interface {
	prepare(ctx context.Context, query string) (*sql.Stmt, error)
}

// all returns the rows of a query.
func all[T any](ctx context.Context, q querier, scan func(func(...any) error) (T, error), query string, args ...any) (out []T, err error) {
	stmt, err := q.prepare(ctx, query) //nolint:sqlclosecheck // its database or transaction closes it
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// one returns the first row of a query, or [store.ErrNotFound].
func one[T any](ctx context.Context, q querier, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	rows, err := all(ctx, q, scan, query, args...)
	if err == nil && len(rows) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

func exec(ctx context.Context, q querier, query string, args ...any) (int, error) {
	stmt, err := q.prepare(ctx, query) //nolint:sqlclosecheck // its database or transaction closes it
	if err != nil {
		return 0, err
	}
	r, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

func texts(scan func(...any) error) (s string, err error) {
	err = scan(&s)
	return s, err
}

// micros returns a time in microseconds, as it is stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
