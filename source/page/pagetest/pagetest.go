// Package pagetest provides websites for tests.
package pagetest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/source/page"
)

// Site is a website on this machine whose pages a test changes. It answers conditional requests.
type Site struct {
	*testing.T
	URL string // without a slash at the end
	// Index returns the content of a path that has no page of its own; nil: status 404.
	Index func(s *Site, path string) (mediaType, body string)

	mu     sync.Mutex
	pages  map[string]Page
	broken bool
	full   map[string]int // requests by path that were answered with content
	open   int            // requests in progress
	most   int            // of open
}

// Page is a page of a site.
type Page struct {
	Type    string // media type; default text/html
	Body    string
	Status  int // default 200
	Header  map[string]string
	Handler http.HandlerFunc // instead of all others
}

// New starts a site.
func New(t *testing.T) *Site {
	s := &Site{T: t, pages: map[string]Page{}, full: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Client returns a client that may connect to sites, without a pause between requests.
func Client(t *testing.T, change func(*page.Options)) *page.Client {
	f := fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, KeepAlive: true, MaxBytes: 1 << 20, Timeout: 10 * time.Second})
	o := page.Options{Fetch: f, Dir: t.TempDir(), Delay: time.Microsecond, Pause: 10 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	return page.NewClient(o)
}

// Set sets a page. Its path begins with a slash.
func (s *Site) Set(path string, p Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = p
}

// HTML sets a page of HTML.
func (s *Site) HTML(path, body string) { s.Set(path, Page{Body: body}) }

// Delete deletes a page.
func (s *Site) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pages, path)
}

// Put sets a page of Markdown.
func (s *Site) Put(name, text string) { s.Set("/"+name, Page{Type: "text/markdown", Body: text}) }

// Remove removes a page of Markdown.
func (s *Site) Remove(name string) { s.Delete("/" + name) }

// Break makes the server answer with status 500.
func (s *Site) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

// Paths returns the paths of all pages, sorted.
func (s *Site) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.pages))
}

// Downloads returns how often each path was answered with content since the last call.
func (s *Site) Downloads() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.full
	s.full = map[string]int{}
	return out
}

// Most returns the largest number of requests at one time.
func (s *Site) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p, ok := s.pages[r.URL.RequestURI()]
	broken := s.broken
	s.open++
	s.most = max(s.most, s.open)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	if !ok && s.Index != nil {
		if p.Type, p.Body = s.Index(s, r.URL.RequestURI()); p.Type != "" {
			ok = true
		}
	}
	switch {
	case broken:
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case !ok:
		http.NotFound(w, r)
		return
	case p.Handler != nil:
		p.Handler(w, r)
		return
	}
	for k, v := range p.Header {
		w.Header().Set(k, v)
	}
	if p.Type == "" {
		p.Type = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", p.Type)
	if p.Status != 0 && p.Status != http.StatusOK {
		w.WriteHeader(p.Status)
		return
	}
	h := fnv.New64()
	_, _ = h.Write([]byte(p.Body))
	tag := fmt.Sprintf("%q", fmt.Sprint(h.Sum64()))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.mu.Lock()
	s.full[r.URL.RequestURI()]++
	s.mu.Unlock()
	_, _ = w.Write([]byte(p.Body))
}

// Links is the start of a page of links.
func Links(to ...string) string {
	var b strings.Builder
	for _, t := range to {
		fmt.Fprintf(&b, "<a href=%q>a page</a>\n", t)
	}
	return b.String()
}
