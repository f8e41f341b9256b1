package files

import (
	"context"
	"crypto/md5" //nolint:gosec // clients compare by it; bytes are stored by their SHA-256
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// The folders. A complete staged file is named by its SHA-256, a dot and anything. It stays until the blob is stored and a row refers to it. An
// empty staged file whose name ends in removalSuffix marks a blob that is being removed.
const (
	dirStaged     = "staged"
	dirBlobs      = "blobs"
	removalSuffix = ".going"
)

// blobLock returns the lock that is held while the bytes with a hash are stored or removed together with the rows that refer to them.
func (s *Service) blobLock(sum string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(sum))
	return &s.blobLocks[h.Sum32()%uint32(len(s.blobLocks))]
}

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

// discard removes the staged bytes.
func (st *staged) discard() {
	if st != nil {
		_ = os.Remove(st.path) // if that fails, Open removes it
	}
}

// TooLarge returns the error of a file that is larger than [Options.MaxFileBytes].
func TooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the file is larger than the limit of %d bytes; the server can be started with a higher one: --max-file-bytes", limit)
}

// bounded is a writer that fails after a number of bytes.
type bounded struct {
	w      io.Writer
	n, max int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n+int64(len(p)) > b.max {
		return 0, TooLarge(b.max)
	}
	n, err := b.w.Write(p)
	b.n += int64(n)
	return n, err
}

// placeBytes stores the staged bytes, if there are any, and runs record, which writes the row that refers to them. Existing bytes are replaced, so that
// damaged ones are repaired. After a crash between the two, recoverBlobs finds the staged bytes by their name and looks for the row.
func (s *Service) placeBytes(ctx context.Context, st *staged, record func() error) error {
	if st == nil {
		return record()
	}
	lock := s.blobLock(st.sha256)
	lock.Lock()
	defer lock.Unlock()
	if err := atomicfile.SyncDir(filepath.Dir(st.path)); err != nil {
		return err
	}
	if err := s.storeBytes(ctx, st); err != nil {
		return err
	}
	err := record()
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		if _, unnamed := s.opts.Store.FileBySHA256(ctx, st.sha256); errors.Is(unnamed, store.ErrNotFound) {
			if failed := s.opts.Blobs.Remove(ctx, st.sha256); failed != nil {
				s.opts.Logger.Warn("the bytes of a refused upload could not be removed; it is tried again", "error", failed)
				return errors.Join(err, os.WriteFile(s.removalMark(st.sha256), nil, 0o600))
			}
		}
	}
	return err
}

// storeBytes stores staged bytes. The caller holds their lock.
func (s *Service) storeBytes(ctx context.Context, st *staged) error {
	f, err := os.Open(st.path)
	if err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	if err = errors.Join(s.opts.Blobs.Put(ctx, st.sha256, blobs.Staged{File: f}, st.bytes), f.Close()); err == nil {
		s.repaired(st.sha256)
	}
	return err
}

// removeBytes runs removeRow, which removes the row of a file, and removes the bytes if no other row refers to them.
func (s *Service) removeBytes(ctx context.Context, f store.File, removeRow func() (last bool, err error)) error {
	sum := f.SHA256
	lock := s.blobLock(sum)
	lock.Lock()
	defer lock.Unlock()
	if sum == "" {
		return s.opts.Reserve.Use(func() error { _, err := removeRow(); return err })
	}
	if err := s.opts.Blobs.Check(ctx); err != nil {
		return err // the row stays, so that the caller can try again
	}
	mark := s.removalMark(sum)
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
		if err = s.opts.Blobs.Remove(ctx, sum); err == nil {
			s.repaired(sum)
		}
	}
	if err != nil {
		return err // the mark stays, and completeRemovals or Open completes the removal
	}
	return atomicfile.Remove(mark)
}

// removalMark is the path of the mark of bytes that are being removed.
func (s *Service) removalMark(sum string) string {
	return filepath.Join(s.dir, dirStaged, sum+removalSuffix)
}

// completeRemovals removes bytes that could not be removed when the store was away.
func (s *Service) completeRemovals(ctx context.Context) error {
	marks, err := filepath.Glob(filepath.Join(s.dir, dirStaged, "*"+removalSuffix))
	for _, mark := range marks {
		err = errors.Join(err, s.completeRemoval(ctx, strings.TrimSuffix(filepath.Base(mark), removalSuffix)))
	}
	return err
}

func (s *Service) completeRemoval(ctx context.Context, sum string) error {
	lock := s.blobLock(sum)
	lock.Lock()
	defer lock.Unlock()
	_, err := s.opts.Store.FileBySHA256(ctx, sum)
	if errors.Is(err, store.ErrNotFound) {
		err = s.opts.Blobs.Remove(ctx, sum)
	}
	if err != nil {
		return err
	}
	return atomicfile.Remove(s.removalMark(sum))
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
		if blobs.ValidSum(sum) {
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
			case named && !strings.HasSuffix(e.Name(), removalSuffix):
				err = s.restoreBytes(ctx, path, sum)
			case !named:
				err = s.opts.Blobs.Remove(ctx, sum)
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

// restoreBytes stores staged bytes if the stored ones are missing or damaged.
func (s *Service) restoreBytes(ctx context.Context, path, sum string) error {
	err := blobs.Verify(ctx, s.opts.Blobs, sum)
	if !errors.Is(err, blobs.ErrNotFound) && !errors.Is(err, blobs.ErrDamaged) {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return s.storeBytes(ctx, &staged{path: path, sha256: sum, bytes: info.Size()})
}
