package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// TestSessions lists, prints and deletes a session without a server, and another one with the server that uses the data folder.
func TestSessions(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	check := func(id string) {
		t.Helper()
		ok := func(args ...string) string {
			t.Helper()
			status, out, errs := run(t, append([]string{"sessions"}, args...)...)
			if status != 0 {
				t.Fatalf("%s: status %d: %s", args, status, errs)
			}
			return out
		}
		for _, question := range []string{"When was the north lock opened?", "And what does a ship pay?"} {
			if status, _, errs := run(t, "ask", "--data", data, "--session", id, question); status != 0 {
				t.Fatal(errs)
			}
		}
		if out := ok("--data", data); !strings.Contains(out, id) || !strings.Contains(out, "When was the north lock opened?") {
			t.Errorf("list: %s", out)
		}
		var listed struct{ Turns int }
		if err := json.Unmarshal([]byte(ok("list", "--data", data, "--query", "lock open", "--json")), &listed); err != nil || listed.Turns != 2 {
			t.Errorf("list as JSON: %+v, %v", listed, err)
		}
		if out := ok("show", "--data", data, id); !strings.HasPrefix(out, "# ") || !strings.Contains(out, "1932") || !strings.Contains(out, "## And what does a ship pay?") {
			t.Errorf("show: %s", out)
		}
		var exported struct{ Messages []any }
		if err := json.Unmarshal([]byte(ok("export", "--data", data, "--format", "json", id)), &exported); err != nil || len(exported.Messages) != 4 {
			t.Errorf("export: %+v, %v", exported, err)
		}
		ok("delete", "--data", data, id)
		if status, _, errs := run(t, "sessions", "show", "--data", data, id); status != 1 || !strings.Contains(errs, "no such session") {
			t.Errorf("show after the deletion: status %d: %s", status, errs)
		}
	}
	check("local")
	_, stop := serve(t, "--data", data)
	check("served")
	if status := stop(); status != 0 {
		t.Errorf("serve: status %d", status)
	}
	if status, _, errs := run(t, "sessions", "--data", data+"/none"); status != 1 || !strings.Contains(errs, "read data folder") {
		t.Errorf("a folder that does not exist: status %d: %s", status, errs)
	}
}

// TestAskAfterCrash asks in a session whose last turn an earlier process did not end.
func TestAskAfterCrash(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	store, err := sqlstore.Open(t.Context(), filepath.Join(data, "sessions.db"))
	require.NoError(t, err)
	s, err := store.Create(t.Context(), session.Session{Account: auth.Owner, ID: "talk", CreatedAt: time.Now()})
	require.NoError(t, err)
	question := session.Message{ID: event.RunID("run_1").QuestionID(), Role: event.RoleUser, Text: "When was the north lock opened?", Parent: session.AtHead}
	if _, err = store.Begin(t.Context(), s.Key, session.Begin{Run: "run_1", Question: question, New: true, At: s.CreatedAt, Until: s.CreatedAt.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, store.Close())
	if status, out, errs := run(t, "ask", "--data", data, "--session", "talk", question.Text); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
