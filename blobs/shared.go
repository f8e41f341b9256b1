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

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// sharedMark is a file in a shared folder. While it is missing, another file system is mounted there, or none.
const sharedMark = ".sluice-files"

// Shared are the stores of tenants in a folder that several servers mount: a folder for each tenant.
type Shared struct{ dir string }

var _ Tenants = (*Shared)(nil)

// OpenShared opens a shared folder, which must exist. An empty folder becomes one, unless it was used before: then its file system is not mounted.
func OpenShared(dir string, used bool) (*Shared, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open shared folder: %s is not an absolute path", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open shared folder: %w", err)
	}
	s := &Shared{dir}
	switch {
	case s.Check(context.Background()) == nil:
	case len(entries) > 0:
		return nil, fmt.Errorf("open shared folder: %s has other files", dir)
	case used:
		return nil, fmt.Errorf("open shared folder: %s is empty, but held uploaded files before: is its file system mounted?", dir)
	default:
		if err := atomicfile.WriteSync(filepath.Join(dir, sharedMark), nil, 0o600); err != nil {
			return nil, fmt.Errorf("open shared folder: %w", err)
		}
	}
	return s, nil
}

// IsShared reports whether a folder is one that [OpenShared] has opened.
func IsShared(dir string) bool { return (&Shared{dir}).Check(context.Background()) == nil }

// Check returns an error if the folder is not mounted.
func (s *Shared) Check(context.Context) error {
	if _, err := os.Stat(filepath.Join(s.dir, sharedMark)); err != nil {
		return Unavailable(err)
	}
	return nil
}

// Open implements [Tenants].
func (s *Shared) Open(_ context.Context, tenant string) (Store, error) {
	return &mounted{NewFolder(filepath.Join(s.dir, tenant)), s}, nil
}

// Delete implements [Tenants].
func (s *Shared) Delete(ctx context.Context, tenant string) error {
	if err := s.Check(ctx); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(s.dir, tenant))
}

// Close implements [Tenants].
func (s *Shared) Close() error { return nil }

// mounted is the folder of a tenant. It is used only while the shared folder is mounted.
type mounted struct {
	folder *Folder
	shared *Shared
}

// Put implements [Store].
func (m *mounted) Put(ctx context.Context, sum string, body io.ReadSeeker, size int64) error {
	if err := m.Check(ctx); err != nil {
		return err
	}
	return m.during(m.folder.Put(ctx, sum, body, size))
}

// Open implements [Store].
func (m *mounted) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	r, err := m.folder.Open(ctx, sum)
	return r, m.during(err)
}

// Remove implements [Store].
func (m *mounted) Remove(ctx context.Context, sum string) error {
	if err := m.Check(ctx); err != nil {
		return err
	}
	return m.during(m.folder.Remove(ctx, sum))
}

// List implements [Store].
func (m *mounted) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := m.Check(ctx); err != nil {
			yield("", err)
			return
		}
		for sum, err := range m.folder.List(ctx) {
			if !yield(sum, m.during(err)) {
				return
			}
		}
	}
}

// Check implements [Store].
func (m *mounted) Check(ctx context.Context) error { return m.shared.Check(ctx) }

// during returns the error of a call, or [ErrUnavailable] if it failed because the folder is not mounted any more.
func (m *mounted) during(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	if away := m.Check(context.Background()); away != nil {
		return away
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) { // the file system was unmounted and mounted again meanwhile
		return Unavailable(err)
	}
	return err
}
