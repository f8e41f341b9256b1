package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// Folder is a store in a folder: dir/ab/ab12…, where ab are the first digits of the hash.
type Folder struct{ dir string }

var _ Store = (*Folder)(nil)

// NewFolder returns the store in a folder. The folder is created with the first blob.
func NewFolder(dir string) *Folder { return &Folder{dir} }

func (f *Folder) path(sum string) string { return filepath.Join(f.dir, sum[:2], sum) }

// tempPrefix begins the names of files that are being written.
const tempPrefix = "new."

// Staged is the body of a blob in a file that is durable and whose hash was compared. [Folder.Put] links it instead of copying it, where the file system can.
type Staged struct{ *os.File }

// Put implements [Store].
func (f *Folder) Put(_ context.Context, sum string, body io.ReadSeeker, _ int64) (err error) {
	dir := filepath.Join(f.dir, sum[:2])
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("store file: %w", err)
		}
		if err := atomicfile.SyncDir(f.dir); err != nil {
			return fmt.Errorf("store file: %w", err)
		}
	}
	temp, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	link := temp.Name() + ".link"
	if from, ok := body.(Staged); ok && os.Link(from.Name(), link) == nil {
		err = errors.Join(temp.Close(), os.Rename(link, temp.Name()))
	} else {
		err = errors.Join(write(temp, sum, body), temp.Close())
	}
	if err == nil {
		err = os.Rename(temp.Name(), f.path(sum))
	}
	if err == nil {
		err = atomicfile.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	return nil
}

func write(to *os.File, sum string, body io.ReadSeeker) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := Copy(to, body, sum); err != nil {
		return err
	}
	return to.Sync()
}

// Open implements [Store].
func (f *Folder) Open(_ context.Context, sum string) (io.ReadCloser, error) {
	file, err := os.Open(f.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	return file, nil
}

// Remove implements [Store].
func (f *Folder) Remove(_ context.Context, sum string) error { return atomicfile.Remove(f.path(sum)) }

// List implements [Store].
func (f *Folder) List(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folders, err := os.ReadDir(f.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield("", err)
			return
		}
		for _, folder := range folders {
			entries, err := os.ReadDir(filepath.Join(f.dir, folder.Name()))
			if err != nil {
				yield("", err)
				return
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), tempPrefix) {
					removeOld(filepath.Join(f.dir, folder.Name(), e.Name()))
				}
				if ValidSum(e.Name()) && strings.HasPrefix(e.Name(), folder.Name()) && !yield(e.Name(), nil) {
					return
				}
			}
		}
	}
}

// removeOld removes a file that a process has not completed.
func removeOld(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = os.Remove(path)
	}
}

// Check implements [Store].
func (f *Folder) Check(context.Context) error { return nil }
