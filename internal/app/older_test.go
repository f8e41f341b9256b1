package app_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestOlderDataFolder opens the data folder of the version before tenants, whose server was killed, and checks that the tenant default has
// all of it. The archive lacks only the disk reserve, which an older folder on a full disk lacks too.
func TestOlderDataFolder(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extract(t, filepath.Join("testdata", "older.tar.gz"), data)
	c := openTenants(t, data, func(c *config.Config) { c.Keep.KeepRunsAge = 50 * 365 * 24 * time.Hour })

	runs := c.reply(http.StatusOK, "", "GET", "/api/runs", "")["runs"].([]any)
	want := []struct{ question, answer string }{
		{"Who keeps the lighthouse of Farland?", "Ada Vale"}, {"What does the royal fern like?", "wet ground"}, {"How do ferns grow?", "spores"},
		{"When was the north lock opened?", "1932"}, {"When was the north lock opened?", "1932"},
	}
	if len(runs) != len(want) {
		t.Fatalf("%d runs: %v", len(runs), runs)
	}
	for i, w := range want {
		run := runs[i].(map[string]any)
		id := run["run_id"].(string)
		text, _ := json.Marshal(c.reply(http.StatusOK, "", "GET", "/api/runs/"+id, ""))
		if run["query"] != w.question || run["status"] != "finished" || !strings.Contains(string(text), w.answer) {
			t.Errorf("run %d: %v: %s", i, run, text)
		}
		for _, path := range []string{"/runs/" + id + "/stream", "/v1/responses/" + id + "?stream=true"} {
			if stream := c.request("", "GET", path, ""); stream.Code != http.StatusOK || !strings.Contains(stream.Body.String(), "event: done") {
				t.Errorf("%s: status %d: %.300s", path, stream.Code, stream.Body)
			}
		}
	}

	file := c.reply(http.StatusOK, "", "GET", "/v1/files/fern-file/content", "")
	if file["title"] != "On ferns" || fmt.Sprint(file["notes"]) != "[read it]" || !strings.Contains(fmt.Sprint(file["content"]), "The royal fern likes wet ground.") {
		t.Errorf("file: %v", file)
	}
	store := c.reply(http.StatusOK, "", "GET", "/v1/vector_stores/vs_ferns", "")
	if store["name"] != "Ferns" || fmt.Sprint(store["file_ids"]) != "[fern-file]" {
		t.Errorf("vector store: %v", store)
	}
	if task := c.reply(http.StatusOK, "", "GET", "/v1/tasks/upload-fern-file", ""); task["status"] != "completed" {
		t.Errorf("task: %v", task)
	}

	for collection, w := range map[string]struct{ question, answer string }{"default": {"Who keeps the lighthouse of Farland?", "Ada Vale"}, "vs_ferns": {"How do ferns grow?", "spores"}} {
		if _, text := c.answer("", collection, w.question); !strings.Contains(text, w.answer) {
			t.Errorf("%s: %s", collection, text)
		}
	}
	response := runs[2].(map[string]any)["run_id"]
	next := c.reply(http.StatusOK, "", "POST", "/v1/responses", fmt.Sprintf(`{"input":[{"role":"user","content":"And the royal fern, what does it like?"}],"stream":false,
		"previous_response_id":%q,"tools":[{"type":"file_search","vector_store_ids":["vs_ferns"]}]}`, response))
	if text, _ := json.Marshal(next["output"]); !strings.Contains(string(text), "wet ground") {
		t.Errorf("a further question: %s", text)
	}
	c.upload("", "new-file", farland("Bea Brook"))
	if n := len(c.reply(http.StatusOK, "", "GET", "/api/runs", "")["runs"].([]any)); n != len(want)+3 {
		t.Errorf("%d runs after three more questions", n)
	}
	if warnings := c.logged.String(); strings.Contains(warnings, `"level":"WARN"`) || strings.Contains(warnings, `"level":"ERROR"`) {
		t.Errorf("logged: %s", warnings)
	}
}

// extract extracts an archive of regular files and folders.
func extract(t *testing.T, path, dir string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		name, err := filepath.Localize(filepath.ToSlash(filepath.Clean(h.Name)))
		require.NoError(t, err)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(filepath.Join(dir, name), 0o700)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
			}
		}
		require.NoError(t, err)
	}
}
