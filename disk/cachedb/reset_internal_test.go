package cachedb

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestFailedReset checks that a database whose damaged file cannot be replaced returns errors, and works again once the file can be
// replaced.
func TestFailedReset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.db")
	d, err := Open(path, "CREATE TABLE entries (id INTEGER PRIMARY KEY)", MinBytes, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer d.Close()
	if err := os.Remove(path); err != nil {
		t.Skipf("an open file cannot be removed here: %v", err)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	if err := d.Check(errOther); err == nil {
		t.Error("the file was replaced although a folder is in its place")
	}
	if _, err := d.Exec("INSERT INTO entries DEFAULT VALUES"); err == nil {
		t.Error("a statement succeeded without a file")
	}
	if _, _, err := d.Stats(); err == nil {
		t.Error("a query succeeded without a file")
	}
	require.NoError(t, os.RemoveAll(path))
	insert := func() error {
		_, err := d.Exec("INSERT INTO entries DEFAULT VALUES")
		return err
	}
	if err := d.Update(insert); err == nil {
		t.Error("the first update, which replaces the file, reported no error")
	}
	if err := d.Update(insert); err != nil {
		t.Errorf("after the file was replaced: %v", err)
	}
}
