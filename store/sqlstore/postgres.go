package sqlstore

import (
	"context"
	_ "embed" // the schema
	"fmt"

	"github.com/sluice-rag/sluice/sqldb/postgres"
)

//go:embed postgres.sql
var postgresSchema string

// OpenPostgres opens the store in a schema of a database, creates it if it does not exist, and upgrades one of an earlier version. A later version is
// an error. The database closes it.
func OpenPostgres(ctx context.Context, db *postgres.Database, schema string) (*Store, error) {
	read, write, err := db.Part(ctx, schema, "files", []string{postgresSchema, taskServers, sourceTables, "ALTER TABLE tasks ADD COLUMN delay BIGINT NOT NULL DEFAULT 0;" + taskQueue, ingestionTable})
	if err != nil {
		return nil, fmt.Errorf("open files: %w", err)
	}
	return &Store{read: read, write: write}, nil
}
