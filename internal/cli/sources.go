package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/server/sources"
	"github.com/sluice-rag/sluice/source"
)

type sourcesCmd struct {
	Add    sourcesAddCmd    `cmd:"" help:"Add a source and sync it."`
	List   sourcesListCmd   `cmd:"" default:"withargs" help:"List the sources, and the files and folders that were indexed without being sources."`
	Set    sourcesSetCmd    `cmd:"" help:"Change the schedule, the watch or the metadata of a source."`
	Sync   sourcesSyncCmd   `cmd:"" help:"Bring the documents of sources up to date."`
	Remove sourcesRemoveCmd `cmd:"" help:"Remove a source with its documents, or the documents of a file or folder that is no source."`
}

// sourcesOf selects the sources of a command.
type sourcesOf struct {
	Folder indexSettings `embed:""` // not embedded as other commands do: it is not checked whether --docs exist and models have keys, because a server has its own
	tenantFlag
	config.Files
	create bool   // the data folder, if it does not exist
	Server string `placeholder:"URL" help:"Server that has the sources. The default is the server that uses the data folder. If there is none, the command works in the data folder itself."`
	keyFlag
}

// sourceService is what a command does with sources: through a server, or in the data folder itself.
type sourceService interface {
	list(ctx context.Context) (sources.SourceList, error)
	add(ctx context.Context, req sources.SourceRequest) (sources.SourceView, error)
	set(ctx context.Context, id string, to sources.SourceSettings) (sources.SourceView, error)
	sync(ctx context.Context, id string, req sources.SyncRequest) (sources.SourceView, error)
	// remove starts to remove a source, and returns an empty id. Without one, it starts to remove the documents of the path, and returns the id of the ingestion.
	remove(ctx context.Context, source string, p sources.Path) (ingestion string, err error)
	// follow waits for the end of an ingestion.
	follow(ctx context.Context, id string, show func(ingest.Progress)) (source.Result, error)
}

// with runs do with the sources.
func (c *sourcesOf) with(e *env, do func(sourceService) error) (err error) {
	at, err := c.server(e, c.Server)
	if err != nil {
		return err
	}
	if at.url == "" {
		var a *app.App
		if a, at, err = c.openOrRunning(e.ctx, e, func() (*app.App, error) { return c.openFolder(e) }); err != nil {
			return err
		}
		if at.url == "" {
			defer limitServerMemory()()
			if err = a.OpenFiles(e.ctx); err == nil {
				err = do(localSources{a})
			}
			return errors.Join(err, a.Close())
		}
	}
	at = c.over(at)
	cl, err := at.client()
	if err != nil {
		return err
	}
	return do(remoteSources{cl, at})
}

// openFolder opens the data folder. Only a source that is added creates it.
func (c *sourcesOf) openFolder(e *env) (*app.App, error) {
	if c.create {
		return c.open(e.ctx, e, e.logger)
	}
	return c.openExisting(e)
}

// find returns the source with an id or a location.
func find(ctx context.Context, s sourceService, name string) (sources.SourceView, error) {
	all, err := s.list(ctx)
	if err != nil {
		return sources.SourceView{}, err
	}
	if v, ok := findIn(all, name); ok {
		return v, nil
	}
	return sources.SourceView{}, errNoSource(name)
}

func errNoSource(name string) error {
	return fmt.Errorf("there is no source %.200q: \"sluice sources list\" shows all", name)
}

// findIn is [find] in a list.
func findIn(all sources.SourceList, name string) (v sources.SourceView, ok bool) {
	abs, _ := filepath.Abs(name)
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	for _, v := range all.Sources {
		located, _ := app.LocateSource(v.Kind, name) // users write a location in several forms
		if v.ID == name || strings.TrimSuffix(v.Location, "/") == strings.TrimSuffix(name, "/") || v.Location == filepath.ToSlash(abs) || v.Location == located {
			return v, true
		}
	}
	return v, false
}

