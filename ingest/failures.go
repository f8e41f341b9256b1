package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// maxFailures is how many documents are kept, the newest.
const maxFailures = 10_000

// FailureStore keeps the hashes of documents whose parsing exhausted its time or memory, so that they are not parsed again at each start.
// A document is parsed again with higher limits or another version of the parsers. Its methods may be called concurrently.
type FailureStore struct {
	path   string
	memory int64
	time   time.Duration

	mu    sync.Mutex
	known []failed // the oldest first
}

// failed is a document that exhausted the limits Memory and Time.
type failed struct {
	Hash    string        `json:"hash"`
	Bytes   int           `json:"bytes"`
	Format  string        `json:"format"` // file extension, which helps to select the parser
	Version string        `json:"version"`
	Memory  int64         `json:"memory"`
	Time    time.Duration `json:"time_ns"`
	Code    fault.Code    `json:"code"`
	Reason  string        `json:"reason"`
}

// OpenFailureStore reads the file at path. A missing or damaged file is treated as empty. Memory and limit are the current limits of parsing.
func OpenFailureStore(path string, memory int64, limit time.Duration) (*FailureStore, error) {
	f := &FailureStore{path: path, memory: memory, time: limit}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read failed documents: %w", err)
	}
	if json.Unmarshal(raw, &f.known) != nil {
		f.known = nil
	}
	f.known = slices.DeleteFunc(f.known, func(k failed) bool {
		return k.Version != parse.Version || k.Memory < memory || k.Time < limit || !slices.Contains(fault.Codes(), k.Code)
	})
	return f, nil
}

// find returns the error with which a document failed before, or nil.
func (f *FailureStore) find(name string, data []byte) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.search(name, data); i >= 0 {
		return fault.Wrap(f.known[i].Code, parse.ErrExhausted, "%s", f.known[i].Reason)
	}
	return nil
}

// search returns the index of a document in f.known, or -1. The caller holds f.mu.
func (f *FailureStore) search(name string, data []byte) int {
	hash, format := "", filepath.Ext(name)
	return slices.IndexFunc(f.known, func(k failed) bool {
		if k.Bytes != len(data) || k.Format != format {
			return false
		}
		if hash == "" {
			hash = hashOf(data)
		}
		return k.Hash == hash
	})
}

// remove removes a document.
func (f *FailureStore) remove(name string, data []byte) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.search(name, data)
	if i < 0 {
		return nil
	}
	f.known = slices.Delete(f.known, i, i+1)
	return f.write()
}

// add adds a document if err wraps [parse.ErrExhausted]. The error must not name the document.
func (f *FailureStore) add(name string, data []byte, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if f == nil || !ok || !errors.Is(err, parse.ErrExhausted) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.search(name, data); i >= 0 {
		f.known = slices.Delete(f.known, i, i+1)
	}
	f.known = append(f.known, failed{Hash: hashOf(data), Bytes: len(data), Format: filepath.Ext(name), Version: parse.Version, Memory: f.memory,
		Time: f.time, Code: e.Code, Reason: e.Message})
	f.known = f.known[max(0, len(f.known)-maxFailures):]
	return f.write()
}

// Clear removes all documents, so that they are parsed again.
func (f *FailureStore) Clear() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = nil
	return f.write()
}

// write replaces the file atomically.
func (f *FailureStore) write() error {
	raw, err := json.Marshal(f.known)
	if err == nil {
		err = atomicfile.Write(f.path, raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember failed documents: %w", err)
	}
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
