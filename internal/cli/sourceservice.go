package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/server/ingestions"
	"github.com/sluice-rag/sluice/server/sources"
	"github.com/sluice-rag/sluice/source"
)

// remoteSources are the sources of a server.
type remoteSources struct {
	c  *client.Client
	at remote
}

func sourcePath(id string) string { return "/api/sources/" + url.PathEscape(id) }

// task replaces the method and path of the request, with which errors of [client.Client] begin, by what the user wanted to do, such as "add source".
func task(what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s remoteSources) list(ctx context.Context) (out sources.SourceList, err error) {
	err = s.c.Get(ctx, "/api/sources?paths=true", &out)
	return out, task("list sources", err)
}

func (s remoteSources) add(ctx context.Context, req sources.SourceRequest) (v sources.SourceView, err error) {
	err = s.c.Post(ctx, "/api/sources", req, &v)
	return v, task("add source", err)
}

func (s remoteSources) set(ctx context.Context, id string, to sources.SourceSettings) (v sources.SourceView, err error) {
	err = s.c.Patch(ctx, sourcePath(id), to, &v)
	return v, task("change source", err)
}

func (s remoteSources) sync(ctx context.Context, id string, req sources.SyncRequest) (v sources.SourceView, err error) {
	err = s.c.Post(ctx, sourcePath(id)+"/sync", req, &v)
	return v, task("sync source", err)
}

func (s remoteSources) remove(ctx context.Context, source string, p sources.Path) (string, error) {
	if source != "" {
		return "", task("remove source", s.c.Delete(ctx, sourcePath(source), nil))
	}
	var accepted ingestions.Accepted
	err := s.c.Post(ctx, "/api/ingestions", ingestions.Request{Paths: []string{p.Path}, Collection: p.Collection, Remove: true}, &accepted)
	return accepted.ID, task("remove documents", err)
}

func (s remoteSources) follow(ctx context.Context, id string, show func(ingest.Progress)) (source.Result, error) {
	f := ingestionFollower{at: s.at, path: ingestions.PathOf(id), show: show}
	return f.follow(ctx)
}

// localSources are the sources of a data folder that no server uses.
type localSources struct{ a *app.App }

func (s localSources) list(ctx context.Context) (sources.SourceList, error) {
	all, err := s.a.Sources().List(ctx)
	out := make([]sources.SourceView, len(all))
	for i, src := range all {
		if out[i] = sources.View(src); out[i].State == sources.Syncing && src.Progress == nil {
			out[i].State = "interrupted" // an earlier process began the sync
		}
	}
	if err != nil {
		return sources.SourceList{}, err
	}
	paths, err := s.a.IngestedPaths(ctx)
	return sources.SourceList{Sources: out, Paths: paths}, err
}

func (s localSources) add(ctx context.Context, req sources.SourceRequest) (sources.SourceView, error) {
	set, err := req.Settings()
	if err != nil {
		return sources.SourceView{}, err
	}
	src, err := s.a.Sources().Add(ctx, set, true)
	if err != nil {
		return sources.SourceView{}, err
	}
	return s.sync(ctx, src.ID, sources.SyncRequest{})
}

func (s localSources) set(ctx context.Context, id string, to sources.SourceSettings) (sources.SourceView, error) {
	c, err := to.Changes()
	if err != nil {
		return sources.SourceView{}, err
	}
	src, err := s.a.Sources().Change(ctx, id, c)
	return sources.View(src), err
}

func (s localSources) sync(ctx context.Context, id string, req sources.SyncRequest) (sources.SourceView, error) {
	src, err := s.a.Sources().Sync(ctx, id, source.SyncOptions{Full: req.Full, AllowRemoval: req.AllowRemoval})
	return sources.View(src), err
}

func (s localSources) remove(ctx context.Context, id string, p sources.Path) (string, error) {
	if id != "" {
		_, err := s.a.Sources().Remove(ctx, id)
		return "", err
	}
	i, err := s.a.Sources().IngestPaths(ctx, source.PathsRequest{Paths: []string{p.Path}, Collection: p.Collection, Remove: true})
	if err != nil {
		return "", err
	}
	return i.ID, nil
}

func (s localSources) follow(ctx context.Context, id string, show func(ingest.Progress)) (source.Result, error) {
	for {
		i, err := s.a.Sources().Ingestion(ctx, id)
		if err != nil {
			return source.Result{}, err
		}
		st, changed := i.After(0)
		if st.Result != nil {
			return *st.Result, nil
		}
		if st.Progress != nil {
			show(*st.Progress)
		}
		var again <-chan time.Time
		if i.Elsewhere {
			again = time.After(source.ShareEvery) // it does not change
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return source.Result{}, ctx.Err()
		}
	}
}
