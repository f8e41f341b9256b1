package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model"
)

// TempIndex is an empty index in a temporary folder, or a temporary tenant of Weaviate, with the embedder of the settings, for evaluations of retrieval. Close it when
// done.
type TempIndex struct {
	Index    Index
	Embedder model.Embedder
	Weights  index.Weights // for the embedder
	remove   func() error
}

// OpenTempIndex opens a TempIndex.
func OpenTempIndex(ctx context.Context, cfg config.Config, logger *slog.Logger) (*TempIndex, error) {
	m, err := OpenModels(ctx, cfg, logger)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-index-")
	if err != nil {
		return nil, fmt.Errorf("make temporary index: %w", err)
	}
	cfg.Store.Data = dir
	tenant := tempTenant()
	remove := func() error {
		return errors.Join(deleteIndex(context.WithoutCancel(ctx), cfg, tenant), os.RemoveAll(dir))
	}
	ix, err := (&Shared{Config: cfg}).openIndex(ctx, tenant, cfg, nil, logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make temporary index: %w", err), os.RemoveAll(dir))
	}
	s := &TempIndex{Index: ix, Embedder: m.Local, Weights: weights(cfg.Models, m.Embedder == nil), remove: remove}
	if m.Embedder != nil {
		s.Embedder = m.Embedder
	}
	return s, nil
}

// Close closes the index and removes its folder.
func (s *TempIndex) Close() error {
	if err := errors.Join(s.Index.Close(), s.remove()); err != nil {
		return fmt.Errorf("remove temporary index: %w", err)
	}
	return nil
}
