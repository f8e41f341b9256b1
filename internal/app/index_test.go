package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
)

// TestDamagedIndexDoesNotAbstain damages documents.db under a server: questions fail, the server is not ready, and the next process does not
// start.
func TestDamagedIndexDoesNotAbstain(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	h := handler(t, a)
	if status, reply := request(t, h, "POST", "/api/query", `{"query":"Who is the keeper of the Farland lighthouse?"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, reply)
	}
	path := filepath.Join(a.Config.Store.Data, "index", "documents.db")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, len(b)-2*os.Getpagesize()), int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"Where does the keeper of the Farland lighthouse live?", "Which emperor ruled the Zyxwv?"} {
		status, reply := request(t, h, "POST", "/api/query", `{"query":"`+q+`"}`)
		if status != http.StatusBadGateway || !strings.Contains(reply, string(fault.Index)) {
			t.Errorf("%s: status %d: %s", q, status, reply)
		}
	}
	status, reply := request(t, h, "GET", "/readyz", "")
	var health server.Health
	require.NoError(t, json.Unmarshal([]byte(reply), &health))
	if status != http.StatusServiceUnavailable || health.Parts["index"].Status != server.PartFailed {
		t.Errorf("readiness: status %d, %+v", status, health)
	}
	again := a.Config
	again.Store.Data = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(again.Store.Data, "index"), os.DirFS(filepath.Dir(path))))
	if second, err := app.Open(t.Context(), again, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "documents.db") {
		t.Errorf("the next start: %v", err)
		if err == nil {
			_ = second.Close()
		}
	}
}

// TestDeletedFileLeavesNoText uploads and deletes a file, compacts the index, and looks for its name and text in the whole data folder except
// for the run logs.
func TestDeletedFileLeavesNoText(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	handler(t, a)
	const text = "# Zebramarkervv\n\nThe xylomarkerqq of Zebramarkervv is painted in seven colours and stands at the river."
	file, task, err := a.Files().Upload(t.Context(), files.Upload{Name: "vanishmarkerzz.md", Body: strings.NewReader(text)})
	if err == nil {
		task, err = a.Files().WaitTask(t.Context(), task.ID)
	}
	if err != nil || task.Status != store.Completed {
		t.Fatal(task, err)
	}
	holding := func() (found []string) {
		err := filepath.WalkDir(a.Config.Store.Data, func(path string, e fs.DirEntry, err error) error {
			if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() || filepath.Base(filepath.Dir(path)) == "runs" {
				return err
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) { // a merge in the background has removed it
				return nil
			}
			for _, word := range []string{"xylomarkerqq", "zebramarkervv", "vanishmarkerzz"} {
				if bytes.Contains(bytes.ToLower(b), []byte(word)) {
					found = append(found, path+" holds "+word)
				}
			}
			return err
		})
		require.NoError(t, err)
		return found
	}
	if found := strings.Join(holding(), "\n"); !strings.Contains(found, "xylomarkerqq") || !strings.Contains(found, "files.db holds vanishmarkerzz") && !strings.Contains(found, "files.db-wal holds vanishmarkerzz") {
		t.Fatal("the words or the name were never there:", found)
	}
	require.NoError(t, a.Files().DeleteFile(t.Context(), file.ID))
	require.NoError(t, errors.Join(a.Index.Compact(t.Context()), a.Files().Sweep(t.Context())))
	if found := holding(); found != nil {
		t.Error(found)
	}
}
