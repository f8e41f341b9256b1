package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
	"github.com/sluice-rag/sluice/store/storetest"
)

func open(t testing.TB, path string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	require.CloseAfter(t, s)
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.TestStore(t, func(t *testing.T) (storetest.Store, func() storetest.Store) {
		path := filepath.Join(t.TempDir(), "a b?c#d%20.db") // characters that a URL must escape
		return open(t, path), func() storetest.Store { return open(t, path) }
	})
}

func TestOpenRejectsOtherFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	require.NoError(t, open(t, path).Close())
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "later release") {
		t.Errorf("a later version: %v", err)
	}
	if _, err := sqlstore.Open(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// TestMigration upgrades a file of the first version, which had a single queue of tasks.
func TestMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	for _, f := range []store.File{{ID: "url", Status: store.Pending}, {ID: "sent", SHA256: "sum", Status: store.Pending}} {
		require.NoError(t, s.AddFile(t.Context(), f, store.Task{ID: "upload-" + f.ID, Resource: f.ID, Status: store.Pending}, nil))
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.Exec(`DROP TABLE sources; DROP TABLE source_documents; DROP TABLE ingestions; DROP TRIGGER files_fetched; DROP INDEX tasks_pending; ALTER TABLE tasks DROP COLUMN unfetched; ALTER TABLE tasks DROP COLUMN server; ALTER TABLE tasks DROP COLUMN delay;
		CREATE INDEX tasks_pending ON tasks (created_at, id) WHERE status = 'pending'; PRAGMA user_version = 1`); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	for unfetched, want := range map[bool]string{true: "url", false: "sent"} {
		if task, err := s.StartNext(t.Context(), time.Now(), unfetched, ""); err != nil || task.Resource != want {
			t.Errorf("started %q, %v; want %s", task.Resource, err, want)
		}
	}
}

// TestQueriesUseIndexes checks that no frequent query scans a table.
func TestQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	open(t, path)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	for _, query := range []string{
		"SELECT record FROM sources WHERE id = 'a'",
		"SELECT id, source FROM source_documents WHERE id IN (SELECT value FROM json_each('[]'))",
		"SELECT uri FROM source_documents WHERE source = 'a' ORDER BY id",
		"DELETE FROM source_documents WHERE source = 'a' AND id IN (SELECT value FROM json_each('[]'))",
		"SELECT id FROM files WHERE id > 'a' ORDER BY id LIMIT 5",
		"SELECT id FROM files WHERE sha256 = 'a' AND sha256 <> '' ORDER BY status <> 'completed', status IN ('failed', 'cancelled'), created_at LIMIT 1",
		"SELECT id FROM files WHERE id IN (SELECT value FROM json_each('[]')) ORDER BY id",
		"SELECT id FROM stores WHERE expires_at > 0 AND expires_at <= 5 ORDER BY expires_at LIMIT 5",
		"SELECT file FROM members WHERE store = 'a' AND file > 'b' ORDER BY file LIMIT 5",
		"SELECT store FROM members WHERE file = 'a' ORDER BY store",
		"UPDATE tasks SET status = 'running' WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND unfetched = 1 AND (delay = 0 OR abs(5 - updated_at) >= delay) ORDER BY CASE delay WHEN 0 THEN created_at ELSE updated_at + delay END, id LIMIT 1) RETURNING id",
		"SELECT id FROM tasks WHERE status = 'running'",
		"UPDATE tasks SET status = 'pending' WHERE id IN (SELECT value FROM json_each('[]'))",
		"UPDATE tasks SET loose = 1 WHERE resource = 'a'",
		"DELETE FROM tasks WHERE loose = 1 AND updated_at < 5 AND status IN ('completed', 'failed', 'cancelled')",
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN " + query)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
			listed := strings.Contains(detail, "INDEX tasks_") || strings.Contains(detail, "json_each") // these scans only read matching rows
			if strings.HasPrefix(detail, "SCAN") && !listed {
				t.Errorf("%s: %s", query, detail)
			}
		}
		require.NoError(t, rows.Err())
	}
}
