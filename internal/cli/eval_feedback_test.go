package cli_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
)

// TestEvalFeedback rates answers in a data folder, changes a document, and asks again.
func TestEvalFeedback(t *testing.T) {
	clean(t)
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	put := func(name, text string) {
		t.Helper()
		if _, err := a.Ingester.IngestDocuments(t.Context(), corpus.DefaultCollection, []ingest.Source{{URI: name, Name: name + ".txt", Title: name, Data: []byte(text)}}, func(ingest.Progress) {}); err != nil {
			t.Fatal(err)
		}
	}
	put("lock", "The north lock was opened in 1932 and takes ships of up to 140 metres. Its gates are tested every spring.")
	put("fees", "A ship pays 12 euros for each metre of its length.")
	for question, good := range map[string]bool{"When was the north lock opened?": true, "How much does a ship pay for each metre?": false} {
		id, detach, err := a.Sessions.Ask(t.Context(), event.Question{Query: question, Session: "talk"}, session.Turn{}, engine.Caller{Protocol: "test"})
		require.NoError(t, err)
		for _, err := range a.Engine.Events(t.Context(), id, 0) {
			require.NoError(t, err)
		}
		detach()
		require.NoError(t, a.Sessions.Rate(t.Context(), "", "talk", id.AnswerID(), &session.Feedback{Good: good, Reason: "because"}))
	}
	put("fees", "A ship pays 15 euros for each metre of its length.")
	require.NoError(t, a.Close())
	status, out, errs := run(t, "eval", cfg.Store.Data, "--feedback")
	if status != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	for _, want := range []string{"good        1       0            1.000", "bad, changed: How much does a ship pay for each metre?", "reason: because", "15 euros"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if status, _, errs := run(t, "eval", t.TempDir(), "--feedback"); status != 1 || !strings.Contains(errs, "is rated") {
		t.Errorf("an empty folder: status %d, %s", status, errs)
	}
	other := docs(t)
	if status, _, errs := run(t, "eval", other, "--feedback"); status != 1 || !strings.Contains(errs, "is no data folder") {
		t.Errorf("a folder of documents: status %d, %s", status, errs)
	}
	if made, err := os.ReadDir(other); err != nil || len(made) != 1 {
		t.Errorf("a folder of documents became a data folder: %v, %v", made, err)
	}
	if status, _, errs := run(t, "eval", t.TempDir(), "--feedback", "--half", "a"); status == 0 || !strings.Contains(errs, "--feedback") {
		t.Errorf("with other flags: status %d, %s", status, errs)
	}
}
