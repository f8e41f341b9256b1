package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/sqldb"
)

// A transaction that has changed nothing because the connection was lost or because of a conflict is repeated this often, after a pause that doubles.
const (
	maxTries   = 5
	maxRetry   = 2 * time.Second // after which no further try begins
	firstPause = 20 * time.Millisecond
)

// endTimeout limits how long the end of a transaction takes. The end of the caller's context does not interrupt a commit.
const endTimeout = 10 * time.Second

// db is a part of a schema. It implements [sqldb.DB].
type db struct {
	*Database
	schema string // empty: that of the connection, for statements that need none
	begin  string // statements that begin a transaction
	writer bool   // each statement is a transaction
	single bool   // see [Database.Autocommit]
}

// transaction is a connection on which a transaction was begun.
type transaction struct{ conn *pgx.Conn }

// errNotCommitted says that a transaction was rolled back, although no error was returned.
var errNotCommitted = errors.New("the transaction was rolled back")

// Change implements [sqldb.DB].
func (d *db) Change(ctx context.Context, do func(sqldb.Querier) error) error {
	return d.change(ctx, func(c *pgx.Conn) error { return do(transaction{c}) })
}

func (d *db) change(ctx context.Context, do func(*pgx.Conn) error) error {
	return retry(ctx, func() (again bool, err error) {
		c, err := d.acquire(ctx)
		if err != nil {
			return true, err
		}
		defer c.Release()
		_, err = c.Exec(ctx, d.begin, pgx.QueryExecModeSimpleProtocol)
		if err == nil {
			err = do(c.Conn())
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if err != nil {
			again = c.Conn().IsClosed() || conflict(err)
			_, _ = c.Exec(end, "ROLLBACK", pgx.QueryExecModeSimpleProtocol) // a connection that is still in a transaction is closed by Release
			return again, explain(ctx, c.Conn(), err)
		}
		tag, err := c.Exec(end, "COMMIT", pgx.QueryExecModeSimpleProtocol)
		switch {
		case err == nil && tag.String() != "COMMIT" && d.writer:
			err = errNotCommitted
		case err != nil && c.Conn().IsClosed():
			return false, fault.Wrap(fault.Unavailable, err, "the connection to the database was lost before it confirmed a change, which it may have made")
		}
		return conflict(err), explain(ctx, c.Conn(), err)
	})
}

// Each implements [sqldb.Querier].
func (d *db) Each(ctx context.Context, row func(func(...any) error) error, query string, args ...any) error {
	if d.writer {
		return d.Change(ctx, func(tx sqldb.Querier) error { return tx.Each(ctx, row, query, args...) })
	}
	return retry(ctx, func() (again bool, err error) {
		c, err := d.acquire(ctx)
		if err != nil {
			return true, err
		}
		defer c.Release()
		none := true
		err = transaction{c.Conn()}.Each(ctx, func(scan func(...any) error) error {
			none = false
			return row(scan)
		}, query, args...)
		again = c.Conn().IsClosed()
		if d.single {
			again = pgconn.SafeToRetry(err) || conflict(err)
		}
		return none && again, explain(ctx, c.Conn(), err)
	})
}

// Autocommit returns a schema in which each statement is a transaction by itself, without the lock that the transactions of a part wait for: one round
// trip. A statement that may have been executed is not repeated.
func (d *Database) Autocommit(schema string) sqldb.Querier {
	return &db{Database: d, schema: schema, single: true}
}

// Do implements [sqldb.Querier].
func (d *db) Do(ctx context.Context, query string, args ...any) (n int, err error) {
	if d.single {
		err = retry(ctx, func() (again bool, err error) {
			c, err := d.acquire(ctx)
			if err != nil {
				return true, err
			}
			defer c.Release()
			n, err = transaction{c.Conn()}.Do(ctx, query, args...)
			return pgconn.SafeToRetry(err) || conflict(err), explain(ctx, c.Conn(), err)
		})
		return n, err
	}
	err = d.Change(ctx, func(tx sqldb.Querier) error {
		n, err = tx.Do(ctx, query, args...)
		return err
	})
	return n, err
}

// Dialect implements [sqldb.Querier].
func (*db) Dialect() sqldb.Dialect { return sqldb.PostgreSQL }

// Close implements [sqldb.DB]. The connections are those of the [Database].
func (*db) Close() error { return nil }

// schemaOf is the name of the schema in the data of a connection.
const schemaOf = "sluice.schema"

// acquire returns a connection that finds tables in the schema alone.
func (d *db) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if err := use(ctx, c.Conn(), d.schema); err != nil {
		defer c.Release()
		return nil, explain(ctx, c.Conn(), err)
	}
	return c, nil
}

