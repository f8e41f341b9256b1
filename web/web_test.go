package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/web"
)

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	web.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(w, r)
	return w
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for path, page := range map[string]bool{
		"/": true, "/documents": true, "/documents/abc": true, "/sources": true, "/sources/src-1": false, "/sessions/s%2F1": false, "/sessions/s1": true, "/runs/run_1": true, "/admin": true, "/compare": true, "/favicon.svg": true,
		"/runs/run_1/stream": false, "/runs/": false, "/api/runs": false, "/docs/": false, "/assets/none.js": false, "/assets/../index.html": false, "/assets/": false, "/v1/files": false,
	} {
		if got := get(t, "GET", path, "Accept", "text/html,*/*;q=0.8").Code == http.StatusOK; got != page {
			t.Errorf("%s: served %v, want %v", path, got, page)
		}
	}
	for path, status := range map[string]int{"/": http.StatusOK, "/documents/abc": http.StatusOK, "/runs/run_1": http.StatusTeapot, "/sessions/s1": http.StatusTeapot} {
		for _, accept := range []string{"", "*/*", "application/json"} {
			if w := get(t, "GET", path, "Accept", accept); w.Code != status {
				t.Errorf("%s for a program that accepts %q: status %d, want %d", path, accept, w.Code, status)
			}
		}
	}
	if get(t, "POST", "/").Code != http.StatusTeapot {
		t.Error("the page answers a POST")
	}
	if w := get(t, "HEAD", "/"); w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	w := get(t, "GET", "/")
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	if inline := regexp.MustCompile(`(?i)<style|<script(\s[^>]*)?>\s*\S|\son\w+=|\sstyle=`).FindString(regexp.MustCompile(`<script[^>]*src=[^>]*></script>`).ReplaceAllString(w.Body.String(), "")); inline != "" {
		t.Errorf("the page has %q, which its policy forbids", inline)
	}
	if other := regexp.MustCompile(`(src|href)="(https?:)?//`).FindString(w.Body.String()); other != "" {
		t.Errorf("the page loads from another server: %s", other)
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	page := get(t, "GET", "/")
	asset := regexp.MustCompile(`/assets/[\w.-]+\.js`).FindString(page.Body.String())
	js := get(t, "GET", asset, "Accept-Encoding", "gzip")
	if js.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(js.Header().Get("Cache-Control"), "immutable") || !strings.Contains(js.Header().Get("Content-Type"), "javascript") {
		t.Errorf("%s: %v", asset, js.Header())
	}
	if again := get(t, "GET", "/", "If-None-Match", page.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("not modified: %d with %d bytes", again.Code, again.Body.Len())
	}
	if page.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the page is cached: %q", page.Header().Get("Cache-Control"))
	}
}

// TestEmbed: other web pages may load the script of the chat, which is small.
func TestEmbed(t *testing.T) {
	t.Parallel()
	w := get(t, "GET", "/embed.js", "Accept-Encoding", "gzip")
	h := w.Header()
	if w.Code != http.StatusOK || h.Get("Cross-Origin-Resource-Policy") != "cross-origin" || h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Content-Type"), "javascript") {
		t.Errorf("%d %v", w.Code, h)
	}
	if h := get(t, "GET", "/").Header(); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cross-Origin-Resource-Policy") != "" {
		t.Errorf("the page: %v", h)
	}
	if n := w.Body.Len(); n > 30<<10 {
		t.Errorf("the script takes %d bytes compressed, want at most 30 KiB", n)
	}
}

// TestFirstLoad limits what a browser loads before it shows the page: the scripts and styles that the page names.
func TestFirstLoad(t *testing.T) {
	t.Parallel()
	const limit = 150 << 10
	page := get(t, "GET", "/", "Accept-Encoding", "gzip")
	sum := page.Body.Len()
	for _, asset := range regexp.MustCompile(`/assets/[\w.-]+`).FindAllString(get(t, "GET", "/").Body.String(), -1) {
		sum += get(t, "GET", asset, "Accept-Encoding", "gzip").Body.Len()
	}
	if t.Logf("first load: %d bytes compressed", sum); sum > limit {
		t.Errorf("the first load takes %d bytes compressed, want at most %d", sum, limit)
	}
}

// TestUpToDate fails if dist was not built from the sources. The build writes the hash of its sources.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	var names []string
	for _, root := range []string{"src", "public", "../clients/typescript/src"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		require.NoError(t, err)
	}
	names = append(names, "index.html", "package-lock.json", "svelte.config.js", "vite.config.ts")
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(b))
	}
	built, err := os.ReadFile("dist/sources.sha256")
	require.NoError(t, err)
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.TrimSpace(string(built)) {
		t.Error("the built page is older than its sources: run make page")
	}
}

// TestMissingDocument: the page of a document that does not exist has the status 404. It is the page nevertheless, which tells people so.
func TestMissingDocument(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") == "":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/api/documents/doc 1":
			http.NotFound(w, r)
		}
	})
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/documents/doc%201", "Bearer k", http.StatusOK},
		{"/documents/none", "Bearer k", http.StatusNotFound},
		{"/documents/none", "", http.StatusOK}, // nobody learns without a key what exists
		{"/documents", "Bearer k", http.StatusOK},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r := httptest.NewRequestWithContext(t.Context(), method, c.path, nil)
			if c.key != "" {
				r.Header.Set("Authorization", c.key)
			}
			w := httptest.NewRecorder()
			if web.Handler(next).ServeHTTP(w, r); c.status == http.StatusNotFound && w.Body.String() != "404 page not found\n" {
				t.Errorf("%s %s: a program gets %s", method, c.path, w.Body)
			}
			r.Header.Set("Accept", "text/html")
			w = httptest.NewRecorder()
			web.Handler(next).ServeHTTP(w, r)
			if w.Code != c.status || w.Header().Get("Content-Security-Policy") == "" || strings.Contains(w.Body.String(), "<html") != (method == "GET") {
				t.Errorf("%s %s: %d %v", method, c.path, w.Code, w.Header())
			}
		}
	}
}
