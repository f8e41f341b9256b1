package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/webdav"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source/git/gittest"
)

// TestGitAndWebDAV adds a repository and a folder on a WebDAV server, asks questions whose answers are there, also after a change, and removes them.
func TestGitAndWebDAV(t *testing.T) {
	repo := gittest.New(t, nil).Started()
	repo.Put("docs/quays.md", "# The quays\n\nThe seventh quay is for vessels of the pilots.\n")
	repo.Put("other/crane.md", "# The crane\n\nThe crane lifts forty tonnes.\n")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lighthouse.md"), []byte("# The lighthouse\n\nThe keeper of the lighthouse is Ada Byron.\n"), 0o600))
	cloud := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()})
	t.Cleanup(cloud.Close)

	data := t.TempDir()
	server, stop := serve(t, "--data", data, "--fetch-allow", "127.0.0.0/8")
	expect := func(want string, args ...string) {
		t.Helper()
		status, out, errs := run(t, append(args, "--data", data)...)
		if status != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: status %d, want %q in %s\n%s", args, status, want, out, errs)
		}
	}
	location := repo.URL + gittest.Name + "#main:docs"
	dav := strings.Replace(cloud.URL, "http:", "webdav:", 1)
	expect("added 1 ", "sources", "add", location)
	expect("added 1 ", "sources", "add", dav)
	ask := func(question, text, title, url string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"query": question})
		require.NoError(t, err)
		res, err := http.Post(server+"/api/query", "application/json", strings.NewReader(string(body)))
		require.NoError(t, err)
		defer res.Body.Close()
		var answer struct {
			Sources []struct{ Title, URL string }
			Answer  string
		}
		require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
		if !strings.Contains(answer.Answer, text) || len(answer.Sources) == 0 || answer.Sources[0].Title != title || answer.Sources[0].URL != url {
			t.Errorf("%s: %+v, want %q of %s at %q", question, answer, text, title, url)
		}
	}
	ask("Which quay is for vessels of the pilots?", "seventh quay", "The quays", "")
	ask("Who is the keeper of the lighthouse?", "Ada Byron", "The lighthouse", cloud.URL+"/lighthouse.md")
	res, err := http.Post(server+"/openai/v1/responses", "application/json", strings.NewReader(`{"model":"sluice","input":"Which quay is for vessels of the pilots?"}`))
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !strings.Contains(string(body), `"filename":"quays.md"`) {
		t.Errorf("the citation has another name of the file: %s, %v", body, err)
	}
	repo.Put("docs/quays.md", "# The quays\n\nThe ninth quay is for vessels of the pilots.\n")
	expect("updated 1, unchanged 0", "sources", "sync", location)
	expect("unchanged 1,", "sources", "sync", dav)
	ask("Which quay is for vessels of the pilots?", "ninth quay", "The quays", "")
	expect("docs/docs/quays.md", "ask", "Which quay is for vessels of the pilots?")
	expect("with its documents", "sources", "remove", location)
	expect("with its documents", "sources", "remove", dav+"/")
	if left, err := os.ReadDir(filepath.Join(data, "repositories")); err != nil || len(left) > 0 {
		t.Errorf("left after the source was removed: %v, %v", left, err)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
