package sqlstore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

func addFile(t *testing.T, s *sqlstore.Store, id string) {
	t.Helper()
	require.NoError(t, s.AddFile(t.Context(), store.File{ID: id, Name: "a recognisable name", SHA256: id, Status: store.Pending},
		store.Task{ID: "upload-" + id, Resource: id, Status: store.Pending}, nil))
}

// reopen opens a database and closes it.
func reopen(t *testing.T, path string) error {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), path)
	if err != nil {
		return err
	}
	return s.Close()
}

func rewrite(t *testing.T, path string, change func([]byte)) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	change(b)
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func TestOpenDetectsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	addFile(t, s, "f")
	if _, err := os.Stat(path + ".sum"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an open database has a checksum: %v", err)
	}
	require.NoError(t, s.Close())
	backup, err := os.ReadFile(path)
	require.NoError(t, err)
	if err := reopen(t, path); err != nil {
		t.Fatalf("an undamaged database: %v", err)
	}
	rewrite(t, path, func(b []byte) { b[bytes.Index(b, []byte("recognisable"))] ^= 1 })
	for range 2 {
		if err := reopen(t, path); err == nil || !strings.Contains(err.Error(), "s.db: it is damaged") {
			t.Errorf("a changed byte of a text: %v", err)
		}
	}
	rewrite(t, path, func(b []byte) { copy(b, backup) })
	if err := reopen(t, path); err != nil {
		t.Errorf("a backup beside a newer checksum: %v", err)
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if err := reopen(t, path); err != nil {
		t.Errorf("an emptied database: %v", err)
	}
}

func TestOpenDetectsDamageAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "s.db"), filepath.Join(dir, "crashed.db")
	if err := reopen(t, from); err != nil { // the tables are in the file, and later changes in the write-ahead log
		t.Fatal(err)
	}
	s := open(t, from)
	addFile(t, s, "f")
	crash := func() {
		t.Helper()
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(from + suffix)
			if err == nil {
				err = os.WriteFile(to+suffix, b, 0o600)
			}
			require.NoError(t, err)
		}
		_ = os.Remove(to + "-shm")
		_ = os.Remove(to + ".sum")
	}
	crash()
	if err := reopen(t, to); err != nil {
		t.Errorf("after a crash: %v", err)
	}
	if err := s.Erase(t.Context()); err != nil { // which leaves an empty write-ahead log
		t.Fatal(err)
	}
	crash()
	rewrite(t, to, func(b []byte) {
		for at := 4096; at < len(b); at += 4096 {
			b[at] = 0x77 // no kind of page
		}
	})
	if err := reopen(t, to); err == nil {
		t.Error("damaged pages were not found after a crash")
	}
}

// TestErase removes and renames files and looks for the earlier names in the database and its write-ahead log.
func TestErase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	holds := func() (found []string) {
		t.Helper()
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(path + suffix)
			require.NoError(t, err)
			if bytes.Contains(b, []byte("recognisable")) {
				found = append(found, filepath.Base(path+suffix))
			}
		}
		return found
	}
	const n = 200 // pages are split, freed and used again
	for i := range n {
		addFile(t, s, fmt.Sprintf("f%03d", i))
	}
	require.NoError(t, s.Erase(t.Context()))
	if found := holds(); !slices.Equal(found, []string{"s.db"}) {
		t.Fatalf("before the removal, %q hold the name", found)
	}
	for i := range n {
		id := fmt.Sprintf("f%03d", i)
		if i%10 == 0 {
			if _, err := s.UpdateFile(t.Context(), id, func(f *store.File) error { f.Name = "b"; return nil }); err != nil {
				t.Fatal(err)
			}
		} else if _, _, err := s.RemoveFile(t.Context(), id, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, s.Erase(t.Context()))
	if found := holds(); found != nil {
		t.Errorf("after the removal, %q hold the name", found)
	}
}

// TestEraseWhileInUse calls Erase while another connection reads or writes, which has no effect and is not an error.
func TestEraseWhileInUse(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"BEGIN IMMEDIATE", "BEGIN; SELECT * FROM files"} {
		path := filepath.Join(t.TempDir(), "s.db")
		s := open(t, path)
		addFile(t, s, "f")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(begin); err != nil {
			t.Fatal(err)
		}
		if begin != "BEGIN IMMEDIATE" {
			addFile(t, s, "g") // the reader needs the state before
		}
		if err := s.Erase(t.Context()); err != nil {
			t.Errorf("%s: %v", begin, err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Errorf("%s: the write-ahead log was truncated: %v", begin, err)
		}
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := s.Erase(t.Context()); err != nil {
			t.Errorf("after %s: %v", begin, err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
			t.Errorf("after %s: the write-ahead log was not truncated: %v", begin, err)
		}
	}
}
