package page

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// FuzzScan reads pages of all kinds.
func FuzzScan(f *testing.F) {
	f.Add("<base href=/x/><a href='y'>z</a><meta http-equiv=refresh content='0; url=q'>", "</c>; rel=canonical", "sluice: none")
	f.Add("<link rel='canonical' href='//%zz'><a href=\"http://[::1\">", "<", "noindex, unavailable_after: 1")
	f.Fuzz(func(t *testing.T, body, link, robots string) {
		at := &url.URL{Scheme: "https", Host: "h.example", Path: "/a/b"}
		var p Page
		p.headers(at, http.Header{"Link": {link}, "X-Robots-Tag": {robots}})
		p.scan(at, strings.NewReader(body))
		for _, l := range append(p.Links, p.Canonical) {
			if l == "" {
				continue
			}
			u, err := Parse(l)
			if err != nil || u.String() != l {
				t.Errorf("link %q: %v, %v", l, u, err)
			}
		}
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	at := &url.URL{Scheme: "https", Host: "h.example", Path: "/a/b"}
	for link, want := range map[string]string{
		"c#x": "https://h.example/a/c", "../../x": "https://h.example/x", "//H.EXAMPLE:443": "https://h.example/", "?q=1&utm_medium=x&&": "https://h.example/a/b?q=1",
		"http://h.example/x": "https://h.example/x", "http://h.example:8080/x": "http://h.example:8080/x", "#x": "", "mailto:a@b.example": "", "ftp://h.example": "",
		"https://u:p@h.example/": "", "%zz": "", "x?": "https://h.example/a/x", "d/": "https://h.example/a/d/", "ü": "https://h.example/a/%C3%BC",
	} {
		if got := Resolve(at, link); got != want {
			t.Errorf("%q: %q, want %q", link, got, want)
		}
	}
}

// TestPause checks that requests to a host wait for each other and for the pause, and that other hosts do not.
func TestPause(t *testing.T) {
	t.Parallel()
	c := NewClient(Options{Delay: time.Millisecond, Pause: 80 * time.Millisecond})
	c.SetDelay("slow.example", time.Hour)
	var at []time.Time
	visit := func(host string) {
		t.Helper()
		require.NoError(t, c.with(t.Context(), host, func() time.Duration { at = append(at, time.Now()); return 0 }))
	}
	visit("slow.example")
	visit("other.example")
	visit("slow.example")
	if gap := at[2].Sub(at[0]); gap < 80*time.Millisecond || at[1].Sub(at[0]) > gap {
		t.Errorf("requests at %v", at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts["slow.example"]; h.users != 0 || len(h.turn) != 0 {
		t.Errorf("the host is still in use: %+v", h)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][]bool{"noindex": {true, false}, "otherbot: none": {false, false}, "Sluice: nofollow": {false, true}, "noindex, unavailable_after: 1 Jan 2030": {true, false}} {
		var p Page
		p.headers(&url.URL{}, http.Header{"X-Robots-Tag": {header}})
		if got := []bool{p.NoIndex, p.NoFollow}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", header, got, want)
		}
	}
}
