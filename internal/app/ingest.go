package app

import (
	"context"
	"fmt"

	"github.com/sluice-rag/sluice/ingest"
)

// Ingest brings the collection of the settings up to date with files and folders. Two calls must not overlap.
func (a *App) Ingest(ctx context.Context, paths []string, progress func(ingest.Progress)) (ingest.Report, error) {
	return a.ingested(ctx)(a.Ingester.Ingest(ctx, ingest.Request{Collection: a.Config.Store.Collection, Paths: paths}, progress))
}

// IngestDocuments is [App.Ingest] for documents in memory.
func (a *App) IngestDocuments(ctx context.Context, sources []ingest.Source) (ingest.Report, error) {
	return a.ingested(ctx)(a.Ingester.IngestDocuments(ctx, a.Config.Store.Collection, sources, nil))
}

// ingested follows an ingestion: chunks without vectors get them, and deleted text is removed from the disk too.
func (a *App) ingested(ctx context.Context) func(ingest.Report, error) (ingest.Report, error) {
	return func(r ingest.Report, err error) (ingest.Report, error) {
		if err == nil {
			a.VectorsChanged()
			if r.Updated+r.Deleted > 0 {
				err = a.Index.Compact(ctx)
			}
		}
		if err != nil {
			err = fmt.Errorf("ingest: %w", err)
		}
		return r, err
	}
}
