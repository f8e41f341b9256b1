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

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/store"
)

// dirRecords holds copies of the records of files and vector stores, from which [Reconcile] can restore a lost store: for each hash, the
// files with these bytes, and a JSON file for each vector store. The members of vector stores are in the index. The copies are not synced to
// the disk. A copy is deleted before its row, so that no deleted file comes back.
const dirRecords = "records"

const storesFolder = "stores"

func (s *Service) recordPath(sum string) string {
	return filepath.Join(s.dir, dirRecords, sum[:2], sum+".json")
}

// storeRecordPath encodes the id, since file systems may ignore case.
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
	return atomicfile.Write(path, raw, 0o600)
}

// saveRecord writes the copy of a file's record.
func (s *Service) saveRecord(ctx context.Context, id string) {
	s.recordsFailed(s.writeFileRecord(ctx, id))
}

func (s *Service) writeFileRecord(ctx context.Context, id string) error {
	f, err := s.opts.Store.File(ctx, id)
	if err != nil || f.SHA256 == "" {
		return ignore(err, store.ErrNotFound)
	}
	lock := s.blobLock(f.SHA256)
	lock.Lock()
	defer lock.Unlock()
	if f, err = s.opts.Store.File(ctx, id); err != nil { // it may have been removed meanwhile
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

// removeRecord removes a file from the copies. The caller holds the lock of the bytes.
func (s *Service) removeRecord(sum, id string) error {
	path := s.recordPath(sum)
	all, err := readRecord[[]store.File](path)
	if err == nil {
		all = slices.DeleteFunc(all, func(f store.File) bool { return f.ID == id })
	}
	if err != nil || len(all) == 0 {
		return atomicfile.Remove(path)
	}
	return writeRecord(path, all)
}

// saveStoreRecord writes the copy of a vector store's record. The caller holds storesMu.
func (s *Service) saveStoreRecord(ctx context.Context, id string) {
	s.recordsFailed(s.writeStoreRecord(ctx, id))
}

func (s *Service) writeStoreRecord(ctx context.Context, id string) error {
	c, err := s.opts.Store.Store(ctx, id)
	if err != nil {
		return ignore(err, store.ErrNotFound)
	}
	return writeRecord(s.storeRecordPath(id), c.VectorStore)
}

// recordsFailed logs an error of writing copies, which are needed only if the store is lost. Without the marker, the next start writes all copies.
func (s *Service) recordsFailed(err error) {
	if err != nil {
		err = errors.Join(err, atomicfile.Remove(s.copiesComplete()))
		s.opts.Logger.Warn("second copies of records could not be written; the next start tries again", "error", err)
	}
}

// copiesComplete is the path of the marker file that says that all files and vector stores have a copy.
func (s *Service) copiesComplete() string { return filepath.Join(s.dir, dirRecords, "complete") }

// saveAllRecords writes all copies if the marker is missing: in a folder of an earlier version, or after an error.
// Errors of writing copies are only logged.
func (s *Service) saveAllRecords(ctx context.Context) error {
	marker := s.copiesComplete()
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	var first error // failures of a full disk are many and alike
	for f, err := range s.allFiles(ctx) {
		if err != nil {
			return err
		}
		first = cmp.Or(first, s.writeFileRecord(ctx, f.ID))
	}
	for c, err := range s.allStores(ctx) {
		if err != nil {
			return err
		}
		first = cmp.Or(first, s.writeStoreRecord(ctx, c.ID))
	}
	if first == nil {
		first = writeRecord(marker, true)
	}
	s.recordsFailed(first)
	return nil
}

// recordedStores lists the vector stores that have a copy. Damaged copies are skipped.
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
