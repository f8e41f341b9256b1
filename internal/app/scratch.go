package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// Scratch is an empty index in a temporary folder, with the model that embeds for it: what is measured on. Close it when
// done.
type Scratch struct {
	Index    *embedded.Index
	Embedder model.Embedder
	dir      string
}

// OpenScratch makes a Scratch.
func OpenScratch(logger *slog.Logger) (*Scratch, error) {
	dir, err := os.MkdirTemp("", "sluice-scratch-")
	if err != nil {
		return nil, fmt.Errorf("make temporary index: %w", err)
	}
	ix, err := embedded.Open(dir, embedded.Options{Logger: logger})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make temporary index: %w", err), os.RemoveAll(dir))
	}
	return &Scratch{Index: ix, Embedder: local.New(local.Options{}), dir: dir}, nil
}

// Close closes the index and removes its folder.
func (s *Scratch) Close() error {
	if err := errors.Join(s.Index.Close(), os.RemoveAll(s.dir)); err != nil {
		return fmt.Errorf("remove temporary index: %w", err)
	}
	return nil
}
