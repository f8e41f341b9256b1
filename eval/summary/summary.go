// Package summary stores short results of evaluations in the data folder of a server, so that its page shows how quality develops.
package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// Evaluation is the short result of one evaluation.
type Evaluation struct {
	At   time.Time `json:"at"`
	Rows []Row     `json:"rows"` // one for each set and mode
}

// Row is the result of one set in one mode.
type Row struct {
	Set       string           `json:"set"`
	Mode      string           `json:"mode"`
	Questions int              `json:"questions"`
	P50       time.Duration    `json:"p50_ns"` // time of an answer
	Measures  map[string]Value `json:"measures"`
}

// Value is a mean over questions with its 95 % confidence interval.
type Value struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	// Folder is the folder of the evaluations in the data folder.
	Folder = "evaluations"

	layout  = "20060102T150405Z"
	maxFile = 1 << 20
)

// Save writes an evaluation to a data folder, which must exist. A server may be using it.
func Save(data string, e Evaluation) error {
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		return fmt.Errorf("save evaluation: %s is no folder", data)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("save evaluation: %w", err)
	}
	dir := filepath.Join(data, Folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("save evaluation: %w", err)
	}
	if err := atomicfile.WriteSync(filepath.Join(dir, e.At.UTC().Format(layout)+".json"), text, 0o600); err != nil {
		return fmt.Errorf("save evaluation: %w", err)
	}
	return nil
}

// Load returns the newest evaluations of a data folder, at most limit, the newest first. Files that are none are left out.
func Load(data string, limit int) ([]Evaluation, error) {
	entries, err := os.ReadDir(filepath.Join(data, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load evaluations: %w", err)
	}
	var out []Evaluation
	for _, entry := range slices.Backward(entries) { // the names are times
		if len(out) == limit {
			break
		}
		if _, err := time.Parse(layout, strings.TrimSuffix(entry.Name(), ".json")); err != nil || entry.IsDir() {
			continue
		}
		var e Evaluation
		if text, err := read(filepath.Join(data, Folder, entry.Name())); err == nil && json.Unmarshal(text, &e) == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}