type sourcesAddCmd struct {
	sourcesOf
	sourceFlags
	Kind        string   `help:"Kind of the source: folder, git, imap, s3, urls, web or webdav. Without it, the location selects the kind."`
	Include     []string `sep:"none" placeholder:"PATTERN" help:"Add only documents that match, such as *.pdf or reports/**. Can be repeated."`
	Exclude     []string `sep:"none" placeholder:"PATTERN" help:"Leave out documents that match. Can be repeated."`
	Location    []string `arg:"" help:"Path of a folder, URL of a website, https://HOST/PATH.git#BRANCH:FOLDER, s3://HOST/BUCKET/PREFIX, imaps://HOST/FOLDER, webdavs://HOST/PATH, or URLs of documents. A list of URLs is a text file (.txt) with one URL in each line; name its path or its URL."`
	Credentials string   `placeholder:"env:NAME|file:NAME" help:"Credentials of the server: a variable whose name begins with SLUICE_SOURCE_, or a file in the folder source-credentials of its data folder. For s3, ACCESS_KEY:SECRET_KEY; for git, imap and webdav, USER:PASSWORD."`
}

// Run adds a source and waits for its first sync.
func (c *sourcesAddCmd) Run(e *env) error {
	c.create = true
	location, err := c.location()
	if err != nil {
		return fmt.Errorf("add source: %w", err)
	}
	settings, err := c.settings()
	if err != nil {
		return usagef("add source: %w", err)
	}
	req := sources.SourceRequest{Kind: c.Kind, Location: location, Include: c.Include, Exclude: c.Exclude, Credentials: c.Credentials, SourceSettings: settings}
	if e.given("collection") {
		req.Collection = e.cfg.Store.Collection
	}
	return c.with(e, func(s sourceService) error {
		v, err := s.add(e.ctx, req)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "%s  %s\n", v.ID, v.Location)
		err = await(e, s, v)
		kept := fmt.Sprintf("The source is kept. \"sluice sources sync %s\" tries again, and \"sluice sources remove %s\" removes it", v.ID, v.ID)
		switch {
		case err == nil:
			return nil
		case e.ctx.Err() != nil: // the command only says that it was stopped
			fmt.Fprintln(e.Err, kept)
			return err
		}
		return fmt.Errorf("%w\n%s", err, kept)
	})
}

// maxList limits the bytes of a local list of URLs.
const maxList = 64 << 10

// location returns the location of the arguments. A local text file is replaced by the URLs in it.
func (c *sourcesAddCmd) location() (string, error) {
	first := c.Location[0]
	if len(c.Location) > 1 || strings.Contains(first, "://") {
		return strings.Join(c.Location, " "), nil
	}
	info, err := os.Stat(first)
	switch {
	case err == nil && info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(first), ".txt"):
		return c.list(first, info.Size())
	case c.Server != "":
		return first, nil // a path on the machine of the server
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(first, "@"):
		return "", fmt.Errorf("%.200q does not exist: a Git repository is added as https://HOST/PATH.git, since only HTTP is supported", first)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%.200q does not exist: want the path of a folder, or a URL such as https://HOST/PATH", first)
	case err == nil && info.Mode().IsRegular():
		return "", fmt.Errorf("%.200q is a file: \"sluice ingest\" adds files; a source is a folder, or a list of URLs (.txt)", first)
	}
	return filepath.Abs(first)
}

// list returns the URLs of a local list.
func (c *sourcesAddCmd) list(path string, size int64) (string, error) {
	if size > maxList {
		return "", fmt.Errorf("%s is larger than %d bytes: put it on a web server, and add its URL", path, maxList)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var urls []string
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if u, err := url.Parse(line); err != nil || u.Host == "" || strings.ContainsAny(line, " \t") {
			return "", fmt.Errorf("%s: line %d: want a URL such as https://HOST/PATH", path, number)
		}
		urls = append(urls, line)
	}
	if len(urls) == 0 {
		return "", fmt.Errorf("%s has no URLs", path)
	}
	c.Kind = "urls"
	return strings.Join(urls, " "), nil
}

type sourcesListCmd struct {
	sourcesOf
	JSON bool `name:"json" help:"Print JSON: the reply of GET /api/sources?paths=true."`
}

