package web_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/page"
	"github.com/sluice-rag/sluice/source/page/pagetest"
	"github.com/sluice-rag/sluice/source/sourcetest"
	"github.com/sluice-rag/sluice/source/web"
)

// place is a site whose first page or sitemap names all pages of Markdown below /docs/.
type place struct{ *pagetest.Site }

func (p place) Location() string      { return p.URL + "/docs" }
func (p place) Put(name, text string) { p.Site.Put("docs/"+name, text) }
func (p place) Remove(name string)    { p.Site.Remove("docs/" + name) }
func links(s *pagetest.Site, path string) (string, string) {
	if path != "/docs" {
		return "", ""
	}
	return "text/html", `<meta name="robots" content="noindex">` + pagetest.Links(s.Paths()...)
}

func sitemap(s *pagetest.Site, path string) (string, string) {
	var b strings.Builder
	switch path {
	case "/robots.txt":
		return "text/plain", "Sitemap: " + s.URL + "/index.xml"
	case "/index.xml":
		fmt.Fprintf(&b, `<sitemapindex><sitemap><loc>%s/map.xml.gz</loc></sitemap></sitemapindex>`, s.URL)
		return "application/xml", b.String()
	case "/map.xml.gz":
		z := gzip.NewWriter(&b)
		fmt.Fprintf(z, "<?xml version='1.0' encoding='UTF-8'?><urlset><url><loc>%s/docs/none</loc></url>", s.URL)
		for _, p := range s.Paths() {
			fmt.Fprintf(z, "<url><loc>\n %s%s </loc><lastmod>2026-01-01</lastmod></url>", s.URL, p)
		}
		fmt.Fprint(z, "</urlset>")
		_ = z.Close()
		return "application/gzip", b.String()
	}
	return "", ""
}

func TestConnector(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]func(*pagetest.Site, string) (string, string){"links": links, "sitemap": sitemap} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sourcetest.TestConnector(t, web.Kind(pagetest.Client(t, nil)), func(t *testing.T) sourcetest.Place {
				s := pagetest.New(t)
				s.Index = index
				return place{s}
			})
		})
	}
}

// site is a site with its connector.
type site struct {
	*pagetest.Site
	source.Connector
}

func open(t *testing.T, change func(*page.Options)) site {
	t.Helper()
	s := pagetest.New(t)
	return site{s, connect(t, s.URL, change)}
}

func connect(t *testing.T, at string, change func(*page.Options)) source.Connector {
	t.Helper()
	kind := web.Kind(pagetest.Client(t, change))
	location, err := kind.Locate(at)
	require.NoError(t, err)
	c, err := kind.Open(location)
	require.NoError(t, err)
	require.CloseAfter(t, c)
	return c
}

// list lists the site and checks the paths of the documents.
func (s site) list(want ...string) source.Listing {
	s.T.Helper()
	l, err := s.List(s.Context())
	require.NoError(s.T, err)
	var got []string
	for _, d := range l.Documents {
		got = append(got, strings.TrimPrefix(d.URI, s.URL))
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		s.T.Errorf("listed %q, want %q; %+v", got, want, l)
	}
	return l
}

// TestOnce checks that one page is one document: with fragments, index pages, canonical links, redirects and parameters for tracking.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.HTML("/", pagetest.Links("/a#one", "/a#two", "a?utm_source=x", "./b/../a", "/index.html", "/b?print=1", "/old", "/header", "//other.example/x", "mailto:a@b.example", "javascript:x()"))
	s.HTML("/index.html", pagetest.Links("/a#one", "/a#two", "a?utm_source=x", "./b/../a", "/index.html", "/b?print=1", "/old", "/header", "//other.example/x", "mailto:a@b.example", "javascript:x()"))
	s.HTML("/a", "a")
	s.HTML("/b", "b")
	s.HTML("/b?print=1", `<link rel="canonical" href="/b">b`)
	s.Set("/header", pagetest.Page{Body: "b", Header: map[string]string{"Link": "</b>; rel=\"canonical\""}})
	s.Set("/old", pagetest.Page{Status: 301, Header: map[string]string{"Location": "/a"}})
	l := s.list("/", "/a", "/b")
	if d := l.Documents[1]; d.Path != "a" || !strings.HasSuffix(d.File, "/a.html") || !strings.HasSuffix(d.Name, "/a") {
		t.Errorf("document %+v", d)
	}
}

