package app

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/forrst/sqlstore"
	"github.com/sluice-rag/sluice/sqldb"
)

// callStore holds the idempotency keys and operations of package forrst in calls.db, and the runs of keys. It implements [rpc.Attempts].
type callStore struct {
	*sqlstore.Stores
	db sqldb.DB
}

// callMigrations and callTables are the versions of the table that sqlstore does not have, in SQLite and PostgreSQL. Keys are hashes, times are microseconds.
var (
	callMigrations = []string{`CREATE TABLE attempts (key BLOB PRIMARY KEY, run TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;` + attemptIndexes}
	callTables     = []string{`CREATE TABLE attempts (key BYTEA PRIMARY KEY, run TEXT NOT NULL, expires BIGINT NOT NULL);` + attemptIndexes}
)

const attemptIndexes = `
	CREATE INDEX attempts_run ON attempts (run); CREATE INDEX attempts_expires ON attempts (expires)`

// openCallStore opens calls.db, and adds a hook to the options of the engine that deletes the outcomes of deleted runs.
func (a *App) openCallStore(ctx context.Context, o *engine.Options) error {
	err := a.reserve.Use(func() error {
		db, shared, err := a.records.calls(ctx, a.Tenant)
		if err != nil {
			return err
		}
		s := &callStore{db: db}
		if s.Stores, err = sqlstore.New(ctx, shared, sqlstore.Options{Logger: a.logger}); err != nil {
			return errors.Join(sqlitedb.Explain(callsFile, err), db.Close())
		}
		if !a.records.External() { // the log of the runs has locked the data folder
			if err := s.FreeKeys(ctx); err != nil {
				return errors.Join(sqlitedb.Explain(callsFile, err), db.Close())
			}
		}
		a.callStore = s
		return nil
	})
	if err != nil && !a.records.External() {
		err = fmt.Errorf("%w, or delete the file: earlier idempotency keys and operations are then forgotten", err)
	}
	if err != nil {
		return fmt.Errorf("open calls: %w", err)
	}
	deleted := o.Deleted
	o.Deleted = func(run event.RunID) {
		if deleted != nil {
			deleted(run)
		}
		if err := a.reserve.Use(func() error { return a.callStore.forget(context.Background(), run) }); err != nil {
			a.logger.Error("the outcomes of a deleted run in calls.db were not deleted", "run", run, "error", err)
		}
	}
	return nil
}

// forget deletes what belongs to a run, also from the write-ahead log.
func (s *callStore) forget(ctx context.Context, run event.RunID) error {
	if _, err := s.db.Do(ctx, `DELETE FROM attempts WHERE run = ?`, run); err != nil {
		return err
	}
	n, err := s.Forget(ctx, string(run))
	if n > 0 && s.db.Dialect() == sqldb.SQLite {
		_, cut := s.db.Do(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
		err = errors.Join(err, cut)
	}
	return err
}

func (a *App) closeCallStore() error {
	if a.callStore == nil {
		return nil
	}
	if err := a.callStore.db.Close(); err != nil {
		return fmt.Errorf("close calls: %w", err)
	}
	return nil
}

func attemptHash(attempt string) []byte {
	sum := sha256.Sum256([]byte(attempt))
	return sum[:]
}

// Run implements [rpc.Attempts].
func (s *callStore) Run(ctx context.Context, attempt string) (event.RunID, error) {
	run, err := sqldb.One(ctx, s.db, sqldb.Text, `SELECT run FROM attempts WHERE key = ? AND expires > ?`, attemptHash(attempt), sqldb.Micros(time.Now()))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return event.RunID(run), err
}

// Add implements [rpc.Attempts]. It also deletes expired rows.
func (s *callStore) Add(ctx context.Context, attempt string, run event.RunID, expires time.Time) error {
	return s.db.Change(ctx, func(tx sqldb.Querier) error {
		_, err := tx.Do(ctx, `DELETE FROM attempts WHERE expires <= ?`, sqldb.Micros(time.Now()))
		if err == nil {
			_, err = tx.Do(ctx, `INSERT INTO attempts (key, run, expires) VALUES (?, ?, ?)
				ON CONFLICT (key) DO UPDATE SET run = excluded.run, expires = excluded.expires`, attemptHash(attempt), run, sqldb.Micros(expires))
		}
		return err
	})
}

// Remove implements [rpc.Attempts].
func (s *callStore) Remove(ctx context.Context, attempt string) error {
	_, err := s.db.Do(ctx, `DELETE FROM attempts WHERE key = ?`, attemptHash(attempt))
	return err
}
