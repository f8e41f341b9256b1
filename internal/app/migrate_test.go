package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// priced are the settings of a server without engines whose answers cost credits.
func priced(c *config.Config) {
	c.Store.Records = ""
	c.Billing.Price = []string{"default base=1.5", "cached base=0.25"}
}

// migrationSource makes a data folder of a server with files, vector stores, sessions, runs and a ledger in two tenants. It returns the paths of which the
// replies must stay the same.
func migrationSource(t *testing.T) (cfg config.Config, paths []string) {
	t.Helper()
	data := t.TempDir()
	c := openTenants(t, data, priced)
	for _, tenant := range []string{"default", "acme"} {
		c.upload(tenant, "f1", farland("Ada Brook of "+tenant))
		c.upload(tenant, "f2", farland("Bo Crane"))
		c.reply(http.StatusOK, tenant, "POST", "/v1/vector_stores", `{"id":"s","name":"all","file_ids":["f1"]}`)
		book, err := (&app.Records{Data: data}).Ledger(t.Context(), tenant, true)
		require.NoError(t, err)
		require.NoError(t, errors.Join(book.Transfer(t.Context(), ledger.Transfer{ID: "1", From: ledger.Issuer, To: "ada", Amount: 100_000_000, At: time.Now()}), book.Close()))
		for _, path := range []string{"/v1/files/f1", "/v1/vector_stores", "/api/documents", "/api/documents/f1/original", "/api/runs", "/v1/rag/sessions", "/api/accounts/ada/statement",
			"/api/usage?by=collection", "/v1/rag/sessions?q=farland"} {
			paths = append(paths, tenant+" "+path)
		}
		for i := range 4 {
			body := fmt.Sprintf(`{"query":"Who keeps the lighthouse of Farland %d?","collection":"s","session_id":"talk%d"}`, i, i/2)
			run := fmt.Sprint(c.reply(http.StatusOK, tenant, "POST", "/api/query", body)["run_id"])
			paths = append(paths, tenant+" /runs/"+run+"/stream", tenant+" /runs/"+run+"/stream?protocol=events", tenant+fmt.Sprintf(" /v1/rag/sessions/talk%d/messages", i/2))
		}
	}
	cfg = c.Default.Config
	c.close()
	keys, err := (&app.Records{Data: data}).Keys(t.Context())
	require.NoError(t, err)
	_, _, err = auth.Create(t.Context(), keys, auth.Key{Tenant: "acme", Account: "ada", Name: "test", Scopes: tenantScopes}, time.Now())
	require.NoError(t, errors.Join(err, keys.Close()))
	return cfg, paths
}

// replies returns the replies of a server with the settings, and what it answers to new questions.
func replies(t *testing.T, cfg config.Config, paths []string) map[string]string {
	t.Helper()
	c := openTenants(t, cfg.Store.Data, func(c *config.Config) { priced(c); c.Store, c.Index = cfg.Store, cfg.Index })
	defer c.close()
	out := map[string]string{}
	for _, p := range paths {
		tenant, path, _ := strings.Cut(p, " ")
		w := c.request(tenant, "GET", path, "")
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", p, w.Code, w.Body)
		}
		out[p] = w.Body.String()
	}
	if w := c.request("default", "GET", "/readyz", ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "degraded") {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	return out
}

// ask asks a new question on a server with the settings, and deletes and uploads files.
func useServer(t *testing.T, cfg config.Config) {
	t.Helper()
	c := openTenants(t, cfg.Store.Data, func(c *config.Config) { priced(c); c.Store, c.Index = cfg.Store, cfg.Index })
	defer c.close()
	if _, text := c.answer("acme", "s", whoKeeps); !strings.Contains(text, "Ada Brook of acme") {
		t.Errorf("answer: %s", text)
	}
	c.reply(http.StatusOK, "acme", "POST", "/api/query", `{"query":"Who keeps it?","collection":"s","session_id":"new"}`)
	c.upload("acme", "f3", farland("Cy Dale"))
	c.reply(http.StatusOK, "acme", "DELETE", "/v1/files/f2", "")
}

// engines are settings with all engines.
func engines(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = filepath.Join(t.TempDir(), "data")
	nats := natstest.New(t)
	cfg.Store.RunLog, cfg.Store.Blobs, cfg.Store.Records = nats.URL(), config.Secret(nats.URL()), config.Secret(postgrestest.URL(t))
	return cfg
}

func folderConfig(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = filepath.Join(t.TempDir(), "data")
	return cfg
}

func migrate(t *testing.T, from, to config.Config) []app.MigratedPart {
	t.Helper()
	parts, err := app.Migrate(t.Context(), from, to, app.MigrateOptions{})
	require.NoError(t, err)
	return parts
}

