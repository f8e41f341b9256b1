package cachedb_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/disk/cachedb"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const schema = "CREATE TABLE entries (id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT"

// open opens a database whose warnings are written to the returned buffer.
func open(t *testing.T, path, schema string, maxBytes int64) (*cachedb.DB, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	d, err := cachedb.Open(path, schema, maxBytes, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d, &log
}

// add adds an entry after making room for it.
func add(t *testing.T, d *cachedb.DB, value string) {
	t.Helper()
	require.NoError(t, d.MakeRoom(int64(len(value))))
	require.NoError(t, d.Update(func() error {
		_, err := d.Exec("INSERT INTO entries (value) VALUES (?)", []byte(value))
		return err
	}))
}

// stats returns the number of entries and checks the size of the file.
func stats(t *testing.T, d *cachedb.DB, path string, maxBytes int64) int {
	t.Helper()
	n, size, err := d.Stats()
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	if size != info.Size() || size > maxBytes {
		t.Errorf("size %d, file of %d bytes, limit %d", size, info.Size(), maxBytes)
	}
	return n
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.db")
	const maxBytes = 256 << 10
	d, _ := open(t, path, schema, maxBytes)
	for range 1000 {
		add(t, d, strings.Repeat("x", 1000))
		stats(t, d, path, maxBytes)
	}
	var oldest, newest int
	require.NoError(t, d.QueryRow("SELECT min(id), max(id) FROM entries").Scan(&oldest, &newest))
	if n := stats(t, d, path, maxBytes); n < 100 || newest != 1000 || oldest != newest-n+1 {
		t.Errorf("%d entries, %d to %d: not the newest", n, oldest, newest)
	}
	require.NoError(t, d.Close())
	d, _ = open(t, path, schema, 1) // shrinks the file to the minimum
	if n := stats(t, d, path, cachedb.MinBytes); n == 0 {
		t.Error("all entries were deleted to shrink the file")
	}
}

func TestDamagedFileStartsEmpty(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
		"cut":         func(b []byte) []byte { return b[:len(b)/2] },
		"page":        func(b []byte) []byte { copy(b[4096:8192], make([]byte, 4096)); return b },
	} {
		path := filepath.Join(t.TempDir(), "cache.db")
		d, _ := open(t, path, schema, 1<<20)
		for range 50 {
			add(t, d, strings.Repeat("x", 1000))
		}
		require.NoError(t, d.Close())
		raw, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, damage(raw), 0o600)
		}
		require.NoError(t, err)
		d, log := open(t, path, schema, 1<<20)
		if n := stats(t, d, path, 1<<20); n != 0 || !strings.Contains(log.String(), "damaged") {
			t.Errorf("%s: %d entries, log %q", name, n, log)
		}
		add(t, d, "new")
	}
}

func TestOtherSchemaStartsEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.db")
	d, _ := open(t, path, schema, 1<<20)
	add(t, d, "old")
	require.NoError(t, d.Close())
	d, _ = open(t, path, schema+"; CREATE TABLE other (x INTEGER) STRICT", 1<<20)
	if n := stats(t, d, path, 1<<20); n != 0 {
		t.Errorf("%d entries of another schema", n)
	}
}

func TestDeletedContentIsErased(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.db")
	d, _ := open(t, path, schema, 1<<20)
	const secret = "a recognisable value"
	found := func() bool {
		for _, p := range []string{path, path + "-journal"} {
			if raw, err := os.ReadFile(p); err == nil && bytes.Contains(raw, []byte(secret)) {
				return true
			}
		}
		return false
	}
	add(t, d, secret)
	if !found() {
		t.Fatal("the value is not in the file")
	}
	if _, err := d.Exec("DELETE FROM entries"); err != nil {
		t.Fatal(err)
	}
	if found() {
		t.Error("a deleted value is still in the file")
	}
	add(t, d, secret)
	require.NoError(t, d.Clear())
	if n := stats(t, d, path, 1<<20); n != 0 || found() {
		t.Errorf("%d entries after Clear", n)
	}
}
