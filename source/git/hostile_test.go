package git_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/source/git"
	"github.com/sluice-rag/sluice/source/git/gittest"
)

// TestHostileTrees checks names that no work tree can have, and trees that are much larger than their objects.
func TestHostileTrees(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, nil).Started()
	blob := s.GitInput("text", "hash-object", "-w", "--stdin")
	file := s.Tree([2]string{"100644 a.md", blob})
	s.CommitTree(s.Tree(
		[2]string{"40000 ..", file}, [2]string{"40000 .", file}, [2]string{"40000 .git", file}, [2]string{"40000 new\nline", file},
		[2]string{"100644 ../up.md", blob}, [2]string{"100644 sub/in.md", blob}, [2]string{"100644 latin\xe9.md", blob}, [2]string{"100644 bell\a.md", blob}, [2]string{"100644 \u202egpj.md", blob},
		[2]string{"100644 twice.md", blob}, [2]string{"100644 twice.md", blob}, [2]string{"100644 " + strings.Repeat("x", 3000) + ".md", blob}, [2]string{"0100755 kept.md", blob},
	))
	_, l := listed(t, git.Kind(options(t)), s.URL+gittest.Name)
	if diff := cmp.Diff([]string{"twice.md", "kept.md"}, paths(l)); diff != "" {
		t.Error(diff)
	}
	if len(l.Failed) != 7 {
		t.Errorf("failed: %+v", l.Failed)
	}
	for _, f := range l.Failed {
		if !utf8.ValidString(f.Path) || strings.ContainsAny(f.Path, "\n\a\u202e") {
			t.Errorf("the name %q is shown as it is", f.Path)
		}
	}

	tree := file
	for range 12 {
		var entries [][2]string
		for name := range strings.SplitSeq("abcdefghij", "") {
			entries = append(entries, [2]string{"40000 " + name, tree})
		}
		tree = s.Tree(entries...)
	}
	s.CommitTree(tree)
	o := options(t)
	o.Objects = 10_000
	if _, l, err := list(t, git.Kind(o), s.URL+gittest.Name); err == nil || !strings.Contains(err.Error(), "more than 10000 files and folders") {
		t.Errorf("%d documents, %v", len(l.Documents), err)
	}
	tree = file
	for range 300 {
		tree = s.Tree([2]string{"40000 x", tree})
	}
	s.CommitTree(tree)
	if _, l := listed(t, git.Kind(options(t)), s.URL+gittest.Name); len(l.Documents) != 0 || len(l.Failed) != 1 || !strings.Contains(l.Failed[0].Reason, "too long") {
		t.Errorf("%+v", l)
	}
}

