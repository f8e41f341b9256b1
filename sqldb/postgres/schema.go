package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/sqldb"
)

// Part opens a part of a schema for reads and for writes, and creates the schema if it does not exist. It upgrades the part in one transaction: the
// element i of migrations upgrades it from version i to i+1. Several servers may do so at once. A released migration must not change. A part of a
// later version is an error. The results need not be closed.
func (d *Database) Part(ctx context.Context, schema, part string, migrations []string) (read, write sqldb.DB, err error) {
	if err := (&db{Database: d, begin: migrating(schema)}).change(ctx, func(c *pgx.Conn) error { return migrate(ctx, c, schema, part, migrations) }); err != nil {
		return nil, nil, fmt.Errorf("schema %s, %s: %w", schema, part, err)
	}
	return &db{Database: d, schema: schema, begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
		&db{Database: d, schema: schema, writer: true, begin: fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(%d)", lockOf(schema, part))}, nil
}

// migrating begins a transaction that excludes others that change the schema. It waits for the migrations of another server.
func migrating(schema string) string {
	return fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = '5min'; SELECT pg_advisory_xact_lock(%d)", lockOf(schema, ""))
}

// lockOf returns the number of an advisory lock.
func lockOf(schema, part string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("sluice\x00" + schema + "\x00" + part))
	return int64(h.Sum64()) //nolint:gosec // any bits will do
}

func migrate(ctx context.Context, c *pgx.Conn, schema, part string, migrations []string) error {
	run := func(statements string) error {
		_, err := c.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	var exists bool // CREATE SCHEMA IF NOT EXISTS needs a right even if it exists
	if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", schema).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if err := run("CREATE SCHEMA " + quote(schema)); err != nil {
			return err
		}
	}
	if err := run("SET LOCAL search_path TO " + quote(schema) + "; CREATE TABLE IF NOT EXISTS versions (part TEXT PRIMARY KEY, version BIGINT NOT NULL)"); err != nil {
		return err
	}
	var version int
	if err := c.QueryRow(ctx, "SELECT version FROM "+quote(schema)+".versions WHERE part = $1", part).Scan(&version); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("its version %d is of a later release; this release supports version %d", version, len(migrations))
	}
	if version == len(migrations) {
		return nil
	}
	for ; version < len(migrations); version++ {
		if err := run(migrations[version]); err != nil {
			return fmt.Errorf("upgrade to version %d: %w", version+1, err)
		}
	}
	_, err := c.Exec(ctx, "INSERT INTO "+quote(schema)+".versions (part, version) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET version = excluded.version", part, version)
	return err
}

// placeholders returns a statement with PostgreSQL's parameters $1, $2 and so on for ? and ?1.
func placeholders(query string) string {
	var out strings.Builder
	next := 0
	quoted := rune(0)
	for i, r := range query {
		switch {
		case quoted != 0:
			if r == quoted {
				quoted = 0
			}
		case r == '\'' || r == '"':
			quoted = r
		case r == '?':
			out.WriteByte('$')
			if rest := query[i+1:]; rest == "" || rest[0] < '0' || rest[0] > '9' {
				next++
				fmt.Fprint(&out, next)
			}
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
