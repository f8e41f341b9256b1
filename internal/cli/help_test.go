package cli_test

import (
	"strings"
	"testing"
)

// TestHelpOfQuestions: the help of a command begins with its own flags and leaves out those of engines, which --help-all shows by groups.
func TestHelpOfQuestions(t *testing.T) {
	clean(t)
	status, short, _ := run(t, "ask", "--help")
	for _, want := range []string{"--mode", "--display", "--session", "--filter", "--docs", "--server", "--data", "--collection", "sluice ask --help-all"} {
		if !strings.Contains(short, want) {
			t.Errorf("the help lacks %s", want)
		}
	}
	if n := strings.Count(short, "\n"); status != 0 || n > 90 || strings.Contains(short, "--lease") || strings.Index(short, "--mode") > strings.Index(short, "--data=") {
		t.Errorf("status %d, %d lines:\n%s", status, n, short)
	}
	status, long, _ := run(t, "ask", "--help-all")
	at := -1
	for _, want := range []string{"<question>", "--mode", "--data", "Storage:", "--lease", "Answering:", "--max-runs"} {
		next := strings.Index(long, want)
		if next <= at {
			t.Errorf("%s is missing or not in its place", want)
		}
		at = next
	}
	if status != 0 || strings.Contains(long, "more settings") {
		t.Errorf("status %d:\n%s", status, long)
	}
	if status, out, _ := run(t, "--help-all"); status != 0 || !strings.Contains(out, "--log-level") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if status, out, _ := run(t, "version", "--help"); status != 0 || !strings.Contains(out, "Print the version.") {
		t.Errorf("status %d:\n%s", status, out)
	}
}
