package sqlstore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// reading begins a read of a file by another program.
func reading(t *testing.T, path string) *sql.Tx {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "SELECT count(*) FROM messages")
	}
	require.NoError(t, err)
	return tx
}

// TestDamage opens files that were damaged, with the checksum of the last Close and, as from a backup, without: each is an error that says what to
// do, and none is opened as an empty store.
func TestDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	for n := range 20 {
		marked(t, s, n)
	}
	require.NoError(t, s.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	checksum, err := os.ReadFile(path + ".sum")
	require.NoError(t, err)
	needsChecksum := map[string]bool{"few bytes less": true, "byte of a text": true}
	for name, damage := range map[string]func(b []byte) []byte{
		"no database":     func(b []byte) []byte { return []byte("garbage!" + string(b[8:])) },
		"text":            func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 500)) },
		"half":            func(b []byte) []byte { return b[:len(b)/2] },
		"one page less":   func(b []byte) []byte { return b[:len(b)-4096] },
		"few bytes less":  func(b []byte) []byte { return b[:len(b)-10] },
		"byte of a text":  func(b []byte) []byte { b[bytes.Index(b, []byte("again"))] ^= 1; return b },
		"few bytes":       func(b []byte) []byte { return b[:10] },
		"first page only": func(b []byte) []byte { return b[:4096] },
		"zeros":           func(b []byte) []byte { clear(b[8192 : len(b)-8192]); return b },
		"header":          func(b []byte) []byte { clear(b[:100]); return b },
	} {
		for _, sum := range []string{string(checksum), ""} {
			if sum == "" && needsChecksum[name] {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "sessions.db")
				err := os.WriteFile(path, damage(bytes.Clone(content)), 0o600)
				if err == nil && sum != "" {
					err = os.WriteFile(path+".sum", []byte(sum), 0o600)
				}
				require.NoError(t, err)
				s, err := sqlstore.Open(t.Context(), path)
				if err == nil {
					_ = s.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "restore sessions.db from a backup") {
					t.Errorf("open: %v", err)
				}
			})
		}
	}
}

// TestChecksumIsOfTheLastClose closes a file that another program has open: a checksum would be wrong after its next write.
func TestChecksumIsOfTheLastClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	first, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	second := open(t, path)
	require.NoError(t, first.Close())
	if _, err := os.Stat(path + ".sum"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is open has a checksum: %v", err)
	}
	marked(t, second, 1)
	require.NoError(t, second.Close())
	if _, err := os.Stat(path + ".sum"); err != nil {
		t.Error(err)
	}
	open(t, path)
}

// TestLaterVersion opens a file of a later release.
func TestLaterVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	open(t, path)
	execute(t, path, "PRAGMA user_version = 99")
	if _, err := sqlstore.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "later release") {
		t.Error(err)
	}
}

// execute runs a statement of another program.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestDiskFull fills the file up to its largest size: the errors say that the disk is full, and nothing is half written.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := open(t, path)
	key := add(t, s, "a")
	s.Pragma(t, "max_page_count = 60")
	last, asked := "", 0
	for ; asked < 1000; asked++ {
		b := turn(asked, last, strings.Repeat("text ", 1000))
		m, err := s.Begin(t.Context(), key, b)
		if err == nil {
			err = s.End(t.Context(), end(b.Run, "answer"))
			last = m.ID
		}
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error without ENOSPC: %v", err)
			}
			break
		}
	}
	if asked == 1000 {
		t.Fatal("the disk was never full")
	}
	if err := s.EraseRun(t.Context(), turn(0, "", "").Run); err != nil {
		t.Errorf("erase with a full disk: %v", err)
	}
	if found, err := s.Session(t.Context(), "", "a"); err != nil || found.Turns < asked {
		t.Errorf("%+v, %v after %d turns", found, err, asked)
	}
	if _, err := s.Branch(t.Context(), key, last, 5); err != nil {
		t.Error(err)
	}
}
