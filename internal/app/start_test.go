package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestAnswersWhileIndexing checks that questions are refused until something is indexed, and then answered from what is indexed so far.
func TestAnswersWhileIndexing(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	a, err := app.Open(context.Background(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.CloseAfter(t, a)
	h := handler(t, a)
	a.BeginIndexing()
	a.Indexing(ingest.Progress{Done: 3, Total: 40})
	const question = `{"query":"Who keeps the lighthouse of Farland?"}`
	check := func(when, method, path, body string, want int, text string) {
		t.Helper()
		if status, reply := request(t, h, method, path, body); status != want || !strings.Contains(reply, text) {
			t.Errorf("%s: %s: status %d, want %d with %s: %s", when, path, status, want, text, reply)
		}
	}
	check("nothing is indexed", "GET", "/readyz", "", http.StatusServiceUnavailable, `"progress":{"phase":"indexing","files_done":3,"files_total":40,"answering":false}`)
	check("nothing is indexed", "GET", "/healthz", "", http.StatusOK, `"status":"ok"`)
	check("nothing is indexed", "POST", "/api/query", question, http.StatusServiceUnavailable, `3 of 40 files`)
	check("nothing is indexed", "POST", "/v1/responses", `{"input":"Who keeps the lighthouse of Farland?"}`, http.StatusServiceUnavailable, `"UNAVAILABLE"`)
	check("a collection that is not indexed", "POST", "/api/query", `{"query":"Who?","collection":"vs_1"}`, http.StatusUnprocessableEntity, "NO_DOCUMENTS")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "farland.md"), []byte("# Farland\n\nThe lighthouse of Farland is kept by Ada Vale.\n"), 0o600))
	if _, err := a.Ingester.Ingest(t.Context(), ingest.Request{Collection: cfg.Store.Collection, Paths: []string{dir}}, a.Indexing); err != nil {
		t.Fatal(err)
	}
	check("something is indexed", "GET", "/readyz", "", http.StatusServiceUnavailable, `"files_done":1,"files_total":1,"answering":true`)
	check("something is indexed", "POST", "/api/query", question, http.StatusOK, "Ada Vale")
	a.EndIndexing()
	a.Indexing(ingest.Progress{Done: 1, Total: 1})
	check("all is indexed", "GET", "/readyz", "", http.StatusOK, `"status":"ok"`)
}

// TestFailedDocs checks what users see while the documents of the settings cannot be indexed.
func TestFailedDocs(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	cfg.Ingest.Docs = []string{t.TempDir()}
	a, err := app.Open(context.Background(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.CloseAfter(t, a)
	now := time.Now()
	a.Now = func() time.Time { return now } // the results of health checks are kept for a second
	h := handler(t, a)
	check := func(path, body string, want int, text string) {
		t.Helper()
		now = now.Add(time.Minute)
		method := "GET"
		if body != "" {
			method = "POST"
		}
		if status, reply := request(t, h, method, path, body); status != want || !strings.Contains(reply, text) {
			t.Errorf("%s: status %d, want %d with %s: %s", path, status, want, text, reply)
		}
	}
	const question = `{"query":"Who keeps the lighthouse of Farland?"}`
	check("/readyz", "", http.StatusOK, `"docs":{"status":"ok"}`)
	for _, of := range []*app.DocsIndexing{&a.Docs, &a.DocsChanges} {
		of.Ended(errors.Join(errors.New("ingest"), syscall.ENOSPC))
		check("/readyz", "", http.StatusOK, `"docs":{"status":"degraded","detail":"documents of --docs may be missing or not up to date: the disk of the server is full`)
		check("/api/query", question, http.StatusServiceUnavailable, "the documents could not be indexed: the disk of the server is full")
		of.Ended(nil)
		check("/readyz", "", http.StatusOK, `"docs":{"status":"ok"}`)
		check("/api/query", question, http.StatusUnprocessableEntity, "NO_DOCUMENTS")
	}
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Ingest.Docs[0], "farland.md"), []byte("# Farland\n\nThe lighthouse of Farland is kept by Ada Vale.\n"), 0o600))
	if _, err := a.Ingest(t.Context(), cfg.Ingest.Docs, false, nil); err != nil {
		t.Fatal(err)
	}
	a.Docs.Ended(errors.New("the share is away"))
	check("/api/query", question, http.StatusOK, "Ada Vale")
}
