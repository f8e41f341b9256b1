package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// skippedFolders contain third-party or generated files.
var skippedFolders = map[string]bool{"node_modules": true, "vendor": true, "__pycache__": true}

// Skipped reports whether a file is not a document by its path, which has slashes: it is hidden or a lock file of an office program, or in a folder that is
// hidden or contains third-party or generated files.
func Skipped(name string) bool {
	dir, base := path.Split(name)
	for folder := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(folder, ".") || skippedFolders[folder] {
			return true
		}
	}
	return temporary(base)
}

// temporary reports whether a file is hidden, or a lock file that Word, Excel or PowerPoint makes beside an open document, such as ~$report.docx.
func temporary(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$")
}

// ignoredExtensions are file types that are often next to documents and are not documents.
const ignoredExtensions = ".png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .heic .avif .svg .mp3 .mp4 .m4a .wav .ogg .flac .mov .avi .mkv .webm " +
	".7z .rar .jar .war .exe .dll .so .dylib .a .o .obj .class .pyc .wasm .bin .dat .db .sqlite " +
	".woff .woff2 .ttf .otf .eot .iso .dmg .lock .sum .map"

// Ignored reports whether a file in a folder is not a document by its extension, such as a picture. The extensions are those of [Options.Extensions].
func Ignored(name string, extensions []string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext != "" && strings.Contains(ignoredExtensions+" ", ext+" ") && !slices.Contains(extensions, ext)
}

// file is a file to ingest.
type file struct {
	path string // relative to root, if root is set
	root *os.Root
	uri  string // absolute path with slashes, not escaped
	name string // path that begins with the name of the walked folder, or the base name of a named file
}

func (f file) open() (*os.File, error) {
	// O_NONBLOCK: opening must not block if a pipe has replaced the file since it was listed.
	if f.root != nil {
		return f.root.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// listing is the set of files that a request's paths contain.
type listing struct {
	read    []string // extensions of ignoredExtensions that are read
	files   []file
	seen    map[string]bool // by uri
	known   map[string]bool // by path without symbolic links
	real    string          // path without symbolic links of the path that is being listed
	roots   []*os.Root
	places  []string // uris of the folders that the paths name
	others  []int    // how many files that are no documents were found in each of the places
	folders []string // uris of the folders, and of parts of them, that were walked completely
	unread  []string // uris of subfolders that could not be listed
	failed  []Failure
	ignored int
}

func (l *listing) close() {
	for _, r := range l.roots {
		r.Close()
	}
}

func (l *listing) fail(uri string, err error) {
	l.failed = append(l.failed, Failure{Path: parse.PrintableName(uri), Reason: reasonOf(err)})
}

// reasonOf returns a message for users why a file cannot be read.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read it"
	case errors.Is(err, syscall.ELOOP):
		return "a symbolic link that leads back to itself"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "its name is too long"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return err.Error()
}

// list finds the files of the paths. A path to a file is included, unless it is in the data folder of a server. In folders, it skips hidden entries, folders of dependencies,
// data folders of servers, symbolic links and special files. If only is not nil, it lists the parts of the paths that only names: see [Request.Only].
func list(ctx context.Context, paths, read, only []string) (*listing, error) {
	l := &listing{read: read, seen: map[string]bool{}, known: map[string]bool{}}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			l.fail(p, err)
			continue
		}
		uri := filepath.ToSlash(abs)
		parts, all := partsOf(uri, only)
		if !all && len(parts) == 0 {
			continue
		}
		info, err := os.Stat(abs)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			err = errSpecial
		}
		if err == nil {
			err = checkData(abs)
		}
		if err == nil {
			l.real, err = filepath.EvalSymlinks(abs)
		}
		switch {
		case err != nil:
			l.fail(uri, err)
			if errors.Is(err, errData) {
				l.folders = append(l.folders, ofServer(abs, uri)...) // what was indexed earlier is removed
			}
		case info.IsDir():
			root, err := os.OpenRoot(abs)
			if err != nil {
				l.fail(uri, err)
				continue
			}
			l.roots, l.places = append(l.roots, root), append(l.places, uri)
			before := l.ignored
			if all {
				err = l.walk(ctx, root, ".", uri)
				l.folders = append(l.folders, uri)
			} else {
				err = l.parts(ctx, root, uri, parts)
			}
			l.others = append(l.others, l.ignored-before)
			if err != nil {
				return l, err
			}
		default:
			l.add(file{path: abs, uri: uri, name: path.Base(uri)})
		}
	}
	return l, nil
}

// partsOf returns what only names inside a path, relative to it, or reports that all of the path is named.
func partsOf(uri string, only []string) (parts []string, all bool) {
	if only == nil {
		return nil, true
	}
	for _, o := range only {
		o = strings.TrimSuffix(o, "/")
		if uri == o || strings.HasPrefix(uri, o+"/") {
			return nil, true
		}
		if inside, ok := strings.CutPrefix(o, strings.TrimSuffix(uri, "/")+"/"); ok && validPart(inside) {
			parts = append(parts, inside)
		}
	}
	return parts, false
}

// validPart reports whether a path with slashes is a clean one inside a folder. Other than for [fs.ValidPath], names need not be UTF-8.
func validPart(inside string) bool {
	return inside != "." && path.Clean(inside) == inside && filepath.IsLocal(filepath.FromSlash(inside))
}

