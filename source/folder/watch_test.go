package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/source/folder"
)

// watched is a tree that is watched.
type watched struct {
	*tree
	events chan string // relative to the folder; empty: everything may have changed
	stop   func()
	ended  chan error
}

func watch(t *testing.T, prepare func(*tree), paths ...string) *watched {
	t.Helper()
	f := newTree(t)
	location, err := filepath.EvalSymlinks(f.Location())
	f.check(err)
	f.dir = location
	if prepare != nil {
		prepare(f)
	}
	if len(paths) == 0 {
		paths = []string{""}
	}
	for i, p := range paths {
		paths[i] = filepath.Join(location, p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{tree: f, events: make(chan string, 1000), stop: cancel, ended: make(chan error, 1)}
	go func() {
		w.ended <- folder.Watch(ctx, paths, nil, func(uris ...string) {
			if len(uris) == 0 {
				w.events <- ""
			}
			for _, uri := range uris {
				w.events <- strings.TrimPrefix(strings.TrimPrefix(uri, filepath.ToSlash(location)), "/")
			}
		})
	}()
	w.await("")
	return w
}

// await waits until a path is reported. Others before it are ignored.
func (w *watched) await(path string) {
	w.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-w.events:
			if got == path {
				return
			}
		case <-timeout:
			w.Fatalf("%q was not reported", path)
		}
	}
}

// TestWatch changes files and folders. After the last one, no other path was reported.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := watch(t, func(f *tree) {
		f.Put("a.md", "one")
		f.Put("sub/b.md", "two")
		f.Put("node_modules/x.md", "no document")
		f.Put("data/sessions.exists", "no document")
		f.Put("data/runs/lock", "no document")
	})
	w.Put("a.md", "three")
	w.await("a.md")
	w.Put("sub/b.md", "four")
	w.await("sub/b.md")
	w.Put("new/deep/c.md", "five")
	w.await("new")
	w.check(os.Rename(filepath.Join(w.dir, "new"), filepath.Join(w.dir, "renamed")))
	w.await("renamed")
	w.Put("renamed/deep/d.md", "seven")
	w.await("renamed/deep/d.md")
	w.check(os.Rename(filepath.Join(w.dir, "sub"), filepath.Join(t.TempDir(), "elsewhere")))
	w.await("sub")
	w.check(os.RemoveAll(filepath.Join(w.dir, "renamed")))
	w.await("renamed")
	for _, name := range []string{".hidden.md", ".git/x.md", "node_modules/x.md", "data/server.json", "data/runs/1.log", "picture.png", "last.md"} {
		w.Put(name, "text")
	}
	for got := ""; got != "last.md"; {
		if got = <-w.events; got != "renamed" && got != "last.md" {
			t.Errorf("%q was reported", got)
		}
	}
	w.stop()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestWatchOneFile checks that a file that is replaced is still watched, and that its neighbours are not.
func TestWatchOneFile(t *testing.T) {
	t.Parallel()
	w := watch(t, func(f *tree) { f.Put("a.md", "one") }, "a.md")
	w.Put("b.md", "neighbour")
	w.Put("a.tmp", "two")
	for range 2 {
		w.Put("a.tmp", "three")
		w.check(os.Rename(filepath.Join(w.dir, "a.tmp"), filepath.Join(w.dir, "a.md")))
		if got := <-w.events; got != "a.md" {
			t.Errorf("%q was reported", got)
		}
	}
}

// TestWatchEnds checks that the watch of a folder that goes away ends with an error for users.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(w *watched){
		"renamed": func(w *watched) { w.check(os.Rename(w.dir, w.dir+" away")) },
		"removed": func(w *watched) { w.check(os.RemoveAll(w.dir)) },
	} {
		w := watch(t, nil)
		away(w)
		if err := <-w.ended; fault.Public(err).Code != fault.Unavailable || !strings.Contains(err.Error(), "was removed, renamed or replaced") {
			t.Errorf("%s: ended with %v", name, err)
		}
		err := folder.Watch(t.Context(), []string{w.dir}, nil, func(...string) {})
		if fault.Public(err).Code != fault.Unavailable || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: watched again: %v", name, err)
		}
	}
}

// TestWatchNewDataFolder starts a server whose data folder is in a folder that is watched.
func TestWatchNewDataFolder(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	w.Put("data/runs/1.log", "no document")
	w.await("data")
	w.Put("data/docs/a.md", "a document of the user")
	w.await("data/docs")
	w.Put("data/keys.txt", "not yet a data folder")
	w.await("data/keys.txt")
	w.Put("data/sessions.exists", "")
	w.await("data") // so that what was indexed meanwhile is removed
	for _, name := range []string{"data/server.json", "data/runs/1.log", "data/runs/2.log", "data/tenants/acme/a.txt", "last.md"} {
		w.Put(name, "text")
	}
	for got := ""; got != "last.md"; {
		if got = <-w.events; got != "last.md" {
			t.Errorf("%q was reported", got)
		}
	}
	w.Put("data/docs/b.md", "a document of the user")
	w.await("data/docs/b.md")
	w.Put("data/later/c.md", "a document in a new folder of the user")
	w.await("data/later")
	w.Put("data/later/deep/d.md", "another one")
	w.await("data/later/deep")
	w.Put("data/index/e.md", "no document")
	w.check(os.RemoveAll(filepath.Join(w.dir, "data", "later")))
	w.await("data/later")
	w.check(os.Rename(filepath.Join(w.dir, "data"), filepath.Join(w.dir, "moved")))
	w.await("moved")
	w.Put("moved/more/f.md", "in a data folder with a new name")
	w.await("moved/more")
}
