package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAskDocs asks about a folder that was not indexed before: without a server, and through the server that uses the data folder.
func TestAskDocs(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	ask := func(want string, args ...string) {
		t.Helper()
		status, out, errs := run(t, append([]string{"ask", "--data", data, "--no-cache", "--docs", folder}, args...)...)
		if status != 0 || !strings.Contains(out, want) || strings.Contains(errs, `"INFO"`) {
			t.Errorf("%v: status %d: %s%s", args, status, out, errs)
		}
	}
	const question = "When was the north lock opened?"
	ask("1932", question)
	write(t, filepath.Join(folder, "tugs.md"), "# Tugs\n\nThe tug Hedda is painted red.\n")
	write(t, filepath.Join(folder, "bad.pdf"), "%PDF-1.7 and nothing else")
	if status, out, errs := run(t, "ask", "--data", data, "--docs", folder, "Which colour has the tug Hedda?"); status != 0 || !strings.Contains(out, "red") || strings.Count(errs, "not indexed: "+filepath.ToSlash(folder)+"/bad.pdf") != 1 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if status, _, errs := run(t, "ask", "--data", data, "--docs", folder, "--server", "http://127.0.0.1:1", question); status != 2 || !strings.Contains(errs, "--docs and --server exclude each other") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := run(t, "ask", "--data", data, "--docs", filepath.Join(folder, "none"), question); status != 2 || !strings.Contains(errs, "none does not exist") {
		t.Errorf("status %d: %s", status, errs)
	}

	_, stop := serve(t, "--data", data)
	write(t, filepath.Join(folder, "cranes.md"), "# Cranes\n\nThe crane Olga lifts 40 tonnes.\n")
	ask("40 tonnes", "--display", "plain", "How much does the crane Olga lift?")
	ask("40 tonnes", "--display", "plain", "--collection", "notes", "How much does the crane Olga lift?")
	if _, out, _ := run(t, "sources", "list", "--data", data); !strings.Contains(out, " notes") {
		t.Errorf("the server indexed in another collection than that of the question: %s", out)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
