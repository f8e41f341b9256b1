package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/server"
)

// BeginIndexing marks the documents of the settings as being indexed until [App.EndIndexing]. The server is not ready meanwhile,
// and answers from what is indexed so far.
func (a *App) BeginIndexing() { a.indexing.Store(&ingest.Progress{}) }

// Indexing reports progress. It has no effect before BeginIndexing.
func (a *App) Indexing(p ingest.Progress) {
	if a.indexing.Load() != nil {
		a.indexing.Store(&p)
	}
}

// EndIndexing ends what BeginIndexing began.
func (a *App) EndIndexing() { a.indexing.Store(nil) }

// progress returns how far the start of the server is, or nil when it is complete.
func (a *App) progress(ctx context.Context) *server.Progress {
	p := a.indexing.Load()
	if p == nil {
		return nil
	}
	answering, err := a.hasDocuments(ctx, a.Config.Store.Collection)
	return &server.Progress{Phase: server.PhaseIndexing, Done: p.Done, Total: p.Total, Answering: err == nil && answering}
}

func (a *App) hasDocuments(ctx context.Context, collection string) (bool, error) {
	docs, err := a.scopes.Documents(ctx, collection, "", 1)
	return len(docs) > 0, err
}

// accept refuses a question while its documents are being indexed, or could not be, and none can be searched yet. The answer that there are no
// documents would be wrong.
func (a *App) accept(ctx context.Context, collection string) error {
	p, failing := a.indexing.Load(), a.docsFailing()
	if p == nil && failing == "" {
		return nil
	}
	collection = cmp.Or(collection, a.defaultScope(ctx))
	s, _ := corpus.ParseScope(collection) // the pipeline returns the error
	if !slices.Contains(s.Collections, a.Config.Store.Collection) {
		return nil
	}
	if has, err := a.hasDocuments(ctx, collection); err != nil || has {
		return err
	}
	if p == nil {
		return fault.New(fault.Unavailable, "the documents could not be indexed: %s", failing)
	}
	return fault.New(fault.Unavailable, "the documents are being indexed (%d of %d files), and none can be searched yet; try again", p.Done, p.Total)
}
