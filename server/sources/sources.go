// Package sources provides the routes of sources of documents, such as folders.
package sources

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/store"
)

// States of a source.
const (
	Idle     = "idle"
	Syncing  = "syncing"
	Removing = "removing"
)

type (
	// SourceRequest is a source to add.
	SourceRequest struct {
		Kind     string   `json:"kind,omitempty" enum:"folder,git,imap,s3,urls,web,webdav" description:"Kind of the source. Without it, the location selects the kind: a path is a folder; git+https://… and a URL that ends in .git are git; imaps://… is imap; s3://… is s3; webdavs://… is webdav; several URLs, one of a text file (.txt) or of a document such as .pdf are urls; any other URL is web, a website."`
		Location string   `json:"location" maxLength:"65536" description:"Absolute path of the folder on the machine of the server, or URL of the website: its pages have URLs that begin with it. For s3, s3://HOST/BUCKET/PREFIX, or s3+http:// without TLS. For git, git+https://HOST/PATH#BRANCH:FOLDER; the branch and the folder may be missing. For imap, imaps://HOST/FOLDER, or imap://HOST/FOLDER with STARTTLS. For webdav, webdavs://HOST/PATH. For urls, URLs with spaces between them: of documents, or of lists (.txt) with one URL in each line."`
		Include  []string `json:"include,omitempty" description:"Patterns, such as *.pdf or reports/**. A document must match one of them, if there are any. A pattern without a slash is for the name of the file."`
		Exclude  []string `json:"exclude,omitempty" description:"Patterns. A document must match none of them."`
		// Credentials are not part of replies.
		Credentials string `json:"credentials,omitempty" description:"Names credentials of the server, which are never shown: env:SLUICE_SOURCE_NAME, a variable, or file:NAME, a file in the folder source-credentials of its data folder. This needs a key of the scope tenants."`
		Collection  string `json:"collection,omitempty" description:"Collection of the documents. The default is that of the server. Questions only search another one if they name it."`
		SourceSettings
	}
	// SourceSettings can be changed later.
	SourceSettings struct {
		Every       *string           `json:"every,omitempty" description:"Time between two syncs, from 1m to 8784h, such as 1h or 1h30m. 0 ends the schedule."`
		Watch       *bool             `json:"watch,omitempty" description:"Watch the source, and index changes at once. Only folders can be watched."`
		Metadata    map[string]string `json:"dublin_core,omitzero" description:"Elements of the Dublin Core to set on all documents, such as dc_creator. They replace all elements that were set before, and take precedence over those in the documents. {} removes them."`
		Attributes  map[string]any    `json:"metadata,omitzero" description:"Attributes to set on all documents, such as {\"team\":\"legal\",\"year\":2024}: texts, numbers and truth values, which the filters of questions and searches compare. They replace all that were set before. {} removes them."`
		Contributor *string           `json:"contributor,omitempty" description:"Account to set as the contributor of all documents. An empty text removes it."`
	}
	changeRequest struct {
		idParam
		SourceSettings
	}
	// SourceList is all sources, sorted by id, and what can be added.
	SourceList struct {
		Sources []SourceView `json:"sources"`
		Folders []string     `json:"folders,omitempty" description:"Folders of the server below which folders can be added without a key of the scope tenants."`
		Docs    *DocsResult  `json:"docs,omitempty" description:"Files of --docs that are not indexed. It is missing if all are."`
		Paths   []Path       `json:"paths,omitempty" description:"Files and folders whose documents are indexed and that are no sources: those of --docs and of sluice ingest. They are only listed if the request asks for them."`
	}
	// Path is a file or folder that was ingested and is no source.
	Path struct {
		Path       string `json:"path"`
		Collection string `json:"collection"`
		Documents  int    `json:"documents" description:"How many of its documents are indexed."`
	}
	listParams struct {
		Paths bool `query:"paths" default:"false" description:"Also list files and folders that are no sources."`
	}
	// DocsResult tells which files of --docs could not be read.
	DocsResult struct {
		Failed   int              `json:"failed"`
		Failures []ingest.Failure `json:"failures" description:"The first 100 of them."`
	}
	// SourceView is a source.
	SourceView struct {
		ID          string            `json:"id"`
		Kind        string            `json:"kind"`
		Location    string            `json:"location"`
		Collection  string            `json:"collection" description:"Collection of the documents."`
		Include     []string          `json:"include,omitempty"`
		Exclude     []string          `json:"exclude,omitempty"`
		Added       time.Time         `json:"added"`
		State       string            `json:"state" enum:"idle,syncing,removing"`
		Every       string            `json:"every,omitempty" description:"Time between two syncs."`
		Watch       bool              `json:"watch,omitempty"`
		WatchError  string            `json:"watch_error,omitempty" description:"Why the source cannot be watched. Until it can be, it is synced by its schedule, or once a minute."`
		Next        *time.Time        `json:"next_sync,omitempty" description:"When the next sync is due."`
		Metadata    map[string]string `json:"dublin_core,omitempty"`
		Attributes  map[string]any    `json:"metadata,omitempty" description:"Attributes of all documents."`
		Contributor string            `json:"contributor,omitempty"`
		Ingestion   string            `json:"ingestion,omitempty" description:"Id of the sync in progress, or of the last one. Its stream is /api/ingestions/{id}/stream."`
		Progress    *SourceProgress   `json:"progress,omitempty" description:"Of the sync in progress. It is missing while the documents are being listed."`
		LastSync    *source.Result    `json:"last_sync,omitempty" description:"Missing until the first sync has ended."`
	}
	// SourceProgress is how far a sync is.
	SourceProgress struct {
		Done    int    `json:"done"`
		Total   int    `json:"total"`
		Current string `json:"current,omitempty" description:"The document that was finished last."`
	}
	idParam struct {
		ID string `path:"id"`
	}
	syncRequest struct {
		idParam
		SyncRequest
	}
	// SyncRequest is what a sync has to do.
	SyncRequest struct {
		Full         bool `json:"full,omitempty" description:"Read all documents again, also those whose time and size have not changed. Unchanged bytes are still not indexed again."`
		AllowRemoval bool `json:"allow_removal,omitempty" description:"Remove all documents that have vanished. Without it, they are kept if the place is empty and had at least 3, or has less than half as many as before and at least 20 fewer. If a sync is in progress, the reply is 409."`
	}
)

