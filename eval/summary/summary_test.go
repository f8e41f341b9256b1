package summary_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if got, err := summary.Load(data, 5); err != nil || got != nil {
		t.Errorf("empty folder: %v, %v", got, err)
	}
	at := time.Date(2026, 2, 18, 9, 30, 0, 0, time.UTC)
	var want []summary.Evaluation
	for i := range 4 {
		e := summary.Evaluation{At: at.AddDate(0, 0, i), Rows: []summary.Row{{Set: "s", Mode: "direct", Questions: i, P50: time.Millisecond, Measures: map[string]summary.Value{"em": {Mean: 0.5, Low: 0.4, High: 0.6}}}}}
		require.NoError(t, summary.Save(data, e))
		want = append([]summary.Evaluation{e}, want...)
	}
	for name, text := range map[string]string{"20270101T000000Z.json": "{broken", "notes.json": "{}"} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "evaluations", name), []byte(text), 0o600))
	}
	got, err := summary.Load(data, 3)
	require.NoError(t, err)
	if diff := cmp.Diff(want[:3], got); diff != "" {
		t.Error(diff)
	}
	if err := summary.Save(filepath.Join(data, "none"), want[0]); err == nil {
		t.Error("saved to a folder that does not exist")
	}
}
