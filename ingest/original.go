package ingest

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// HasOriginal reports whether a document was made from a file of a folder, which [Ingester.Original] opens.
func HasOriginal(d corpus.Document) bool {
	return d.Path != "" && filepath.IsAbs(filepath.FromSlash(d.URI))
}

// Original opens the file from which a document of a folder was made. All of its bytes are compared with the hash of the document, so only bytes that
// were indexed can be read, whatever is at the path now. The caller closes the file. Errors are of the type [fault.Error], with the code NotFound if
// the file is not there, and Conflict if it has changed.
func (g *Ingester) Original(d corpus.Document) (*os.File, error) {
	gone := func(err error) error {
		return fault.Wrap(fault.NotFound, err, "the file is not in its folder any more, or cannot be read")
	}
	if !HasOriginal(d) {
		return nil, gone(fs.ErrNotExist)
	}
	h, err := openOriginal(d)
	if err != nil {
		return nil, gone(err)
	}
	if err := g.checkOriginal(d, h); err != nil {
		_ = h.Close() // was only read
		if errors.Is(err, errChanged) {
			return nil, fault.Wrap(fault.Conflict, err, "the file has changed since it was indexed; it can be downloaded after its folder is indexed again, as at the next start of the server")
		}
		return nil, gone(err)
	}
	return h, nil
}

var errChanged = errors.New("the hash of the file is not that of the document")

// openOriginal opens the file at the path of a document. Symbolic links do not lead out of the folder that was indexed.
func openOriginal(d corpus.Document) (*os.File, error) {
	_, inside, walked := strings.Cut(d.Path, "/")
	folder, found := strings.CutSuffix(d.URI, "/"+inside)
	if !walked { // the file itself was named
		return file{path: filepath.FromSlash(d.URI)}.open()
	}
	if !found {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(filepath.FromSlash(folder + "/"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return file{path: filepath.FromSlash(inside), root: root}.open()
}

// checkOriginal compares the bytes of a file with the hash of a document. It leaves the file at its start.
func (g *Ingester) checkOriginal(d corpus.Document, f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errSpecial
	case info.Size() != d.Bytes:
		return errChanged
	}
	h := g.newHash(job{name: d.URI}, int(d.Bytes))
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != d.Hash {
		return errChanged
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
