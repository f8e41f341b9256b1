package git_test

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/git"
	"github.com/sluice-rag/sluice/source/git/gittest"
	"github.com/sluice-rag/sluice/source/sourcetest"
)

var loopback = netip.MustParsePrefix("127.0.0.0/8")

func options(t *testing.T) git.Options {
	return git.Options{Dial: fetch.New(fetch.Options{Allow: []netip.Prefix{loopback}}).Dial, Dir: t.TempDir()}
}

// repository is a folder of a repository on a server.
type repository struct{ *gittest.Server }

func (r repository) Location() string      { return r.URL + gittest.Name + "#main:team docs/a" }
func (r repository) Put(name, text string) { r.Server.Put("team docs/a/"+name, text) }
func (r repository) Remove(name string)    { r.Server.Remove("team docs/a/" + name) }
func (r repository) Break()                { r.Close() }

func TestConnector(t *testing.T) {
	t.Parallel()
	sourcetest.TestConnector(t, git.Kind(options(t)), func(t *testing.T) sourcetest.Place {
		s := gittest.New(t, nil).Started()
		s.Put("team docs/a/.keep", "") // Git has no empty folders
		return repository{s}
	})
}

// listed opens a location and lists it. The connector is closed with the test.
func listed(t *testing.T, kind source.Kind, location string) (source.Connector, source.Listing) {
	t.Helper()
	c, l, err := list(t, kind, location)
	require.NoError(t, err)
	return c, l
}

func list(t *testing.T, kind source.Kind, location string) (source.Connector, source.Listing, error) {
	t.Helper()
	located, err := kind.Locate(location)
	require.NoError(t, err)
	c, err := kind.Open(located)
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
	return out
}

// TestSelected checks which files of a repository are documents.
func TestSelected(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	for _, name := range []string{"kept #1?.md", "docs/guide.md", ".hidden.md", ".github/x.md", "node_modules/x.md", "picture.png"} {
		s.Put(name, "text of "+name)
	}
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(s.Worktree(), "link.md")))
	require.NoError(t, os.Symlink("/etc", filepath.Join(s.Worktree(), "out")))
	s.Git("update-index", "--add", "--cacheinfo", "160000,"+s.Git("rev-parse", "HEAD")+",module")
	s.Put("large.md", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
	s.Git("update-index", "--add", "--cacheinfo", "160000,"+s.Git("rev-parse", "HEAD")+",module")
	s.Git("commit", "--quiet", "--message=module")
	c, l := listed(t, git.Kind(options(t)), "git+"+s.URL+gittest.Name)
	if diff := cmp.Diff([]string{"docs/guide.md", "kept #1?.md", "large.md"}, paths(l)); diff != "" || l.Ignored != 2 || len(l.Failed) > 0 {
		t.Fatalf("%s\n%+v", diff, l)
	}
	guide := l.Documents[0]
	if want := "git+" + s.URL + "/team/docs.git#HEAD:/docs/guide.md"; guide.URI != want || guide.Name != "docs/docs/guide.md" || guide.File != "guide.md" {
		t.Errorf("%+v, want the URI %s", guide, want)
	}
	if data, err := c.Read(t.Context(), guide, 100); err != nil || string(data) != "text of docs/guide.md" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := c.Read(t.Context(), l.Documents[2], 1000); err == nil || !strings.Contains(err.Error(), "LFS") {
		t.Errorf("%q, %v", data, err)
	}
}

// TestRefs checks branches, tags and folders.
func TestRefs(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	s.Put("one.md", "one")
	s.Git("tag", "--annotate", "--message=first", "v1")
	s.Git("tag", "light")
	s.Git("checkout", "--quiet", "-b", "feature/x")
	s.Put("docs/two.md", "two")
	s.Git("checkout", "--quiet", "main")
	s.Put("three.md", "three")
	kind := git.Kind(options(t))
	for ref, want := range map[string][]string{
		"": {"one.md", "three.md"}, "#main": {"one.md", "three.md"}, "#HEAD:": {"one.md", "three.md"}, "#v1": {"one.md"}, "#light": {"one.md"},
		"#feature/x": {"docs/two.md", "one.md"}, "#feature/x:docs": {"two.md"}, "#feature/x:/docs/": {"two.md"},
	} {
		if _, l := listed(t, kind, s.URL+gittest.Name+ref); !cmp.Equal(paths(l), want) {
			t.Errorf("%q: %v, want %v", ref, paths(l), want)
		}
	}
	for ref, want := range map[string]string{"#none": "no branch or tag", "#main:none": "no folder", "#main:one.md": "no folder"} {
		if _, l, err := list(t, kind, s.URL+gittest.Name+ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", ref, l, err)
		}
	}
}

