package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestConform checks a server with documents, a page that is no server of the protocol, and flags that are invalid.
func TestConform(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(docs+"/locks.md", []byte("# Locks\n\nThe north lock is new. Zelda Quux opened it in May.\n"), 0o600))
	url, _ := serve(t, "--data", t.TempDir(), "--docs", docs)
	status, out, errs := run(t, "conform", url, "--protocol", "forge", "--question", "Who opened the north lock?")
	if status != 0 || !strings.Contains(out, "ok    resume") || !strings.Contains(out, "0 failed") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	for _, protocol := range []string{"turns", "mcp"} {
		if status, out, errs = run(t, "conform", url, "--protocol", protocol, "--question", "Who opened the north lock?"); status != 0 || !strings.Contains(out, "ok    resume") || !strings.Contains(out, "0 failed") {
			t.Errorf("%s: status %d: %s%s", protocol, status, out, errs)
		}
	}
	status, out, _ = run(t, "conform", url, "--protocol", "mcp", "--only", "tools", "--tool", "search", "--argument", "words")
	if status != 1 || !strings.Contains(out, `want the argument "words" of the tool "search"`) {
		t.Errorf("status %d: %s", status, out)
	}
	status, out, _ = run(t, "conform", url+"/nowhere", "--protocol", "forge", "--json", "--only", "stream,errors")
	if status != 1 || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"status":"FAIL"`) {
		t.Errorf("status %d: %s", status, out)
	}
	for _, args := range [][]string{{"--protocol", "nothing"}, {"--protocol", "forge", "--only", "nothing"}} {
		if status, _, errs := run(t, append([]string{"conform", url}, args...)...); status != 1 || !strings.Contains(errs, "nothing") {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}
