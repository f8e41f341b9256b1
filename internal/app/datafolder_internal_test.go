package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestDataFolderIsKnown checks that the ingestion recognizes data folders, also without the reserve, and after the server has stopped.
func TestDataFolderIsKnown(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	a, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	known := func(data string) {
		t.Helper()
		if got, err := ingest.DataFolder(data); got != data || err != nil {
			t.Errorf("the data folder of %s is %q, %v", data, got, err)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(cfg.Store.Data, reserveFile)))
	known(cfg.Store.Data)
	require.NoError(t, a.Close())
	known(cfg.Store.Data)
	for _, mark := range []string{sessionsMark, ledgerMark, recordsMark} {
		data := Folder(t.TempDir(), "acme")
		for _, name := range []string{runsFolder, mark} {
			require.NoError(t, os.MkdirAll(filepath.Join(data, name), 0o700))
		}
		known(data)
	}
}
