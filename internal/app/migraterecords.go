package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/forrst/sqlstore"
)

// The tables of each part have the same names and columns in SQLite and in PostgreSQL. They are copied row by row, in one transaction of the target for
// each part, so the rules of the target (triggers, constraints) hold for them.

// migratedTable is a table of a part.
type migratedTable struct {
	name    string
	columns string // empty: all
	derived string // columns that triggers fill, separated by commas
	number  string // the column that the database counts, if any
	skip    bool   // triggers fill the table
}

var (
	filesTables = []migratedTable{{name: "stores", derived: "in_progress,completed,failed,cancelled,bytes"}, {name: "files"}, {name: "tasks"}, {name: "members"},
		{name: "changes", number: "seq"}, {name: "sources"}, {name: "source_documents"}, {name: "ingestions"}}
	sessionTables = []migratedTable{{name: "sessions", number: "key"}, {name: "messages"}, {name: "words", columns: "rowid,text"}}
	ledgerTables  = []migratedTable{{name: "transfers"}, {name: "entries", skip: true}, {name: "charges", skip: true}, {name: "accounts", skip: true}, {name: "holds", skip: true}}
	callsTables   = []migratedTable{{name: "attempts"}, {name: "forrst_tokens"}, {name: "forrst_keys"}, {name: "forrst_operations"}}
	keysTables    = []migratedTable{{name: "keys"}, {name: "sessions"}}
)

// openTables is the database of a part on one side.
type openTables struct {
	*sql.DB
	schema string // of PostgreSQL; empty: SQLite
	close  func() error
}

func (t *openTables) postgres() bool { return t.schema != "" }

// table returns the name of a table in statements. It names the schema, since connections cache statements by their text.
func (t *openTables) table(name string) string {
	if !t.postgres() {
		return name
	}
	return pgx.Identifier{t.schema, name}.Sanitize()
}

