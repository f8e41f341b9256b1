package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestWebsite adds a website and a list of URLs, and asks a question whose source has the URL and the title of a page.
func TestWebsite(t *testing.T) {
	pages := http.NewServeMux()
	pages.HandleFunc("/guide/{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<html><title>Guide of the harbour</title><body><a href="quays">Quays</a></body></html>`))
	})
	pages.HandleFunc("/guide/quays", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<html><title>The quays</title><body><p>The seventh quay is for vessels of the pilots.</p></body></html>`))
	})
	pages.HandleFunc("/notes.md", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# Notes\n\nThe lighthouse is white.\n"))
	})
	site := httptest.NewServer(pages)
	t.Cleanup(site.Close)
	data := t.TempDir()
	allow := []string{"--data", data, "--fetch-allow", "127.0.0.0/8"}
	expect := func(want string, args ...string) {
		t.Helper()
		if args[0] == "sources" {
			args = append(args, allow[2:]...)
		}
		status, out, errs := run(t, append(args, allow[:2]...)...)
		if status != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: status %d, want %q in %s\n%s", args, status, want, out, errs)
		}
	}
	if status, _, errs := run(t, "sources", "add", site.URL+"/guide/", "--data", t.TempDir()); status != 1 || !strings.Contains(errs, "not at a public address") || !strings.Contains(errs, "--fetch-allow") {
		t.Errorf("a private address: status %d, %s", status, errs)
	}
	expect("added 2 ", "sources", "add", site.URL+"/guide/")
	expect("unchanged 2,", "sources", "sync", site.URL+"/guide")
	list := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(list, []byte("# notes\n"+site.URL+"/notes.md\n"), 0o600))
	expect("added 1 ", "sources", "add", list)
	expect("urls ", "sources", "list")

	expect(site.URL+"/guide/quays", "ask", "Which quay is for vessels of the pilots?")

	url, stop := serve(t, allow...)
	res, err := http.Post(url+"/api/query", "application/json", strings.NewReader(`{"query":"Which quay is for vessels of the pilots?"}`))
	require.NoError(t, err)
	var answer struct {
		Sources []struct{ Title, URL string }
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	_ = res.Body.Close()
	if err != nil || len(answer.Sources) == 0 || answer.Sources[0].Title != "The quays" || answer.Sources[0].URL != site.URL+"/guide/quays" {
		t.Errorf("sources %+v, %v", answer.Sources, err)
	}
	// Users of the network may add websites.
	res, err = http.Post(url+"/api/sources", "application/json", strings.NewReader(`{"location":"http://169.254.169.254/latest/"}`))
	require.NoError(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Errorf("a website was not added: status %d", res.StatusCode)
	}
	expect("failed", "sources", "list")
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