// maxBody limits the body of a request, in bytes.
const maxBody = 256 << 10

// maxFailures limits the files in a [DocsResult].
const maxFailures = 100

type routes struct {
	s     *source.Service
	docs  func() []ingest.Failure
	paths func(context.Context) ([]Path, error)
}

// Routes returns the routes. The function docs returns the files of --docs that could not be read, and paths the files and folders that were ingested and are no sources.
func Routes(s *source.Service, docs func() []ingest.Failure, paths func(context.Context) ([]Path, error)) []server.Route {
	rt := routes{s, docs, paths}
	id := []any{idParam{}}
	return []server.Route{
		{Method: "GET", Path: "/api/sources", Scope: auth.Read, Serve: rt.list, Request: []any{listParams{}}, Reply: SourceList{}, Faults: []int{400}, Summary: "List the sources of documents"},
		{Method: "POST", Path: "/api/sources", Scope: auth.Write, Serve: rt.add, MaxBody: maxBody, Request: []any{SourceRequest{}}, Reply: SourceView{}, Status: http.StatusCreated,
			Faults: []int{400, 403, 409, 413, 415, 507}, Summary: "Add a source of documents and sync it; a folder needs a key of the scope tenants or is in one that the server shares"},
		{Method: "GET", Path: "/api/sources/{id}", Scope: auth.Read, Serve: rt.show, Request: id, Reply: SourceView{}, Faults: []int{404}, Summary: "Show a source with its progress and its last sync"},
		{Method: "POST", Path: "/api/sources/{id}/sync", Scope: auth.Write, Serve: rt.sync, MaxBody: maxBody, Request: []any{syncRequest{}}, Reply: SourceView{}, Status: http.StatusAccepted,
			Faults: []int{400, 404, 409, 413, 415, 507}, Summary: "Sync a source in the background"},
		{Method: "PATCH", Path: "/api/sources/{id}", Scope: auth.Write, Serve: rt.change, MaxBody: maxBody, Request: []any{changeRequest{}}, Reply: SourceView{},
			Faults: []int{400, 403, 404, 409, 413, 415, 507}, Summary: "Change the schedule, the watch or the metadata of a source"},
		{Method: "DELETE", Path: "/api/sources/{id}", Scope: auth.Write, Serve: rt.remove, Request: id, Reply: SourceView{}, Status: http.StatusAccepted, Faults: []int{404, 507},
			Summary: "Remove a source with its documents, in the background"},
	}
}

// View returns the JSON of a source.
func View(src source.Source) SourceView {
	v := SourceView{ID: src.ID, Kind: src.Kind, Location: src.Location, Collection: src.Collection, Include: src.Include, Exclude: src.Exclude, Added: src.CreatedAt, State: Idle, LastSync: src.Last,
		Watch: src.Watch, WatchError: src.WatchFailure, Metadata: src.Meta, Contributor: src.Contributor, Attributes: src.Attributes, Ingestion: src.Ingestion}
	if src.Every > 0 {
		v.Every = durationText(src.Every)
	}
	if !src.Next.IsZero() {
		v.Next = &src.Next
	}
	switch src.State {
	case store.SourceSyncing:
		v.State = Syncing
	case store.SourceRemoving:
		v.State = Removing
	}
	if p := src.Progress; p != nil {
		v.Progress = &SourceProgress{p.Done, p.Total, p.Current}
	}
	return v
}

