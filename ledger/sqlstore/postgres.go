package sqlstore

import (
	"context"
	_ "embed" // the schema
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/sqldb/postgres"
)

//go:embed postgres.sql
var postgresSchema string

// OpenPostgres opens the ledger in a schema of a database, creates it if it does not exist, and upgrades one of an earlier version. A later version is
// an error. The database closes it. Call [Store.Check] before it is relied on.
func OpenPostgres(ctx context.Context, db *postgres.Database, schema string) (*Store, error) {
	read, write, err := db.Part(ctx, schema, "ledger", []string{postgresSchema})
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Store{write: write, read: read}, nil
}

// postgresQuery returns the objects of the schema that keep the rules of the ledger.
const postgresQuery = `WITH tables AS (SELECT oid, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		AND relkind = 'r' AND relname IN ('accounts', 'transfers', 'entries', 'holds', 'charges'))
	SELECT 'table ' || relname || chr(10) FROM tables
	UNION ALL SELECT 'index ' || c.relname || chr(10) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
		WHERE indrelid IN (SELECT oid FROM tables) AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid AND contype IN ('p', 'u'))
	UNION ALL SELECT 'constraint ' || conname || chr(10) FROM pg_constraint WHERE conrelid IN (SELECT oid FROM tables) AND contype IN ('c', 'f')
	UNION ALL SELECT 'trigger ' || tgname || chr(10) || pg_get_triggerdef(t.oid, true) || p.prosrc || CASE tgenabled WHEN 'O' THEN '' ELSE 'disabled' END
		FROM pg_trigger t JOIN pg_proc p ON p.oid = tgfoid WHERE tgrelid IN (SELECT oid FROM tables) AND NOT tgisinternal`

var (
	createObject   = regexp.MustCompile(`(?:CREATE (?:UNIQUE )?(TABLE|INDEX)|(CONSTRAINT)) (\w+)`)
	createFunction = regexp.MustCompile(`(?s)CREATE FUNCTION (\w+).*?\$\$(.*?)\$\$`)
	createTrigger  = regexp.MustCompile(`(CREATE TRIGGER (\w+) .* EXECUTE FUNCTION (\w+)\(\));`)
)

// postgresObjects returns what postgresQuery returns of a new schema.
func postgresObjects() (objects []string) {
	for _, m := range createObject.FindAllStringSubmatch(postgresSchema, -1) {
		objects = append(objects, strings.ToLower(m[1]+m[2])+" "+m[3]+"\n")
	}
	bodies := map[string]string{}
	for _, m := range createFunction.FindAllStringSubmatch(postgresSchema, -1) {
		bodies[m[1]] = m[2]
	}
	for _, m := range createTrigger.FindAllStringSubmatch(postgresSchema, -1) {
		objects = append(objects, "trigger "+m[2]+"\n"+m[1]+bodies[m[3]])
	}
	return objects
}
