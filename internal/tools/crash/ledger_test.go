package crash_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
)

// fund gives credits to the user of a new data folder.
func fund(t *testing.T, data string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(data, 0o700))
	book, err := (&app.Records{Data: data}).Ledger(t.Context(), auth.DefaultTenant, true)
	require.NoError(t, err)
	defer book.Close()
	require.NoError(t, book.Transfer(t.Context(), ledger.Transfer{ID: "1", From: ledger.Issuer, To: auth.Owner, Amount: 1e12, At: time.Now()}))
}

// verifyLedger checks that the ledger agrees with itself, holds nothing, and has exactly the charges of the finished runs.
func (w *world) verifyLedger(t *testing.T, data string) {
	t.Helper()
	book, err := (&app.Records{Data: data}).Ledger(t.Context(), auth.DefaultTenant, false)
	require.NoError(t, err)
	defer book.Close()
	if r, err := book.Verify(t.Context()); err != nil || len(r.Problems) > 0 {
		w.unexplained("the ledger: %v, %v", r.Problems, err)
	}
	if holds, err := book.Holds(t.Context()); err != nil || len(holds) > 0 {
		w.unexplained("credits are held for %v, %v", holds, err)
	}
	log, err := app.OpenLog(filepath.Join(data, "runs"), config.Default(), nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	runs, err := log.Runs(t.Context(), "", 100_000)
	require.NoError(t, err)
	charged := 0
	for _, r := range runs {
		run, err := book.Run(t.Context(), r.Start.Run)
		require.NoError(t, err)
		if run.Settled != nil {
			charged++
		}
		if (run.Settled != nil) != (r.Status() == event.Finished) {
			w.unexplained("the run %s is %s and has the settlement %+v", r.Start.Run, r.Status(), run.Settled)
		}
	}
	t.Logf("%d of %d runs were charged", charged, len(runs))
	if charged == 0 {
		t.Error("no run was charged")
	}
}
