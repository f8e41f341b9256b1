// Package reserve keeps disk space back for what must work on a full disk: deletes, and the ends of runs.
package reserve

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
)

// DefaultSize is enough for thousands of deletes.
const DefaultSize = 8 << 20

// File is a file that only takes up space. [File.Use] deletes it when an operation meets a full disk, so that the operation has room.
// It is made again when the disk has room for twice its size. While it is gone, the disk counts as full: see [File.Check]. All methods may
// be called at once. The methods of a nil File work without a reserve.
type File struct {
	path string
	size int64

	mu   sync.Mutex
	held bool
}

// New returns the reserve in a file, which need not exist. Call [File.Refill] to make it.
func New(path string, size int64) *File { return &File{path: path, size: size} }

// Use runs do. If do fails because the disk is full, Use gives up the reserve and runs do a second time, so do must be repeatable.
func (f *File) Use(do func() error) error {
	err := do()
	if f == nil || !fault.DiskFull(err) {
		return err
	}
	if rerr := f.release(); rerr != nil {
		return errors.Join(err, rerr)
	}
	err = do()
	_ = f.Refill() // Check tries again
	return err
}

func (f *File) release() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
	return atomicfile.Remove(f.path)
}

// Check returns an error with the code [fault.NoSpace] if the reserve is gone and cannot be made again. Operations that add data call it
// first, so that they do not use up the space that deletes need.
func (f *File) Check() error {
	if err := f.Refill(); err != nil {
		return fault.Wrap(fault.NoSpace, err, "the disk of the server is full")
	}
	return nil
}

// Refill makes the reserve if it is gone and the disk has room for twice its size.
func (f *File) Refill() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held {
		return nil
	}
	if info, err := os.Stat(f.path); err == nil && info.Mode().IsRegular() && info.Size() == f.size {
		f.held = true
		return nil
	}
	if free, err := Free(filepath.Dir(f.path)); err != nil || free < 2*f.size {
		return errors.Join(fmt.Errorf("make reserve: %w", syscall.ENOSPC), err)
	}
	if err := f.fill(); err != nil {
		return errors.Join(fmt.Errorf("make reserve: %w", err), os.Remove(f.path))
	}
	f.held = true
	return nil
}

// fill writes random bytes, since file systems that compress store zeros in no space.
func (f *File) fill() error {
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, rand.Reader, f.size)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}
