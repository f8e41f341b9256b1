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

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// maxFailures is how many documents are remembered; of more, the newest.
const maxFailures = 10_000

// FailureStore remembers the documents whose parsing took too much time or memory, by their bytes, so that they are not parsed again at each start.
// A document is parsed again with higher limits or another version of the parsers. Its methods may be called concurrently.
type FailureStore struct {
	path   string
	memory int64
	time   time.Duration

	mu    sync.Mutex
	known []failed // the oldest first
}

// failed is a document that failed, with the limits of that time.
type failed struct {
	Hash    string        `json:"hash"`
	Bytes   int           `json:"bytes"`
	Format  string        `json:"format"` // its extension, which is a part of what decides the parser
	Version string        `json:"version"`
	Memory  int64         `json:"memory"`
	Time    time.Duration `json:"time_ns"`
	Code    fault.Code    `json:"code"`
	Reason  string        `json:"reason"`
}

// OpenFailureStore reads what the file at path remembers; there need not be one. Memory and time are the limits of parsing from now on. A file
// that is damaged is as good as none.
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

// find gives the error with which a document failed before, or nil.
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

// search returns the position of a document in f.known, or -1. The caller holds f.mu.
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

// remove forgets a document.
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

// add remembers a document if parsing it took too much. The reason does not name it.
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

// Forget has all documents parsed again.
func (f *FailureStore) Forget() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = nil
	return f.write()
}

// write replaces the file as a whole, so that a crash leaves the old one or the new one.
func (f *FailureStore) write() error {
	raw, err := json.Marshal(f.known)
	if err == nil {
		err = os.WriteFile(f.path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(f.path+".new", f.path)
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
