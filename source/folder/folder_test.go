package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
	"github.com/sluice-rag/sluice/source/sourcetest"
)

// tree is a folder. The times of its files are in the past, one second later for each change.
type tree struct {
	*testing.T
	dir string
	at  time.Time
}

func newTree(t *testing.T) *tree {
	return &tree{T: t, dir: filepath.Join(t.TempDir(), "docs"), at: time.Now().Add(-time.Hour)}
}

func (f *tree) Location() string {
	f.check(os.MkdirAll(f.dir, 0o700))
	return f.dir
}

func (f *tree) Put(name, text string) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	f.check(os.MkdirAll(filepath.Dir(path), 0o700))
	f.check(os.WriteFile(path, []byte(text), 0o600))
	f.at = f.at.Add(time.Second)
	f.check(os.Chtimes(path, f.at, f.at))
}

func (f *tree) Remove(name string) { f.check(os.Remove(filepath.Join(f.dir, name))) }

func (f *tree) Break() { f.check(os.Rename(f.dir, f.dir+" away")) }

func (f *tree) check(err error) {
	f.Helper()
	require.NoError(f, err)
}

func TestConnector(t *testing.T) {
	t.Parallel()
	sourcetest.TestConnector(t, folder.Kind(nil, nil), func(t *testing.T) sourcetest.Place { return newTree(t) })
}

// TestSkipped checks that links, hidden files and folders of dependencies are no documents, and that a file that was just changed has no version.
func TestSkipped(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	location, outside := f.Location(), filepath.Join(t.TempDir(), "secret.md")
	f.check(os.WriteFile(outside, []byte("secret"), 0o600))
	for _, name := range []string{"kept.md", ".hidden.md", ".git/x.md", "node_modules/x.md", "picture.png", "new.md"} {
		f.Put(name, "text")
	}
	f.check(os.Symlink(outside, filepath.Join(location, "link.md")))
	f.check(os.Symlink(filepath.Dir(outside), filepath.Join(location, "out")))
	now := time.Now()
	f.check(os.Chtimes(filepath.Join(location, "new.md"), now, now))
	c, err := folder.Kind(nil, nil).Open(location)
	f.check(err)
	l, err := c.List(t.Context())
	f.check(err)
	if len(l.Documents) != 2 || l.Documents[0].Path != "kept.md" || l.Documents[0].Version == "" || l.Documents[1].Version != "" || l.Ignored != 1 {
		t.Errorf("listed %+v", l)
	}
	// A file that was replaced by a link after the listing is not read.
	f.Remove("kept.md")
	f.check(os.Symlink(outside, filepath.Join(location, "kept.md")))
	if data, err := c.Read(t.Context(), l.Documents[0], 100); err == nil {
		t.Errorf("read %q outside", data)
	}
	f.check(c.Close())
}

// TestShared checks that a folder in a shared one is not read after a link has replaced it, or a folder above it, that leads out of the shared one.
func TestShared(t *testing.T) {
	t.Parallel()
	shared, outside := newTree(t), newTree(t)
	shared.Put("team/docs/kept.md", "text")
	outside.Put("docs/secret.md", "secret")
	location, err := filepath.EvalSymlinks(shared.dir)
	shared.check(err)
	k := folder.Kind(nil, []string{shared.dir})
	c, err := k.Open(filepath.ToSlash(location) + "/team/docs")
	shared.check(err)
	list := func(step string, want bool) {
		t.Helper()
		if l, err := c.List(t.Context()); (err == nil && len(l.Documents) == 1) != want {
			t.Errorf("%s: %+v, %v", step, l, err)
		}
	}
	list("in its place", true)
	shared.check(os.Rename(shared.dir+"/team/docs", shared.dir+"/team/old"))
	shared.check(os.Symlink("old", shared.dir+"/team/docs"))
	list("a link that stays inside", true)
	shared.check(os.Remove(shared.dir + "/team/docs"))
	shared.check(os.Symlink(outside.dir+"/docs", shared.dir+"/team/docs"))
	list("a link to another folder", false)
	shared.check(os.Rename(shared.dir+"/team", shared.dir+"/away"))
	shared.check(os.Symlink(outside.dir, shared.dir+"/team"))
	list("a link above it", false)
	shared.check(c.Close())
}

// TestBareRepository locates a Git repository without a work tree: its files are no documents.
func TestBareRepository(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	f.Put("HEAD", "ref: refs/heads/main")
	f.Put("objects/info/packs", "")
	kind := folder.Kind(nil, nil)
	if _, err := kind.Locate(f.Location()); err != nil {
		t.Error(err)
	}
	f.Put("refs/heads/main", "")
	if _, err := kind.Locate(f.Location()); err == nil || !strings.Contains(err.Error(), "add a clone of it") {
		t.Error(err)
	}
}

// TestNamesOfOtherEncodings checks that files and folders whose names are not UTF-8 are found when only they have changed.
func TestNamesOfOtherEncodings(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	location := f.Location()
	if err := os.WriteFile(filepath.Join(location, "M\xfcller.md"), []byte("text"), 0o600); err != nil {
		t.Skip("the file system has no such names: ", err)
	}
	f.Put("B\xfccher/a.md", "text")
	f.Put("other.md", "text")
	c, err := folder.Kind(nil, nil).Open(location)
	f.check(err)
	defer c.Close()
	for _, changed := range []string{"M\xfcller.md", "B\xfccher", "B\xfccher/a.md"} {
		l, err := c.(source.Watcher).ListChanged(t.Context(), []string{filepath.ToSlash(location) + "/" + changed})
		f.check(err)
		if len(l.Documents) != 1 || !strings.HasPrefix(l.Documents[0].Path, changed) {
			t.Errorf("after a change of %q, %+v is listed", changed, l.Documents)
		}
	}
}
