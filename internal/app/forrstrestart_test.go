package app_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// until waits for a condition.
func (c *city) until(done func() bool) {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatal("it takes too long")
		}
	}
}

// TestForrstRestart: outcomes, operations, and the runs that clients have left survive a restart. The outcome of a deleted run does not outlive it.
func TestForrstRestart(t *testing.T) {
	t.Parallel()
	const question = `{"query":"` + whoKeeps + `","no_cache":true}`
	var write chan struct{} // the model waits for it, if it is set
	m := modeltest.NewOpenAI(t, modeltest.Script{Next: func(int, []byte) modeltest.Script {
		if write != nil {
			<-write
		}
		return modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}
	}})
	data := t.TempDir()
	ingestDefault(t, data, recordsOf(t, data), "default", farland("Ada Brook"))
	c := openTenants(t, data, withModel(m))
	call := func(want string, body string) (run, reply string) {
		t.Helper()
		w := c.request("default", http.MethodPost, "/forrst", body)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %d %s", want, w.Code, w.Body)
		}
		return w.Header().Get("Sluice-Run-Id"), w.Body.String()
	}
	key := func(name string) string {
		return `{"urn":"urn:forrst:ext:idempotency","options":{"key":"` + name + `"}}`
	}

	answered := callBody("rag.ask", question, key("answered"))
	first, _ := call(`"status":"processed"`, answered)
	operation := callBody("rag.ask", question, key("operation"), later)
	_, reply := call("operation_id", operation)
	_, rest, _ := strings.Cut(reply, `"operation_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	status := callBody("urn:forrst:ext:async:fn:status", `{"operation_id":"`+id+`"}`)
	c.until(func() bool {
		return strings.Contains(c.request("default", http.MethodPost, "/forrst", status).Body.String(), `"completed"`)
	})

	write = make(chan struct{})
	left := callBody("rag.ask", question, key("left"), streamed)
	run := c.leave(m, c.listen(), left)
	close(write)
	c.until(func() bool {
		return strings.Contains(c.request("default", http.MethodGet, "/api/runs/"+run, "").Body.String(), `"finished"`)
	})

	c.close()
	c = openTenants(t, data, withModel(m))
	call(`"status":"cached"`, answered)
	call("Ada Brook keeps it", answered)
	call("Ada Brook keeps it", status)
	call(`"status":"cached"`, operation)
	res := c.post(t.Context(), c.listen(), left)
	if a, _, _ := c.whole(c.read(res.Body)); run == "" || string(a.RunID) != run || !strings.Contains(a.Content, "Ada Brook keeps it") {
		t.Errorf("the second attempt has the answer %+v, not that of the run %q", a, run)
	}
	require.NoError(t, c.Default.Engine.Delete(t.Context(), event.RunID(first)))
	for _, name := range []string{"calls.db", "calls.db-wal"} {
		if b, err := os.ReadFile(filepath.Join(data, name)); err != nil || bytes.Contains(b, []byte(first)) {
			t.Errorf("%s has %d bytes, and still the deleted run: %v", name, len(b), err)
		}
	}
	if again, _ := call(`"status":"processed"`, answered); again == first || again == "" {
		t.Errorf("the run %q after %q was deleted", again, first)
	}
}

// TestKeysAfterCrash: the key of a call that a crash has ended is free after the restart.
func TestKeysAfterCrash(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := openTenants(t, data, func(*config.Config) {})
	call := callBody("urn:forrst:ext:async:fn:list", `{}`, `{"urn":"urn:forrst:ext:idempotency","options":{"key":"k"}}`)
	before := c.request("default", http.MethodPost, "/forrst", call).Body.String()
	c.close()
	db, err := sqlitedb.Writer(filepath.Join(data, "calls.db"))
	require.NoError(t, err)
	changed, err := db.ExecContext(t.Context(), `UPDATE forrst_keys SET outcome = NULL, stored = 0, expires = $1`, time.Now().Add(time.Hour).UnixMicro())
	require.NoError(t, err)
	if n, err := changed.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d calls have a key after %s: %v", n, before, err)
	}
	require.NoError(t, db.Close())
	c = openTenants(t, data, func(*config.Config) {})
	if w := c.request("default", http.MethodPost, "/forrst", call); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"status":"processed"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
