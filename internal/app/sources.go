package app

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
	"github.com/sluice-rag/sluice/source/git"
	"github.com/sluice-rag/sluice/source/imap"
	"github.com/sluice-rag/sluice/source/page"
	"github.com/sluice-rag/sluice/source/s3"
	"github.com/sluice-rag/sluice/source/urls"
	"github.com/sluice-rag/sluice/source/web"
	"github.com/sluice-rag/sluice/source/webdav"
	"github.com/sluice-rag/sluice/store"
)

// permitAddresses tells users how private addresses are allowed.
const permitAddresses = "private and local addresses must be allowed: give --fetch-allow RANGE, such as --fetch-allow 10.0.0.0/8, to \"sluice serve\", or to this command if no server runs"

// openSources makes the service of sources, whose documents are in the collection of the settings.
func (a *App) openSources(kept interface {
	store.Sources
	store.Ingestions
	store.SourceFinder
}) error {
	allowed, err := a.Config.Files.Allowed()
	if err != nil {
		return fmt.Errorf("open sources: fetch-allow %w", err)
	}
	fetcher := fetch.New(fetch.Options{Allow: allowed, Permit: permitAddresses, MaxBytes: int64(a.Config.Parsing.MaxFileBytes), Timeout: a.Config.Files.FetchTimeout, KeepAlive: true})
	pages := page.NewClient(page.Options{Fetch: fetcher, Dir: filepath.Join(a.Config.Store.Data, "websites")})
	kinds := sourceKinds(fetcher, pages, a.Config, a.Ingester.Extensions())
	if err := checkShared(kinds["folder"].Shared, a.Config.Store.Data); err != nil {
		return err
	}
	a.sources = source.New(source.Options{Store: kept, Ingestions: kept, Finder: kept, AttributesChanged: invalidatingIndex{nil, a}.invalidate, MaxQueuedPaths: a.Config.Ingest.MaxQueuedIngestions, Ingester: sourceIngester{a}, Collection: a.Config.Store.Collection, Reserved: []string{files.Collection}, Logger: a.logger,
		Server: a.server(), Gone: a.gone(""), Retry: a.Failures.Clear, OnDue: a.noteDue,
		CredentialsFolder: filepath.Join(a.Config.Store.Data, "source-credentials"), Kinds: kinds})
	return nil
}

// checkShared returns an error if users of the network could add the data folder, which has the token of the server, as a source.
func checkShared(folders []string, data string) error {
	real, err := filepath.EvalSymlinks(data)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return fmt.Errorf("open sources: %w", err)
	}
	for _, dir := range folders {
		for _, p := range [][2]string{{dir, real}, {real, dir}} {
			if inside, err := filepath.Rel(filepath.FromSlash(p[0]), filepath.FromSlash(p[1])); err == nil && filepath.IsLocal(inside) {
				return fmt.Errorf("open sources: source-folder %s overlaps with the data folder %s, which has secrets: name another folder, or move the data", dir, data)
			}
		}
	}
	return nil
}

// sourceKinds returns the kinds of sources by name. The extensions are those of files that are read although they are commonly no documents.
func sourceKinds(fetcher *fetch.Fetcher, pages *page.Client, c config.Config, extensions []string) map[string]source.Kind {
	return map[string]source.Kind{
		"folder": folder.Kind(extensions, c.Ingest.SourceFolders), "urls": urls.Kind(pages), "web": web.Kind(pages),
		"git": git.Kind(git.Options{Dial: fetcher.Dial, Dir: filepath.Join(c.Store.Data, "repositories"), Extensions: extensions,
			MaxFile: int64(c.Parsing.MaxFileBytes)}),
		"imap":   imap.Kind(imap.Options{Dial: fetcher.Dial}),
		"s3":     s3.Kind(s3.Options{Dial: fetcher.Dial, Extensions: extensions}),
		"webdav": webdav.Kind(webdav.Options{Dial: fetcher.Dial, Extensions: extensions}),
	}
}

// LocateSource returns the one form of a location of a kind of source. It opens nothing, but for a folder looks at the disk of this machine.
func LocateSource(kind, location string) (string, error) {
	k, ok := sourceKinds(nil, nil, config.Config{}, nil)[kind]
	if !ok {
		return "", fault.Invalid("kind", "is not known")
	}
	return k.Locate(location)
}

// sourceAttributes returns the attributes of documents of sources.
func (a *App) sourceAttributes(ctx context.Context, documents []string) (map[string]map[string]any, error) {
	if a.sources == nil { // the files are being opened or checked
		return nil, nil
	}
	return a.sources.Attributes(ctx, documents)
}

// Sources returns the service of sources; nil before [App.OpenFiles].
func (a *App) Sources() *source.Service { return a.sources }

// sourceIngester ingests the documents of sources, one ingestion after the other.
type sourceIngester struct{ app *App }

// IngestItems implements [source.Ingester].
func (s sourceIngester) IngestItems(ctx context.Context, collection string, items []ingest.Item, indexed func(ingest.Indexed), progress func(ingest.Progress)) (ingest.Report, error) {
	if err := s.app.ingesting.Acquire(ctx, 1); err != nil { // not of all tenants: most of a sync can be waiting for a slow server
		return ingest.Report{}, err
	}
	defer s.app.ingesting.Release(1)
	r, err := s.app.Ingester.IngestItems(ctx, collection, items, indexed, progress)
	return r, s.app.afterIngest(ctx, r, err)
}

// Ingest implements [source.Ingester].
func (s sourceIngester) Ingest(ctx context.Context, req ingest.Request, progress func(ingest.Progress)) (ingest.Report, error) {
	return s.app.ingest(ctx, req, progress)
}

// DeleteDocuments implements [source.Ingester].
func (s sourceIngester) DeleteDocuments(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	if err := s.app.ingesting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.app.ingesting.Release(1)
	err := s.app.Ingester.DeleteDocuments(ctx, collection, ids)
	return s.app.afterIngest(ctx, ingest.Report{Deleted: len(ids)}, err)
}

// Version implements [source.Ingester].
func (s sourceIngester) Version() string { return s.app.Ingester.Version() }
