// Package cachedb keeps the entries of a cache in an SQLite file. A cache may lose its entries at any time, so a damaged file is
// replaced by an empty one.
package cachedb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite" // registers "sqlite"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// MinBytes is the least size limit: an empty database with its indexes takes part of it.
const MinBytes = 128 << 10

const pageSize = 4096

// ctx is never cancelled: operations are short, and the connection of a cancelled one would be lost.
var ctx = context.Background()

// DB is the database of a cache. It is for one goroutine at a time, and for one process at a time. Writes survive the end of the process.
// After a loss of power the newest may be gone, or the file is damaged. Deleted content is overwritten.
type DB struct {
	path, schema string
	maxPages     int64
	logger       *slog.Logger
	db           *sql.DB
	prepared     map[string]*sql.Stmt
}

// Open opens the database in the file path and creates it if it does not exist. The schema is SQL that creates the tables and indexes. Table
// entries is required, with an INTEGER PRIMARY KEY id that is higher the later an entry was used. The size of the file is at most maxBytes.
// A file that is damaged or has another schema is replaced by an empty one, with a warning to logger.
func Open(path, schema string, maxBytes int64, logger *slog.Logger) (*DB, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &DB{path: path, schema: schema, maxPages: max(maxBytes, MinBytes) / pageSize, logger: logger}
	err = d.open()
	if damaged(err) {
		err = d.reset(err)
	}
	if err != nil {
		return nil, errors.Join(withDiskFull(err), d.Close())
	}
	return d, nil
}

// Remove removes the database file and its journal. Nothing may have it open.
func Remove(path string) error {
	return errors.Join(atomicfile.Remove(path), atomicfile.Remove(path+"-journal"))
}

var (
	errOther       = errors.New("the file has another format")
	errNotReplaced = errors.New("the damaged file could not be replaced")
)

func (d *DB) open() (err error) {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would create it with the permissions of the umask
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	at := url.URL{Path: filepath.ToSlash(d.path)}
	pragmas := url.Values{"_pragma": {"locking_mode(exclusive)", "journal_mode(truncate)", "synchronous(off)", "secure_delete(1)", "temp_store(memory)"}}
	if d.db, err = sql.Open("sqlite", "file:"+at.EscapedPath()+"?"+pragmas.Encode()); err != nil {
		return err
	}
	d.db.SetMaxOpenConns(1)
	d.prepared = map[string]*sql.Stmt{}
	version := int32(crc32.ChecksumIEEE([]byte(d.schema)) | 1) //nolint:gosec // any 32 bits do
	var found int32
	var objects int
	if err := d.QueryRow("SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&found, &objects); err != nil {
		return err
	}
	if found == 0 && objects == 0 {
		_, err := d.db.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", d.schema, version))
		return err
	}
	if found != version {
		return errOther
	}
	var state string
	if err := d.QueryRow("PRAGMA quick_check(1)").Scan(&state); err != nil || state != "ok" {
		return errors.Join(errOther, err)
	}
	if err := d.MakeRoom(0); err != nil {
		return err
	}
	if total, _, err := d.pages(); err != nil || total <= d.maxPages {
		return err
	}
	_, err = d.Exec("VACUUM")
	return err
}

// damaged reports whether an error says that the file is not a whole database of the schema, or is still to be replaced.
func damaged(err error) bool {
	const corrupt, notADatabase = 11, 26 // https://sqlite.org/rescode.html
	e, ok := errors.AsType[*driver.Error](err)
	return errors.Is(err, errOther) || errors.Is(err, errNotReplaced) || ok && (e.Code()&0xff == corrupt || e.Code()&0xff == notADatabase)
}

// withDiskFull adds [syscall.ENOSPC] to an error of SQLite that says that the disk is full.
func withDiskFull(err error) error {
	const full = 13
	if e, ok := errors.AsType[*driver.Error](err); ok && e.Code()&0xff == full {
		return fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	}
	return err
}

