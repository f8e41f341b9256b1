package lang_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
)

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question string
		want     []string
	}{
		{"What does --lease do?", []string{"--lease"}},
		{"What is the difference between -v and `-q`?", []string{"-v", "-q"}},
		{"What does SLUICE_LEASE set, and max_connections?", []string{"SLUICE_LEASE", "max_connections"}},
		{"Who calls pool.Acquire()?", []string{"pool.Acquire()"}},
		{"What is in config.yaml, and in annual_report.pdf?", nil},
		{"Is the well-known PostgreSQL free, e.g. at example.com?", nil},
		{"Was kostet die E-Mail-Adresse - und wann?", nil},
		{strings.Repeat("--a --b ", 1000), []string{"--a", "--b"}},
	} {
		if diff := cmp.Diff(c.want, lang.Identifiers(c.question)); diff != "" {
			t.Errorf("%.80q: %s", c.question, diff)
		}
	}
}

func TestHoldsIdentifier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name   string
		holds, entry bool
	}{
		{"| `--log` | `APP_LOG` |", "--log", true, true},
		{"- **--log**: where it is", "--log", true, true},
		{"--log=PATH sets it", "--log", true, true},
		{"Set --log, and start.", "--log", true, false},
		{"--log-level and --logs", "--log", false, false},
		{"the log of a run", "--log", false, false},
		{"a --dialog", "--log", false, false},
		{"-V prints the version", "-v", false, false},
		{"export app_log=1", "APP_LOG", true, false},
		{"MY_APP_LOG", "APP_LOG", false, false},
		{"see Config.YAML.", "config.yaml", true, false},
		{"İ --log", "--log", true, false},
		{"", "--log", false, false},
	} {
		if got := lang.HoldsIdentifier(c.text, []string{c.name}); got != c.holds {
			t.Errorf("HoldsIdentifier(%q, %q) = %v", c.text, c.name, got)
		}
		if got := lang.HasEntry(c.text, []string{c.name}); got != c.entry {
			t.Errorf("HasEntry(%q, %q) = %v", c.text, c.name, got)
		}
	}
}