// tables opens the database of a part of a tenant, with its tables, which are upgraded. Without create, it returns nil if there is no file.
func (s *side) tables(ctx context.Context, tenant, part string, create bool) (*openTables, error) {
	file := map[string]string{"files": filesFile, "sessions": sessionsFile, "ledger": ledgerFile, "calls": callsFile, "keys": keysFile}[part]
	path := s.records.path(cmp.Or(tenant, auth.DefaultTenant), file)
	if !s.records.External() {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !create {
			return nil, nil //nolint:nilnil // nothing to copy
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	store, err := s.openPart(ctx, tenant, part)
	if err != nil {
		return nil, err
	}
	if s.records.External() {
		schema := keysSchema
		if tenant != "" {
			schema = schemaOf(tenant)
		}
		return &openTables{s.records.db.SQL(schema), schema, store}, nil
	}
	open := sqlitedb.Writer
	if !create {
		open = func(path string) (*sqlitedb.DB, error) { return sqlitedb.Reader(path, 4) }
	}
	db, err := open(path)
	if err != nil {
		return nil, errors.Join(err, store())
	}
	return &openTables{db.DB, "", func() error { return errors.Join(db.Close(), store()) }}, nil // the store writes its checksum last
}

// openPart opens the store of a part, which makes or upgrades its tables.
func (s *side) openPart(ctx context.Context, tenant, part string) (closeStore func() error, err error) {
	closer := func(c interface{ Close() error }, err error) (func() error, error) {
		if err != nil {
			return nil, err
		}
		return c.Close, nil
	}
	switch part {
	case "files":
		return closer(s.records.files(ctx, tenant))
	case "sessions":
		return closer(s.records.sessions(ctx, tenant))
	case "ledger":
		return closer(s.records.ledger(ctx, tenant))
	case "keys":
		return closer(s.records.Keys(ctx))
	}
	db, shared, err := s.records.calls(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if _, err := sqlstore.New(ctx, shared, sqlstore.Options{}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db.Close, nil
}

// recordsPart returns the part with the tables.
func recordsPart(part string, tables []migratedTable) migratedPart {
	both := func(ctx context.Context, m *migration, do func(from, to *openTables) error) (err error) {
		from, err := m.from.tables(ctx, m.tenant, part, false)
		if err != nil || from == nil {
			return err
		}
		defer func() { err = errors.Join(err, from.close()) }()
		to, err := m.to.tables(ctx, m.tenant, part, true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.close()) }()
		return do(from, to)
	}
	compare := func(ctx context.Context, m *migration) (a, b tally, err error) {
		err = both(ctx, m, func(from, to *openTables) (err error) {
			if a, err = from.tally(ctx, tables); err == nil {
				b, err = to.tally(ctx, tables)
			}
			return err
		})
		return a, b, err
	}
	return migratedPart{part, func(ctx context.Context, m *migration) error {
		return both(ctx, m, func(from, to *openTables) error {
			has, err := to.tally(ctx, tables)
			if err != nil {
				return err
			}
			if has.count > 0 { // it was copied before the state could be saved
				want, err := from.tally(ctx, tables)
				if err == nil && want != has {
					err = errors.New("the target has other records")
				}
				return err
			}
			done := 0
			return to.fill(ctx, from, part, tables, func() { done++; m.o.Progress(part, done) })
		})
	}, compare}
}

// tally counts the rows of tables. Their checksum does not depend on the engine.
func (t *openTables) tally(ctx context.Context, tables []migratedTable) (out tally, err error) {
	for _, table := range tables {
		err := t.rows(ctx, t.DB, table, "", func(columns []string, values []any) error {
			row := map[string]any{"": table.name}
			for i, c := range columns {
				if raw, ok := values[i].([]byte); ok && len(raw) == 0 {
					continue // SQLite does not tell an empty value from none
				}
				if values[i] != nil {
					row[c] = values[i]
				}
			}
			raw, err := json.Marshal(row) // its names are sorted
			if err == nil {
				out.add(sha256.Sum256(raw))
			}
			return err
		})
		if err != nil {
			return out, fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	return out, nil
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows calls do for the rows of a table that fulfil a condition, with values that do not depend on the engine.
func (t *openTables) rows(ctx context.Context, q queryer, table migratedTable, condition string, do func(columns []string, values []any) error) (err error) {
	columns := table.columns
	if columns == "" {
		columns = "*"
	}
	rows, err := q.QueryContext(ctx, "SELECT "+columns+" FROM "+t.table(table.name)+" "+condition)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			values[i] = neutral(v)
		}
		if err := do(names, values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// neutral returns a value as both engines can store it: truth values are 0 and 1, and texts have neither null characters nor invalid UTF-8.
func neutral(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case []byte:
		return append([]byte{}, v...) // an empty value is not NULL
	case string:
		return strings.ReplaceAll(strings.ToValidUTF8(v, "\uFFFD"), "\x00", "\uFFFD")
	}
	return v
}

// fill copies the tables of another database in one transaction.
func (t *openTables) fill(ctx context.Context, from *openTables, part string, tables []migratedTable, progress func()) error {
	tx, err := t.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has no effect after a commit
	for _, table := range tables {
		if table.skip {
			continue
		}
		err := from.rows(ctx, from.DB, table, order(table), func(columns []string, values []any) error {
			progress()
			if part == "ledger" {
				return t.transfer(ctx, tx, from, columns, values)
			}
			return t.insert(ctx, tx, table, columns, values)
		})
		if err == nil && table.number != "" {
			err = t.setNumber(ctx, tx, from, table)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	return tx.Commit()
}

func order(table migratedTable) string {
	if table.name == "transfers" {
		return "ORDER BY seq"
	}
	return ""
}

// transfer copies a transfer of the ledger as it was made: its entries, the transfer itself, and its charge.
func (t *openTables) transfer(ctx context.Context, tx *sql.Tx, from *openTables, columns []string, values []any) error {
	var seq int64
	for i, c := range columns {
		if c == "seq" {
			seq, _ = values[i].(int64)
		}
	}
	related := func(name string) error {
		table := migratedTable{name: name}
		return from.rows(ctx, from.DB, table, fmt.Sprintf("WHERE transfer = %d", seq), func(columns []string, values []any) error {
			return t.insert(ctx, tx, table, columns, values)
		})
	}
	if err := related("entries"); err != nil {
		return fmt.Errorf("entries: %w", err)
	}
	if err := t.insert(ctx, tx, migratedTable{name: "transfers"}, columns, values); err != nil {
		return err
	}
	return related("charges")
}

// truths are the columns that are truth values in PostgreSQL.
var truths = map[string]bool{"sessions.archived": true, "messages.abstained": true, "messages.good": true, "charges.cached": true}

// insert writes a row.
func (t *openTables) insert(ctx context.Context, tx *sql.Tx, table migratedTable, columns []string, values []any) error {
	var names, marks []string
	var args []any
	derived := "," + table.derived + ","
	for i, c := range columns {
		if strings.Contains(derived, ","+c+",") {
			continue
		}
		v := values[i]
		if n, ok := v.(int64); ok && t.postgres() && truths[table.name+"."+c] {
			v = n != 0
		}
		names, args = append(names, c), append(args, v)
		marks = append(marks, fmt.Sprintf("$%d", len(args)))
	}
	overriding := ""
	if t.postgres() && table.number != "" {
		overriding = " OVERRIDING SYSTEM VALUE"
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO "+t.table(table.name)+" ("+strings.Join(names, ", ")+")"+overriding+" VALUES ("+strings.Join(marks, ", ")+")", args...)
	return err
}

// setNumber continues the numbers of a table where the source would, so that none is used again.
func (t *openTables) setNumber(ctx context.Context, tx *sql.Tx, from *openTables, table migratedTable) error {
	query := "SELECT seq FROM sqlite_sequence WHERE name = '" + table.name + "'"
	sequence := func(t *openTables) string {
		return "pg_get_serial_sequence('" + t.table(table.name) + "', '" + table.number + "')::regclass"
	}
	if from.postgres() {
		query = "SELECT pg_sequence_last_value(" + sequence(from) + ")"
	}
	var last sql.NullInt64
	if err := from.QueryRowContext(ctx, query).Scan(&last); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !last.Valid || last.Int64 == 0 {
		return nil
	}
	if t.postgres() {
		_, err := tx.ExecContext(ctx, "SELECT setval("+sequence(t)+", $1)", last.Int64)
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = $1", table.name); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)", table.name, last.Int64)
	return err
}
