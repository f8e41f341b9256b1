package files

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/store"
)

// dirRecords holds a second copy of what the store knows of files and vector stores, so that [Reconcile] can make a lost store again: for
// the bytes of each hash, the files that have them, and a file for each vector store. Members of vector stores are known to the index.
// The copies are not synced to the disk. A copy is deleted before its row, so that no deleted file comes back.
const dirRecords = "records"

const storesFolder = "stores"

func (s *Service) recordPath(sum string) string {
	return filepath.Join(s.dir, dirRecords, sum[:2], sum+".json")
}

// storeRecordPath encodes the id, since file systems may not tell upper from lower case.
func (s *Service) storeRecordPath(id string) string {
	return filepath.Join(s.dir, dirRecords, storesFolder, hex.EncodeToString([]byte(id))+".json")
}

func readRecord[T any](path string) (v T, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		return v, fmt.Errorf("read record: %w", err)
	}
	return v, nil
}

func writeRecord(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return os.Rename(path+".new", path)
}

// recordFile copies what the store knows of a file.
func (s *Service) recordFile(ctx context.Context, id string) {
	s.copyFailed(s.copyFile(ctx, id))
}

func (s *Service) copyFile(ctx context.Context, id string) error {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	f, err := s.opts.Store.File(ctx, id)
	if err != nil || f.SHA256 == "" {
		return ignore(err, store.ErrNotFound)
	}
	path := s.recordPath(f.SHA256)
	all, err := readRecord[[]store.File](path)
	if err != nil {
		all = nil // a damaged copy is replaced
	}
	all = slices.DeleteFunc(all, func(other store.File) bool { return other.ID == id })
	return writeRecord(path, append(all, f))
}

// forgetRecord removes a file from the copies, under the lock of blobs.
func (s *Service) forgetRecord(sum, id string) error {
	path := s.recordPath(sum)
	all, err := readRecord[[]store.File](path)
	if err == nil {
		all = slices.DeleteFunc(all, func(f store.File) bool { return f.ID == id })
	}
	if err != nil || len(all) == 0 {
		return removeIfThere(path)
	}
	return writeRecord(path, all)
}

// recordStore copies what the store knows of a vector store, under the lock of life.
func (s *Service) recordStore(ctx context.Context, id string) {
	s.copyFailed(s.copyStore(ctx, id))
}

func (s *Service) copyStore(ctx context.Context, id string) error {
	c, err := s.opts.Store.Store(ctx, id)
	if err != nil {
		return ignore(err, store.ErrNotFound)
	}
	return writeRecord(s.storeRecordPath(id), c.VectorStore)
}

// copyFailed logs an error of writing copies, which matter only if the store is lost. Removing the marker makes the next start write all copies.
func (s *Service) copyFailed(err error) {
	if err != nil {
		err = errors.Join(err, removeIfThere(s.copiesComplete()))
		s.opts.Logger.Warn("second copies of records could not be written; the next start tries again", "error", err)
	}
}

// copiesComplete is the path of the marker file that says that the store has no file and no vector store without a copy.
func (s *Service) copiesComplete() string { return filepath.Join(s.dir, dirRecords, "complete") }

// recordAll writes all copies if the marker is missing: in a folder of an earlier version, or after copies could not be written.
// A failure to write copies does not fail it.
func (s *Service) recordAll(ctx context.Context) error {
	marker := s.copiesComplete()
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	var first error // failures of a full disk are many and alike
	for after := ""; ; {
		page, err := s.opts.Store.Files(ctx, after, 500)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, f := range page {
			after = f.ID
			first = cmp.Or(first, s.copyFile(ctx, f.ID))
		}
	}
	for after := ""; ; {
		page, err := s.opts.Store.Stores(ctx, after, 500)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			after = c.ID
			first = cmp.Or(first, s.copyStore(ctx, c.ID))
		}
	}
	if first == nil {
		first = writeRecord(marker, true)
	}
	s.copyFailed(first)
	return nil
}

// recordedStores lists the vector stores that there are copies of. Damaged copies are left out.
func (s *Service) recordedStores() (out []store.VectorStore, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, dirRecords, storesFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		v, err := readRecord[store.VectorStore](filepath.Join(s.dir, dirRecords, storesFolder, e.Name()))
		if err == nil && hex.EncodeToString([]byte(v.ID))+".json" == e.Name() {
			out = append(out, v)
		}
	}
	return out, nil
}
