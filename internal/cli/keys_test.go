package cli_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// addKey adds a key and returns its text and public id.
func addKey(t *testing.T, data string, args ...string) (text, id string) {
	t.Helper()
	status, out, errs := run(t, append([]string{"keys", "add", "--data", data}, args...)...)
	id, _, err := auth.Parse(strings.TrimSuffix(out, "\n"))
	if status != 0 || err != nil {
		t.Fatalf("keys add: status %d, %v\n%s", status, err, errs)
	}
	if !strings.Contains(errs, id) || strings.Contains(errs, strings.TrimSpace(out)) {
		t.Errorf("the explanation is %q", errs)
	}
	return strings.TrimSpace(out), id
}

// status returns the status of a request with a key.
func statusWith(t *testing.T, key, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// TestKeysOfRunningServer adds, rotates and revokes keys while a server runs. Commands on the data folder need none.
func TestKeysOfRunningServer(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	url, _ := serve(t, "--docs", dir, "--data", data)
	if got := statusWith(t, "", url+"/api/runs"); got != 200 {
		t.Fatalf("without keys: %d", got)
	}
	key, id := addKey(t, data, "--account", "alice", "--name", "laptop", "--scope", "ask,read", "--expires", "90d", "--rate", "1000/m", "--quota", "5/day", "--origin", "https://a.example")
	for text, want := range map[string]int{"": 401, "x": 401, key: 200} {
		if got := statusWith(t, text, url+"/api/runs"); got != want {
			t.Errorf("with %q: %d", text, got)
		}
	}
	const question = "When was the north lock opened?"
	if status, out, errs := run(t, "ask", "--data", data, question); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("ask on the data folder: status %d\n%s\n%s", status, out, errs)
	}
	t.Setenv("SLUICE_KEY", auth.Text(auth.NewID(), auth.NewSecret()))
	if status, out, errs := run(t, "ask", "--data", data, question); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("ask on the data folder with SLUICE_KEY, which is for another server: status %d\n%s\n%s", status, out, errs)
	}
	t.Setenv("SLUICE_KEY", "")
	if status, out, errs := run(t, "ask", "--server", url, "--key", key, question); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("ask with --key: status %d\n%s\n%s", status, out, errs)
	}
	if status, _, errs := run(t, "ask", "--server", url, question); status != 1 || !strings.Contains(errs, "a key is required") {
		t.Errorf("ask without a key: status %d\n%s", status, errs)
	}
	t.Setenv("SLUICE_KEY", key)
	status, out, errs := run(t, "runs", "--server", url, "--json")
	if status != 0 || strings.Count(out, question) != 3 {
		t.Errorf("runs with SLUICE_KEY: status %d\n%s\n%s", status, out, errs)
	}
	var newest struct {
		RunID string `json:"run_id"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&newest))
	if status, out, errs := run(t, "replay", "--server", url, newest.RunID); status != 0 || !strings.Contains(out, "event: done") {
		t.Errorf("replay with SLUICE_KEY: status %d\n%s\n%s", status, out, errs)
	}
	status, out, errs = run(t, "keys", "rotate", "--data", data, id)
	rotated := strings.TrimSpace(out)
	if status != 0 || statusWith(t, key, url+"/api/runs") != 401 || statusWith(t, rotated, url+"/api/runs") != 200 {
		t.Errorf("rotate: status %d\n%s", status, errs)
	}
	_, list, _ := run(t, "keys", "list", "--data", data, "--json")
	var k auth.Key
	if err := json.Unmarshal([]byte(list), &struct {
		*auth.Key
		Rate  string `json:"rate"`
		Quota string `json:"quota"`
	}{Key: &k}); err != nil || k.ID != id || k.Account != "alice" || k.Used.IsZero() || k.Expires.IsZero() {
		t.Errorf("%v in %s", err, list)
	}
	if status, _, errs := run(t, "keys", "revoke", "--data", data, id); status != 0 || statusWith(t, rotated, url+"/api/runs") != 401 {
		t.Errorf("revoke: status %d\n%s", status, errs)
	}
	_, table, _ := run(t, "keys", "list", "--data", data)
	if !strings.Contains(table, "revoked") || !strings.Contains(table, "1000/m 5/day") {
		t.Error(table)
	}
	for _, out := range []string{list, table} {
		for _, text := range []string{key, rotated} {
			if _, secret, _ := auth.Parse(text); strings.Contains(out, secret) {
				t.Error("the list shows a secret")
			}
		}
	}
	if info, err := os.Stat(filepath.Join(data, "server.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("server.json: %v, %v", info.Mode(), err)
	}
}

// TestImpostor: another program at the address of a server that has stopped gets no token, key or question.
func TestImpostor(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	t.Setenv("SLUICE_KEY", auth.Text(auth.NewID(), auth.NewSecret()))
	requests := make(chan *http.Request, 10)
	impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		w.Header().Set("Sluice-Proof", auth.Proof("", r.Header.Get("Sluice-Challenge")))
		fmt.Fprint(w, `{"status":"ok","instance":"known","runs":[]}`)
	}))
	defer impostor.Close()
	for _, token := range []string{auth.Text(auth.NewID(), auth.NewSecret()), ""} {
		info := fmt.Sprintf(`{"url":%q,"instance":"known","token":%q}`, impostor.URL, token)
		require.NoError(t, os.WriteFile(filepath.Join(data, "server.json"), []byte(info), 0o600))
		status, out, errs := run(t, "ask", "--data", data, "When was the north lock opened?")
		if status != 0 || !strings.Contains(out, "1932") {
			t.Errorf("status %d\n%s\n%s", status, out, errs)
		}
	}
	close(requests)
	for r := range requests {
		if r.URL.Path != "/healthz" || r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "" {
			t.Errorf("the impostor received %s with a key %t", r.URL, r.Header.Get("Authorization") != "")
		}
	}
}

// TestListenWithoutKeys: a server without keys is not open to others.
func TestListenWithoutKeys(t *testing.T) {
	clean(t)
	data := t.TempDir()
	status, _, errs := run(t, "serve", "--addr", "0.0.0.0:0", "--data", data)
	if status != 1 || !strings.Contains(errs, "sluice keys add") || !strings.Contains(errs, "--insecure") {
		t.Errorf("status %d: %s", status, errs)
	}
	if _, err := os.Stat(filepath.Join(data, "keys.db")); err == nil {
		t.Error("a refused start made a database")
	}
	_, stop := serve(t, "--addr", "0.0.0.0:0", "--insecure", "--data", data)
	if status := stop(); status != 0 {
		t.Errorf("--insecure: status %d", status)
	}
	key, _ := addKey(t, data)
	url, _ := serve(t, "--addr", "0.0.0.0:0", "--data", data)
	emptyKeys(t, data) // before the first request
	if got := statusWith(t, key, url+"/api/runs"); got != 401 {
		t.Errorf("with a key that was lost: %d", got)
	}
	if got := statusWith(t, "", url+"/api/runs"); got != 401 {
		t.Errorf("without a key: %d", got)
	}
	key, _ = addKey(t, data)
	if got := statusWith(t, key, url+"/api/runs"); got != 200 {
		t.Errorf("with a new key: %d", got)
	}
}

// emptyKeys deletes the rows of the key database.
func emptyKeys(t *testing.T, data string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "keys.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM keys")
	require.NoError(t, errors.Join(err, db.Close()))
}

// TestLostKeys: after the loss of its keys, a server does not start, until the operator decides what to do.
func TestLostKeys(t *testing.T) {
	clean(t)
	data := t.TempDir()
	path := filepath.Join(data, "keys.db")
	addKey(t, data)
	for name, lose := range map[string]func() error{"deleted": func() error { return os.Remove(path) }, "truncated": func() error { return os.WriteFile(path, nil, 0o600) }} {
		require.NoError(t, lose())
		for _, command := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"chat"}, {"keys", "list"}} {
			status, _, errs := run(t, append(command, "--data", data)...)
			if status != 1 || !strings.Contains(errs, "restore keys.db from a backup") {
				t.Errorf("%s, %s: status %d: %s", name, command, status, errs)
			}
		}
		key, _ := addKey(t, data)
		url, stop := serve(t, "--data", data)
		if got := statusWith(t, key, url+"/api/runs"); got != 200 || statusWith(t, "", url+"/api/runs") != 401 {
			t.Errorf("%s: with a new key: %d", name, got)
		}
		stop()
	}
	require.NoError(t, errors.Join(os.Remove(path), os.Remove(filepath.Join(data, "keys.required"))))
	url, _ := serve(t, "--data", data)
	if got := statusWith(t, "", url+"/api/runs"); got != 200 {
		t.Errorf("without keys: %d", got)
	}
}

// TestKeysCreateNothing: only keys add creates a data folder and a database.
func TestKeysCreateNothing(t *testing.T) {
	clean(t)
	data := filepath.Join(t.TempDir(), "mistyped")
	for _, args := range [][]string{{"list"}, {"revoke", "a"}, {"rotate", "a"}} {
		status, _, errs := run(t, append(append([]string{"keys"}, args...), "--data", data)...)
		if _, err := os.Stat(data); status != 1 || !strings.Contains(errs, "sluice keys add") || err == nil {
			t.Errorf("%s: status %d, %v: %s", args, status, err, errs)
		}
	}
}

// TestNoKeyIsNeeded: the server says at its start that it needs no key.
func TestNoKeyIsNeeded(t *testing.T) {
	clean(t)
	data := t.TempDir()
	const warning = "no key is needed"
	for _, want := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var said strings.Builder
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() { // stop the server when it is up
			defer close(done)
			for lines := bufio.NewScanner(r); lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), "models") {
					cancel()
				}
			}
		}()
		cli.Main(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--data", data}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: w})
		_ = w.Close()
		<-done
		cancel()
		if strings.Contains(said.String(), warning) != want {
			t.Errorf("want %v: %s", want, said.String())
		}
		addKey(t, data)
	}
}

// TestPublicMetrics: the address for metrics needs no key, so only --insecure makes it public.
func TestPublicMetrics(t *testing.T) {
	clean(t)
	data := t.TempDir()
	addKey(t, data)
	status, _, errs := run(t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--metrics-addr", "0.0.0.0:0")
	if status != 1 || !strings.Contains(errs, "listen for metrics on 0.0.0.0:") && !strings.Contains(errs, "listen for metrics on [::]:") || !strings.Contains(errs, "--insecure") {
		t.Errorf("status %d: %s", status, errs)
	}
	_, stop := serve(t, "--data", data, "--metrics-addr", "0.0.0.0:0", "--insecure")
	if status := stop(); status != 0 {
		t.Errorf("--insecure: status %d", status)
	}
}

func TestInvalidKeys(t *testing.T) {
	clean(t)
	data := t.TempDir()
	for field, args := range map[string][]string{"tenant": {"--tenant", "../x"}, "account": {"--account", "platform"}, "scope": {"--scope", "all"}, "rate": {"--rate", "60"},
		"quota": {"--quota", "5/m"}, "expires": {"--expires", "soon"}, "origin": {"--origin", "*"}} {
		status, out, errs := run(t, append([]string{"keys", "add", "--data", data}, args...)...)
		if status != 1 || out != "" || !strings.Contains(errs, field+": want") {
			t.Errorf("%s: status %d %q %s", field, status, out, errs)
		}
	}
	addKey(t, data)
	for _, args := range [][]string{{"revoke"}, {"rotate"}} {
		if status, _, errs := run(t, append(append([]string{"keys"}, args...), "--data", data, "none")...); status != 1 || !strings.Contains(errs, "no such key") {
			t.Errorf("%s: status %d %s", args, status, errs)
		}
	}
}
