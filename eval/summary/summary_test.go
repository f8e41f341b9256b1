package summary_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval/summary"
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
		if err := summary.Save(data, e); err != nil {
			t.Fatal(err)
		}
		want = append([]summary.Evaluation{e}, want...)
	}
	for name, text := range map[string]string{"20270101T000000Z.json": "{broken", "notes.json": "{}"} {
		if err := os.WriteFile(filepath.Join(data, "evaluations", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := summary.Load(data, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:3], got); diff != "" {
		t.Error(diff)
	}
	if err := summary.Save(filepath.Join(data, "none"), want[0]); err == nil {
		t.Error("saved to a folder that does not exist")
	}
}
