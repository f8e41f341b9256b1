package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/source"
)

type ingestCmd struct {
	config.Store
	config.Index
	tenantFlag
	config.Ingest
	config.Parsing
	config.Models
	Retry        bool     `name:"retry" help:"Retry documents that exceeded the memory or time limit before."`
	AllowRemoval bool     `help:"Remove all documents of the folders that have vanished, even if a folder is empty, or lost most of them. Without it, they are kept, because the folder may not be mounted."`
	Path         []string `arg:"" help:"Files and folders."`
}

// Run adds the paths to the collection. It fails if none of the files could be read.
func (c *ingestCmd) Run(e *env) (err error) {
	for _, p := range c.Path {
		if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("ingest: %s does not exist; if it did, \"sluice sources remove %s\" removes its documents", p, p)
		} else if err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	if at, err := c.server(e, ""); err != nil {
		return err
	} else if at.url != "" {
		return c.through(e, at)
	}
	defer limitServerMemory()()
	a, at, err := c.openOrRunning(e.ctx, e, func() (*app.App, error) { return c.open(e.ctx, e, e.logger) })
	if err != nil {
		return err
	}
	if at.url != "" {
		return c.through(e, at)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if c.Retry {
		if err := a.Failures.Clear(); err != nil {
			return err
		}
	}
	report, err := ingestPaths(e.ctx, e, a, c.Path, c.AllowRemoval)
	if err == nil && report.Unembedded == 0 {
		err = a.Reembed(e.ctx)
	}
	if err == nil && report.NotRemoved > 0 {
		err = fmt.Errorf("ingest: %s", ingest.KeptMessage(report.NotRemoved, source.ConfirmPaths))
	}
	if err == nil && len(report.Failed) > 0 && report.Added+report.Updated+report.Unchanged == 0 {
		return errNoneRead
	}
	return err
}

var errNoneRead = errors.New("ingest: none of the files could be read")

// ingestPaths updates the collection from the paths. It shows a progress bar on a terminal and log lines otherwise.
func ingestPaths(ctx context.Context, e *env, a *app.App, paths []string, allowRemoval bool) (report ingest.Report, err error) {
	absolute := make([]string, len(paths))
	for i, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return report, fmt.Errorf("ingest %s: %w", p, err)
		}
		absolute[i] = abs
	}
	show, done := newProgress(e, "indexing")
	report, err = a.Ingest(ctx, absolute, allowRemoval, func(p ingest.Progress) {
		a.Indexing(p)
		show(p)
	})
	done()
	if err != nil {
		logFailures(e, report.Failed)
		return report, err
	}
	logReport(e, report)
	return report, nil
}

func logFailures(e *env, failures []ingest.Failure) {
	for _, f := range failures {
		e.logger.Warn("not indexed", "collection", e.cfg.Store.Collection, "file", f.Path, "reason", f.Reason)
	}
}

// logReport logs the result of an ingestion.
func logReport(e *env, report ingest.Report) {
	logger := e.logger.With("collection", e.cfg.Store.Collection)
	logFailures(e, report.Failed)
	if report.Unembedded > 0 {
		logger.Warn("chunks without vectors: only lexical search finds them until the embedder answers", "chunks", report.Unembedded, "reason", report.EmbedFailure)
	}
	if report.NotRemoved > 0 {
		logger.Warn(ingest.KeptMessage(report.NotRemoved, source.ConfirmPaths), "documents", report.NotRemoved)
	}
	logger.Info("documents indexed", "added", report.Added, "updated", report.Updated, "unchanged", report.Unchanged,
		"deleted", report.Deleted, "ignored", report.Ignored, "failed", len(report.Failed), "chunks", report.Chunks,
		"ms", report.Duration.Milliseconds())
}

// newProgress returns functions that show and end the progress of a task.
func newProgress(e *env, task string) (show func(ingest.Progress), done func()) {
	if isTerminal(e.Err) {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(e.Err), progressbar.OptionSetDescription(task),
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
			e.logger.Info(task, "done", p.Done, "of", p.Total, "bytes", p.Bytes)
		}
	}, func() {}
}
