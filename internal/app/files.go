package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/documents"
	"github.com/sluice-rag/sluice/server/ingestions"
	"github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/server/rpc"
	"github.com/sluice-rag/sluice/server/sources"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

// uploads holds the database and the service of uploaded files.
type uploads struct {
	store interface {
		files.Store
		Close() error
	}
	service *files.Service
	blobs   blobs.Store // nil: the bytes are in the data folder
}

// OpenFiles opens the uploaded files and continues the tasks that an earlier process did not finish. Programs that only read need
// not call it.
func (a *App) OpenFiles(ctx context.Context) error {
	kept, o, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	a.files.store, a.files.blobs = kept, o.Blobs
	a.files.service, err = files.Open(ctx, a.filesFolder(), o)
	return errors.Join(err, a.openSources(kept))
}

// attributes returns the attributes of documents, with those that users set for uploaded files.
func (a *App) attributes(ctx context.Context, docs []corpus.Document) ([]filter.Attributes, error) {
	out := make([]filter.Attributes, len(docs))
	if a.files.service == nil {
		for i, d := range docs {
			out[i] = filter.OfDocument(d)
		}
		return out, nil
	}
	infos, err := (&search.Searcher{Files: a.files.service}).Describe(ctx, docs)
	for i := range infos {
		out[i] = infos[i].Attributes(nil)
	}
	return out, err
}

func (a *App) filesFolder() string { return filepath.Join(a.Config.Store.Data, filesFolder) }

// openStore opens the database of files and returns it with the options of the service.
func (a *App) openStore(ctx context.Context) (kept *sqlstore.Store, o files.Options, err error) {
	allowed, err := a.Config.Files.Allowed()
	if err != nil {
		return nil, o, fmt.Errorf("open files: fetch-allow %w", err)
	}
	var stored blobs.Store
	if a.blobs != nil {
		if stored, err = a.blobs.Open(ctx, a.Tenant); err != nil {
			return nil, o, fmt.Errorf("open uploaded files: %w", err)
		}
	}
	err = a.reserve.Use(func() (err error) {
		kept, err = a.records.files(ctx, a.Tenant)
		return err
	})
	return kept, files.Options{Store: kept, Server: a.server(), Gone: a.gone(""), Blobs: stored, Index: invalidatingIndex{a.Index, a}, Ingest: notifyingIngester{a.Ingester, a},
		Fetch:   fetch.New(fetch.Options{Allow: allowed, Permit: permitAddresses, MaxBytes: int64(a.Config.Parsing.MaxFileBytes), Timeout: a.Config.Files.FetchTimeout}),
		Workers: a.Config.Ingest.Workers, MaxFileBytes: int64(a.Config.Parsing.MaxFileBytes), Logger: a.logger, Reserve: a.reserve,
		Collections: []string{a.Config.Store.Collection}, Attributes: a.sourceAttributes}, err
}

// Reconcile makes the database of files, the uploaded bytes and the index agree, and ingests the files that are missing in the
// index again. If dry is set, it only reports what it would do. Call it instead of [App.OpenFiles].
func (a *App) Reconcile(ctx context.Context, dry bool) (report files.Report, err error) {
	kept, o, err := a.openStore(ctx)
	if err != nil {
		return report, err
	}
	if err = kept.Check(ctx); err == nil {
		report, err = files.Reconcile(ctx, a.filesFolder(), o, dry)
	}
	if err = errors.Join(err, kept.Close()); err != nil || dry || len(report.Queued) == 0 {
		return report, err
	}
	if err := a.OpenFiles(ctx); err != nil {
		return report, err
	}
	for _, id := range report.Queued {
		if _, err := a.files.service.WaitTask(ctx, "upload-"+id); err != nil {
			return report, err
		}
	}
	return report, nil
}

// notifyingIngester notifies the re-embedding worker of files without vectors.
type notifyingIngester struct {
	*ingest.Ingester
	app *App
}

