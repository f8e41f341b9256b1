package webdav_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	dav "golang.org/x/net/webdav"

	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/sourcetest"
	"github.com/sluice-rag/sluice/source/webdav"
)

var loopback = netip.MustParsePrefix("127.0.0.0/8")

func kind(allow ...netip.Prefix) source.Kind {
	return webdav.Kind(webdav.Options{Dial: fetch.New(fetch.Options{Allow: allow}).Dial})
}

// folder is a folder of a real server. The times of its files are in the past, one second later for each change.
type folder struct {
	*testing.T
	*httptest.Server
	dir string
	at  time.Time
}

const at = "/remote.php/dav/team docs/a"

func newFolder(t *testing.T) *folder {
	dir := t.TempDir()
	f := &folder{t, httptest.NewServer(&dav.Handler{FileSystem: dav.Dir(dir), LockSystem: dav.NewMemLS()}), filepath.Join(dir, filepath.FromSlash(at)), time.Now().Add(-time.Hour)}
	t.Cleanup(f.Server.Close)
	require.NoError(t, os.MkdirAll(f.dir, 0o700))
	return f
}

func (f *folder) Location() string {
	return strings.Replace(f.URL, "http:", "webdav:", 1) + strings.ReplaceAll(at, " ", "%20") + "/"
}

func (f *folder) Put(name, text string) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	require.NoError(f.T, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(f.T, os.WriteFile(path, []byte(text), 0o600))
	f.at = f.at.Add(time.Second)
	require.NoError(f.T, os.Chtimes(path, f.at, f.at))
}

func (f *folder) Remove(name string) { require.NoError(f.T, os.Remove(filepath.Join(f.dir, name))) }

func (f *folder) Break() { f.Server.Close() }

func TestConnector(t *testing.T) {
	t.Parallel()
	sourcetest.TestConnector(t, kind(loopback), func(t *testing.T) sourcetest.Place { return newFolder(t) })
}

func list(t *testing.T, k source.Kind, location string) (source.Connector, source.Listing, error) {
	t.Helper()
	located, err := k.Locate(location)
	require.NoError(t, err)
	c, err := k.Open(located)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	l, err := c.List(t.Context())
	return c, l, err
}

func paths(l source.Listing) []string {
	out := []string{}
	for _, d := range l.Documents {
		out = append(out, d.Path)
	}
	slices.Sort(out)
	return out
}

// TestSelected checks which files of a folder are documents, and their URIs and names.
func TestSelected(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, name := range []string{"kept #1?.md", "sub/dir ü/b.md", ".hidden.md", ".git/x.md", "node_modules/x.md", "picture.png"} {
		f.Put(name, "text")
	}
	_, l, err := list(t, kind(loopback), f.Location())
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"kept #1?.md", "sub/dir ü/b.md"}, paths(l)); diff != "" || l.Ignored != 1 || len(l.Failed) > 0 {
		t.Fatalf("%s\n%+v", diff, l)
	}
	if d := l.Documents[0]; d.URI != f.URL+"/remote.php/dav/team%20docs/a/kept%20%231%3F.md" || d.Name != "a/kept #1?.md" || !strings.HasPrefix(d.Version, "etag ") {
		t.Errorf("%+v", d)
	}
}

