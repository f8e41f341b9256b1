// Package folder is the connector of folders on the disk of the server.
package folder

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
)

// Kind returns the kind of source. Its locations are absolute paths. Subfolders belong to a folder, links do not. The extensions are those of files that are read although they are
// commonly no documents: see [ingest.Options]. Shared are the folders of [source.Kind.Shared].
func Kind(extensions, shared []string) source.Kind {
	k := source.Kind{Local: true, Watches: true, Suits: filepath.IsAbs, Locate: locate}
	for _, dir := range shared {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if real, err := locate(dir); err == nil {
			dir = real
		}
		k.Shared = append(k.Shared, filepath.ToSlash(dir))
	}
	k.Open = func(location string) (source.Connector, error) {
		return &connector{dir: filepath.FromSlash(location), shared: k.SharedPlace(location), extensions: extensions}, nil
	}
	return k
}

// locate returns the path of a folder without symbolic links, with slashes.
func locate(location string) (string, error) {
	if !filepath.IsAbs(location) {
		return "", fault.Invalid("location", "want the absolute path of a folder")
	}
	real, err := filepath.EvalSymlinks(location)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			return "", fault.Invalid("location", "is not a folder")
		}
	}
	if err != nil {
		return "", fault.Invalid("location", "the folder does not exist or cannot be read")
	}
	if bareRepository(real) {
		return "", fault.Invalid("location", "is a Git repository without its files: add a clone of it, or its URL of the form https://HOST/PATH.git")
	}
	return filepath.ToSlash(real), nil
}

// bareRepository reports whether a folder has the objects of a Git repository instead of its files.
func bareRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() != (name != "HEAD") {
			return false
		}
	}
	return true
}

// settle is the age from which the time of the last change identifies the bytes of a file: a younger file may be changed again within the
// resolution of the clock of the file system, which is up to 2 s (FAT).
const settle = 2 * time.Second

type connector struct {
	dir        string
	shared     string // the shared folder that it is in, with slashes; empty: none
	extensions []string
	folder     *ingest.Folder // set by List
	files      map[string]ingest.FolderFile
}

// List implements [source.Connector].
func (c *connector) List(ctx context.Context) (source.Listing, error) { return c.ListChanged(ctx, nil) }

// ListChanged implements [source.Watcher].
func (c *connector) ListChanged(ctx context.Context, only []string) (source.Listing, error) {
	if err := c.Close(); err != nil {
		return source.Listing{}, err
	}
	f, err := ingest.OpenFolder(ctx, c.dir, c.extensions, only)
	if err != nil {
		return source.Listing{}, err
	}
	if err := c.checkInside(f); err != nil {
		f.Close()
		return source.Listing{}, err
	}
	c.folder, c.files = f, make(map[string]ingest.FolderFile, len(f.Files))
	out := source.Listing{Documents: make([]source.Document, 0, len(f.Files)), Failed: f.Failed, Unread: f.Unread, Ignored: f.Ignored}
	now := time.Now()
	for _, file := range f.Files {
		_, inside, _ := strings.Cut(file.Path, "/")
		d := source.Document{URI: file.URI, Path: inside, Name: file.Path}
		if info, err := file.Stat(); err == nil && now.Sub(info.ModTime()) > settle {
			d.Version = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
		}
		c.files[file.URI] = file
		out.Documents = append(out.Documents, d)
	}
	return out, nil
}

// checkInside returns an error if an opened folder is not in the shared one any more: a link may have replaced it, and lead to what the user who added the source must not read.
func (c *connector) checkInside(f *ingest.Folder) error {
	if c.shared == "" {
		return nil
	}
	outside := fault.New(fault.Forbidden, "the folder was replaced by a link that leads out of the folder of --source-folder")
	root, err := os.OpenRoot(filepath.FromSlash(c.shared))
	if err != nil {
		return outside
	}
	defer root.Close()
	opened, err := f.Stat()
	if err != nil {
		return outside
	}
	inside, err := filepath.Rel(root.Name(), c.dir)
	if err != nil {
		return outside
	}
	if named, err := root.Stat(inside); err != nil || !os.SameFile(opened, named) {
		return outside
	}
	return nil
}

// Read implements [source.Connector].
func (c *connector) Read(_ context.Context, d source.Document, limit int64) ([]byte, error) {
	f, ok := c.files[d.URI]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return f.Read(limit)
}

// Close implements [source.Connector].
func (c *connector) Close() error {
	if c.folder != nil {
		c.folder.Close()
		c.folder = nil
	}
	return nil
}
