package app_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
)

// TestPaidAnswers asks in every protocol without and with a balance.
func TestPaidAnswers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := openTenants(t, data, func(c *config.Config) { c.Billing.Price = []string{"default base=1.5", "cached base=0.25"} })
	c.account = "bob"
	c.upload("acme", "f", victimText)
	c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"id":"s","name":"s","file_ids":["f"]}`)
	c.account = "ann"
	paths := map[string]string{
		"/api/query/stream": `{"query":"Who keeps the lighthouse of Farland?","collection":"s"}`,
		"/api/query":        `{"query":"Who keeps the lighthouse of Farland?","collection":"s"}`,
		"/functions/v1/rag": `{"question":"Who keeps the lighthouse of Farland?","collection":"s"}`,
		"/v1/responses":     `{"input":"Who keeps the lighthouse of Farland?","tools":[{"type":"file_search","vector_store_ids":["s"]}]}`,
	}
	for path, body := range paths {
		if w := c.request("acme", "POST", path, body); w.Code != http.StatusPaymentRequired || !strings.Contains(w.Body.String(), "the balance is too low") {
			t.Errorf("%s without a balance: %d %s", path, w.Code, w.Body)
		}
	}
	if runs := c.reply(http.StatusOK, "acme", "GET", "/api/runs", "")["runs"].([]any); len(runs) != 0 {
		t.Errorf("refused questions left %d runs", len(runs))
	}
	// Another program gives credits while the tenant is open.
	book, err := (&app.Records{Data: data}).Ledger(t.Context(), "acme", false)
	require.NoError(t, err)
	defer book.Close()
	require.NoError(t, book.Transfer(t.Context(), ledger.Transfer{ID: "1", From: ledger.Issuer, To: "ann", Amount: 10_000_000, At: time.Now()}))
	first := c.reply(http.StatusOK, "acme", "POST", "/api/query", paths["/api/query"])
	again := c.reply(http.StatusOK, "acme", "POST", "/api/query", paths["/api/query"])
	if first["cached"] != false || again["cached"] != true {
		t.Errorf("cached: %v, then %v", first["cached"], again["cached"])
	}
	for account, balance := range map[string]string{"ann": "8.25", "bob": "1.05", "platform": "0.70"} {
		got := c.reply(http.StatusOK, "acme", "GET", "/api/accounts/"+account, "")
		if got["balance"] != balance || got["held"] != "0.00" {
			t.Errorf("%s has %v, want %s", account, got, balance)
		}
	}
	if m := c.request("acme", "GET", "/runs/"+first["run_id"].(string)+"/stream?protocol=ragevents", "").Body.String(); !strings.Contains(m, `\"platform_fee\":1.5`) {
		t.Errorf("the stream shows no fee: %s", m)
	}
	usage, _ := json.Marshal(c.reply(http.StatusOK, "acme", "GET", "/api/usage?by=collection", "")["usage"])
	if want := `"cached_runs":1,"collection":"s","distributed":"1.05"`; !strings.Contains(string(usage), want) {
		t.Errorf("usage %s", usage)
	}
	c.reply(http.StatusNotFound, "beta", "GET", "/api/accounts/bob", "")
}

// TestDamagedLedger checks that a folder whose ledger does not agree is not opened.
func TestDamagedLedger(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	book, err := (&app.Records{Data: data}).Ledger(t.Context(), auth.DefaultTenant, true)
	require.NoError(t, err)
	require.NoError(t, book.Transfer(t.Context(), ledger.Transfer{ID: "1", From: ledger.Issuer, To: "ann", Amount: event.Credits(1), At: time.Now()}))
	require.NoError(t, book.Close())
	db, err := sql.Open("sqlite", filepath.Join(data, "ledger.db"))
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DROP TRIGGER accounts_update; UPDATE accounts SET balance = 2 WHERE id = 'ann'"); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Store.Data = data
	a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil {
		_ = a.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "account ann") || !strings.Contains(err.Error(), "sluice ledger verify") {
		t.Errorf("open: %v", err)
	}
}

// TestLostLedger checks that a ledger that was deleted or emptied is not replaced by an empty one, unless the operator says so.
func TestLostLedger(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	path := filepath.Join(cfg.Store.Data, "ledger.db")
	start := func() error {
		a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil {
			err = a.Close()
		}
		return err
	}
	if _, err := (&app.Records{Data: cfg.Store.Data}).Ledger(t.Context(), auth.DefaultTenant, false); !errors.Is(err, app.ErrNoLedger) {
		t.Errorf("a folder without a ledger: %v", err)
	}
	require.NoError(t, errors.Join(start(), start()))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, lose := range map[string]func() error{
		"deleted": func() error { return os.Remove(path) },
		"emptied": func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		require.NoError(t, lose())
		if err := start(); err == nil || !strings.Contains(err.Error(), "restore it from a backup, or remove") {
			t.Errorf("%s: started with %v", name, err)
		}
		if _, err := (&app.Records{Data: cfg.Store.Data}).Ledger(t.Context(), auth.DefaultTenant, true); err == nil {
			t.Errorf("%s: opened", name)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			t.Errorf("%s: replaced", name)
		}
		require.NoError(t, os.WriteFile(path, content, 0o600))
		if err := start(); err != nil {
			t.Errorf("%s: restored: %v", name, err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Remove(filepath.Join(cfg.Store.Data, "ledger.exists")), start()); err != nil {
		t.Errorf("an empty ledger that the operator wants: %v", err)
	}
}

// TestUnreadableLedger checks what the operator is told about a file that is no database.
func TestUnreadableLedger(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Store.Data, "ledger.db"), []byte(strings.Repeat("garbage!", 1000)), 0o600))
	_, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "restore ledger.db from a backup") || strings.Contains(err.Error(), "verify") {
		t.Errorf("opened with %v", err)
	}
}
