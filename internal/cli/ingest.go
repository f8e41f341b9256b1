package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/source"
)

// indexSettings are the settings of commands that index documents in the data folder.
type indexSettings struct {
	config.Store
	config.Index
	config.Ingest
	config.Parsing
	config.Models
}

type ingestCmd struct {
	indexSettings
	tenantFlag
	Retry        bool     `name:"retry" help:"Retry documents that exceeded the memory or time limit before."`
	AllowRemoval bool     `help:"Remove all documents of the folders that have vanished, even if a folder is empty, or lost most of them. Without it, they are kept, because the folder may not be mounted."`
	JSON         bool     `name:"json" help:"Print JSON: the result as in the event ingestion_finished of GET /api/ingestions/{id}/stream, with all failures."`
	Path         []string `arg:"" help:"Files and folders."`
}

// Run adds the paths to the collection and prints the result. It fails if none of the files could be read.
func (c *ingestCmd) Run(e *env) error {
	for _, p := range c.Path {
		if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("ingest: %s does not exist; if it did, \"sluice sources remove %s\" removes its documents", p, p)
		} else if err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	at, err := c.server(e, "")
	if err != nil {
		return err
	}
	var r source.Result
	collection := e.cfg.Store.Collection
	if at.url == "" {
		defer limitServerMemory()()
		r, at, err = c.local(e)
	}
	if at.url != "" && err == nil {
		fmt.Fprintln(e.Err, "the server at", at.url, "uses the data folder, so it ingests the files")
		r, collection, err = c.through(e, at)
	}
	switch {
	case r.Ended.IsZero():
		return err
	case c.JSON:
		err = errors.Join(printLines(e, r), err)
	default:
		if r.Error == "" && r.Added+r.Updated+r.Unchanged+r.Removed+r.Failed == 0 {
			fmt.Fprintln(e.Err, "no documents were found; docs/ingest.md lists the formats")
		}
		err = errors.Join(e.printResult("collection "+collection, r), err)
	}
	if err != nil {
		return err
	}
	return failureOf(r)
}

// failureOf returns the error of a command whose ingestion of paths had a result that was printed.
func failureOf(r source.Result) error {
	switch {
	case strings.HasPrefix(r.Error, source.NoneRead), r.Error == "" && r.Failed > 0 && r.Added+r.Updated+r.Unchanged == 0:
		return errors.New("ingest: " + source.NoneRead) // the result says why
	case r.Error != "":
		return fmt.Errorf("ingest: %s", r.Error)
	}
	return nil
}

// local ingests the paths in the data folder, or returns the server that uses the folder.
func (c *ingestCmd) local(e *env) (r source.Result, at remote, err error) {
	a, at, err := c.openOrRunning(e.ctx, e, func() (*app.App, error) { return c.open(e.ctx, e, e.logger) })
	if err != nil || at.url != "" {
		return r, at, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if c.Retry {
		if err := a.Failures.Clear(); err != nil {
			return r, at, err
		}
	}
	show, done := newProgress(e, "indexing")
	began := time.Now().UTC()
	paths, report, err := ingestPaths(e.ctx, a, c.Path, c.AllowRemoval, show)
	done()
	if err != nil {
		e.printFailures(report.Failed, len(report.Failed))
		return r, at, err
	}
	r = source.ResultOf(paths, report)
	r.Failures, r.Started, r.Ended = report.Failed, began, time.Now().UTC()
	if report.Unembedded == 0 {
		err = a.Reembed(e.ctx)
	}
	return r, at, err
}

// ingestPaths updates the collection from the paths, and returns them as absolute ones.
func ingestPaths(ctx context.Context, a *app.App, paths []string, allowRemoval bool, show func(ingest.Progress)) (absolute []string, report ingest.Report, err error) {
	if absolute, err = absolutePaths(paths); err != nil {
		return nil, report, err
	}
	report, err = a.Ingest(ctx, absolute, allowRemoval, func(p ingest.Progress) {
		a.Indexing(p)
		show(p)
	})
	return absolute, report, err
}

func absolutePaths(paths []string) ([]string, error) {
	absolute := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if absolute[i], err = filepath.Abs(p); err != nil {
			return nil, fmt.Errorf("ingest %s: %w", p, err)
		}
	}
	return absolute, nil
}

// printFailures prints which files are not indexed, and how many others of all.
func (e *env) printFailures(failures []ingest.Failure, all int) {
	for _, f := range failures {
		fmt.Fprintf(e.Err, "not indexed: %s: %s\n", f.Path, f.Reason)
	}
	if more := all - len(failures); more > 0 {
		fmt.Fprintf(e.Err, "not indexed: %d more\n", more)
	}
}

// printResult prints the result of an ingestion: failures and warnings to standard error, and the numbers to standard output. If nothing was done because of an error, there are no numbers.
func (e *env) printResult(of string, r source.Result) error {
	e.printFailures(r.Failures, r.Failed)
	if r.Warning != "" {
		fmt.Fprintln(e.Err, r.Warning)
	}
	if r.Error != "" && r.Added+r.Moved+r.Updated+r.Unchanged+r.Removed+r.Ignored+r.Failed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(e.Out, "%s: added %d (moved %d), updated %d, unchanged %d, removed %d, ignored %d, failed %d\n", of, r.Added, r.Moved, r.Updated, r.Unchanged, r.Removed, r.Ignored, r.Failed)
	return err
}

// progressInterval is the time between two lines of progress.
const progressInterval = 5 * time.Second

// newProgress returns functions that show and end the progress of a task: a bar on a terminal, and otherwise a line from time to time.
func newProgress(e *env, task string) (show func(ingest.Progress), done func()) {
	return progressLines(e, task, func(p ingest.Progress) {
		if p.Total > 0 {
			fmt.Fprintf(e.Err, "%s: %d of %d\n", task, p.Done, p.Total)
		} else {
			fmt.Fprintf(e.Err, "%s: %d\n", strings.TrimSpace(task+" "+p.Current), p.Done)
		}
	})
}

// progressLines is [newProgress] with a function that writes a line.
func progressLines(e *env, task string, line func(ingest.Progress)) (show func(ingest.Progress), done func()) {
	if isTerminal(e.Err) {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(e.Err), progressbar.OptionSetDescription(task),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(30), progressbar.OptionFullWidth())
		return func(p ingest.Progress) {
			if p.Total > 0 {
				bar.ChangeMax(p.Total)
				p.Done = min(p.Done, p.Total)
			} else {
				bar.Describe(strings.TrimSpace(task + " " + p.Current))
			}
			_ = bar.Set(p.Done)
		}, func() { _ = bar.Finish() }
	}
	last := time.Now()
	return func(p ingest.Progress) {
		if now := time.Now(); now.Sub(last) > progressInterval {
			last = now
			line(p)
		}
	}, func() {}
}