// parts lists parts of a folder, as walk does. One that does not exist, or that walk would skip, has no files.
func (l *listing) parts(ctx context.Context, root *os.Root, uri string, parts []string) error {
	for _, part := range parts {
		at := strings.TrimSuffix(uri, "/") + "/" + part
		info, err := lstatInside(root, part)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		data := ""
		if info != nil {
			if data, err = dataFolder(root.Lstat, filepath.FromSlash(part)); data == filepath.FromSlash(part) {
				data = "" // walk skips what is the server's in it
			}
		}
		if err != nil {
			l.fail(at, err)
			l.unread = append(l.unread, at)
		}
		l.folders = append(l.folders, at)
		switch {
		case info == nil || data != "" || Skipped(part) || info.IsDir() && skippedFolders[path.Base(part)]:
		case info.IsDir():
			if err := l.walk(ctx, root, filepath.FromSlash(part), at); err != nil {
				return err
			}
		default:
			l.addEntry(root, fs.FileInfoToDirEntry(info), filepath.FromSlash(path.Dir(part)), at)
		}
	}
	return nil
}

// lstatInside describes a file or folder inside root. It is nil behind a symbolic link, and if it does not exist.
func lstatInside(root *os.Root, part string) (info fs.FileInfo, err error) {
	at := ""
	for name := range strings.SplitSeq(part, "/") {
		if info != nil && !info.IsDir() {
			return nil, nil
		}
		at = filepath.Join(at, name)
		if info, err = root.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return nil, err
		}
	}
	return info, nil
}

var errSpecial = errors.New("not a regular file")

// add adds a file. One that was already added under another path, which leads to it by a symbolic link, is left out.
func (l *listing) add(f file) {
	real := l.real
	if f.root != nil {
		real = filepath.Join(real, f.path)
	}
	if !l.known[real] {
		l.known[real], l.seen[f.uri] = true, true
		l.files = append(l.files, f)
	}
}

func (l *listing) walk(ctx context.Context, root *os.Root, dir, uri string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := isDataFolder(root.Lstat, dir)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = readDir(root, dir)
	}
	if err != nil {
		l.fail(uri, err)
		l.unread = append(l.unread, uri)
	}
	for _, e := range entries {
		name := e.Name()
		at := strings.TrimSuffix(uri, "/") + "/" + name
		if data && (!e.IsDir() || dataFolders[name]) {
			continue
		}
		if e.IsDir() && !strings.HasPrefix(name, ".") && !skippedFolders[name] {
			if err := l.walk(ctx, root, filepath.Join(dir, name), at); err != nil {
				return err
			}
		} else {
			l.addEntry(root, e, dir, at)
		}
	}
	return nil
}

// addEntry adds a file in a folder of root, unless it is skipped.
func (l *listing) addEntry(root *os.Root, e fs.DirEntry, dir, uri string) {
	name := e.Name()
	switch {
	case temporary(name), e.IsDir(), e.Type()&fs.ModeSymlink != 0:
	case !e.Type().IsRegular():
		l.fail(uri, errSpecial)
	case Ignored(name, l.read):
		l.ignored++
	default:
		l.add(file{path: filepath.Join(dir, name), root: root, uri: uri, name: path.Join(path.Base(filepath.ToSlash(root.Name())), filepath.ToSlash(dir), name)})
	}
}

// readDir lists a folder, sorted by name.
func readDir(root *os.Root, dir string) ([]fs.DirEntry, error) {
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// missing returns the documents from the walked folders whose files no longer exist, and the number of documents that are from neither these
// folders nor the listed files.
func (l *listing) missing(docs map[corpus.DocumentID]corpus.Document, collection string) (gone []corpus.DocumentID, other int) {
	exists := map[corpus.DocumentID]bool{}
	for uri := range l.seen {
		exists[DocumentID(collection, uri)] = true
	}
	walked, unread := folderURIs(l.folders), folderURIs(l.unread)
	under := func(uri string, folders []string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return within(uri, f) })
	}
	for id, d := range docs {
		switch {
		case exists[id]:
		case !under(d.URI, walked):
			other++
		case !under(d.URI, unread):
			gone = append(gone, id)
		}
	}
	return gone, other
}

// read returns the file's bytes. If the file changes while it is read, read tries once more.
func (f file) read(limit int64) ([]byte, error) {
	for range 2 {
		data, changed, err := f.readOnce(limit)
		if err != nil || !changed {
			return data, err
		}
		time.Sleep(20 * time.Millisecond) // let its writer finish
	}
	return nil, errors.New("changed while it was read")
}

func (f file) readOnce(limit int64) (data []byte, changed bool, err error) {
	h, err := f.open()
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	before, err := h.Stat()
	if err != nil {
		return nil, false, err
	}
	if !before.Mode().IsRegular() {
		return nil, false, errSpecial
	}
	if before.Size() > limit {
		return nil, false, tooLarge(limit)
	}
	data = make([]byte, 0, before.Size()+512)
	data, err = appendAll(data, io.LimitReader(h, limit+1))
	if err != nil {
		return nil, false, err
	}
	if int64(len(data)) > limit {
		return nil, false, tooLarge(limit)
	}
	after, err := h.Stat()
	if err != nil {
		return nil, false, err
	}
	return data, after.Size() != int64(len(data)) || !after.ModTime().Equal(before.ModTime()), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("larger than the limit of %d bytes (--max-file-bytes)", limit)
}

func appendAll(data []byte, r io.Reader) ([]byte, error) {
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}