// TestCredentials checks that credentials are only sent with TLS, and are not in errors.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("text"), 0o600))
	files := &dav.Handler{FileSystem: dav.Dir(dir), LockSystem: dav.NewMemLS()}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != secret {
			http.Error(w, "no "+password, http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	k := webdav.Kind(webdav.Options{Dial: fetch.New(fetch.Options{Allow: []netip.Prefix{loopback}}).Dial, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})
	for _, c := range []struct {
		location, credentials, want string
	}{
		{s.URL, "ada:" + secret, ""}, {s.URL, "ada:" + secret + "x", "status 401"}, {s.URL, secret, "USER:PASSWORD"}, {strings.Replace(s.URL, "https", "http", 1), "ada:" + secret, "with TLS"},
	} {
		conn, err := k.OpenWith(c.location, c.credentials)
		var l source.Listing
		if err == nil {
			l, err = conn.List(t.Context())
			require.NoError(t, conn.Close())
		}
		switch {
		case c.want == "" && (err != nil || len(l.Documents) != 1):
			t.Errorf("%+v, %v", l, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret)):
			t.Errorf("%s: %v", c.want, err)
		}
	}
	if _, l, err := list(t, kind(loopback), s.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestAddresses checks that no private address is reached.
func TestAddresses(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	if _, l, err := list(t, kind(), f.Location()); err == nil || !strings.Contains(err.Error(), "not at a public address") {
		t.Errorf("%+v, %v", l, err)
	}
}

const (
	begin = `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:x="urn:x">`
	end   = `</d:multistatus>`
)

// item is a response of a multistatus for a file, or for a folder.
func item(href, props string) string {
	return "<d:response><d:href>" + href + "</d:href><d:propstat><d:prop>" + props + "</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
}

const collection = "<d:resourcetype><d:collection/></d:resourcetype>"

// multistatus serves the list of the folder /a, and no others.
func multistatus(entries ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a/" || r.Header.Get("Depth") != "1" || r.Method != "PROPFIND" {
			http.Error(w, "secret", http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = io.WriteString(w, begin+item("/a/", collection)+strings.Join(entries, "")+end)
	}
}

// TestReplies checks what is read of replies of different servers, and of hostile ones.
func TestReplies(t *testing.T) {
	t.Parallel()
	const day = "Tue, 24 Nov 2026 10:00:00 GMT"
	modified := "<d:getlastmodified>" + day + "</d:getlastmodified><d:getcontentlength>5</d:getcontentlength>"
	serve := multistatus(
		item("/a/etag.md", `<d:getetag>W/"1"</d:getetag>`), item("/a/modified.md", modified), item("/a/now.md", "<d:getlastmodified>"+time.Now().UTC().Format(http.TimeFormat)+"</d:getlastmodified>"),
		item("/a/none.md", "<x:other><x:deep/></x:other>"), item("HTTP://127.0.0.1/a/absolute.md", ""), "<x:unknown><d:response/></x:unknown>",
		// what leads out of the folder
		item("http://other.example.org/a/x.md", ""), item("/a/../x.md", ""), item("/a/%2e%2e/x.md", ""), item("/a/sub%2Fx.md", ""), item("/b/x.md", ""), item("/a/sub/deep/x.md", ""), item("x.md", ""),
		item("//other.example.org/a/x.md", ""), item("", ""), item("%zz", ""), item("/ab", ""), item("javascript:secret", ""),
		// what is reported
		item("/a/latin%e9.md", ""), item("/a/bell%07.md", ""), item("/a/etag.md", ""), item("/a/"+strings.Repeat("x", 3000)+".md", ""),
		"<d:response><d:href>/a/refused.md</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>",
		"<d:response><d:href>/a/odd.md</d:href><d:propstat><d:prop/><d:status>secret</d:status></d:propstat></d:response>",
		item("/a/locked/", collection),
		// what is gone
		"<d:response><d:href>/a/gone.md</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>",
	)
	s := httptest.NewServer(serve)
	defer s.Close()
	_, l, err := list(t, kind(loopback), s.URL+"/a")
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"absolute.md", "etag.md", "modified.md", "none.md", "now.md"}, paths(l)); diff != "" {
		t.Error(diff)
	}
	versions := map[string]string{}
	for _, d := range l.Documents {
		versions[d.Path] = d.Version
	}
	if diff := cmp.Diff(map[string]string{"absolute.md": "", "etag.md": `etag W/"1"`, "modified.md": "modified 2026-11-24T10:00:00Z 5", "none.md": "", "now.md": ""}, versions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{s.URL + "/a/refused.md", s.URL + "/a/odd.md", s.URL + "/a/locked"}, l.Unread); diff != "" {
		t.Error(diff)
	}
	if len(l.Failed) != 7 {
		t.Errorf("failed: %+v", l.Failed)
	}
	for _, f := range l.Failed {
		if !utf8.ValidString(f.Path+f.Reason) || strings.Contains(f.Path+f.Reason, "\a") || strings.Contains(f.Reason, "secret") {
			t.Errorf("%+v", f)
		}
	}
}

