// Package postgres runs the statements of package sqldb in a PostgreSQL database of version 14 or later. Several servers may use one database.
//
// Each tenant has a schema, so its statements cannot name the rows of another one. A schema has parts, such as the sessions and the ledger. In each
// part, one transaction writes at a time, as in an SQLite file: it begins by taking an advisory lock. So statements that were written for one writer
// are correct with several servers, and sequence numbers become visible in their order. Readers do not wait.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Defaults of the connections, unless the URL has others.
const (
	maxConns       = 16
	connectTimeout = 5 * time.Second
)

// settings are the defaults of a connection. A transaction does not wait for longer for another one, and a server that was stopped in a transaction
// does not hold its lock for longer.
var settings = map[string]string{"application_name": "sluice", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "20s", "timezone": "UTC"}

// oldest is the oldest supported version of PostgreSQL, as server_version_num.
const oldest = 140000

// Database is a pool of connections, which is opened again after connections were lost. It is safe for concurrent use. Close it after use.
type Database struct {
	pool *pgxpool.Pool
}

// Open connects to the database of a URL such as postgres://user:password@host:5432/name?sslmode=verify-full. Errors do not contain the password.
func Open(ctx context.Context, url string) (*Database, error) {
	d, err := newDatabase(ctx, url)
	if err != nil {
		return nil, err
	}
	if _, err := d.Status(ctx); err != nil {
		d.Close()
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return d, nil
}

// newDatabase returns the database of a URL, without a connection.
func newDatabase(ctx context.Context, url string) (*Database, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("store: %w", file)
	}
	if err != nil || strings.Contains(cfg.ConnConfig.Database, "@") { // the text of the error may contain parts of the password
		return nil, errors.New("store: want a URL such as postgres://user:password@host:5432/name; special characters of the password are percent-encoded")
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = maxConns
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	for name, value := range settings {
		if _, set := cfg.ConnConfig.RuntimeParams[name]; !set {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return &Database{pool}, nil
}

// Status is the state of a database.
type Status struct {
	Address   string // host:port/name, without user and password
	Version   string
	RoundTrip time.Duration
	Skew      time.Duration // of its clock: above zero if it is ahead
}

// Status asks the database for its state. It is an error if the version is too old, the encoding is not UTF-8, or the database only permits reads.
func (d *Database) Status(ctx context.Context) (Status, error) {
	at := d.pool.Config().ConnConfig
	s := Status{Address: fmt.Sprintf("%s:%d/%s", at.Host, at.Port, at.Database)}
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return s, unavailable(ctx, err)
	}
	defer c.Release()
	var number int
	var encoding string
	var readOnly bool
	var now time.Time
	begin := time.Now()
	err = c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_setting('server_encoding'),
		pg_is_in_recovery() OR current_setting('transaction_read_only')::bool, clock_timestamp()`).Scan(&s.Version, &number, &encoding, &readOnly, &now)
	s.RoundTrip = time.Since(begin)
	s.Skew = now.Sub(begin.Add(s.RoundTrip / 2))
	switch {
	case err != nil:
		return s, explain(ctx, c.Conn(), err)
	case number < oldest:
		return s, fmt.Errorf("PostgreSQL %s at %s is too old: version %d or later is needed", s.Version, s.Address, oldest/10000)
	case encoding != "UTF8":
		return s, fmt.Errorf("the database %s has the encoding %s: create one with UTF8", s.Address, encoding)
	case readOnly:
		return s, fmt.Errorf("the database %s only permits reads: it may be a replica", s.Address)
	}
	return s, nil
}

// InUse reports whether another program of Sluice is connected to the database. Call it before this one uses several connections.
func (d *Database) InUse(ctx context.Context) (used bool, err error) {
	err = d.pool.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`, settings["application_name"]).Scan(&used)
	if err != nil {
		return false, fmt.Errorf("read connections: %w", err)
	}
	return used, nil
}

// Close waits for running transactions and closes the connections.
func (d *Database) Close() { d.pool.Close() }

// Drop deletes a schema and everything in it. It does nothing if the schema does not exist.
func (d *Database) Drop(ctx context.Context, schema string) error {
	return (&db{Database: d, begin: migrating(schema)}).change(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+quote(schema)+" CASCADE", pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// Schemas returns the names of the schemas that begin with a prefix, sorted.
func (d *Database) Schemas(ctx context.Context, prefix string) (names []string, err error) {
	err = (&db{Database: d}).Each(ctx, func(scan func(...any) error) error {
		names = append(names, "")
		return scan(&names[len(names)-1])
	}, "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, ?) ORDER BY nspname::text COLLATE \"C\"", prefix)
	return names, err
}

func quote(schema string) string { return pgx.Identifier{schema}.Sanitize() }

// codeOf returns the code of an error of the database (https://www.postgresql.org/docs/current/errcodes-appendix.html), or nothing.
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
