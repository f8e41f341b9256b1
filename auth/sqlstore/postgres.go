package sqlstore

import (
	"context"
	_ "embed" // the tables
	"fmt"

	"github.com/sluice-rag/sluice/sqldb/postgres"
)

//go:embed postgres.sql
var postgresSchema string

//go:embed rates.sql
var ratesTable string

// OpenPostgres opens the keys in a schema of a database, creates it if it does not exist, and upgrades one of an earlier version. A later version is an
// error. The database closes it. If keys exist, it makes the marker of the path: see [Marked].
func OpenPostgres(ctx context.Context, db *postgres.Database, schema, path string) (*Store, error) {
	read, write, err := db.Part(ctx, schema, "keys", []string{postgresSchema, ratesTable})
	if err != nil {
		return nil, fmt.Errorf("open keys: %w", err)
	}
	s := &Store{read: read, write: write, path: path}
	return s, s.markRows(ctx)
}