// TestHostileServers checks that replies that are no list of the folder are errors, so nothing is removed.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	reply := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, text) }
	}
	nested := func(depth int) string {
		return begin + item("/a/", collection) + strings.Repeat("<d:response>", depth)
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"page of a proxy": {reply(200, "<html>secret</html>"), "does not answer as a WebDAV server"},
		"page with 207":   {reply(207, "<html>secret</html>"), "does not answer as a WebDAV server"},
		"no methods":      {reply(405, ""), "does not answer as a WebDAV server"},
		"nothing":         {reply(207, ""), "does not answer as a WebDAV server"},
		"other namespace": {reply(207, `<multistatus xmlns="urn:secret"></multistatus>`), "does not answer as a WebDAV server"},
		"empty list":      {reply(207, begin+end), "does not answer as a WebDAV server"},
		"another folder":  {reply(207, begin+item("/b/", collection)+item("/a/x.md", "")+end), "does not answer as a WebDAV server"},
		"cut off":         {reply(207, begin+item("/a/", collection)+item("/a/x.md", "")), "does not answer as a WebDAV server"},
		"cut off inside":  {reply(207, begin+item("/a/", collection)+"<d:response><d:href>/a/x"), "does not answer as a WebDAV server"},
		"deep":            {reply(207, nested(20_000)), "does not answer as a WebDAV server"},
		"entities":        {reply(207, `<!DOCTYPE m [<!ENTITY e SYSTEM "file:///etc/passwd">]>`+begin+item("/a/&e;", collection)+end), "does not answer as a WebDAV server"},
		"a file":          {reply(207, begin+item("/a/", "")+end), "is not a folder"},
		"refused":         {reply(401, "secret"), "status 401"},
		"gone":            {reply(404, "secret"), "status 404"},
		"busy":            {reply(503, "secret"), "status 503"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/secret", http.StatusMovedPermanently)
		}, "redirects to"},
		"endless":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(207); endless(w) }, "larger than"},
		"endless folders":     {chain, "too long"},
		"more than permitted": {multistatus(item("/a/1.md", ""), item("/a/2.md", ""), item("/a/3.md", ""), item("/a/4.md", "")), "more than 3 documents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.serve)
			defer s.Close()
			k := webdav.Kind(webdav.Options{Dial: fetch.New(fetch.Options{Allow: []netip.Prefix{loopback}}).Dial, Limits: webdav.Limits{Documents: 3, Depth: 20, Reply: 1 << 20}})
			_, l, err := list(t, k, s.URL+"/a")
			if err == nil && len(l.Failed) == 1 && strings.Contains(l.Failed[0].Reason, c.want) {
				return // without an error, it is a failure
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%+v, %v, want %q", l, err, c.want)
			}
		})
	}
}

// chain serves a folder that contains a folder, without end.
func chain(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusMultiStatus)
	_, _ = io.WriteString(w, begin+item(r.URL.Path, collection)+item(r.URL.Path+"a/", collection)+end)
}

func endless(w io.Writer) {
	_, _ = io.WriteString(w, begin+item("/a/", collection))
	for block := bytes.Repeat([]byte("<!-- secret -->"), 1<<12); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// TestFailures checks that a folder that cannot be listed keeps its documents, and that a server that fails for all of them is an error.
func TestFailures(t *testing.T) {
	t.Parallel()
	var folders []string
	for name := range strings.SplitSeq("abcdefghijkl", "") {
		folders = append(folders, item("/a/"+name, collection))
	}
	for count, want := range map[int]bool{9: false, 10: true} {
		s := httptest.NewServer(multistatus(folders[:count]...))
		_, l, err := list(t, kind(loopback), s.URL+"/a")
		if (err != nil) != want || err == nil && (len(l.Unread) != count || len(l.Failed) != count) {
			t.Errorf("%d: %+v, %v", count, l, err)
		}
		s.Close()
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"webdavs://Cloud.example.org/remote.php/dav/files/ada/": "https://cloud.example.org/remote.php/dav/files/ada",
		"davs://cloud.example.org:443/x/../y%20z":               "https://cloud.example.org/y%20z",
		"webdav://cloud.example.org:8080":                       "http://cloud.example.org:8080/",
		"dav://cloud.example.org:80/a":                          "http://cloud.example.org/a",
	} {
		got, err := kind().Locate(in)
		if got != want || err != nil || !kind().Suits(in) {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
		if again, err := kind().Locate(got); again != got || err != nil {
			t.Errorf("%s again: %q, %v", got, again, err)
		}
	}
	for _, in := range []string{"webdavs://user:hunter2@h/x", "ftp://hunter2/x", "webdavs:///hunter2", "webdavs://h/?hunter2", "webdavs://h/#hunter2", "webdavs://h/%00", "webdavs://%zzhunter2", "webdavs:hunter2"} {
		if got, err := kind().Locate(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"https://h/x", "http://h/dav", "/srv/webdav", "davx://h"} {
		if kind().Suits(in) {
			t.Errorf("%s suits", in)
		}
	}
}