// IngestFile implements [files.Ingester].
func (n notifyingIngester) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	taken, err := n.Ingester.IngestFile(ctx, f, progress)
	if taken.Unembedded > 0 {
		n.app.notifyReembedding()
	}
	return taken, err
}

// expiringAnswerer deletes the expired vector stores of a question before it answers, and fails if the question names one that does not exist. A resumed run
// whose log has more than its first event passed that check, and continues without a vector store that has expired since.
type expiringAnswerer struct {
	answer.Answerer
	app *App
}

// Answer implements [answer.Answerer].
func (t expiringAnswerer) Answer(ctx context.Context, r *answer.Recorder) error {
	scope := r.State().Collection
	if err := t.app.expireNamed(ctx, scope); err != nil {
		return err
	}
	if r.Resumed().Seq <= 1 {
		if err := t.app.CheckScope(ctx, scope, t.app.Config.Store.Collection, corpus.DefaultCollection); err != nil {
			return err
		}
	}
	return t.Answerer.Answer(ctx, r)
}

// expireNamed deletes the expired vector stores in the scope of a question.
func (a *App) expireNamed(ctx context.Context, collection string) error {
	if a.files.service == nil {
		return nil
	}
	s, err := corpus.ParseScope(collection)
	if err != nil {
		return err
	}
	if err := a.files.service.DeleteExpired(ctx, s.Collections); err != nil {
		return fmt.Errorf("delete expired vector stores: %w", err)
	}
	return nil
}

// fileRoutes returns the routes of files, vector stores and stored responses.
func (a *App) fileRoutes(version string) []server.Route {
	if a.files.service == nil {
		return nil
	}
	models, _ := a.Models.Names()
	return slices.Concat(sources.Routes(a.sources, a.Docs.Unread, a.IngestedPaths), ingestions.Routes(ingestions.Options{Sources: a.sources, Files: a.files.service, Heartbeat: a.Config.HTTP.Heartbeat}), knowledge.Routes(knowledge.Options{Models: models, Files: a.files.service, Engine: a.Engine, Index: a.scopes, Search: a.search, Parts: a.parts,
		MaxFileBytes: int64(a.Config.Parsing.MaxFileBytes), MaxQuery: int(a.Config.Runs.MaxQuery), Version: version}),
		documents.Routes(documents.Options{Files: a.files.service, Index: a.scopes, Questions: a.suggestions().Questions, Scope: a.defaultScope}))
}

// search is a hybrid search for passages, or a lexical one if the embedder fails.
func (a *App) search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	q.Levels = []corpus.Level{corpus.Passage}
	return a.searchBy(ctx, rpc.Hybrid, q)
}

// searchBy searches in a mode. If the embedder fails, a hybrid search is lexical and a semantic one fails.
func (a *App) searchBy(ctx context.Context, mode string, q index.Query) ([]index.Hit, error) {
	if err := a.expireNamed(ctx, q.Collection); err != nil {
		return nil, err
	}
	if mode == rpc.Lexical {
		return a.scopes.Search(ctx, q)
	}
	p, err := a.scopes.SearchVector(ctx, q.Collection, lang.Truncate(q.Text, maxSearch), model.ForQuery)
	switch {
	case err == nil:
		q.Space, q.Vector, q.Weights = p.Space, p.Vector, p.Weights
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if mode == rpc.Semantic {
		if q.Vector == nil {
			return nil, fault.Wrap(fault.Model, err, "there is no vector of the query; search in the mode lexical or hybrid")
		}
		q.Text = ""
	}
	return a.scopes.Search(ctx, q)
}

// maxSearch limits the text of a query that is embedded, in bytes.
const maxSearch = 8192

func (a *App) closeFiles() error {
	if a.sources != nil {
		a.sources.Close()
	}
	var err error
	if a.files.service != nil {
		err = a.files.service.Close()
	}
	if a.files.store != nil {
		if cerr := a.files.store.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// Files returns the service of uploaded files; nil before [App.OpenFiles].
func (a *App) Files() *files.Service { return a.files.service }
