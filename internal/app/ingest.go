package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
)

// Ingest brings the collection of the settings up to date with files and folders; allowRemoval is that of [ingest.Request]. Calls of it and of the other methods that ingest wait for each other.
func (a *App) Ingest(ctx context.Context, paths []string, allowRemoval bool, progress func(ingest.Progress)) (ingest.Report, error) {
	return a.ingest(ctx, ingest.Request{Collection: a.Config.Store.Collection, Paths: paths, AllowRemoval: allowRemoval}, progress)
}

// ingest is [App.Ingest] with any request.
func (a *App) ingest(ctx context.Context, req ingest.Request, progress func(ingest.Progress)) (ingest.Report, error) {
	done, err := a.beginIngestion(ctx)
	if err != nil {
		return ingest.Report{}, err
	}
	defer done()
	r, err := a.Ingester.Ingest(ctx, req, progress)
	return r, a.afterIngest(ctx, r, err)
}

// WatchDocs brings the collection of the settings up to date with changes of files and folders until ctx ends. It calls ready when changes are noticed from then on, or cannot
// be; until then, nothing is indexed. The function indexed is called after each ingestion; one that failed is tried again after the time again.
func (a *App) WatchDocs(ctx context.Context, paths []string, ready func(), indexed func(r ingest.Report, err error, again time.Duration)) {
	ready = sync.OnceFunc(ready)
	source.FollowChanges(ctx, a.logger, func(ctx context.Context, changed func(uris ...string)) error {
		defer ready()
		return folder.Watch(ctx, paths, a.Ingester.Extensions(), func(uris ...string) {
			ready()
			changed(uris...)
		})
	}, func(ctx context.Context, uris []string) (again time.Duration) {
		r, err := a.ingest(ctx, ingest.Request{Collection: a.Config.Store.Collection, Paths: paths, Only: uris}, nil)
		if ctx.Err() == nil {
			again = a.DocsChanges.Ended(err)
			if err == nil {
				a.Docs.NoteUnread(uris, r.Failed)
			}
			indexed(r, err, again)
		}
		return again
	})
}

// IngestDocuments is [App.Ingest] for documents in memory. It deletes no documents.
func (a *App) IngestDocuments(ctx context.Context, sources []ingest.Source) (ingest.Report, error) {
	done, err := a.beginIngestion(ctx)
	if err != nil {
		return ingest.Report{}, err
	}
	defer done()
	r, err := a.Ingester.IngestDocuments(ctx, a.Config.Store.Collection, sources, nil)
	return r, a.afterIngest(ctx, r, err)
}

// beginIngestion waits until no other ingestion of the tenant and less than the limit of all tenants are in progress. The caller calls done at the end.
func (a *App) beginIngestion(ctx context.Context) (done func(), err error) {
	if err := a.ingesting.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := a.allIngesting.Acquire(ctx, 1); err != nil {
		a.ingesting.Release(1)
		return nil, err
	}
	return func() {
		a.allIngesting.Release(1)
		a.ingesting.Release(1)
	}, nil
}

// afterIngest notifies the re-embedding worker and removes deleted text from the disk. Its last argument is the error of the ingestion.
func (a *App) afterIngest(ctx context.Context, r ingest.Report, err error) error {
	if err == nil {
		a.notifyReembedding()
		if r.Updated+r.Deleted > 0 {
			err = a.Index.Compact(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}
