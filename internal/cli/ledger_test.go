package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(data, "tenants", "acme"), 0o700))
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "notes.txt"), nil, 0o600))
	for _, c := range []struct {
		args      string
		status    int
		out, errs string // parts
	}{
		{"show", 1, "", "there is no ledger in " + data + "; the server makes it"},
		{"verify", 1, "", "there is no ledger"},
		{"transfer ann bob 1 --tenant acme", 1, "", "there is no ledger"},
		{"credit ann 1 --data " + other, 1, "", "there is no ledger"},
		{"credit ann 1 --id void_r", 1, "", "the id must not begin with void_"},
		{"credit ann 1 --id \u00e4", 1, "", "the id must have 1 to 128 bytes of printable ASCII"},
		{"credit ann 12.50 --id a --note salary", 0, "a: the balance of ann is 12.50", ""},
		{"credit ann 12.50 --id a", 0, "a: the balance of ann is 12.50", ""},
		{"credit ann 13 --id a", 1, "", "the transfer exists already"},
		{"credit ann 0.0000001", 1, "", "amount must have at most 6 decimals"},
		{"credit ann -1", 2, "", "unknown flag -1"},
		{"credit platform 0", 1, "", "the amount must be above 0"},
		{"transfer ann bob 0.000001", 0, "the balance of bob is 0.000001", ""},
		{"transfer bob ann 1", 1, "", "the balance is too low"},
		{"transfer issuer ann 1", 1, "", "sluice ledger credit"},
		{"transfer ann issuer 0.50 --note back", 0, "the balance of issuer is -12.00", ""},
		{"show", 0, "11.999999  0.00  11.999999 ann\n", ""},
		{"show ann", 0, "balance 11.999999, held 0.00", ""},
		{"show ann --limit 1", 0, "back", ""},
		{"show --json", 0, `{"account":"ann","balance":"11.999999","held":"0.00","available":"11.999999"}` + "\n", ""},
		{"show ann --limit 1 --json", 0, `"account":"ann","amount":"-0.50","held":"0.00","balance":"11.999999","note":"back"}` + "\n", ""},
		{"show nobody", 1, "", "no such account"},
		{"verify", 0, "3 accounts, 3 transfers, 6 entries: 0 problems\n", ""},
		{"export", 0, ",credit,ann,12.50,0.00,12.50,,salary\n", ""},
		{"export --format json", 0, `"account":"ann","amount":"12.50","held":"0.00","balance":"12.50","note":"salary"}`, ""},
		{"credit ann 1 --id =1+1 --note @x", 0, "the balance of ann", ""},
		{"export", 0, "\n'=1+1,", ""},
		{"transfer ann issuer 1", 0, "", ""},
		{"credit ann 1 --tenant acme", 0, "the balance of ann is 1.00", ""},
		{"show --tenant acme", 0, "1.00  0.00       1.00 ann\n", ""},
		{"show --tenant other", 1, "", "does not exist"},
		{"show --tenant ../x", 1, "", "tenant"},
	} {
		args := strings.Fields(c.args)
		status, out, errs := run(t, append([]string{"ledger", args[0], "--data", data}, args[1:]...)...)
		if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: status %d\n%s%s", c.args, status, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "tenants", "other")); err == nil {
		t.Error("a mistyped tenant was created")
	}
	if _, err := os.Stat(filepath.Join(other, "ledger.db")); err == nil {
		t.Error("a folder of something else got a ledger")
	}
}
