package cli_test

import (
	"strings"
	"testing"
)

// TestConform checks a server with documents, a page that is no server of the protocol, and flags that are invalid.
func TestConform(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, "--data", t.TempDir())
	status, out, errs := run(t, "conform", url, "--protocol", "forge", "--question", "What is new?")
	if status != 0 || !strings.Contains(out, "ok    resume") || !strings.Contains(out, "0 failed") {
		t.Errorf("status %d: %s%s", status, out, errs)
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
