//go:build linux

package sqlstore_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// postgres returns a function that opens connections to a new database.
func postgres(t *testing.T) func(t *testing.T) func() *sql.DB {
	postgrestest.URL(t) // the server runs until all parts of the test have ended
	return func(t *testing.T) func() *sql.DB {
		url := postgrestest.URL(t)
		return func() *sql.DB { return open(t, "pgx", url) }
	}
}
