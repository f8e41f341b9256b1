// Package sqlstore keeps the state of forrst servers in an SQL database, so that several processes share it: cancellation tokens,
// idempotency keys and asynchronous operations. Its SQL is that of SQLite 3.35 and of PostgreSQL 10, and later ones.
//
//	stores, err := sqlstore.New(ctx, db, sqlstore.Options{})
//	extensions := []forrst.Extension{
//		forrst.Tracing{}, forrst.Retry{}, forrst.Deadline{}, forrst.NewCancellation(stores.Tokens()), forrst.Stream{},
//		forrst.NewIdempotency(stores.Idempotency()), forrst.NewAsync(forrst.AsyncOptions{Store: stores.Operations()}),
//	}
//
// The processes need clocks that agree to a second or so, because leases and expiry use their time. Rows are kept until they
// expire; their number is not limited. With SQLite, set a busy timeout (_pragma=busy_timeout(5000) in the name of the data source
// of modernc.org/sqlite), or calls fail while another process writes.
package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Options are the settings of the stores. The zero value works.
type Options struct {
	// Poll is how often a process looks for cancellations by other processes. It does so only while calls with tokens run in
	// it. Default: 500 ms. At most 20 s.
	Poll time.Duration
	// Logger gets failures of these searches. Nil: slog.Default.
	Logger *slog.Logger
}

// maxPoll leaves time to renew the lease of a token twice.
const maxPoll = tokenLease / 3

// Stores are the stores of one process in a database. They are safe for concurrent use.
type Stores struct {
	db     *sql.DB
	tokens *tokens

	mu    sync.Mutex
	swept time.Time
}

// New creates or migrates the tables, whose names begin with forrst_, and returns the stores. Several processes may do so at
// once. The database stays the caller's, and must be open for as long as the server runs.
func New(ctx context.Context, db *sql.DB, o Options) (*Stores, error) {
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := migrate(ctx, db); err != nil {
		return nil, fmt.Errorf("create the tables of forrst: %w", err)
	}
	s := &Stores{db: db, swept: time.Now()}
	s.tokens = &tokens{stores: s, holder: rand.Text(), poll: min(o.Poll, maxPoll), log: o.Logger, running: map[string]chan struct{}{}}
	return s, nil
}

// Tokens returns the store of cancellation tokens. A cancellation by another process arrives after the interval Options.Poll at
// most. The tokens of a process that has crashed become free after a minute.
func (s *Stores) Tokens() forrst.TokenStore { return s.tokens }

// Idempotency returns the store of idempotency keys.
func (s *Stores) Idempotency() forrst.IdempotencyStore { return (*keys)(s) }

// Operations returns the store of asynchronous operations.
func (s *Stores) Operations() forrst.OperationStore { return (*operations)(s) }

// Forget deletes the stored outcomes whose JSON contains a text, such as the id of something that was deleted. The next call with the key of one runs
// again, and its operation does not exist any more. It returns the number of outcomes.
func (s *Stores) Forget(ctx context.Context, text string) (deleted int64, err error) {
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
	for _, table := range []string{"forrst_keys", "forrst_operations"} {
		result, err := s.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE outcome LIKE $1 ESCAPE '\'`, pattern)
		if err != nil {
			return deleted, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return deleted, err
		}
		deleted += n
	}
	return deleted, nil
}

// FreeKeys frees the keys of calls that have not ended and are no operations. Call it before the first call of a process that has the database for itself:
// the calls are those of a process that has crashed.
func (s *Stores) FreeKeys(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM forrst_keys WHERE outcome IS NULL AND operation = ''`)
	return err
}

// migrations are the versions of the schema, oldest first. Keys are hashes of fixed length: what clients choose may have any
// length and characters that a TEXT of PostgreSQL cannot hold. BYTEA compares by bytes in both databases, and SQLite stores
// what it gets in such a column. Times are microseconds of the Unix epoch.
var migrations = [][]string{{
	`CREATE TABLE forrst_tokens (key BYTEA PRIMARY KEY, holder TEXT NOT NULL, cancelled SMALLINT NOT NULL, ended SMALLINT NOT NULL, expires BIGINT NOT NULL)`,
	`CREATE INDEX forrst_tokens_holder ON forrst_tokens (holder) WHERE ended = 0`,
	`CREATE INDEX forrst_tokens_expires ON forrst_tokens (expires)`,
	`CREATE TABLE forrst_keys (key BYTEA PRIMARY KEY, holder TEXT NOT NULL, request TEXT NOT NULL, fingerprint TEXT NOT NULL,
		operation TEXT NOT NULL, outcome TEXT, stored BIGINT NOT NULL, expires BIGINT NOT NULL)`,
	`CREATE INDEX forrst_keys_expires ON forrst_keys (expires)`,
	`CREATE TABLE forrst_operations (id BYTEA PRIMARY KEY, caller BYTEA NOT NULL, function TEXT NOT NULL, version TEXT NOT NULL,
		request TEXT NOT NULL, status TEXT NOT NULL, progress DOUBLE PRECISION NOT NULL, outcome TEXT, started BIGINT NOT NULL,
		completed BIGINT NOT NULL, leased BIGINT NOT NULL, keep BIGINT NOT NULL, expires BIGINT NOT NULL)`,
	`CREATE INDEX forrst_operations_caller ON forrst_operations (caller, id)`,
	`CREATE INDEX forrst_operations_expires ON forrst_operations (expires)`,
	`CREATE TABLE forrst_locks (slot BIGINT PRIMARY KEY, held BIGINT NOT NULL)`,
}}

// migrate brings the schema to the newest version. One process does so at a time.
func migrate(ctx context.Context, db *sql.DB) error {
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	var sqlite string
	isSQLite := db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&sqlite) == nil
	const create = `CREATE TABLE IF NOT EXISTS forrst_schema (version BIGINT PRIMARY KEY)`
	first := []string{`SELECT pg_advisory_xact_lock(6080718321)`, create} // any number that others do not use
	if isSQLite {
		if _, err := db.ExecContext(ctx, create); err != nil {
			return err
		}
		first = []string{`DELETE FROM forrst_schema WHERE version = 0`} // a transaction that begins with a write excludes others
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	for _, statement := range first {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var version int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM forrst_schema`).Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("the tables have version %d, which is newer than this program", version)
	}
	for i, statements := range migrations[version:] {
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO forrst_schema (version) VALUES ($1)`, version+i+1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// sweep deletes expired rows, at most once a minute.
func (s *Stores) sweep(ctx context.Context) {
	s.mu.Lock()
	due := time.Since(s.swept) >= time.Minute
	if due {
		s.swept = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return
	}
	for _, table := range []string{"forrst_tokens", "forrst_keys", "forrst_operations"} {
		_, _ = s.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE expires <= $1`, micros(time.Now())) // or a minute later
	}
}

// execer is a database or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// changed reports whether a statement has changed a row.
func changed(ctx context.Context, db execer, query string, args ...any) (bool, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// hash returns a key of fixed length for some texts.
func hash(texts ...string) []byte {
	h := sha256.New()
	for _, t := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(t))))
		h.Write([]byte(t))
	}
	return h.Sum(nil)
}

// micros returns a time in microseconds. The zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// quoted returns a text of a client as JSON, because a TEXT of PostgreSQL cannot hold a null character.
func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return string(b)
}

func unquoted(text string) (out string, err error) {
	err = json.Unmarshal([]byte(text), &out)
	return out, err
}

// optional returns JSON for a column that may be NULL.
func optional(outcome []byte) any {
	if outcome == nil {
		return nil
	}
	return string(outcome)
}
