package files

import (
	"context"
	"crypto/md5" //nolint:gosec // clients compare by it; bytes are stored by their SHA-256
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// The folders. The name of a blob is its SHA-256. A complete staged file is named by its SHA-256, a dot and anything. An empty staged file whose
// name ends in removalSuffix marks a blob that is being removed.
const (
	dirStaged     = "staged"
	dirBlobs      = "blobs"
	removalSuffix = ".going"
)

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *Service) blobPath(sum string) string { return filepath.Join(s.dir, dirBlobs, sum[:2], sum) }

// staged is a file of bytes that no record refers to yet.
type staged struct {
	path        string
	md5, sha256 string // hex
	bytes       int64
}

// stage runs write and stores its bytes durably in the folder dirStaged.
func (s *Service) stage(write func(io.Writer) error) (_ *staged, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, dirStaged), "new.")
	if err != nil {
		return nil, fmt.Errorf("stage file: %w", err)
	}
	st := &staged{path: f.Name()}
	defer func() {
		if err != nil {
			st.discard()
		}
	}()
	weak, strong := md5.New(), sha256.New() //nolint:gosec // as above
	to := &bounded{w: io.MultiWriter(f, weak, strong), max: s.opts.MaxFileBytes}
	if err = write(to); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	st.bytes, st.md5, st.sha256 = to.n, hex.EncodeToString(weak.Sum(nil)), hex.EncodeToString(strong.Sum(nil))
	named := filepath.Join(s.dir, dirStaged, st.sha256+strings.TrimPrefix(filepath.Base(st.path), "new"))
	if err = os.Rename(st.path, named); err != nil {
		return nil, fmt.Errorf("stage file: %w", err)
	}
	st.path = named
	return st, nil
}

// discard removes the staged bytes, unless they were moved.
func (st *staged) discard() {
	if st != nil && st.path != "" {
		_ = os.Remove(st.path) // if that fails, Open removes it
	}
}

// bounded is a writer that fails after a number of bytes.
type bounded struct {
	w      io.Writer
	n, max int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n+int64(len(p)) > b.max {
		return 0, fault.New(fault.TooLarge, "the file is larger than the limit of %d bytes", b.max)
	}
	n, err := b.w.Write(p)
	b.n += int64(n)
	return n, err
}

// repairBytes replaces the stored bytes of the same hash, which may be missing or damaged.
func (s *Service) repairBytes(st *staged) error {
	if st == nil {
		return nil
	}
	s.blobsMu.Lock()
	defer s.blobsMu.Unlock()
	return s.moveToBlobs(st)
}

// placeBytes runs record, which writes the row that refers to the staged bytes, if there are any, and then moves the bytes to the folder
// dirBlobs. After a crash between the two, recoverBlobs finds the staged bytes by their name and looks for the row.
func (s *Service) placeBytes(st *staged, record func() error) error {
	s.blobsMu.Lock()
	defer s.blobsMu.Unlock()
	if st == nil {
		return record()
	}
	if err := atomicfile.SyncDir(filepath.Dir(st.path)); err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	return s.moveToBlobs(st)
}

// moveToBlobs moves staged bytes to the folder dirBlobs. The caller holds blobsMu. Existing bytes are replaced without being verified: the
// staged bytes were hashed when they were written, and hashing under the lock would block all downloads and deletions.
func (s *Service) moveToBlobs(st *staged) error {
	to := s.blobPath(st.sha256)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	if err := os.Rename(st.path, to); err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	st.path = ""
	s.repaired(st.sha256)
	return nil
}

// removeBytes runs removeRow, which removes the row of a file, and removes the bytes if no other row refers to them.
func (s *Service) removeBytes(f store.File, removeRow func() (last bool, err error)) error {
	sum := f.SHA256
	s.blobsMu.Lock()
	defer s.blobsMu.Unlock()
	if sum == "" {
		return s.opts.Reserve.Use(func() error { _, err := removeRow(); return err })
	}
	mark := filepath.Join(s.dir, dirStaged, sum+removalSuffix)
	var last bool
	err := s.opts.Reserve.Use(func() (err error) {
		if err = os.WriteFile(mark, nil, 0o600); err != nil {
			return fmt.Errorf("remove file: %w", err)
		}
		if err = s.removeRecord(sum, f.ID); err == nil {
			last, err = removeRow()
		}
		return err
	})
	if err == nil && last {
		if err = atomicfile.Remove(s.blobPath(sum)); err == nil {
			s.repaired(sum)
		}
	}
	if err != nil {
		return err // the mark stays, and Open completes the removal
	}
	return atomicfile.Remove(mark)
}

// recoverBlobs completes what a crash interrupted while bytes were stored or removed. Its cost does not depend on the number of files.
func (s *Service) recoverBlobs(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, dirStaged))
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.dir, dirStaged, e.Name())
		sum, _, _ := strings.Cut(e.Name(), ".")
		if sumPattern.MatchString(sum) {
			_, err := s.opts.Store.FileBySHA256(ctx, sum)
			named := err == nil
			if copies, _ := readRecord[[]store.File](s.recordPath(sum)); len(copies) > 0 && !named {
				// the store has lost a file with these bytes, which Reconcile restores
				if err := atomicfile.Remove(path); err != nil {
					return err
				}
				continue
			}
			switch {
			case err != nil && !errors.Is(err, store.ErrNotFound):
				return err
			case named && !strings.HasSuffix(e.Name(), removalSuffix) && verifyBlob(s.blobPath(sum), sum) != nil:
				err = s.moveToBlobs(&staged{path: path, sha256: sum})
			case !named:
				err = atomicfile.Remove(s.blobPath(sum))
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if err := atomicfile.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
