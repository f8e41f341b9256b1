package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

func body(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, res.Status, err)
	}
	return string(text)
}

// TestMigrateJSON copies a folder to another one.
func TestMigrateJSON(t *testing.T) {
	source := t.TempDir()
	if status, _, errs := run(t, "ingest", docs(t), "--data", source); status != 0 {
		t.Fatal(errs)
	}
	status, out, errs := run(t, "migrate", "--data", source, "--to", filepath.Join(t.TempDir(), "target"), "--json")
	if status != 0 || !strings.HasSuffix(errs, "migration complete; the source is unchanged\n") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var p app.MigratedPart
		if err := json.Unmarshal([]byte(line), &p); err != nil || len(p.Checksum) != 16 {
			t.Errorf("%s: %v", line, err)
		}
		counts[p.Part] = p.Count
	}
	if counts["index"] == 0 {
		t.Errorf("compared %v", counts)
	}
}

// TestMigrateIsKilled kills a migration to the engines while it copies runs. A second one completes it, and the server on the engines has the same runs.
func TestMigrateIsKilled(t *testing.T) {
	const runs = 150
	docs, source := docs(t), t.TempDir()
	url, process := child(t, "--docs="+docs, "--data="+source)
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for n := range runs {
				if n%4 == i {
					res, err := http.Post(url+"/api/query", "application/json", strings.NewReader(fmt.Sprintf(`{"query":"What does ship %d pay?","session_id":"s%d"}`, n, n)))
					if err != nil {
						t.Error(err)
						return
					}
					_ = res.Body.Close()
				}
			}
		})
	}
	asking.Wait()
	paths := []string{"/api/runs?limit=100", "/v1/rag/sessions"}
	var want []string
	for _, p := range paths {
		want = append(want, body(t, url+p))
	}
	broker, address := broker(t)
	engines := []string{"--data=" + filepath.Join(t.TempDir(), "target"), "--log=" + address, "--blobs=" + address, "--store=" + postgrestest.URL(t)}
	args := append([]string{"migrate", "--from", source}, engines...)
	if status, _, errs := run(t, args...); status == 0 || !strings.Contains(errs, "stop all servers") {
		t.Errorf("migrate while a server uses the source: status %d: %s", status, errs)
	}
	process.Kill()
	_ = os.Remove(filepath.Join(source, "server.json")) // what a killed server leaves

	nc, err := nats.Connect(broker.URL(), nats.UserInfo("sluice", "hunter2"))
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	copied := func() uint64 {
		info, err := js.StreamInfo("SLUICE-default-RUNS")
		if err != nil {
			return 0
		}
		return info.State.Msgs
	}
	migration := program.Command(t, args...)
	require.NoError(t, migration.Start())
	for deadline := time.Now().Add(time.Minute); copied() < 10 && time.Now().Before(deadline); <-time.After(time.Millisecond) {
	}
	_, _ = migration.Process.Kill(), migration.Wait()
	if n := copied(); n < 10 || n >= runs {
		t.Fatalf("the migration was killed after %d messages", n)
	}
	if status, _, errs := run(t, append([]string{"runs"}, engines...)...); status == 0 || !strings.Contains(errs, "migration") {
		t.Errorf("an incomplete target is opened: status %d: %s", status, errs)
	}
	status, out, errs := run(t, args...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	if !strings.Contains(out, "TENANT") || !strings.Contains(strings.Join(strings.Fields(out), " "), fmt.Sprintf("default runs %d ", runs)) {
		t.Errorf("table:\n%s", out)
	}
	url, _ = child(t, engines...)
	for i, p := range paths {
		if diff := cmp.Diff(want[i], body(t, url+p)); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
	}
}
