package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/store/sqlite"
)

// uploads is what keeps the files that people send.
type uploads struct {
	store interface {
		files.Store
		Close() error
	}
	service *files.Service
}

// OpenFiles opens what keeps the files that people upload, and goes on with the work on them that an earlier process left. Programs
// that only look need not.
func (a *App) OpenFiles(ctx context.Context) error {
	dir := filepath.Join(a.Config.Store.Data, "files")
	allowed, err := a.Config.Files.Allowed()
	if err != nil {
		return fmt.Errorf("open files: fetch-allow %w", err)
	}
	kept, err := sqlite.Open(ctx, filepath.Join(a.Config.Store.Data, "files.db"))
	if err != nil {
		return err
	}
	a.files.store = kept
	a.files.service, err = files.Open(ctx, dir, files.Options{Store: kept, Index: forgetful{a.Index, a}, Ingest: noticing{a.Ingester, a},
		Fetch:   fetch.New(fetch.Options{Allow: allowed, MaxBytes: int64(a.Config.Ingest.MaxFileBytes), Timeout: a.Config.Files.FetchTimeout}),
		Workers: a.Config.Ingest.Workers, MaxFileBytes: int64(a.Config.Ingest.MaxFileBytes), Logger: a.logger,
		Collections: []string{a.Config.Store.Collection}})
	return err
}

// noticing tells what keeps the vectors up to date of files that came without.
type noticing struct {
	*ingest.Ingester
	app *App
}

// IngestFile implements [files.Ingester].
func (n noticing) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.Taken, error) {
	taken, err := n.Ingester.IngestFile(ctx, f, progress)
	if taken.Unembedded > 0 {
		n.app.VectorsChanged()
	}
	return taken, err
}

// inTime answers questions of vector stores that are not over.
type inTime struct {
	answer.Answerer
	app *App
}

// Answer implements [answer.Answerer].
func (t inTime) Answer(ctx context.Context, r *answer.Recorder) error {
	if s := t.app.files.service; s != nil {
		if err := s.Sweep(ctx); err != nil {
			return fmt.Errorf("look for vector stores that are over: %w", err)
		}
	}
	return t.Answerer.Answer(ctx, r)
}

// fileRoutes gives the routes of files, vector stores and stored responses.
func (a *App) fileRoutes(version string) []server.Route {
	if a.files.service == nil {
		return nil
	}
	models, _ := a.Models.Names()
	return knowledge.Routes(knowledge.Options{Models: models, Files: a.files.service, Engine: a.Engine, Index: a.scopes, Search: a.search, Unwell: a.unwell,
		MaxFileBytes: int64(a.Config.Ingest.MaxFileBytes), MaxQuery: int(a.Config.Runs.MaxQuery), Version: version})
}

// unwell tells what is wrong with the data folder. That a disk is full or was taken away is seen only by writing.
func (a *App) unwell(context.Context) []string {
	var issues []string
	if a.Log.Err() != nil {
		issues = append(issues, "the log takes no more events")
	}
	if err := writable(a.Config.Store.Data); err != nil {
		a.logger.Error("the data folder cannot be written", "error", err)
		issues = append(issues, "the data folder cannot be written")
	}
	return issues
}

// writable writes a page into a folder and takes it away again.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "health-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// search is one search by words and, where the embedder answers, by vectors.
func (a *App) search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if err := a.files.service.Sweep(ctx); err != nil {
		return nil, err
	}
	p, err := a.scopes.Place(ctx, q.Collection, text.Head(q.Text, maxSearch), model.ForQuery)
	if err == nil {
		q.Space, q.Vector, q.Weights = p.Space, p.Vector, p.Weights
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	q.Levels = []corpus.Level{corpus.Passage}
	return a.scopes.Search(ctx, q)
}

// maxSearch bounds what of a query is embedded, in bytes.
const maxSearch = 8192

func (a *App) closeFiles() error {
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
