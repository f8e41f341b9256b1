// Package ingestions provides the routes of ingestions: syncs of sources, ingestions of paths, and uploads.
package ingestions

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

type (
	// Request names what is to be ingested.
	Request struct {
		Paths        []string `json:"paths" description:"Absolute paths of files and folders on the machine of the server. Documents of a folder that have vanished are removed."`
		Collection   string   `json:"collection,omitempty" description:"Collection of the documents. The default is that of the server."`
		Retry        bool     `json:"retry,omitempty" description:"Retry documents that exceeded the memory or time limit before."`
		AllowRemoval bool     `json:"allow_removal,omitempty" description:"Remove all documents of the folders that have vanished. Without it, they are kept if a folder is empty and had at least 3, or has less than half as many as before and at least 20 fewer."`
		Remove       bool     `json:"remove,omitempty" description:"Remove the documents of the paths from the collection, whether their files exist or not. Nothing is read."`
	}
	// Accepted is an ingestion that was started.
	Accepted struct {
		ID         string `json:"id"`
		Collection string `json:"collection"`
		Stream     string `json:"stream" description:"Path of the stream of its progress."`
	}
	streamParams struct {
		ID   string `path:"id" description:"Id of an ingestion: that of a sync, as sources show it, that of an ingestion of paths, or that of the task of an uploaded file."`
		Last string `header:"Last-Event-ID" description:"Id of the last event that was received. The stream continues after it."`
	}
)

// The events of a stream. Their names are their types.
type (
	// Started is the first event of a stream that begins at the start.
	Started struct {
		Type       string    `json:"type" enum:"ingestion_started"`
		Ingestion  string    `json:"ingestion"`
		Source     string    `json:"source,omitempty" description:"Id of the source. Missing if paths or a file were given."`
		Collection string    `json:"collection"`
		Attempt    int       `json:"attempt" description:"1, and one more after each restart of the server."`
		Started    time.Time `json:"started"`
	}
	// Progress is the newest progress of the ingestion. Older progress that was not sent yet is left out.
	Progress struct {
		Type    string `json:"type" enum:"ingestion_progress"`
		Done    int    `json:"done" description:"Number of finished documents; for an upload, a percentage."`
		Total   int    `json:"total"`
		Bytes   int64  `json:"bytes,omitempty" description:"Size of the documents that were read."`
		Current string `json:"current,omitempty" description:"The document that was finished last."`
		Stage   string `json:"stage,omitempty" enum:"fetching,reading,parsing,embedding,indexing" description:"Of an upload."`
	}
	// FileFailed is a document that could not be read or indexed. Its earlier text is kept.
	FileFailed struct {
		Type   string `json:"type" enum:"file_failed"`
		Path   string `json:"path"`
		Reason string `json:"reason"`
	}
	// Finished is the last event.
	Finished struct {
		Type   string        `json:"type" enum:"ingestion_finished"`
		Result source.Result `json:"result"`
	}
)

// events are the events of a stream, for the descriptions.
var events = []any{Started{}, Progress{}, FileFailed{}, Finished{}}

// Name is the name of the streams, in the documents that describe them.
const Name = "ingestions"

// Path is the path of a stream.
const Path = "/api/ingestions/{id}/stream"

// PathOf returns the path of the stream of an ingestion.
func PathOf(id string) string { return strings.Replace(Path, "{id}", url.PathEscape(id), 1) }

// Description describes the streams.
func Description() server.Description {
	return server.Description{Name: Name, ContentType: sse.ContentType, Follow: Path, Types: wire.Types{Events: events}}
}

// Limits of requests.
const (
	maxBody  = 1 << 20 // bytes
	maxPaths = 1000
)

// streamTime is how long a stream may last. A client resumes it with another request.
const streamTime = 24 * time.Hour

// Options configures the routes. All are required.
type Options struct {
	Sources   *source.Service
	Files     *files.Service
	Heartbeat time.Duration // without an event before a comment
}

type routes struct{ o Options }

// Routes returns the routes.
func Routes(o Options) []server.Route {
	rt := routes{o}
	return []server.Route{
		{Method: "POST", Path: "/api/ingestions", Scope: auth.Tenants, Serve: rt.ingest, MaxBody: maxBody, Request: []any{Request{}}, Reply: Accepted{}, Status: http.StatusAccepted,
			Faults: []int{400, 403, 413, 415, 429, 507}, Summary: "Ingest files and folders on the machine of the server, in the background"},
		{Method: "GET", Path: Path, Scope: auth.Read, Serve: rt.stream, Timeout: streamTime, Request: []any{streamParams{}}, Events: events, Empty: true, Faults: []int{400, 404},
			Summary: "Stream the progress of an ingestion, with the files that failed"},
	}
}

func (rt routes) ingest(w http.ResponseWriter, r *http.Request) error {
	// Requests without a key are refused even if the server has no keys, because they would read its disk.
	if by, _ := auth.From(r.Context()); by.Key == "" || !by.Permits(auth.Tenants) {
		return fault.New(fault.Forbidden, "paths are on the disk of the server: ingest them with \"sluice ingest\" on its machine, or with a key of the scope tenants")
	}
	var req Request
	if err := server.DecodeJSON(r, &req); err != nil {
		return err
	}
	if len(req.Paths) == 0 || len(req.Paths) > maxPaths {
		return fault.Invalid("paths", "want 1 to %d paths", maxPaths)
	}
	for _, p := range req.Paths {
		if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
			return fault.Invalid("paths", "want absolute paths")
		}
	}
	i, err := rt.o.Sources.IngestPaths(r.Context(), source.PathsRequest{Paths: req.Paths, Collection: req.Collection, Retry: req.Retry, AllowRemoval: req.AllowRemoval, Remove: req.Remove})
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusAccepted, Accepted{i.ID, i.Collection, PathOf(i.ID)})
	return nil
}
