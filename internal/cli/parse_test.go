package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestParse prints what is read of a document, as Markdown and as JSON, and says why others cannot be read.
func TestParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "boats.html")
	html := `<title>Boats</title><meta name="author" content="Dee Water"><h2>Oars</h2><p>Two oars.</p><ul><li>ash</li></ul><table><tr><td>a</td><td>b</td></tr></table><pre>row()</pre>`
	require.NoError(t, os.WriteFile(page, []byte(html), 0o600))
	status, out, errs := run(t, "parse", page)
	want := "text/html: Boats\nmetadata: {\"creator\":\"Dee Water\"}\n\n## Oars\n\nTwo oars.\n\n- ash\n\n| a | b |\n\n```\nrow()\n```\n"
	if status != 0 || out != want {
		t.Errorf("status %d: %s%s; want %s", status, out, errs, want)
	}
	status, out, errs = run(t, "parse", page, "--json")
	if status != 0 || !strings.HasPrefix(out, `{"kind":"heading","level":2,"text":"Oars"}`+"\n") || strings.Count(out, "\n") != 5 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	status, _, errs = run(t, "parse", page, "--max-file-bytes", "1KiB")
	if status != 0 {
		t.Errorf("status %d: %s", status, errs)
	}
	large := filepath.Join(dir, "large.txt")
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat("water ", 400)), 0o600))
	for _, args := range [][]string{{large, "--max-file-bytes", "1KiB"}, {filepath.Join(dir, "none.txt")}} {
		status, _, errs := run(t, append([]string{"parse"}, args...)...)
		if status != 1 || !strings.Contains(errs, filepath.Base(args[0])) {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}
