package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestScheduleOpensTenants checks that a tenant that nobody uses is opened when a sync of its sources is due.
func TestScheduleOpensTenants(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	due := filepath.Join(app.Folder(data, "north"), "sources.due")
	c := openTenants(t, data, nil)
	// The address is private, so that the sync fails at once.
	added := c.reply(http.StatusCreated, "north", "POST", "/api/sources", `{"location":"http://127.0.0.1:1/a.md","every":"1h"}`)
	for state, err := any("syncing"), error(nil); state != "idle" || err != nil; _, err = os.Stat(due) { // it is also idle before the sync begins
		state = c.reply(http.StatusOK, "north", "GET", "/api/sources/"+added["id"].(string), "")["state"]
	}
	c.close()
	text, err := os.ReadFile(due)
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || time.Until(at) < time.Hour {
		t.Fatalf("due at %s, %v", text, err)
	}

	require.NoError(t, os.WriteFile(due, []byte(time.Now().Add(-time.Minute).Format(time.RFC3339Nano)), 0o600))
	c = openTenants(t, data, nil)
	c.Start()
	for c.opens() == 0 {
		<-time.After(5 * time.Millisecond)
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
	require.NoError(c, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "sluice_tenant_opens_total" {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// TestContributorOfSource checks that an account cannot claim the documents of a source of another one.
func TestContributorOfSource(t *testing.T) {
	t.Parallel()
	c := openSecured(t, t.TempDir())
	writer, admin := c.as(auth.DefaultTenant, auth.Read, auth.Write), c.as(auth.DefaultTenant, auth.Admin, auth.Write)
	var src struct{ ID, Contributor string }
	w := writer.do(t.Context(), "POST", "/api/sources", `{"location":"http://127.0.0.1:1/a.md","contributor":"bob"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &src); err != nil || w.Code != http.StatusCreated || src.Contributor != "bob" {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	for _, step := range []struct {
		by     operator
		body   string
		status int
	}{
		{writer, `{"contributor":"op"}`, http.StatusForbidden},
		{writer, `{"contributor":""}`, http.StatusForbidden},
		{writer, `{"every":"2h"}`, http.StatusOK},
		{writer, `{"every":"2h","colour":"red"}`, http.StatusBadRequest},
		{writer, `{"watch":true}`, http.StatusBadRequest},
		{writer, `{"every":7}`, http.StatusBadRequest},
		{admin, `{"contributor":"op"}`, http.StatusOK},
		{writer, `{"contributor":"carol"}`, http.StatusOK}, // its account is op
		{writer, `{"contributor":"op"}`, http.StatusForbidden},
	} {
		if w := step.by.do(t.Context(), "PATCH", "/api/sources/"+src.ID, step.body); w.Code != step.status {
			t.Errorf("%s: status %d, want %d: %s", step.body, w.Code, step.status, w.Body)
		}
	}
}
