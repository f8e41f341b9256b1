package app_test

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

func withNATS(s *natstest.Server) func(*config.Config) {
	return func(c *config.Config) {
		c.Store.RunLog = s.URL()
		c.Keep.KeepRunsBytes = 64 << 20 // NATS reserves it, and the disk may be small
	}
}

// TestTenantsInNATS lets tenants of two servers ask. Each tenant reads its runs on both, and no runs of another tenant. A tenant that is deleted
// leaves nothing in NATS.
func TestTenantsInNATS(t *testing.T) {
	t.Parallel()
	s := natstest.New(t)
	one, two := openTenants(t, t.TempDir(), withNATS(s)), openTenants(t, t.TempDir(), withNATS(s))
	runs := map[string]string{}
	for _, tenant := range []string{"t-1", "t-2"} {
		one.upload(tenant, "f1", farland("Keeper of "+tenant))
		one.reply(http.StatusOK, tenant, "POST", "/v1/vector_stores", `{"id":"vs1","name":"all","file_ids":["f1"]}`)
		runs[tenant], _ = one.answer(tenant, "vs1", whoKeeps)
	}
	for _, tenant := range []string{"t-1", "t-2"} {
		for _, c := range []*city{one, two} {
			stream := c.request(tenant, "GET", "/runs/"+runs[tenant]+"/stream", "")
			if stream.Code != http.StatusOK || !strings.Contains(stream.Body.String(), "Keeper of "+tenant) {
				t.Errorf("%s: status %d: %s", tenant, stream.Code, stream.Body)
			}
			list := c.reply(http.StatusOK, tenant, "GET", "/api/runs", "")
			if got := list["runs"].([]any); len(got) != 1 || got[0].(map[string]any)["run_id"] != runs[tenant] {
				t.Errorf("%s: runs %v", tenant, got)
			}
		}
	}
	if w := two.request("t-2", "GET", "/runs/"+runs["t-1"]+"/stream", ""); w.Code != http.StatusNotFound {
		t.Errorf("the run of another tenant: status %d", w.Code)
	}
	two.close()
	data := one.Default.Config.Store
	one.close()
	require.NoError(t, app.DeleteTenant(t.Context(), config.Config{Store: data}, "t-1", nil))
	nc, err := nats.Connect(s.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	for stream, want := range map[string]error{"SLUICE-t-1-RUNS": nats.ErrStreamNotFound, "SLUICE-t-1-INDEX": nats.ErrStreamNotFound, "SLUICE-t-2-RUNS": nil, "SLUICE-default-RUNS": nil} {
		if _, err := js.StreamInfo(stream); !errors.Is(err, want) {
			t.Errorf("stream %s: %v, want %v", stream, err, want)
		}
	}
}

// TestReadinessWithoutNATS stops NATS and starts it again. The server says that the log is away, and answers again afterwards.
func TestReadinessWithoutNATS(t *testing.T) {
	t.Parallel()
	s := natstest.New(t)
	c := openTenants(t, t.TempDir(), withNATS(s))
	now := time.Now()
	c.Default.Now = func() time.Time { return now }
	ready := func(status int) string {
		t.Helper()
		now = now.Add(time.Minute) // results are used for a second
		w := c.request("default", "GET", "/readyz", "")
		if w.Code != status {
			t.Fatalf("readyz: status %d, want %d: %s", w.Code, status, w.Body)
		}
		return w.Body.String()
	}
	ready(http.StatusOK)
	c.upload("default", "f1", farland("Ada Brook"))
	c.reply(http.StatusOK, "default", "POST", "/v1/vector_stores", `{"id":"vs1","name":"all","file_ids":["f1"]}`)
	run, _ := c.answer("default", "vs1", whoKeeps)
	s.Stop()
	if text := ready(http.StatusServiceUnavailable); !strings.Contains(text, `"log":{"status":"failed"`) {
		t.Errorf("readyz without NATS: %s", text)
	}
	s.Start(t)
	c.reply(http.StatusOK, "default", "GET", "/api/runs/"+run, "") // it waits for the connection
	ready(http.StatusOK)
}

// TestOneServerPerFolder opens a data folder twice.
func TestOneServerPerFolder(t *testing.T) {
	t.Parallel()
	s := natstest.New(t)
	data := t.TempDir()
	c := openTenants(t, data, withNATS(s))
	cfg := c.Default.Config
	if a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); !errors.Is(err, app.ErrInUse) {
		t.Errorf("open a folder that is in use: %v", err)
		if a != nil {
			_ = a.Close()
		}
	}
}

// TestCopiedFolder starts a server with a copy of the data folder of another one, with and without shared records. It does not start as long as the other one runs. A command
// for another tenant of a folder that a server has open does not count as a server.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(*config.Config){
		"log": func(*config.Config) {},
		"log and store": func() func(*config.Config) {
			url := postgrestest.URL(t)
			return func(c *config.Config) { c.Store.Records = config.Secret(url) }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natstest.New(t)
			change := func(c *config.Config) { withNATS(s)(c); settings(c) }
			data, copied := t.TempDir(), t.TempDir()
			c := openTenants(t, data, change)
			id, err := os.ReadFile(filepath.Join(data, "server.id"))
			if err == nil {
				err = os.WriteFile(filepath.Join(copied, "server.id"), id, 0o600)
			}
			require.NoError(t, err)
			cfg := c.Default.Config
			if a, err := app.OpenTenant(t.Context(), cfg, "t-1", slog.New(slog.DiscardHandler)); err == nil {
				_ = a.Close()
			} else if !errors.Is(err, app.ErrInUse) {
				t.Errorf("open another tenant: %v", err)
			}
			cfg.Store.Data = copied
			start := func() error {
				shared, err := app.OpenShared(t.Context(), cfg, slog.New(slog.DiscardHandler))
				if err != nil {
					return err
				}
				tenants, err := app.OpenTenants(t.Context(), shared, "test", "test")
				if err == nil {
					err = tenants.Close()
				}
				return errors.Join(err, shared.Close())
			}
			if err := start(); !errors.Is(err, natspeers.ErrNameTaken) || !strings.Contains(err.Error(), "delete the file server.id") {
				t.Errorf("start with a copy of the folder: %v", err)
			}
			c.close()
			if err := start(); err != nil {
				t.Errorf("start when the other server has stopped: %v", err)
			}
		})
	}
}