// TestMigrate moves a data folder to the engines and back to a new folder. The servers give the same replies on each.
func TestMigrate(t *testing.T) {
	t.Parallel()
	source, paths := migrationSource(t)
	want := replies(t, source, paths)
	there, back := engines(t), folderConfig(t)
	parts := migrate(t, source, there)
	if again := migrate(t, source, there); !cmp.Equal(parts, again) {
		t.Errorf("a second migration: %s", cmp.Diff(parts, again))
	}
	counts := map[string]int{}
	for _, p := range parts {
		counts[p.Tenant+"/"+p.Part] = p.Count
	}
	if counts["acme/runs"] != 4 || counts["acme/blobs"] != 2 || counts["default/blobs"] != 2 || counts["acme/ledger"] == 0 || counts["acme/sessions"] == 0 || counts["/keys"] != 1 {
		t.Errorf("counts %v", counts)
	}
	if diff := cmp.Diff(want, replies(t, there, paths)); diff != "" {
		t.Errorf("replies with the engines: %s", diff)
	}
	if diff := cmp.Diff(want, replies(t, source, paths)); diff != "" {
		t.Errorf("the source changed: %s", diff)
	}
	if _, err := os.Stat(filepath.Join(there.Store.Data, "keys.required")); err != nil {
		t.Errorf("a target that loses its keys serves everybody: %v", err)
	}
	useServer(t, there)
	if parts, err := app.Migrate(t.Context(), source, there, app.MigrateOptions{}); err == nil {
		t.Errorf("a target that was used since: %v", parts)
	}
	require.NoError(t, os.Remove(filepath.Join(there.Store.Data, "migration.json")))
	want = replies(t, there, paths[:len(paths)-1])
	migrate(t, there, back)
	if diff := cmp.Diff(want, replies(t, back, paths[:len(paths)-1])); diff != "" {
		t.Errorf("replies from the folder: %s", diff)
	}
	useServer2(t, back)
}

// useServer2 checks that numbers of sessions and changes continue.
func useServer2(t *testing.T, cfg config.Config) {
	t.Helper()
	c := openTenants(t, cfg.Store.Data, func(c *config.Config) { priced(c); c.Store, c.Index = cfg.Store, cfg.Index })
	defer c.close()
	c.reply(http.StatusOK, "acme", "POST", "/api/query", `{"query":"Who keeps it?","collection":"s","session_id":"newer"}`)
	c.upload("acme", "f4", farland("Di Ewer"))
	c.reply(http.StatusOK, "acme", "DELETE", "/v1/files/f3", "")
}

// TestMigrationIsInterrupted cuts a migration at several places. No server starts on the target before a further one completes it.
func TestMigrationIsInterrupted(t *testing.T) {
	t.Parallel()
	source, paths := migrationSource(t)
	want := replies(t, source, paths)
	there := engines(t)
	done, cuts := 0, 0
	for cut := 1; ; cut += 17 {
		ctx, cancel := context.WithCancel(t.Context())
		done = 0
		_, err := app.Migrate(ctx, source, there, app.MigrateOptions{Progress: func(string, int) {
			if done++; done == cut {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		if cuts++; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if a, err := app.Open(t.Context(), there, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "migration") {
			t.Fatalf("open an incomplete target: %v, %v", a, err)
		}
	}
	if cuts < 3 {
		t.Errorf("only %d cuts", cuts)
	}
	if diff := cmp.Diff(want, replies(t, there, paths)); diff != "" {
		t.Errorf("replies: %s", diff)
	}
}

// TestMigrationNeedsStoppedServers migrates while a server uses the source, the target, or an engine of the target with another folder.
func TestMigrationNeedsStoppedServers(t *testing.T) {
	t.Parallel()
	source, _ := migrationSource(t)
	there := engines(t)
	refused := func(what string) {
		t.Helper()
		if parts, err := app.Migrate(t.Context(), source, there, app.MigrateOptions{}); !errors.Is(err, app.ErrInUse) {
			t.Errorf("%s: %v, %v", what, parts, err)
		}
	}
	used := func(what string, cfg config.Config) {
		t.Helper()
		c := openTenants(t, cfg.Store.Data, func(c *config.Config) { priced(c); c.Store, c.Index = cfg.Store, cfg.Index })
		refused(what)
		c.close()
	}
	used("the source", source)
	other := there
	other.Store.Data = t.TempDir()
	other.Store.Records, other.Store.Blobs = "", ""
	used("the run log of the target", other)
	other.Store.RunLog, other.Store.Records = "", there.Store.Records
	other.Store.Data = t.TempDir()
	used("the database of the target", other)
	if _, err := app.Migrate(t.Context(), source, source, app.MigrateOptions{}); err == nil {
		t.Error("a folder is migrated to itself")
	}
}
