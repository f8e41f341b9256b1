package app

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/internal/config"
)

// Index is the index of one tenant.
type Index interface {
	index.Index
	index.Spaces
	index.Graph
	index.Versions
	byDocument
	maintained
}

// byDocument are the parts of an index that keep whole documents.
type byDocument interface {
	index.Sets
	index.DocumentReader
	index.Annotator
	index.Exporter
}

// maintained is an index that runs.
type maintained interface {
	index.PassageVectors
	io.Closer
	Health() error                 // why a part of it does not work; nil: all works
	Compact(context.Context) error // erases what was deleted
}

// openIndex opens the index of a tenant: in Weaviate, or in its data folder.
func (s *Shared) openIndex(ctx context.Context, tenant string, cfg config.Config, space *reserve.File, logger *slog.Logger) (Index, error) {
	if cfg.Index.URL == "" {
		return embedded.Open(ctx, filepath.Join(cfg.Store.Data, "index"), embedded.Options{Logger: logger, Reserve: space})
	}
	server, err := serverID(s.Config.Store.Data)
	if err != nil {
		return nil, err
	}
	o := weaviateOptions(cfg, tenant, logger)
	o.Writer = server
	return weaviate.Open(o)
}

func weaviateOptions(cfg config.Config, tenant string, logger *slog.Logger) weaviate.Options {
	return weaviate.Options{URL: cfg.Index.URL, Key: cfg.Keys.Index.Reveal(), KeyFile: cfg.Index.KeyFile, Replicas: cfg.Index.Replicas, Tenant: tenant, Logger: logger}
}

// deleteIndex deletes all that a tenant has in Weaviate, if the index is there.
func deleteIndex(ctx context.Context, cfg config.Config, tenant string) error {
	if cfg.Index.URL == "" {
		return nil
	}
	return weaviate.DeleteTenant(ctx, weaviateOptions(cfg, tenant, nil))
}

// tempTenant returns the name of a tenant of an evaluation.
func tempTenant() string { return "eval-" + strings.ToLower(rand.Text()) }
