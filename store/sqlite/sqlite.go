// Package sqlite keeps what is kept besides logs and indexes in one SQLite file. It implements the
// interfaces of package store.
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

// busyTimeout is how long a statement waits for another process that writes, such as a backup.
const busyTimeout = 10 * time.Second

// readers are the connections that read beside the one that writes: none of them waits for it.
const readers = 4

// Store is one in a file. Close it.
type Store struct {
	path        string
	read, write *database
}

// database is one whose statements are parsed once for each connection.
type database struct {
	*sql.DB
	prepared sync.Map // *sql.Stmt by text, of which there are as many as this package has
	wanted   sync.Map // texts that a transaction met first, which has the connection that would prepare them
}

// prepare gives the statement of a text.
func (d *database) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := d.prepared.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := d.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	first, there := d.prepared.LoadOrStore(query, s)
	if there {
		err = s.Close() //nolint:sqlclosecheck // another was first
	}
	return first.(*sql.Stmt), err
}

// begin begins a transaction. What earlier ones met first is prepared before it.
func (d *database) begin(ctx context.Context) (*transaction, error) {
	for query := range d.wanted.Range {
		if _, err := d.prepare(ctx, query.(string)); err != nil { //nolint:sqlclosecheck // it lasts as long as the database
			return nil, err
		}
		d.wanted.Delete(query)
	}
	tx, err := d.BeginTx(ctx, nil)
	return &transaction{tx, d}, err
}

// Close closes it with its statements.
func (d *database) Close() error {
	var errs []error
	for _, s := range d.prepared.Range {
		errs = append(errs, s.(*sql.Stmt).Close())
	}
	return errors.Join(append(errs, d.DB.Close())...)
}

// transaction is one that uses its database's statements.
type transaction struct {
	*sql.Tx
	of *database
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := t.of.prepared.Load(query); ok {
		return t.StmtContext(ctx, s.(*sql.Stmt)), nil
	}
	t.of.wanted.Store(query, true)
	return t.PrepareContext(ctx, query) // which lasts as long as the transaction
}

var (
	_ store.Files        = (*Store)(nil)
	_ store.Finder       = (*Store)(nil)
	_ store.VectorStores = (*Store)(nil)
	_ store.Memberships  = (*Store)(nil)
	_ store.Tasks        = (*Store)(nil)
	_ store.Eraser       = (*Store)(nil)
)

// Open opens the file, making it if there is none and bringing it up to date if it is of an earlier version; one of a later version is
// an error, and so is a damaged one: it is compared with the checksum of its last Close, or, if it was not closed, its structure is checked. What was there when the process or the machine stopped, is there: each transaction is synced.
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
	// SQLite would make the file readable for all that the umask lets.
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
	s.path = path // from here on Close notes the checksum
	s.read, err = connect(path, readers, "query_only(1)")
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

// Close waits for what is under way, and closes the file.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		raised := s.path != "" && s.raise(context.Background()) == nil
		errs = append(errs, s.write.Close())
		if raised && errors.Join(errs...) == nil {
			s.note()
		}
	}
	s.path = "" // a second Close does nothing
	return errors.Join(errs...)
}

// migrate brings the file to the last version, each step in a transaction with the number that says it was done.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx *transaction) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("it is of version %d, which a later release wrote; this one knows %d", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
				return fmt.Errorf("bring it to version %d: %w", version+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// change runs do in a transaction that writes: it alone does so until it ends.
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

// Erase implements [store.Eraser]. The database overwrites what is deleted, and the write-ahead log, which holds earlier states of
// its pages, is copied into it and truncated. While others read or write, Erase changes nothing and does not wait.
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

// ignoreDone drops the error of a transaction that an ended context has rolled back already.
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

// all gives the rows of a query.
func all[T any](ctx context.Context, q querier, scan func(func(...any) error) (T, error), query string, args ...any) (out []T, err error) {
	stmt, err := q.prepare(ctx, query) //nolint:sqlclosecheck // it lasts as long as what it is of
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

// one gives the only row of a query, or [store.ErrNotFound].
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
	stmt, err := q.prepare(ctx, query) //nolint:sqlclosecheck // it lasts as long as what it is of
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

// micros is a time as it is kept; the zero time is 0.
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