// TestData checks that linked data and compressed texts are documents by their media types, and that lists of pages and archives are not.
func TestData(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.HTML("/", pagetest.Links("/rules.json", "/rules.xml", "/log.txt.xz", "/page.json", "/picture.xml", "/feed.xml", "/site.tar.xz", "/tracks.xml"))
	for path, media := range map[string]string{"/rules.json": "application/json", "/rules.xml": "application/xml", "/log.txt.xz": "application/x-xz", "/page.json": "text/html", "/picture.xml": "image/svg+xml",
		"/feed.xml": "application/xml", "/site.tar.xz": "application/x-xz", "/tracks.xml": "video/mp2t"} {
		s.Set(path, pagetest.Page{Type: media, Body: "<a>The northern pier.</a>"})
	}
	l := s.list("/", "/log.txt.xz", "/page.json", "/rules.json", "/rules.xml")
	for n, file := range map[int]string{1: "/log.txt.xz", 2: "/page.json.html", 3: "/rules.json", 4: "/rules.xml"} {
		if d := l.Documents[n]; !strings.HasSuffix(d.File, file) {
			t.Errorf("document %+v, want the name %s", d, file)
		}
	}
}

// TestRules checks robots.txt, the rules in pages and headers, and that only documents are listed.
func TestRules(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.Set("/robots.txt", pagetest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /\n\nUser-agent: Sluice\nDisallow: /private/\nAllow: /private/open\nDisallow: /*.pdf$\nCrawl-delay: soon\n"})
	s.HTML("/", pagetest.Links("/private/x", "/private/open", "/x.pdf", "/noindex", "/none", "/header", "/logo.png", "/picture", "/page.php", "/text")+`<a rel="nofollow" href="/edit">edit</a>`)
	for _, p := range []string{"/private/x", "/private/open", "/edit", "/behind", "/hidden", "/page.php"} {
		s.HTML(p, "text")
	}
	s.HTML("/noindex", `<META NAME=robots CONTENT="NOINDEX, follow">`+pagetest.Links("/behind"))
	s.HTML("/none", `<meta name="sluice" content="none">`+pagetest.Links("/hidden"))
	s.Set("/header", pagetest.Page{Header: map[string]string{"X-Robots-Tag": "noindex"}})
	s.Set("/picture", pagetest.Page{Type: "image/png", Body: "\x89PNG"})
	s.Set("/text", pagetest.Page{Type: "text/plain", Body: "text"})
	l := s.list("/", "/behind", "/page.php", "/private/open", "/text")
	if got := s.Downloads(); got["/private/x"]+got["/logo.png"]+got["/x.pdf"]+got["/edit"]+got["/hidden"] > 0 {
		t.Errorf("requested %v", got)
	}
	if !strings.HasSuffix(l.Documents[2].File, "/page.php.html") || !strings.HasSuffix(l.Documents[4].File, "/text.txt") {
		t.Errorf("documents %+v", l.Documents)
	}
	s.Set("/robots.txt", pagetest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /\n"})
	if _, err := s.List(t.Context()); err == nil {
		t.Error("listed a site that its robots.txt closes")
	}
}

// TestUnchanged checks that pages that have not changed are not downloaded again, and that their links are still followed.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.HTML("/", pagetest.Links("/a"))
	s.HTML("/a", pagetest.Links("/b"))
	s.HTML("/b", "old")
	first := s.list("/", "/a", "/b")
	s.Downloads()
	s.HTML("/b", "new")
	second := s.list("/", "/a", "/b")
	if got := s.Downloads(); len(got) != 1 || got["/b"] != 1 {
		t.Errorf("downloaded %v", got)
	}
	if first.Documents[1] != second.Documents[1] || first.Documents[2].Version == second.Documents[2].Version {
		t.Errorf("listed %v, before %v", second.Documents, first.Documents)
	}
	// The index may have lost a document that has not changed.
	if data, err := s.Read(t.Context(), second.Documents[1], 1000); err != nil || !strings.Contains(string(data), "/b") {
		t.Errorf("read %q, %v", data, err)
	}
	if s.Most() != 1 {
		t.Errorf("%d requests at one time", s.Most())
	}
}

// TestFailures checks that pages that are gone are not kept, and that those that cannot be read are kept with the pages that they link.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *page.Options) { o.Fails = 2 })
	s.HTML("/", pagetest.Links("/a", "/gone", "/deep"))
	s.HTML("/a", "a")
	s.HTML("/gone", "gone")
	s.HTML("/deep", pagetest.Links("/deeper"))
	s.HTML("/deeper", "deeper")
	s.list("/", "/a", "/deep", "/deeper", "/gone")
	s.Set("/gone", pagetest.Page{Status: http.StatusGone})
	s.Set("/deep", pagetest.Page{Status: http.StatusInternalServerError})
	l := s.list("/", "/a", "/deeper")
	if !slices.Equal(l.Unread, []string{s.URL + "/deep"}) || !slices.Equal(l.Gone, []string{s.URL + "/gone"}) || len(l.Failed) != 1 {
		t.Errorf("listed %+v", l)
	}
	for _, p := range []string{"/a", "/deeper"} {
		s.Set(p, pagetest.Page{Status: http.StatusServiceUnavailable})
	}
	if l, err := s.List(t.Context()); err == nil {
		t.Errorf("listed a site that is down: %+v", l)
	}
	// Nothing is known of a site whose memory is lost: a page that fails may have had links.
	other := site{s.Site, connect(t, s.URL, nil)}
	s.HTML("/a", "a")
	if l := other.list("/", "/a"); !slices.Equal(l.Unread, []string{s.URL + "/"}) {
		t.Errorf("kept %q", l.Unread)
	}
}

// TestHostile checks that sites without an end are read up to the limits.
func TestHostile(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x ", 1000)
	tests := map[string]struct {
		answer func(path string) string
		most   int
	}{
		"calendar":   {func(p string) string { return pagetest.Links(fmt.Sprintf("/cal?day=%d", len(p)), p+"0", p+"1") + text }, 60},
		"deeper":     {func(p string) string { return pagetest.Links(strings.TrimSuffix(p, "/")+"/next/") + text }, 5},
		"relative":   {func(string) string { return pagetest.Links("en/", "fr/", "de/", "us/") + text }, 60},
		"many links": {func(string) string { return strings.Repeat(pagetest.Links("/x"), 20_000) }, 2},
		"unclosed":   {func(string) string { return strings.Repeat("<div><a href='/y", 50_000) }, 2},
		"canonical loop": {func(p string) string {
			return fmt.Sprintf(`<link rel=canonical href="%s/c">`, strings.TrimSuffix(p, "/"))
		}, 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, func(o *page.Options) { o.Pages = 50 })
			s.Index = func(_ *pagetest.Site, path string) (string, string) {
				if strings.HasSuffix(path, ".txt") || strings.HasSuffix(path, ".xml") {
					return "", ""
				}
				return "text/html", test.answer(path)
			}
			l, err := s.List(t.Context())
			if err != nil || len(l.Documents) == 0 || len(l.Documents) > test.most {
				t.Errorf("%d documents, %v", len(l.Documents), err)
			}
		})
	}
}

// TestSlow checks the limit of time with bodies that do not end, and that what is not known is kept.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *page.Options) { o.Time = 300 * time.Millisecond })
	s.HTML("/", pagetest.Links("/slow", "/other"))
	s.HTML("/other", "other")
	s.Set("/slow", pagetest.Page{Handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	if l := s.list("/"); len(l.Failed) != 1 || !strings.Contains(l.Failed[0].Reason, "limit") || !slices.Equal(l.Unread, []string{s.URL + "/"}) {
		t.Errorf("listed %+v", l)
	}
}

// TestBytes checks the limits of the bytes of a page and of a site.
func TestBytes(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *page.Options) { o.Bytes = 2<<20 + 500<<10 })
	s.HTML("/", pagetest.Links("/large", "/1", "/2", "/3"))
	s.HTML("/large", strings.Repeat("x", 1<<20+1))
	for _, p := range []string{"/1", "/2", "/3"} {
		s.HTML(p, strings.Repeat("x", 1<<20-100))
	}
	if l := s.list("/", "/1", "/2"); len(l.Failed) != 2 || !strings.Contains(l.Failed[0].Reason, "larger than the limit of 1048576 bytes") {
		t.Errorf("listed %+v", l.Failed)
	}
}

// TestRedirects checks redirects that loop, that leave the site and that lead to addresses that are not permitted.
func TestRedirects(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	to := func(where string) pagetest.Page {
		return pagetest.Page{Status: http.StatusFound, Header: map[string]string{"Location": where}}
	}
	s.HTML("/", pagetest.Links("/loop", "/1", "/out", "/inside"))
	s.Set("/loop", to("/loop2"))
	s.Set("/loop2", to("/loop"))
	s.Set("/out", to("http://10.0.0.1/secret"))
	s.Set("/inside", to("file:///etc/passwd"))
	for i := range 9 {
		s.Set(fmt.Sprintf("/%d", i+1), to(fmt.Sprintf("/%d", i+2)))
	}
	s.HTML("/10", "too far")
	s.list("/")
	s.Set("/", to("https://www.example.org/"))
	if _, err := s.List(t.Context()); err == nil || !strings.Contains(err.Error(), "https://www.example.org/") {
		t.Errorf("first page that redirects: %v", err)
	}
	if _, err := connect(t, "http://169.254.169.254/latest/", nil).List(t.Context()); err == nil {
		t.Error("connected to a private address")
	}
	if e, ok := errors.AsType[*fault.Error](func() error { _, err := connect(t, "http://10.1.1.1/", nil).List(t.Context()); return err }()); !ok || e.Code != fault.InvalidRequest {
		t.Errorf("private address: %v", e)
	}
}

// TestSitemaps checks sitemaps that are not what they seem.
func TestSitemaps(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	fmt.Fprint(z, "<urlset><url><loc>")
	zeros := make([]byte, 1<<20)
	for range 60 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	entities := `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>`
	for name, body := range map[string]string{"entities": entities, "depth": strings.Repeat("<urlset>", 100_000), "gzip": bomb.String(), "page": "<!doctype html><html><body>not found", "cut": "<urlset><url><loc>", "outside": "<urlset><url><loc>http://other.example/x</loc></url></urlset>"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			s.Set("/sitemap.xml", pagetest.Page{Body: body})
			s.HTML("/", pagetest.Links("/a"))
			s.HTML("/a", "a")
			s.list("/", "/a") // by links
		})
	}
	s := open(t, nil)
	s.HTML("/a", "a")
	s.HTML("/b", "b")
	both := fmt.Sprintf("<urlset><url><loc>%s/a</loc></url><url><loc>%[1]s/b</loc></url></urlset>", s.URL)
	s.Set("/sitemap.xml", pagetest.Page{Type: "text/xml", Body: both})
	s.list("/a", "/b")
	s.Set("/sitemap.xml", pagetest.Page{Status: http.StatusInternalServerError})
	if l, err := s.List(t.Context()); err == nil {
		t.Errorf("listed without the sitemap that was read before: %+v", l)
	}
	s.Set("/sitemap.xml", pagetest.Page{Body: both[:len(both)-30]})
	if l := s.list("/a"); !slices.Equal(l.Unread, []string{s.URL + "/"}) {
		t.Errorf("kept %q after a sitemap that is cut", l.Unread)
	}
	loop := fmt.Sprintf("<sitemapindex><sitemap><loc>%s/sitemap.xml</loc></sitemap><sitemap><loc>%[1]s/map.txt</loc></sitemap></sitemapindex>", s.URL)
	s.Set("/sitemap.xml", pagetest.Page{Body: loop})
	s.Set("/map.txt", pagetest.Page{Type: "text/plain", Body: s.URL + "/a\n" + s.URL + "/b\n"})
	s.list("/a", "/b")
}

func TestLocate(t *testing.T) {
	t.Parallel()
	kind := web.Kind(pagetest.Client(t, nil))
	for in, want := range map[string]string{
		"HTTPS://Docs.Example.org:443/guide/#x":            "https://docs.example.org/guide/",
		"http://example.org":                               "http://example.org/",
		"https://example.org/a/../guide?q=1":               "https://example.org/guide",
		"https://example.org/guide/index.html":             "https://example.org/guide/",
		"https://example.org/index.php":                    "https://example.org/",
		"ftp://example.org/":                               "",
		"https://user:secret@example.org/":                 "",
		"https:///x":                                       "",
		"https://example.org/logo.png":                     "",
		"https://example.org/" + strings.Repeat("x", 3000): "",
	} {
		got, err := kind.Locate(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.50s: %q, %v, want %q", in, got, err, want)
		}
	}
}
