package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/webdav"

	"github.com/sluice-rag/sluice/source/git/gittest"
)

// TestEmptiedPlaces empties places of several kinds, as the end of a mount or a failure does: their documents are kept until a removal is allowed.
func TestEmptiedPlaces(t *testing.T) {
	var gone atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/guide/":
			_, _ = w.Write([]byte("<html><meta name=robots content=noindex><a href=quays.html>The quays</a></html>"))
		case gone.Load() || !strings.HasSuffix(r.URL.Path, ".html"):
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, "<html><title>The quays</title><body><p>The quay of %s is for vessels of the pilots.</p></body></html>", r.URL.Path)
		}
	}))
	t.Cleanup(site.Close)
	repo := gittest.New(t, nil).Started()
	repo.Put("quays.md", "# The quays\n\nThe eighth quay is for tugs.\n")
	repo.Put("picture.png", "It keeps the branch.")
	folder, shared := t.TempDir(), t.TempDir()
	for _, dir := range []string{folder, shared} {
		write(t, filepath.Join(dir, "crane.md"), "# The crane\n\nThe crane lifts forty tonnes.\n")
	}
	cloud := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(shared), LockSystem: webdav.NewMemLS()})
	t.Cleanup(cloud.Close)
	empty := func(dir string) {
		if err := os.Remove(filepath.Join(dir, "crane.md")); err != nil {
			t.Fatal(err)
		}
	}
	places := []struct {
		location  string
		documents int
		empty     func()
		status    int // of the sync that may remove the documents
	}{
		{site.URL + "/guide/", 1, func() { gone.Store(true) }, 0},
		{site.URL + "/quays.html " + site.URL + "/tugs.html", 2, func() { gone.Store(true) }, 1}, // it reports both URLs
		{repo.URL + gittest.Name, 1, func() { repo.Remove("quays.md") }, 0},
		{folder, 1, func() { empty(folder) }, 0},
		{strings.Replace(cloud.URL, "http:", "webdav:", 1), 1, func() { empty(shared) }, 0},
	}

	data := t.TempDir()
	url, stop := serve(t, "--data", data, "--fetch-allow", "127.0.0.0/8")
	sources := func(status int, want string, args ...string) {
		t.Helper()
		got, out, errs := run(t, append(append([]string{"sources"}, args...), "--data", data)...)
		if got != status || !strings.Contains(out+errs, want) {
			t.Errorf("%v: status %d, want %d and %q in %s\n%s", args, got, status, want, out, errs)
		}
	}
	for _, p := range places {
		gone.Store(false)
		args := []string{"add", p.location}
		if p.location == places[1].location {
			args = append(args, "--kind", "urls")
		}
		sources(0, fmt.Sprintf("added %d ", p.documents), args...)
		p.empty()
		kept := fmt.Sprintf("%d documents have vanished", p.documents)
		sources(1, kept, "sync", p.location)
		sources(0, kept, "list")
		if body := get(t, url+"/api/sources"); !strings.Contains(body, fmt.Sprintf(`"not_removed":%d`, p.documents)) || !strings.Contains(body, kept) {
			t.Errorf("%s: %s", p.location, body)
		}
		sources(p.status, fmt.Sprintf("removed %d,", p.documents), "sync", p.location, "--allow-removal")
		sources(0, "removed src-", "remove", p.location)
	}
	sources(1, "needs the sources", "sync", "--allow-removal")
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEmptiedDocs starts a server whose folder of documents was emptied. A watch removes no documents either.
func TestEmptiedDocs(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", folder, "--data", data); status != 0 {
		t.Fatal(errs)
	}
	if err := os.Remove(filepath.Join(folder, "handbook.md")); err != nil {
		t.Fatal(err)
	}
	ingest := func(status int, want string, args ...string) {
		t.Helper()
		got, _, errs := run(t, append([]string{"ingest", folder, "--data", data}, args...)...)
		if got != status || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, want %d and %q in %s", args, got, status, want, errs)
		}
	}
	ingest(1, "1 documents have vanished")
	url, stop := serve(t, "--data", data, "--docs", folder, "--watch")
	ingest(1, "1 documents have vanished")
	if body := get(t, url+"/api/documents"); !strings.Contains(body, "handbook.md") {
		t.Error(body)
	}
	ingest(0, `"deleted":1`, "--allow-removal")
	if body := get(t, url+"/api/documents"); strings.Contains(body, "handbook.md") {
		t.Error(body)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