// reset replaces the file by an empty one. If that fails, every statement fails until [DB.Check] succeeds in replacing it.
func (d *DB) reset(cause error) error {
	d.logger.Warn("a cache is damaged and starts empty", "path", d.path, "error", cause)
	err := errors.Join(d.Close(), Remove(d.path))
	if err == nil {
		err = d.open()
	}
	if err != nil {
		err = errors.Join(errNotReplaced, err, d.Close())
		d.db, d.prepared = sql.OpenDB(unavailable{err}), map[string]*sql.Stmt{}
	}
	return err
}

// unavailable is the connector of a database without a file.
type unavailable struct{ err error }

// Connect implements [sqldriver.Connector].
func (u unavailable) Connect(context.Context) (sqldriver.Conn, error) { return nil, u.err }

// Driver implements [sqldriver.Connector].
func (unavailable) Driver() sqldriver.Driver { return &driver.Driver{} }

// Close closes the file. A second Close does nothing.
func (d *DB) Close() error {
	if d.db == nil {
		return nil
	}
	var errs []error
	for _, s := range d.prepared {
		errs = append(errs, s.Close())
	}
	errs = append(errs, d.db.Close())
	d.db, d.prepared = nil, nil
	return errors.Join(errs...)
}

// Exec runs a statement and caches its parsed form.
func (d *DB) Exec(query string, args ...any) (sql.Result, error) {
	s, err := d.prepare(query) //nolint:sqlclosecheck // Close does
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryRow runs a query for one row and caches its parsed form.
func (d *DB) QueryRow(query string, args ...any) *sql.Row {
	s, err := d.prepare(query) //nolint:sqlclosecheck // Close does
	if err != nil {
		return d.db.QueryRowContext(ctx, query, args...) // it returns the same error
	}
	return s.QueryRowContext(ctx, args...)
}

func (d *DB) prepare(query string) (*sql.Stmt, error) {
	if s := d.prepared[query]; s != nil {
		return s, nil
	}
	s, err := d.db.PrepareContext(ctx, query)
	if err == nil {
		d.prepared[query] = s
	}
	return s, err
}

// Update runs change in a transaction. If the file turns out to be damaged, it is replaced by an empty one. An error that says that the disk is
// full is a [syscall.ENOSPC].
func (d *DB) Update(change func() error) error {
	_, err := d.Exec("BEGIN IMMEDIATE")
	if err == nil {
		if err = change(); err == nil {
			_, err = d.Exec("COMMIT")
		}
		if err != nil {
			_, rollback := d.db.ExecContext(ctx, "ROLLBACK") // fails if SQLite has rolled back already
			_ = rollback
		}
	}
	return d.Check(err)
}

// Check returns the error of a query. If it says that the file is damaged, the file is replaced by an empty one.
func (d *DB) Check(err error) error {
	if damaged(err) {
		return errors.Join(err, d.reset(err))
	}
	return withDiskFull(err)
}

// MakeRoom deletes the entries that were used longest ago if there is no room for an entry of so many bytes: then a quarter of the file is
// free. Call it before [DB.Update].
func (d *DB) MakeRoom(bytes int64) error {
	needed := bytes/(pageSize-64) + 8 // pages of indexes may be split
	limit := d.maxPages
	for {
		total, free, err := d.pages()
		if err != nil {
			return err
		}
		if total-free+needed <= limit {
			return nil
		}
		limit = d.maxPages / 4 * 3
		r, err := d.Exec("DELETE FROM entries WHERE id <= (SELECT id FROM entries ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 16 FROM entries))")
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
	}
}

func (d *DB) pages() (total, free int64, err error) {
	err = d.QueryRow("SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count").Scan(&total, &free)
	return total, free, err
}

// Stats returns the number of entries and the size of the file.
func (d *DB) Stats() (entries int, bytes int64, err error) {
	total, _, err := d.pages()
	if err == nil {
		err = d.QueryRow("SELECT count(*) FROM entries").Scan(&entries)
	}
	return entries, total * pageSize, err
}

// Clear deletes all entries and shrinks the file.
func (d *DB) Clear() error {
	_, err := d.Exec("DELETE FROM entries")
	if err == nil {
		_, err = d.Exec("VACUUM")
	}
	return d.Check(err)
}