// TestIncremental checks that a sync downloads only what has changed, also after a rewind of the branch and by another connector.
func TestIncremental(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	noise := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = "0123456789abcdef"[x>>28]
	}
	s.Put("large.md", string(noise))
	s.Put("sub/small.md", "one")
	o := options(t)
	kind := git.Kind(o)
	sync := func(want string) (sent int64) {
		t.Helper()
		before := s.Sent.Load()
		c, l := listed(t, kind, s.URL+gittest.Name)
		for _, d := range l.Documents {
			text := want
			if d.Path == "large.md" {
				text = string(noise)
			}
			if data, err := c.Read(t.Context(), d, 2<<20); err != nil || string(data) != text {
				t.Errorf("%s: %.20q, %v", d.Path, data, err)
			}
		}
		if len(l.Documents) != 2 {
			t.Errorf("listed %v", paths(l))
		}
		return s.Sent.Load() - before
	}
	if sent := sync("one"); sent < 300_000 {
		t.Fatalf("the first sync received %d bytes", sent)
	}
	if sent := sync("one"); sent > 2000 {
		t.Errorf("a sync of an unchanged branch received %d bytes", sent)
	}
	s.Put("sub/small.md", "two")
	s.Put("sub/small.md", "three")
	if sent := sync("three"); sent > 5000 {
		t.Errorf("a sync of a small change received %d bytes", sent)
	}
	s.Git("reset", "--quiet", "--hard", "HEAD~2")
	if sent := sync("one"); sent > 5000 {
		t.Errorf("a sync of a branch that was set back received %d bytes", sent)
	}
	// Damaged and missing files are downloaded again.
	for name, damage := range map[string]func(string) error{
		"*.idx": func(file string) error { return os.WriteFile(file, []byte("damaged"), 0o600) }, "*.pack": os.Remove, "state.json": func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
	} {
		files, err := filepath.Glob(filepath.Join(o.Dir, "*", name))
		require.NoError(t, err)
		if len(files) == 0 {
			t.Fatalf("there is no %s", name)
		}
		require.NoError(t, damage(files[0]))
		if sent := sync("one"); sent < 300_000 {
			t.Errorf("%s: received %d bytes", name, sent)
		}
	}
	location, err := kind.Locate(s.URL + gittest.Name)
	require.NoError(t, err)
	require.NoError(t, kind.Forget(location))
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("left after the location was forgotten: %v, %v", left, err)
	}
}