// use makes a connection find tables in a schema alone.
func use(ctx context.Context, c *pgx.Conn, schema string) error {
	data := c.PgConn().CustomData()
	if schema == "" || data[schemaOf] == schema {
		return nil
	}
	delete(data, schemaOf)
	if _, err := c.Exec(ctx, "SET search_path TO "+quote(schema), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	data[schemaOf] = schema
	return nil
}

// connector makes connections of package database/sql that find tables in a schema alone.
type connector struct {
	driver.Connector
	schema string
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if err := use(ctx, conn.(*stdlib.Conn).Conn(), c.schema); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// SQL returns a schema for package database/sql, with the connections of the database. It need not be closed.
func (d *Database) SQL(schema string) *sql.DB {
	db := sql.OpenDB(connector{stdlib.GetPoolConnector(d.pool), schema})
	db.SetMaxIdleConns(0) // they go back to the pool
	return db
}

// retry repeats try while it returns an error and that it may be called again.
func retry(ctx context.Context, try func() (again bool, err error)) error {
	begin := time.Now()
	for pause, n := firstPause, 1; ; pause, n = 2*pause, n+1 {
		again, err := try()
		if err == nil || !again || n == maxTries || time.Since(begin) > maxRetry || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// conflict reports whether the database has rolled a transaction back because of another one: serialization_failure, deadlock_detected.
func conflict(err error) bool { return codeOf(err) == "40001" || codeOf(err) == "40P01" }

// unavailable returns the error for a connection that could not be made. Its text has no password.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, err, "the database cannot be reached; try again later")
}

// explain gives errors of the database a code. It returns those of others as they are.
func explain(ctx context.Context, c *pgx.Conn, err error) error {
	code := codeOf(err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && c.IsClosed():
		return ctx.Err()
	case code == "53100": // disk_full
		return fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	case conflict(err), code == "55P03", code == "57014": // after all tries; lock_not_available; query_canceled, by the time limit of the server
		return fault.Wrap(fault.Unavailable, err, "the database is busy; try again later")
	case c.IsClosed(), strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "25P0"), strings.HasPrefix(code, "53"):
		return unavailable(ctx, err)
	}
	return err
}

// statements has the texts of statements with PostgreSQL's parameters, by their own. It is bounded by the number of statements in the program.
var statements sync.Map

func text(query string) string {
	if s, ok := statements.Load(query); ok {
		return s.(string)
	}
	s := placeholders(query)
	statements.Store(query, s)
	return s
}

// Each implements [sqldb.Querier].
func (t transaction) Each(ctx context.Context, row func(func(...any) error) error, query string, args ...any) error {
	rows, err := t.conn.Query(ctx, text(query), arguments(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Do implements [sqldb.Querier].
func (t transaction) Do(ctx context.Context, query string, args ...any) (int, error) {
	tag, err := t.conn.Exec(ctx, text(query), arguments(args)...)
	return int(tag.RowsAffected()), err
}

// Dialect implements [sqldb.Querier].
func (transaction) Dialect() sqldb.Dialect { return sqldb.PostgreSQL }

// arguments returns arguments with texts that PostgreSQL can store: each null character, and each sequence of bytes that is not UTF-8, becomes the
// replacement character U+FFFD.
func arguments(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := reflect.ValueOf(a); {
		case v.Kind() == reflect.String:
			out[i] = valid(v.String())
		case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.String:
			out[i] = valid(v.Elem().String())
		default:
			out[i] = a
			if list, ok := a.([]string); ok {
				texts := make([]string, len(list))
				for j, s := range list {
					texts[j] = valid(s)
				}
				out[i] = texts
			}
		}
	}
	return out
}

func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
