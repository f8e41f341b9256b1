// Package sqldb runs the same statements on SQLite files and in a PostgreSQL database, for stores that can use either. Package disk/sqlitedb opens
// files, package sqldb/postgres connects to a database.
//
// Statements have the parameters ?, or ?1, ?2 and so on. Times are stored in microseconds, as integers.
package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Dialect is a dialect of SQL.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	PostgreSQL
)

// Pick returns the text of the dialect, for what the two write in different ways.
func (d Dialect) Pick(sqlite, postgres string) string {
	if d == PostgreSQL {
		return postgres
	}
	return sqlite
}

// Querier runs statements: a [DB], or a transaction of one.
type Querier interface {
	// Each calls row for each row of a query. The function scan copies the columns of the row. If row returns an error, Each returns it.
	Each(ctx context.Context, row func(scan func(...any) error) error, query string, args ...any) error
	// Do runs a statement and returns the number of rows that it changed.
	Do(ctx context.Context, query string, args ...any) (int, error)
	// Dialect returns the dialect of the statements.
	Dialect() Dialect
}

// DB is a database. Its methods may be called at once.
type DB interface {
	Querier
	// Change runs do in a transaction. It commits unless do returns an error, which it returns. In a DB for writes, only one transaction runs at a
	// time; in one for reads, do sees one state of the database. With PostgreSQL, do may be called again after a failure of the first call that has
	// changed nothing: it sets what it returns, and does not add to it.
	Change(ctx context.Context, do func(tx Querier) error) error
	// Close waits for running transactions and closes the database.
	Close() error
}

// All returns the rows of a query.
func All[T any](ctx context.Context, q Querier, scan func(func(...any) error) (T, error), query string, args ...any) (out []T, err error) {
	err = q.Each(ctx, func(row func(...any) error) error {
		v, err := scan(row)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// One returns the first row of a query, or [sql.ErrNoRows].
func One[T any](ctx context.Context, q Querier, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	rows, err := All(ctx, q, scan, query, args...)
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

// In returns the condition that a column of texts has one of the values, and its argument.
func In(q Querier, column string, values []string) (condition string, arg any) {
	values = append([]string{}, values...) // an empty list, not null
	if q.Dialect() == PostgreSQL {
		return column + " = ANY (?)", values
	}
	list, _ := json.Marshal(values) // texts always encode
	return column + " IN (SELECT value FROM json_each(?))", string(list)
}

// Text scans a row of one text.
func Text(scan func(...any) error) (s string, err error) {
	err = scan(&s)
	return s, err
}

// Integer scans a row of one number.
func Integer(scan func(...any) error) (n int64, err error) {
	err = scan(&n)
	return n, err
}

// Bool scans a row of one truth value.
func Bool(scan func(...any) error) (b bool, err error) {
	err = scan(&b)
	return b, err
}

// Micros returns a time in microseconds, as it is stored; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros returns the time of a number of microseconds, in UTC; 0 is the zero time.
func FromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
