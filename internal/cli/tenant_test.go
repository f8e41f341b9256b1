package cli_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestTenantFlag checks that commands use the folder of the selected tenant, and which commands of a running server are refused.
func TestTenantFlag(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	command := func(want int, text string, args ...string) {
		t.Helper()
		status, out, errs := run(t, append([]string{args[0], "--data", data}, args[1:]...)...)
		if status != want || !strings.Contains(out+errs, text) {
			t.Errorf("%v: status %d, want %d with %q:\n%s\n%s", args, status, want, text, out, errs)
		}
	}
	const question = "When was the north lock opened?"
	command(1, "read data folder", "runs", "--tenant", "acme")
	command(2, "tenant: want 1 to 64 lower-case letters", "ask", "--tenant", "../acme", question)
	command(0, "", "ingest", "--tenant", "acme", dir)
	command(0, "1932", "ask", "--tenant", "acme", "--display", "plain", question)
	command(1, "NO_DOCUMENTS", "ask", "--json", question)
	command(0, question, "runs", "--tenant", "acme")
	command(0, "nothing to repair", "reconcile", "--tenant", "acme")
	if _, err := os.Stat(filepath.Join(data, "tenants", "acme", "runs")); err != nil {
		t.Error(err)
	}

	url, stop := serve(t, "--data", data)
	command(2, "--tenant and --server exclude each other", "ask", "--server", url, "--tenant", "acme", question)
	command(0, "1932", "ask", "--tenant", "acme", "--display", "plain", question) // the server does not use the tenant
	stop()
}

func TestTenantsCommand(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	for _, name := range []string{"acme", "beta"} {
		if status, _, errs := run(t, "ingest", "--data", data, "--tenant", name, dir); status != 0 {
			t.Fatal(errs)
		}
	}
	list := func() string {
		t.Helper()
		status, out, errs := run(t, "tenants", "--data", data)
		if status != 0 {
			t.Fatal(errs)
		}
		var names []string
		for line := range strings.Lines(out) {
			names = append(names, strings.Fields(line)[0])
		}
		return strings.Join(names, " ")
	}
	if got := list(); got != "TENANT default acme beta" {
		t.Error(got)
	}
	if status, out, errs := run(t, "tenants", "--data", data, "--json"); status != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `"tenant":"acme"`) {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if status, _, errs := run(t, "keys", "add", "--data", data, "--tenant", "unused"); status != 0 {
		t.Fatal(errs)
	}
	if got := list(); got != "TENANT default acme beta unused" {
		t.Error(got)
	}
	if status, _, errs := run(t, "tenants", "delete", "--data", data, "--yes", "unused"); status != 0 {
		t.Error(errs)
	}
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"acme"}, "--yes"}, {[]string{"default", "--yes"}, "default tenant cannot be deleted"},
		{[]string{"other", "--yes"}, "there is no tenant other"}, {[]string{"../acme", "--yes"}, "tenant: want"}} {
		if status, _, errs := run(t, append([]string{"tenants", "delete", "--data", data}, c.args...)...); status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d: %s", c.args, status, errs)
		}
	}
	for _, name := range []string{"acme", "beta"} {
		if status, _, errs := run(t, "keys", "add", "--data", data, "--tenant", name); status != 0 {
			t.Fatal(errs)
		}
	}
	if status, _, errs := run(t, "tenants", "delete", "--data", data, "--yes", "acme"); status != 0 {
		t.Error(errs)
	}
	_, keys, _ := run(t, "keys", "list", "--json", "--data", data)
	for line := range strings.Lines(keys) {
		if revoked, other := strings.Contains(line, `"revoked"`), strings.Contains(line, `"beta"`); revoked == other {
			t.Errorf("key: %s", line)
		}
	}
	if got := list(); got != "TENANT default beta" {
		t.Error(got)
	}
	if left, err := os.ReadDir(filepath.Join(data, "tenants")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestMetricsAddress checks that the second address serves nothing but metrics.
func TestMetricsAddress(t *testing.T) {
	data := t.TempDir()
	clean(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	_ = l.Close() // the server listens there
	_, stop := serve(t, "--data", data, "--metrics-addr", addr)
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/api/runs": http.StatusNotFound, "/healthz": http.StatusNotFound} {
		res, err := http.Get("http://" + addr + path)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != want || want == http.StatusOK && (!strings.Contains(string(body), `tenant="default"`) || !strings.Contains(string(body), "go_goroutines")) {
			t.Errorf("%s: status %d: %s", path, res.StatusCode, body)
		}
	}
	if status := stop(); status != 0 {
		t.Errorf("status %d", status)
	}
}
