package app_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/sluice-rag/sluice/session"
)

// conversation returns the messages of the active branch of a session of the default account, with the oldest first.
func (c *city) conversation(tenant *app.App, id string) (out []session.Message) {
	c.Helper()
	messages, err := tenant.Sessions.Branch(c.Context(), c.account, id, "", 100)
	require.NoError(c, err)
	for i := range messages {
		out = append(out, messages[len(messages)-1-i])
	}
	return out
}

// TestSessionGoesOnInEveryProtocol asks the questions of one conversation in different protocols. Each follow-up is understood from the turns before.
func TestSessionGoesOnInEveryProtocol(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	c.upload("default", "f", "# Farland\n\nThe lighthouse of Farland is kept by Ada Brook. The lighthouse of Farland was built in 1871. Its lamp burns rapeseed oil.\n")
	c.reply(http.StatusOK, "default", "POST", "/v1/vector_stores", `{"id":"s","name":"s","file_ids":["f"]}`)
	post := func(path, body string) string {
		t.Helper()
		return fmt.Sprint(c.reply(http.StatusOK, "default", "POST", path, body)["run_id"])
	}
	tools := `"stream":false,"tools":[{"type":"file_search","vector_store_ids":["s"]}]`
	first := post("/api/query", `{"query":"Who keeps the lighthouse of Farland?","collection":"s","session_id":"talk"}`)
	post("/v1/responses", `{"input":"When was it built?","conversation":"talk",`+tools+`}`)
	post("/functions/v1/rag", `{"question":"Who keeps it?","session_id":"talk","collection":"s","stream":false,"method":"HybridSearch"}`)
	last := post("/v1/responses", `{"input":"When was it built?","previous_response_id":"`+first+`",`+tools+`}`)

	messages := c.conversation(c.Default, "talk")
	if len(messages) != 4 || messages[1].ID != event.RunID(first).AnswerID() || messages[3].ID != event.RunID(last).AnswerID() || messages[3].Protocol != "knowledge" {
		t.Fatalf("the branch that continues the first answer: %+v", messages)
	}
	if understood := messages[3].Standalone; !strings.Contains(understood, "Farland built") {
		t.Errorf("the follow-up was understood as %q", understood)
	}
	all, err := c.Default.Sessions.All(t.Context(), c.account, "talk", 0, 100)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d messages in all branches: %v", len(all), err)
	}
	for _, m := range all {
		if m.Role == event.RoleAssistant && (m.Status != session.Completed || len(m.Citations) == 0) {
			t.Errorf("answer %+v", m)
		}
	}
	if !strings.Contains(all[3].Text, "1871") || !strings.Contains(all[5].Text, "Ada Brook") {
		t.Errorf("answers %q and %q", all[3].Text, all[5].Text)
	}
	if s, err := c.Default.Sessions.Session(t.Context(), c.account, "talk"); err != nil || s.Title != "Who keeps the lighthouse of Farland?" || s.Turns != 4 {
		t.Errorf("session %+v, %v", s, err)
	}
	if out := c.reply(http.StatusOK, "default", "GET", "/v1/responses/"+first, ""); fmt.Sprint(out["conversation"]) != "map[id:talk]" {
		t.Errorf("the response names the session %v", out["conversation"])
	}
	for _, body := range []string{`{"input":"Who?","conversation":"talk","store":false}`, `{"input":"Who?","conversation":"talk","previous_response_id":"` + first + `"}`,
		`{"input":"Who?","conversation":{"id":" "}}`, `{"input":"Who?","conversation":7}`, `{"input":"Who?","conversation":{"name":"x"}}`} {
		c.reply(http.StatusBadRequest, "default", "POST", "/v1/responses", body)
	}

	// Another account that may read the run follows it without its session.
	c.account = "bob"
	c.reply(http.StatusOK, "default", "POST", "/v1/responses", `{"input":"When was it built?","previous_response_id":"`+first+`",`+tools+`}`)
	if bobs, err := c.Default.Sessions.List(t.Context(), session.Filter{Account: &c.account}, session.Cursor{}, 9); err != nil || len(bobs) > 0 {
		t.Errorf("sessions of another account: %v, %v", bobs, err)
	}
	c.account = "ada"

	// With its session, the runs, the stored responses and the cached answers are deleted.
	require.NoError(t, c.Default.Sessions.Delete(t.Context(), c.account, "talk", false))
	c.reply(http.StatusNotFound, "default", "GET", "/v1/responses/"+first, "")
	c.reply(http.StatusNotFound, "default", "GET", "/api/runs/"+last, "")
	if again := c.reply(http.StatusOK, "default", "POST", "/api/query", `{"query":"Who keeps the lighthouse of Farland?","collection":"s"}`); again["cached"] != false {
		t.Error("an answer of a deleted session is still in the cache")
	}
}

// TestSessionSurvivesItsRuns checks that a conversation stays when its runs expire, and that it is found after a restart.
func TestSessionSurvivesItsRuns(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	ingestDefault(t, data, recordsOf(t, data), "default", victimText)
	c := openTenants(t, data, nil)
	first := fmt.Sprint(c.reply(http.StatusOK, "default", "POST", "/api/query", `{"query":"Who keeps the lighthouse of Farland?","session_id":"talk"}`)["run_id"])
	c.close()
	require.NoError(t, os.RemoveAll(filepath.Join(data, "runs")))
	c = openTenants(t, data, nil)
	if messages := c.conversation(c.Default, "talk"); len(messages) != 2 || messages[1].Text == "" || messages[1].EndedAt.After(time.Now()) {
		t.Errorf("messages %+v", messages)
	}
	c.reply(http.StatusOK, "default", "POST", "/api/query", `{"query":"And who keeps it now?","session_id":"talk"}`)
	for account, want := range map[string]int{c.account: http.StatusOK, "eve": http.StatusNotFound} {
		r := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(`{"input":"And who keeps it now?","previous_response_id":"`+first+`","stream":false}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: "default", Account: account, Key: "k", Scopes: []auth.Scope{auth.Ask}})))
		if w.Code != want {
			t.Errorf("the account %s follows an expired response: %d %s", account, w.Code, w.Body)
		}
	}
}

// TestLostSessions checks that sessions which were lost are not replaced by an empty database.
func TestLostSessions(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	openTenants(t, data, nil).close()
	require.NoError(t, os.Remove(filepath.Join(data, "sessions.db")))
	cfg := config.Default()
	cfg.Store.Data = data
	if a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		if err == nil {
			_ = a.Close()
		}
		t.Errorf("opened without the sessions: %v", err)
	}
}
