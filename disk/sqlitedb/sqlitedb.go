// Package sqlitedb opens SQLite files that must not lose data: it creates them for their owner alone, caches prepared statements and
// upgrades schemas. Several processes may have a file open.
package sqlitedb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	driver "modernc.org/sqlite" // registers "sqlite"

	"github.com/sluice-rag/sluice/sqldb"
)

// BusyTimeout is how long a statement waits for a lock of another process, such as a backup.
const BusyTimeout = 10 * time.Second

// DB is a database file. It caches prepared statements, so that each connection parses a statement once. Its methods may be called at once.
type DB struct {
	*sql.DB
	prepared sync.Map // *sql.Stmt by text, bounded by the number of statements in the program
	pending  sync.Map // texts to prepare before the next transaction: during a transaction, its connection is in use
}

// transaction is a transaction that uses the prepared statements of its database.
type transaction struct {
	*sql.Tx
	db *DB
}

var _ sqldb.DB = (*DB)(nil)

// Writer opens the file path with one connection for transactions that write, and creates the file if it does not exist. Each
// transaction is synced, so a crash loses none, except by [DB.ChangeUnsynced]. Deleted content is overwritten.
func Writer(path string) (*DB, error) {
	// SQLite would create the file with the permissions of the umask.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return connect(path, 1, "journal_mode(wal)", "synchronous(full)", "secure_delete(1)", "journal_size_limit(67108864)")
}

// Reader opens the file path with n connections for reads, which do not wait for a writer. The file must exist.
func Reader(path string, n int) (*DB, error) { return connect(path, n, "query_only(1)") }

// Open opens the file path with a connection for writes, as [Writer], and n for reads, as [Reader]. It upgrades the file as [DB.Migrate].
func Open(ctx context.Context, path string, migrations []string, n int) (write, read *DB, err error) {
	if write, err = Writer(path); err != nil {
		return nil, nil, err
	}
	if err = write.Migrate(ctx, migrations); err == nil {
		read, err = Reader(path, n)
	}
	if err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	return write, read, nil
}

func connect(path string, n int, pragmas ...string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{"_txlock": {"immediate"}}
	if n > 1 {
		q.Set("_txlock", "deferred")
	}
	for _, p := range append(pragmas, fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds()), "foreign_keys(1)") {
		q.Add("_pragma", p)
	}
	at := url.URL{Path: filepath.ToSlash(path)}
	db, err := sql.Open("sqlite", "file:"+at.EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return &DB{DB: db}, nil
}

// prepare returns the prepared statement of a text.
func (d *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
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

// preparePending prepares the statements that earlier transactions could not cache.
func (d *DB) preparePending(ctx context.Context) error {
	for query := range d.pending.Range {
		if _, err := d.prepare(ctx, query.(string)); err != nil { //nolint:sqlclosecheck // Close closes it
			return err
		}
		d.pending.Delete(query)
	}
	return nil
}

// Change implements [sqldb.DB].
func (d *DB) Change(ctx context.Context, do func(sqldb.Querier) error) error {
	if err := d.preparePending(ctx); err != nil {
		return err
	}
	return d.change(ctx, d.BeginTx, do)
}

// ChangeUnsynced is [DB.Change] without waiting for the disk. A crash of the process loses nothing, but a loss of power may lose the transaction, until a later one
// is synced. The file stays consistent.
func (d *DB) ChangeUnsynced(ctx context.Context, do func(sqldb.Querier) error) (err error) {
	if err := d.preparePending(ctx); err != nil {
		return err
	}
	c, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if _, failed := c.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = full"); failed != nil {
			_ = c.Raw(func(any) error { return sqldriver.ErrBadConn }) // the next transaction gets another connection
		}
		err = errors.Join(err, ignoreClosed(c.Close()))
	}()
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	return d.change(ctx, c.BeginTx, do)
}

func (d *DB) change(ctx context.Context, begin func(context.Context, *sql.TxOptions) (*sql.Tx, error), do func(sqldb.Querier) error) error {
	tx, err := begin(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(&transaction{tx, d}); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreClosed drops the error of a connection that was closed because its state is unknown.
func ignoreClosed(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// ignoreDone drops the error of a transaction that was already rolled back because its context has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Migrate upgrades the file in one transaction: the element i of migrations upgrades it from version i to i+1. A released migration must
// not change. A file of a later version is an error.
func (d *DB) Migrate(ctx context.Context, migrations []string) error {
	return d.Change(ctx, func(q sqldb.Querier) error {
		tx := q.(*transaction)
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

// Result codes of SQLite (https://sqlite.org/rescode.html).
const (
	corrupt        = 11
	full           = 13
	notADatabase   = 26
	noSharedMemory = 10 | 19<<8 // SQLITE_IOERR_SHMSIZE: the file of the shared memory could not be extended
)

// Explain adds to an error of the database at a path what a program or a person can do about it: [syscall.ENOSPC] if the disk is full, and
// advice if the file is damaged. It returns other errors as they are.
func Explain(path string, err error) error {
	code := 0
	if e, ok := errors.AsType[*driver.Error](err); ok {
		code = e.Code()
	}
	switch {
	case code&0xff == full, code == noSharedMemory:
		return fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	case code&0xff == corrupt, code&0xff == notADatabase, errors.Is(err, ErrDamaged):
		return fmt.Errorf("%w; stop the server and restore %s from a backup", err, filepath.Base(path))
	}
	return err
}

// Close closes the statements and the database.
func (d *DB) Close() error {
	var errs []error
	for _, s := range d.prepared.Range {
		errs = append(errs, s.(*sql.Stmt).Close())
	}
	return errors.Join(append(errs, d.DB.Close())...)
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := t.db.prepared.Load(query); ok {
		return t.StmtContext(ctx, s.(*sql.Stmt)), nil
	}
	t.db.pending.Store(query, true)
	return t.PrepareContext(ctx, query) // the end of the transaction closes it
}

// Each implements [sqldb.Querier].
func (d *DB) Each(ctx context.Context, row func(func(...any) error) error, query string, args ...any) error {
	stmt, err := d.prepare(ctx, query)
	return each(ctx, stmt, err, row, args)
}

// Each implements [sqldb.Querier].
func (t *transaction) Each(ctx context.Context, row func(func(...any) error) error, query string, args ...any) error {
	stmt, err := t.prepare(ctx, query)
	return each(ctx, stmt, err, row, args)
}

// each calls row for each row of a statement, unless preparing it has failed.
func each(ctx context.Context, stmt *sql.Stmt, prepared error, row func(func(...any) error) error, args []any) (err error) {
	if prepared != nil {
		return prepared
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Do implements [sqldb.Querier].
func (d *DB) Do(ctx context.Context, query string, args ...any) (int, error) {
	stmt, err := d.prepare(ctx, query)
	return do(ctx, stmt, err, args)
}

// Do implements [sqldb.Querier].
func (t *transaction) Do(ctx context.Context, query string, args ...any) (int, error) {
	stmt, err := t.prepare(ctx, query)
	return do(ctx, stmt, err, args)
}

// do runs a statement, unless preparing it has failed.
func do(ctx context.Context, stmt *sql.Stmt, prepared error, args []any) (int, error) {
	if prepared != nil {
		return 0, prepared
	}
	r, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// Dialect implements [sqldb.Querier].
func (*DB) Dialect() sqldb.Dialect { return sqldb.SQLite }

// Dialect implements [sqldb.Querier].
func (*transaction) Dialect() sqldb.Dialect { return sqldb.SQLite }
