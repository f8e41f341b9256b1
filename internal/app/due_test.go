package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/app"
)

// TestScheduleOpensTenants checks that a tenant that nobody uses is opened when a sync of its sources is due.
func TestScheduleOpensTenants(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	due := filepath.Join(app.Folder(data, "north"), "sources.due")
	c := openTenants(t, data, nil)
	// The address is private, so that the sync fails at once.
	added := c.reply(http.StatusCreated, "north", "POST", "/api/sources", `{"location":"http://127.0.0.1:1/a.md","every":"1h"}`)
	for state := any("syncing"); state != "idle"; {
		state = c.reply(http.StatusOK, "north", "GET", "/api/sources/"+added["id"].(string), "")["state"]
	}
	c.close()
	text, err := os.ReadFile(due)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || time.Until(at) < time.Hour {
		t.Fatalf("due at %s, %v", text, err)
	}

	if err := os.WriteFile(due, []byte(time.Now().Add(-time.Minute).Format(time.RFC3339Nano)), 0o600); err != nil {
		t.Fatal(err)
	}
	c = openTenants(t, data, nil)
	c.Start()
	for c.opens() == 0 {
		runtime.Gosched()
	}
	c.close()
	if again, err := os.ReadFile(due); err != nil || string(again) != string(text) {
		t.Errorf("due at %s, want %s: %v", again, text, err)
	}
}

// opens returns how many tenants were opened, without the default one.
func (c *city) opens() (n float64) {
	c.Helper()
	families, err := c.Metrics().Gather()
	if err != nil {
		c.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "sluice_tenant_opens_total" {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
