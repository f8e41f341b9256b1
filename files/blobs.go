package files

import (
	"context"
	"crypto/md5" //nolint:gosec // what clients compare by; bytes are kept by their SHA-256
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// The folders. A blob's name is its SHA-256. What is staged and known by its bytes has a name of their SHA-256, a dot and
// anything; one that ends in goingMark holds nothing and says that the blob may be going.
const (
	dirStaged = "staged"
	dirBlobs  = "blobs"
	goingMark = ".going"
)

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *Service) blobPath(sum string) string { return filepath.Join(s.dir, dirBlobs, sum[:2], sum) }

// staged is what was written to disk and has no file yet.
type staged struct {
	path        string
	md5, sha256 string // hex
	bytes       int64
}

// stage writes what read gives to disk, to the last byte.
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
	to := &bounded{w: io.MultiWriter(f, weak, strong), most: s.opts.MaxFileBytes}
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

// discard removes what is staged, unless it was placed.
func (st *staged) discard() {
	if st != nil && st.path != "" {
		_ = os.Remove(st.path) // the next opening does it otherwise
	}
}

// bounded refuses more than so many bytes.
type bounded struct {
	w       io.Writer
	n, most int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n+int64(len(p)) > b.most {
		return 0, fault.New(fault.TooLarge, "the file is larger than the limit of %d bytes", b.most)
	}
	n, err := b.w.Write(p)
	b.n += int64(n)
	return n, err
}

// heal puts what is staged in the place of the bytes of the same hash, which may be missing or damaged.
func (s *Service) heal(st *staged) error {
	if st == nil {
		return nil
	}
	s.blobs.Lock()
	defer s.blobs.Unlock()
	return s.settleBlob(st)
}

// place runs record, which writes the row that names what is staged, if anything is, and puts the bytes in their place. A crash between
// the two is made good by recoverBlobs: what is staged is found by its name, and belongs to a row or to none.
func (s *Service) place(st *staged, record func() error) error {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	if st == nil {
		return record()
	}
	if err := syncDir(filepath.Dir(st.path)); err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	return s.settleBlob(st)
}

// settleBlob moves staged bytes to their place, under the lock of blobs. Bytes that are there are replaced without a look at them: the staged
// bytes were hashed when they were written, and hashing under the lock would block all downloads and deletions.
func (s *Service) settleBlob(st *staged) error {
	to := s.blobPath(st.sha256)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("keep file: %w", err)
	}
	if err := os.Rename(st.path, to); err != nil {
		return fmt.Errorf("keep file: %w", err)
	}
	st.path = ""
	s.repaired(st.sha256)
	return nil
}

// unplace runs forget, which removes the row of a file, and with the last one of the bytes these too.
func (s *Service) unplace(f store.File, forget func() (last bool, err error)) error {
	sum := f.SHA256
	s.blobs.Lock()
	defer s.blobs.Unlock()
	if sum == "" {
		return s.opts.Reserve.Use(func() error { _, err := forget(); return err })
	}
	mark := filepath.Join(s.dir, dirStaged, sum+goingMark)
	var last bool
	err := s.opts.Reserve.Use(func() (err error) {
		if err = os.WriteFile(mark, nil, 0o600); err != nil {
			return fmt.Errorf("remove file: %w", err)
		}
		if err = s.forgetRecord(sum, f.ID); err == nil {
			last, err = forget()
		}
		return err
	})
	if err == nil && last {
		if err = removeIfThere(s.blobPath(sum)); err == nil {
			s.repaired(sum)
		}
	}
	if err != nil {
		return err // the mark stays: the next opening looks again
	}
	return removeIfThere(mark)
}

// recoverBlobs finishes what a crash left of placing and removing bytes. It costs what was under way, however many files there are.
func (s *Service) recoverBlobs(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, dirStaged))
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.dir, dirStaged, e.Name())
		sum, _, _ := strings.Cut(e.Name(), ".")
		if sumPattern.MatchString(sum) {
			_, err := s.opts.Store.FileOf(ctx, sum)
			named := err == nil
			if copies, _ := readRecord[[]store.File](s.recordPath(sum)); len(copies) > 0 && !named {
				// the store has lost a file of these bytes, which Reconcile makes again
				if err := removeIfThere(path); err != nil {
					return err
				}
				continue
			}
			switch {
			case err != nil && !errors.Is(err, store.ErrNotFound):
				return err
			case named && !strings.HasSuffix(e.Name(), goingMark) && verifyBlob(s.blobPath(sum), sum) != nil:
				err = s.settleBlob(&staged{path: path, sha256: sum})
			case !named:
				err = removeIfThere(s.blobPath(sum))
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if err := removeIfThere(path); err != nil {
			return err
		}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
