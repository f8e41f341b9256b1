package sqlitedb_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb"
)

// The values of the pragma synchronous.
const normal, full = 1, 2

// TestChangeUnsynced checks that only the transactions of ChangeUnsynced do not wait for the disk, whatever ends them.
func TestChangeUnsynced(t *testing.T) {
	db, err := sqlitedb.Writer(filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	ctx := t.Context()
	number := func(q sqldb.Querier, query string) int {
		n, err := sqldb.One(ctx, q, func(scan func(...any) error) (n int, err error) { return n, scan(&n) }, query)
		require.NoError(t, err)
		return n
	}
	level := func(q sqldb.Querier) int { return number(q, "SELECT synchronous FROM pragma_synchronous") }
	insert := func(q sqldb.Querier) error {
		_, err := q.Do(ctx, "INSERT INTO t VALUES (1)")
		return err
	}
	if _, err := db.Do(ctx, "CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	errStop := errors.New("stop")
	cancelled, cancel := context.WithCancel(ctx)
	for _, c := range []struct {
		name  string
		ctx   context.Context
		end   func() error
		fails bool
		rows  int // afterwards
	}{
		{"commit", ctx, func() error { return nil }, false, 1},
		{"rollback", ctx, func() error { return errStop }, true, 1},
		{"cancelled", cancelled, func() error { cancel(); return cancelled.Err() }, true, 1},
		{"commit again", ctx, func() error { return nil }, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := db.ChangeUnsynced(c.ctx, func(q sqldb.Querier) error {
				if got := level(q); got != normal {
					t.Errorf("synchronous is %d in the transaction, want %d", got, normal)
				}
				return errors.Join(insert(q), c.end())
			})
			if (err != nil) != c.fails {
				t.Errorf("error: %v", err)
			}
			err = db.Change(ctx, func(q sqldb.Querier) error {
				if got := level(q); got != full {
					t.Errorf("synchronous is %d after it, want %d", got, full)
				}
				if got := number(q, "SELECT count(*) FROM t"); got != c.rows {
					t.Errorf("%d rows, want %d", got, c.rows)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
