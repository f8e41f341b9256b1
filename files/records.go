package files

import (
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

// recordFile copies what the store knows of a file. A failure is logged: it matters only if the store is lost.
func (s *Service) recordFile(ctx context.Context, id string) {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	f, err := s.opts.Store.File(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && f.SHA256 == "" {
		return
	}
	if err == nil {
		path := s.recordPath(f.SHA256)
		var all []store.File
		if all, err = readRecord[[]store.File](path); err != nil {
			all = nil // a damaged copy is replaced
		}
		all = slices.DeleteFunc(all, func(other store.File) bool { return other.ID == id })
		err = writeRecord(path, append(all, f))
	}
	if err != nil {
		s.opts.Logger.Warn("the second copy of a file's record could not be written", "file", id, "error", err)
	}
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
	c, err := s.opts.Store.Store(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	if err == nil {
		err = writeRecord(s.storeRecordPath(id), c.VectorStore)
	}
	if err != nil {
		s.opts.Logger.Warn("the second copy of a vector store's record could not be written", "store", id, "error", err)
	}
}

// recordAll makes the copies in a folder of an earlier version, which has none.
func (s *Service) recordAll(ctx context.Context) error {
	marker := filepath.Join(s.dir, dirRecords, storesFolder)
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	for after := ""; ; {
		fs, err := s.opts.Store.Files(ctx, after, 500)
		if err != nil {
			return err
		}
		if len(fs) == 0 {
			break
		}
		for _, f := range fs {
			after = f.ID
			s.recordFile(ctx, f.ID)
		}
	}
	if err := os.MkdirAll(marker, 0o700); err != nil {
		return err
	}
	for after := ""; ; {
		all, err := s.opts.Store.Stores(ctx, after, 500)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, c := range all {
			after = c.ID
			s.recordStore(ctx, c.ID)
		}
	}
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