// Run lists the sources.
func (c *sourcesListCmd) Run(e *env) error {
	return c.with(e, func(s sourceService) error {
		all, err := s.list(e.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printLines(e, all)
		}
		w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "SOURCE\tKIND\tSTATE\tDOCUMENTS\tFAILED\tLAST SYNC\tSCHEDULE\tCOLLECTION\tLOCATION")
		for _, v := range all.Sources {
			last, docs, failed, state := "never", 0, 0, v.State
			if l := v.LastSync; l != nil {
				last, failed = localTime(l.Ended), l.Failed
				if l.Documents != nil {
					docs = *l.Documents
				}
				if l.Error != "" && state == sources.Idle {
					state = "failed"
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", v.ID, v.Kind, state, docs, failed, last, schedule(v), v.Collection, lang.Truncate(v.Location, 200))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, v := range all.Sources {
			if l := v.LastSync; l != nil && l.Error != "" {
				fmt.Fprintf(e.Err, "%s: %s\n", v.ID, l.Error)
			}
		}
		if d := all.Docs; d != nil {
			fmt.Fprintln(e.Err, "files of --docs:")
			e.printFailures(d.Failures, d.Failed)
		}
		return printPaths(e, all.Paths)
	})
}

// printPaths lists the files and folders that are no sources.
func printPaths(e *env, paths []sources.Path) error {
	if len(paths) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nOTHER FILES AND FOLDERS\tDOCUMENTS\tCOLLECTION")
	for _, p := range paths {
		fmt.Fprintf(w, "%s\t%d\t%s\n", p.Path, p.Documents, p.Collection)
	}
	return w.Flush()
}

// schedule describes when a source is synced.
func schedule(v sources.SourceView) string {
	var parts []string
	switch {
	case v.Watch && v.WatchError != "":
		parts = append(parts, "not watched: "+v.WatchError)
	case v.Watch:
		parts = append(parts, "watched")
	}
	if v.Every != "" {
		parts = append(parts, "every "+v.Every)
	}
	if v.Next != nil {
		parts = append(parts, "next "+localTime(*v.Next))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

type sourcesSyncCmd struct {
	sourcesOf
	Full         bool     `help:"Read all documents again, even if their time and size have not changed."`
	AllowRemoval bool     `help:"Remove all documents that have vanished, even if the source is empty, or lost most of them. Without it, they are kept, because its place may not be mounted."`
	Source       []string `arg:"" optional:"" help:"Ids or locations. The default is all sources."`
}

// Run syncs sources, one after the other.
func (c *sourcesSyncCmd) Run(e *env) error {
	if c.AllowRemoval && len(c.Source) == 0 {
		return usagef("sync: --allow-removal needs the sources that it is for")
	}
	return c.with(e, func(s sourceService) error {
		all, err := s.list(e.ctx)
		selected := all.Sources
		if len(c.Source) > 0 && err == nil {
			selected = nil
			for _, name := range c.Source {
				v, err := find(e.ctx, s, name)
				if err != nil {
					return err
				}
				selected = append(selected, v)
			}
		}
		if err != nil {
			return err
		}
		var failed error
		for _, v := range selected {
			v, err := s.sync(e.ctx, v.ID, sources.SyncRequest{Full: c.Full, AllowRemoval: c.AllowRemoval})
			if err == nil {
				err = await(e, s, v)
			}
			if err != nil && e.ctx.Err() != nil {
				return err
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
}

// await waits for the end of the ingestion that is named by a source, shows its progress, and prints its result. If the sync did not complete, or none of the documents could be read, it
// returns an error.
func await(e *env, s sourceService, v sources.SourceView) error {
	show, done := newProgress(e, "syncing")
	r, err := s.follow(e.ctx, v.Ingestion, show)
	done()
	if err != nil {
		return fmt.Errorf("the sync of %s: %w", v.ID, err)
	}
	if err := e.printResult(v.ID, r); err != nil {
		return err
	}
	if r.Error != "" {
		return fmt.Errorf("the sync of %s did not complete: %s", v.ID, r.Error)
	}
	if r.Failed > 0 && r.Added+r.Updated+r.Unchanged == 0 {
		return fmt.Errorf("%s: none of the documents could be read", v.ID)
	}
	return nil
}
