package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
)

// Watch implements [source.Watcher].
func (c *connector) Watch(ctx context.Context, changed func(uris ...string)) error {
	return Watch(ctx, []string{c.dir}, c.extensions, changed)
}

// checkEvery is how often Watch checks that a path is still the file or folder that it watches. The system reports no event when a file system is unmounted.
const checkEvery = time.Minute

// Watch is [source.Watcher.Watch] for files and folders. The extensions are those of [Kind].
func Watch(ctx context.Context, paths, extensions []string, changed func(uris ...string)) (err error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return reason(err)
	}
	defer func() { err = errors.Join(err, system.Close()) }()
	w := &watch{system: system, extensions: extensions, dirs: map[string]bool{}, changed: changed}
	for _, p := range paths {
		if err := w.addRoot(p); err != nil {
			return reason(err)
		}
	}
	changed()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case e := <-system.Events:
			err = w.handle(e)
		case err = <-system.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				err = w.missed()
			}
		case <-check.C:
			err = w.check()
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return reason(err)
		}
	}
}

// watch is the state of Watch. It is for one goroutine.
type watch struct {
	system     *fsnotify.Watcher
	extensions []string
	roots      []root
	dirs       map[string]bool // that are watched; false: data folders, of which only the user's folders in them are reported
	changed    func(uris ...string)
}

// root is a path that a user gave.
type root struct {
	path   string
	info   fs.FileInfo
	folder bool
}

// errGone ends the watch of a folder that was removed, renamed or replaced.
var errGone = fault.New(fault.Unavailable, "the folder was removed, renamed or replaced")

func (w *watch) addRoot(p string) error {
	p, err := filepath.Abs(p)
	if err != nil {
		return err
	}
	info, err := os.Stat(p)
	if err != nil {
		return err
	}
	w.roots = append(w.roots, root{p, info, info.IsDir()})
	if info.IsDir() {
		return w.add(p, info)
	}
	return w.system.Add(filepath.Dir(p)) // editors replace files, so a file itself is not watched
}

// add watches a folder and its subfolders. It skips what [ingest.Request] skips, and folders that are removed meanwhile.
func (w *watch) add(dir string, is fs.FileInfo) error {
	if !is.IsDir() {
		return nil
	}
	data, err := ingest.DataFolder(dir)
	if err == nil && data != "" && data != dir {
		return nil
	}
	if err == nil {
		if err = w.system.Add(dir); err == nil {
			w.dirs[dir] = data == ""
		}
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		if w.isRoot(dir) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
		return nil
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() || w.skips(at) {
			continue
		}
		info, err := e.Info()
		if err == nil {
			err = w.add(at, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (w *watch) isRoot(p string) bool {
	for _, r := range w.roots {
		if r.path == p {
			return true
		}
	}
	return false
}

// skips reports whether a path is in no root, or is a file or folder in it that is not indexed.
func (w *watch) skips(p string) bool {
	for _, r := range w.roots {
		if p == r.path {
			return false
		}
		inside, err := filepath.Rel(r.path, p)
		if r.folder && err == nil && filepath.IsLocal(inside) && !ingest.Skipped(filepath.ToSlash(inside)+"/x") {
			return false
		}
	}
	return true
}

// handle reports the change of an event, and updates the set of watched folders.
func (w *watch) handle(e fsnotify.Event) error {
	if e.Op == fsnotify.Chmod || e.Name == "" || w.skips(e.Name) {
		return nil
	}
	if data, err := ingest.DataFolder(e.Name); err == nil && data != "" {
		if w.dirs[data] { // a server was started with a folder that is watched
			w.forget(data, true)
			w.changed(filepath.ToSlash(data))
			if info, err := os.Lstat(data); err == nil {
				return w.add(data, info)
			}
			return nil
		}
		if data != e.Name && !w.dirs[e.Name] {
			return nil
		}
	}
	moved := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	_, folder := w.dirs[e.Name]
	if moved && folder && w.isRoot(e.Name) {
		return errGone
	}
	if folder && moved {
		w.forget(e.Name, e.Has(fsnotify.Rename))
	}
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			folder = true
			if err := w.add(e.Name, info); err != nil {
				return err
			}
		}
	}
	if folder || !ingest.Ignored(e.Name, w.extensions) || w.isRoot(e.Name) {
		w.changed(filepath.ToSlash(e.Name))
	}
	return nil
}

// forget ends the watch of a folder, and of its subfolders if they were renamed with it: the system would report their later changes with the old path.
func (w *watch) forget(dir string, inside bool) {
	for other := range w.dirs {
		if other == dir || inside && strings.HasPrefix(other, dir+string(filepath.Separator)) {
			delete(w.dirs, other)
			_ = w.system.Remove(other) // fails if the folder does not exist any more
		}
	}
}

// missed watches everything anew after events were lost.
func (w *watch) missed() error {
	for _, r := range w.roots {
		if err := w.add(r.path, r.info); err != nil {
			return err
		}
	}
	w.changed()
	return nil
}

// check returns an error if a root does not exist any more or was replaced.
func (w *watch) check() error {
	for _, r := range w.roots {
		info, err := os.Stat(r.path)
		if r.folder && (err != nil || !os.SameFile(info, r.info)) {
			return errGone
		}
	}
	return nil
}

// reason returns an error of the system with a message for users. Other errors are returned unchanged.
func reason(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		// The cause is left out: otherwise it is taken for a full disk.
		return fault.New(fault.Unavailable, "the limit of watched folders of the system is reached; on Linux, raise fs.inotify.max_user_watches")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fault.Wrap(fault.Unavailable, err, "the limit of watchers or of open files of the system is reached; on Linux, raise fs.inotify.max_user_instances")
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.Unavailable, err, "the folder does not exist")
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.Unavailable, err, "no permission to read the folder")
	}
	return err
}
