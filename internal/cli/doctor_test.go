//go:build linux

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// TestDoctor checks engines that work, while a server uses them, and engines that do not.
func TestDoctor(t *testing.T) {
	_, nats := broker(t)
	data, store := t.TempDir(), postgrestest.URL(t)
	t.Setenv("SLUICE_LOG", nats)
	t.Setenv("SLUICE_STORE", store)
	t.Setenv("SLUICE_MODEL_URL", modeltest.NewOpenAI(t, modeltest.Script{}).URL)
	_, stop := serve(t, "--data", data)
	status, out, errs := run(t, "doctor", "--data", data)
	for _, want := range []string{"data     ok · folder", "log      ok · NATS 2.", "records  ok · PostgreSQL 1", "model    ok · openai", "2 streams of Sluice", "2 schemas of Sluice"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if status != 0 || errs != "" || strings.Contains(out, "hunter2") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if status := stop(); status != 0 {
		t.Errorf("the server ended with the status %d", status)
	}
	t.Setenv("SLUICE_LOG", strings.Replace(nats, "hunter2", "hunter22", 1))
	t.Setenv("SLUICE_STORE", "postgres://me:hunter2@127.0.0.1:1/sluice")
	status, out, errs = run(t, "doctor", "--data", data)
	for _, want := range []string{"data     ok", "log      wrong", "wrong: it refuses the user, the password", "→ correct them in --log", "records  wrong", "→ start the server", "model    ok"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if status != 1 || strings.Contains(out+errs, "hunter2") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	status, out, errs = run(t, "doctor", "--data", data, "--json")
	var found []doctor.Finding
	if err := json.Unmarshal([]byte(out), &found); err != nil || status != 1 || len(found) != 4 || found[0].Failed() || !found[1].Failed() || strings.Contains(out+errs, "hunter2") {
		t.Errorf("status %d, %v\n%s%s", status, err, out, errs)
	}
}