// TestHostileServers checks replies that are none, and replies without end. Nothing of them is in the errors.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	real := gittest.New(t, nil).Started()
	real.Put("a.md", "text")
	refs := httptest.NewRecorder()
	real.Config.Handler.ServeHTTP(refs, httptest.NewRequest(http.MethodGet, gittest.Name+"/info/refs?service=git-upload-pack", http.NoBody))
	endless := func(w io.Writer, block string) {
		for _, err := io.WriteString(w, block); err == nil; _, err = io.WriteString(w, block) {
		}
	}
	pack := func(reply func(w io.Writer)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				_, _ = w.Write(refs.Body.Bytes())
				return
			}
			reply(w)
		}
	}
	band := func(data string) string { return pkt("\x01" + data) }
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"page of a proxy":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>secret") }, "does not answer as a Git server"},
		"nothing":          {func(http.ResponseWriter, *http.Request) {}, "does not answer as a Git server"},
		"not found":        {http.NotFound, "no such repository"},
		"an error":         {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusInternalServerError) }, "does not answer as a Git server"},
		"an endless error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot); endless(w, "secret") }, "sends more than"},
		"endless refs":     {func(w http.ResponseWriter, _ *http.Request) { endless(w, pkt(strings.Repeat("a", 40)+" secret\n")) }, "127.0.0.1"},
		"redirect loop": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
		}, "127.0.0.1"},
		"redirect to file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/info/refs", http.StatusFound)
		}, "127.0.0.1"},
		"no pack":           {pack(func(io.Writer) {}), "127.0.0.1"},
		"an endless prefix": {pack(func(w io.Writer) { endless(w, pkt("shallow "+strings.Repeat("a", 40))) }), "sends more than"},
		"an endless pack": {pack(func(w io.Writer) {
			_, _ = io.WriteString(w, "00000008NAK\n")
			endless(w, band(strings.Repeat("x", 60_000)))
		}), "sends more than"},
		"no pack at all":  {pack(func(w io.Writer) { _, _ = io.WriteString(w, "00000008NAK\n"+band("PACKsecret")+"0000") }), "incomplete or damaged"},
		"an error of git": {pack(func(w io.Writer) { _, _ = io.WriteString(w, "00000008NAK\n"+pkt("\x03secret")+"0000") }), "127.0.0.1"},
		"another pack":    {pack(func(w io.Writer) { _, _ = io.WriteString(w, "00000008NAK\n"+band(string(emptyPack))+"0000") }), "incomplete or damaged"},
		"a rude connection": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.serve)
			defer s.Close()
			o := options(t)
			o.Bytes = 1 << 20
			_, l, err := list(t, git.Kind(o), s.URL+gittest.Name)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "aaa") {
				t.Errorf("%+v, %v, want %q", l, err, c.want)
			}
		})
	}
}

// pkt is a line of the protocol of Git.
func pkt(text string) string {
	const digits = "0123456789abcdef"
	n := len(text) + 4
	return string([]byte{digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15]}) + text
}

// emptyPack is a valid pack without objects.
var emptyPack = append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"), bytes.Repeat([]byte{0}, 20)...)

func TestLocate(t *testing.T) {
	t.Parallel()
	kind := git.Kind(git.Options{})
	for in, want := range map[string]string{
		"https://GitHub.com/org/repo.git":                   "git+https://github.com/org/repo.git#HEAD:/",
		"git+https://example.org:443/org/repo":              "git+https://example.org/org/repo#HEAD:/",
		"https://example.org/repo.git/#main":                "git+https://example.org/repo.git#main:/",
		"http://example.org:80/repo.git#a/b:docs/../x/":     "git+http://example.org/repo.git#a/b:/x",
		"git+https://example.org/r.git#v1.0:sub dir/100%25": "git+https://example.org/r.git#v1.0:/sub%20dir/100%25",
		"https://example.org/r.git#:docs":                   "git+https://example.org/r.git#HEAD:/docs",
	} {
		got, err := kind.Locate(in)
		if got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
		if again, err := kind.Locate(got); again != got || err != nil {
			t.Errorf("%s again: %q, %v", got, again, err)
		}
		if !kind.Suits(in) {
			t.Errorf("%s does not suit", in)
		}
	}
	for _, in := range []string{"https://user:hunter2@h/r.git", "ssh://git@h/hunter2.git", "git@hunter2:r.git", "file:///hunter2.git", "https:///r.git", "https://h/", "https://h/r.git?hunter2",
		"https://h/r.git#..", "https://h/r.git#-hunter2", "https://h/r.git#a b", "https://h/r.git#a%07b", "https://h/r.git#a:b%07", "https://h/r%00.git", "https://%zzhunter2", "git://h/r.git"} {
		if got, err := kind.Locate(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"ssh://git@example.org/repo.git", "git://example.org/repo.git"} {
		if !kind.Suits(in) {
			t.Errorf("%s does not suit, so its error would not say why", in)
		}
	}
	for _, in := range []string{"https://example.org/", "https://github.com/org/repo", "/srv/repo.git", "s3://host/bucket.git"} {
		if kind.Suits(in) {
			t.Errorf("%s suits", in)
		}
	}
}