func (rt routes) list(w http.ResponseWriter, r *http.Request) error {
	withPaths := r.URL.Query().Get("paths")
	if withPaths != "" && withPaths != "true" && withPaths != "false" {
		return fault.Invalid("paths", "want true or false")
	}
	all, err := rt.s.List(r.Context())
	if err != nil {
		return err
	}
	out := SourceList{Sources: []SourceView{}, Folders: rt.s.Shared()}
	for _, src := range all {
		out.Sources = append(out.Sources, View(src))
	}
	if unread := rt.docs(); len(unread) > 0 {
		out.Docs = &DocsResult{len(unread), unread[:min(len(unread), maxFailures)]}
	}
	if withPaths == "true" {
		if out.Paths, err = rt.paths(r.Context()); err != nil {
			return err
		}
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (rt routes) add(w http.ResponseWriter, r *http.Request) error {
	var req SourceRequest
	if err := server.DecodeJSON(r, &req); err != nil {
		return err
	}
	// Requests without a key may not read the disk of a server even if it has no keys, except below the folders that its owner has named. The commands on the machine of the server send its own token.
	by, _ := auth.From(r.Context())
	set, err := req.Settings()
	if err != nil {
		return err
	}
	src, err := rt.s.Add(r.Context(), set, by.Key != "" && by.Permits(auth.Tenants))
	if err == nil {
		src, err = rt.s.Sync(r.Context(), src.ID, source.SyncOptions{})
	}
	return reply(w, http.StatusCreated, src, err)
}

// Settings returns the settings of a new source. Errors are of the type [fault.Error].
func (req SourceRequest) Settings() (source.Settings, error) {
	set := source.Settings{Kind: req.Kind, Location: req.Location, Include: req.Include, Exclude: req.Exclude, Credentials: req.Credentials, Collection: req.Collection}
	c, err := req.Changes()
	c.Apply(&set)
	return set, err
}

// Changes returns the settings that are given. Errors are of the type [fault.Error].
func (set SourceSettings) Changes() (c source.Changes, err error) {
	if set.Every != nil {
		every, err := time.ParseDuration(*set.Every)
		if err != nil {
			return c, fault.Invalid("every", "want a duration such as 1h or 1h30m, or 0")
		}
		c.Every = &every
	}
	if set.Metadata != nil {
		meta, err := metadata(set.Metadata)
		if err != nil {
			return c, err
		}
		c.Meta = &meta
	}
	c.Watch, c.Contributor, c.Attributes = set.Watch, set.Contributor, set.Attributes
	return c, nil
}

// metadata returns elements of the Dublin Core by their names.
func metadata(given map[string]string) (m corpus.DublinCore, err error) {
	known := map[string]*string{}
	for _, e := range m.Elements() {
		known[e.Name] = e.Value
	}
	for name, value := range given {
		if known[name] == nil {
			return m, fault.Invalid("dublin_core", "want elements of: %s; other names are attributes (metadata, or --attribute)", strings.Join(slices.Sorted(maps.Keys(known)), " "))
		}
		*known[name] = value
	}
	return m, nil
}

// durationText returns a duration without units that are zero, such as 1h.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

func (rt routes) change(w http.ResponseWriter, r *http.Request) error {
	var req changeRequest
	if err := server.DecodeJSON(r, &req); err != nil {
		return err
	}
	c, err := req.Changes()
	if err != nil {
		return err
	}
	src, err := rt.s.Get(r.Context(), r.PathValue("id"))
	if err == nil && c.Contributor != nil {
		err = mayChangeContributor(r, src)
	}
	if err == nil {
		src, err = rt.s.Change(r.Context(), src.ID, c)
	}
	return reply(w, http.StatusOK, src, err)
}

// mayChangeContributor reports whether the sender may name another contributor of the documents of a source, as for uploaded files. An account must not claim the documents of another one.
func mayChangeContributor(r *http.Request, src source.Source) error {
	by, known := auth.From(r.Context())
	if known && !by.Permits(auth.Admin) && cmp.Or(src.Contributor, auth.Owner) != by.Account {
		return fault.New(fault.Forbidden, "only the present contributor and administrators can change the contributor").Of("contributor")
	}
	return nil
}

func (rt routes) show(w http.ResponseWriter, r *http.Request) error {
	src, err := rt.s.Get(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusOK, src, err)
}

func (rt routes) sync(w http.ResponseWriter, r *http.Request) error {
	var req syncRequest
	if err := server.DecodeJSON(r, &req); err != nil {
		return err
	}
	src, err := rt.s.Sync(r.Context(), r.PathValue("id"), source.SyncOptions{Full: req.Full, AllowRemoval: req.AllowRemoval})
	return reply(w, http.StatusAccepted, src, err)
}

func (rt routes) remove(w http.ResponseWriter, r *http.Request) error {
	src, err := rt.s.Remove(r.Context(), r.PathValue("id"))
	return reply(w, http.StatusAccepted, src, err)
}

func reply(w http.ResponseWriter, status int, src source.Source, err error) error {
	if err != nil {
		return err
	}
	server.ReplyJSON(w, status, View(src))
	return nil
}
