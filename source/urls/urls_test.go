package urls_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source/page/pagetest"
	"github.com/sluice-rag/sluice/source/sourcetest"
	"github.com/sluice-rag/sluice/source/urls"
)

// place is a site with a list of its pages of Markdown.
type place struct{ *pagetest.Site }

func (p place) Location() string { return p.URL + "/list.txt" }
func (p place) Base() string     { return p.URL }

func newPlace(t *testing.T) sourcetest.Place {
	s := pagetest.New(t)
	s.Index = func(s *pagetest.Site, path string) (string, string) {
		if path != "/list.txt" {
			return "", ""
		}
		return "text/plain", "# pages\r\n\n" + s.URL + strings.Join(s.Paths(), "#x\r\n"+s.URL) + strings.Repeat("\n"+s.URL+"/logo.png", min(1, len(s.Paths())))
	}
	s.Set("/logo.png", pagetest.Page{Type: "image/png", Body: "\x89PNG"})
	return place{s}
}

func TestConnector(t *testing.T) {
	t.Parallel()
	sourcetest.TestConnector(t, urls.Kind(pagetest.Client(t, nil)), newPlace)
}

// TestURLs checks URLs that are given one by one.
func TestURLs(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t)
	s.HTML("/a", "a")
	s.HTML("/b", `<meta name=robots content=noindex>`+pagetest.Links("/c"))
	s.HTML("/c", "c")
	s.Set("/old", pagetest.Page{Status: http.StatusMovedPermanently, Header: map[string]string{"Location": "/c"}})
	s.Set("/loop", pagetest.Page{Status: http.StatusFound, Header: map[string]string{"Location": "/loop"}})
	s.Set("/down", pagetest.Page{Status: http.StatusBadGateway})
	kind := urls.Kind(pagetest.Client(t, nil))
	var all []string
	for _, p := range []string{"/a", "/a#x", "/b", "/old", "/c", "/gone", "/loop", "/down"} {
		all = append(all, s.URL+p)
	}
	location, err := kind.Locate(strings.Join(all, "\n"))
	require.NoError(t, err)
	c, err := kind.Open(location)
	require.NoError(t, err)
	defer c.Close()
	for range 2 {
		l, err := c.List(t.Context())
		require.NoError(t, err)
		var got []string
		for _, d := range l.Documents {
			got = append(got, strings.TrimPrefix(d.URI, s.URL))
		}
		if want := []string{"/a", "/b", "/old"}; !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
		if want := []string{s.URL + "/loop", s.URL + "/down"}; !slices.Equal(l.Unread, want) || len(l.Failed) != 3 || l.Ignored != 0 {
			t.Errorf("listed %+v", l)
		}
		if data, err := c.Read(t.Context(), l.Documents[2], 100); err != nil || string(data) != "c" {
			t.Errorf("read %q, %v", data, err)
		}
	}
	if got := fmt.Sprint(s.Downloads()); got != "map[/a:1 /b:1 /c:2]" { // /c is read again, because it had not changed
		t.Errorf("downloaded %s", got)
	}
}

// TestBadLists checks texts that are no lists.
func TestBadLists(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t)
	kind := urls.Kind(pagetest.Client(t, nil))
	for name, body := range map[string]string{"page": "<!doctype html>", "words": "some words", "long": strings.Repeat("x", 1<<17), "file": "file:///etc/passwd"} {
		s.Set("/"+name+".txt", pagetest.Page{Type: "text/plain", Body: body})
		c, err := kind.Open(s.URL + "/" + name + ".txt")
		require.NoError(t, err)
		if l, err := c.List(t.Context()); err == nil {
			t.Errorf("%s: listed %+v", name, l)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
