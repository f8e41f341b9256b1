package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestReconcile(t *testing.T) {
	clean(t)
	data := t.TempDir()
	if status, out, errs := run(t, "reconcile", "--data", data); status != 0 || !strings.Contains(out, "nothing to repair") {
		t.Fatalf("an empty data folder: status %d\n%s\n%s", status, out, errs)
	}
	url, stop := serve(t, "--data", data)
	upload(t, url, "handbook.md", handbook)
	if status, _, errs := run(t, "reconcile", "--data", data); status != 1 || !strings.Contains(errs, "stop it") {
		t.Errorf("with a running server: status %d\n%s", status, errs)
	}
	if status := stop(); status != 0 {
		t.Fatalf("serve: status %d", status)
	}
	require.NoError(t, os.Remove(filepath.Join(data, "files.db")))
	if status, out, _ := run(t, "reconcile", "--data", data, "--dry-run"); status != 0 || !strings.Contains(out, "uploads without a record") {
		t.Errorf("dry run: status %d\n%s", status, out)
	}
	const found = `{"problem":"uploads without a record","found":1,"repaired":0,"action":"`
	if status, out, errs := run(t, "reconcile", "--data", data, "--dry-run", "--json"); status != 0 || !strings.HasPrefix(out, found) {
		t.Errorf("JSON: status %d\n%s%s", status, out, errs)
	}
	status, out, errs := run(t, "reconcile", "--data", data)
	if status != 0 || !strings.Contains(out, "uploads without a record  1      1 ") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	if status, out, _ := run(t, "reconcile", "--data", data); status != 0 || !strings.Contains(out, "nothing to repair") {
		t.Errorf("run again: status %d\n%s", status, out)
	}
	if status, out, _ := run(t, "reconcile", "--data", data, "--json"); status != 0 || out != "" {
		t.Errorf("JSON of nothing: status %d\n%s", status, out)
	}
}
