package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type ingestCmd struct {
	config.Store
	config.Ingest
	config.Models
	Retry bool     `name:"retry" help:"Read documents again that took too much memory or time before."`
	Path  []string `arg:"" help:"Files and folders."`
}

// Run adds the paths to the collection. It fails when there were files and none could be read.
func (c *ingestCmd) Run(e *env) (err error) {
	for _, p := range c.Path {
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	defer limitGarbage()()
	a, err := app.Open(e.ctx, e.cfg, e.logger)
	if errors.Is(err, app.ErrInUse) {
		if url, ok := awaitRunning(e.ctx, e.cfg.Store.Data); ok {
			return fmt.Errorf("%w: the server at %s; stop it first, or start it with --docs", err, url)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if c.Retry {
		if err := a.Failures.Forget(); err != nil {
			return err
		}
	}
	report, err := ingestPaths(e.ctx, e, a, c.Path)
	if err == nil && report.Unembedded == 0 {
		err = a.CatchUpVectors(e.ctx)
	}
	if err == nil && len(report.Failed) > 0 && report.Added+report.Updated+report.Unchanged == 0 {
		return errors.New("ingest: none of the files could be read")
	}
	return err
}

// ingestPaths brings the collection up to date with the paths, with a bar on a terminal and a line of log elsewhere.
func ingestPaths(ctx context.Context, e *env, a *app.App, paths []string) (report ingest.Report, err error) {
	absolute := make([]string, len(paths))
	for i, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return report, fmt.Errorf("ingest %s: %w", p, err)
		}
		absolute[i] = abs
	}
	show, done := progress(e, "indexing")
	report, err = a.Ingester.Ingest(ctx, ingest.Request{Collection: e.cfg.Store.Collection, Paths: absolute}, func(p ingest.Progress) {
		a.Indexing(p)
		show(p)
	})
	done()
	told := e.logger.With("collection", e.cfg.Store.Collection)
	for _, f := range report.Failed {
		told.Warn("not indexed", "file", f.Path, "reason", f.Reason)
	}
	if err != nil {
		return report, fmt.Errorf("ingest: %w", err)
	}
	a.VectorsChanged()
	if report.Unembedded > 0 {
		told.Warn("found by words alone until the embedder answers", "chunks", report.Unembedded, "reason", report.EmbedFailure)
	}
	told.Info("documents are indexed", "added", report.Added, "updated", report.Updated, "unchanged", report.Unchanged,
		"deleted", report.Deleted, "ignored", report.Ignored, "failed", len(report.Failed), "chunks", report.Chunks,
		"ms", report.Duration.Milliseconds())
	if report.Updated+report.Deleted > 0 {
		if err := a.Index.Compact(ctx); err != nil { // what is gone is to be gone from the disk too
			return report, fmt.Errorf("ingest: %w", err)
		}
	}
	return report, nil
}

// progress shows how far what is said to be going on has come.
func progress(e *env, what string) (show func(ingest.Progress), done func()) {
	if isTerminal(e.Err) {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(e.Err), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(30), progressbar.OptionFullWidth())
		return func(p ingest.Progress) {
			bar.ChangeMax(max(p.Total, 1))
			_ = bar.Set(min(p.Done, max(p.Total, 1)))
		}, func() { _ = bar.Finish() }
	}
	var last time.Time
	return func(p ingest.Progress) {
		if now := time.Now(); now.Sub(last) > 5*time.Second {
			last = now
			e.logger.Info(what, "done", p.Done, "of", p.Total, "bytes", p.Bytes)
		}
	}, func() {}
}