// TestPacks checks that the number of files that are kept is limited.
func TestPacks(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	o := options(t)
	o.Packs = 3
	for i := range 8 {
		if dirs, err := filepath.Glob(filepath.Join(o.Dir, "*")); err == nil && len(dirs) > 0 { // a download that was cut off
			require.NoError(t, os.WriteFile(filepath.Join(dirs[0], "download-1.part"), []byte("PACK"), 0o600))
		}
		s.Put("a.md", strings.Repeat("text ", i+1))
		c, l := listed(t, git.Kind(o), s.URL+gittest.Name)
		if data, err := c.Read(t.Context(), l.Documents[0], 1000); err != nil || len(data) != 5*(i+1) {
			t.Errorf("%d: %q, %v", i, data, err)
		}
		if files, err := filepath.Glob(filepath.Join(o.Dir, "*", "*.pack")); err != nil || len(files) != i%3+1 {
			t.Errorf("%d: %v, %v", i, files, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(o.Dir, "*", "*.part"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestTime checks that a server that does not answer ends a listing.
func TestTime(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}).Started()
	o := options(t)
	o.Time = 50 * time.Millisecond
	if _, l, err := list(t, git.Kind(o), s.URL+gittest.Name); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestDamagedObject checks that a damaged object is an error, and is downloaded again by the next sync.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	s.Put("a.md", strings.Repeat("some text ", 1000))
	o := options(t)
	kind := git.Kind(o)
	listed(t, kind, s.URL+gittest.Name)
	files, err := filepath.Glob(filepath.Join(o.Dir, "*", "*.pack"))
	require.NoError(t, err)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for i := 12; i < len(data); i++ {
		data[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(files[0], data, 0o600))
	c, l := listed(t, kind, s.URL+gittest.Name)
	if data, err := c.Read(t.Context(), l.Documents[0], 1<<20); err != nil || len(data) != 10_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestFilter checks that files over the limit are not downloaded, if the server can leave them out.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	s.Git("config", "uploadpack.allowFilter", "true")
	s.Put("large.md", strings.Repeat("x", 1001))
	s.Put("small.md", strings.Repeat("x", 1000))
	o := options(t)
	o.MaxFile, o.Object = 1000, 1000
	c, l := listed(t, git.Kind(o), s.URL+gittest.Name)
	if data, err := c.Read(t.Context(), l.Documents[0], 1000); err == nil || !strings.Contains(err.Error(), "larger than the limit of 1000 bytes") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err := c.Read(t.Context(), l.Documents[1], 1000); err != nil || len(data) != 1000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	// After the limit was raised, they are downloaded.
	o.MaxFile, o.Object = 2000, 2000
	c, l = listed(t, git.Kind(o), s.URL+gittest.Name)
	if data, err := c.Read(t.Context(), l.Documents[0], 2000); err != nil || len(data) != 1001 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestCredentials checks that credentials are only sent with TLS and to the host of the location, and are not in errors.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	other := make(chan string, 10)
	elsewhere := gittest.New(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			other <- r.Header.Get("Authorization")
			next.ServeHTTP(w, r)
		})
	})
	elsewhere.StartTLS()
	s := gittest.New(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			switch {
			case strings.HasPrefix(r.URL.Path, "/moved"):
				http.Redirect(w, r, elsewhere.URL+strings.TrimPrefix(r.URL.RequestURI(), "/moved"), http.StatusFound)
			case user != "ada" || password != secret:
				w.Header().Set("WWW-Authenticate", "Basic")
				http.Error(w, "no "+password, http.StatusUnauthorized)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	s.StartTLS()
	s.Put("a.md", "text")
	o := options(t)
	o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	kind := git.Kind(o)
	list := func(location, credentials string) (source.Listing, error) {
		located, err := kind.Locate(location)
		require.NoError(t, err)
		c, err := kind.OpenWith(located, credentials)
		if err != nil {
			return source.Listing{}, err
		}
		defer func() { require.NoError(t, c.Close()) }()
		return c.List(t.Context())
	}
	if l, err := list(s.URL+gittest.Name, "ada:"+secret); err != nil || len(l.Documents) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for name, refused := range map[string][2]string{
		"a wrong password": {s.URL + gittest.Name, "ada:" + secret + "x"}, "no TLS": {"http://127.0.0.1/x.git", "ada:" + secret}, "no user": {s.URL + gittest.Name, secret},
	} {
		if l, err := list(refused[0], refused[1]); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	// The certificate of the other server is the same, and its repository has no documents.
	if l, err := list(s.URL+"/moved"+gittest.Name, "ada:"+secret); err != nil || len(l.Documents) > 0 {
		t.Errorf("moved: %+v, %v", l, err)
	}
	close(other)
	for sent := range other {
		if sent != "" {
			t.Errorf("another host received %q", sent)
		}
	}
}

// TestAddresses checks that no private address is reached, neither directly nor by a redirect.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	_, l, err := list(t, git.Kind(git.Options{Dial: fetch.New(fetch.Options{}).Dial, Dir: t.TempDir()}), s.URL+gittest.Name)
	if err == nil || !strings.Contains(err.Error(), "not at a public address") || s.Sent.Load() > 0 {
		t.Errorf("%+v, %v", l, err)
	}
	moved := gittest.New(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(s.URL, "127.0.0.1", "[::1]", 1)+r.URL.RequestURI(), http.StatusFound)
		})
	}).Started()
	if _, l, err = list(t, git.Kind(options(t)), moved.URL+gittest.Name); err == nil || !strings.Contains(err.Error(), "not at a public address") {
		t.Errorf("redirected: %+v, %v", l, err)
	}
}
