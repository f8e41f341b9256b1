// Package knowledge provides the routes of the knowledge service other than questions: files, tasks, vector stores, stored
// responses and the status of the server.
package knowledge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Index is the part of an index that the routes read. Collections are names of vector stores, which package index/scope
// resolves.
type Index interface {
	index.Reader
	index.DocumentReader
}

// Options configures the routes. Files, Engine and Index are required.
type Options struct {
	Files  *files.Service
	Engine *engine.Engine
	Index  Index
	// Search finds passages. The default is Index.Search, which is lexical only.
	Search func(ctx context.Context, q index.Query) ([]index.Hit, error)
	// Parts returns the health of the parts of the server. The default reports none.
	Parts func(ctx context.Context) map[string]server.Part

	Models []string // names of the models that a question may request; the first is the default

	MaxFileBytes int64  // limit of an upload; default 64 MiB
	MaxQuery     int    // limit of a search query in bytes; default 32 KiB
	Version      string // shown in the server status

	Now   func() time.Time
	NewID func() string // makes request ids
}

// Limits of the routes.
const (
	maxForm     = 1 << 20          // bytes of a form without its file
	maxIDs      = 1 << 20          // bytes of a body that may list files
	maxPage     = 100              // entries of a list
	maxDepth    = 16               // nesting of metadata
	bodyIdle    = 30 * time.Second // time in which more of an upload must arrive
	uploadTime  = 2 * time.Minute  // from the last byte of an upload to the reply
	readingTime = time.Minute      // for routes that read much of the index
)

// routes holds what the handlers share.
type routes struct {
	o       Options
	api     wire.API
	started time.Time
}

// Routes returns the routes. Their errors have the form of the knowledge protocol.
func Routes(o Options) []server.Route {
	if o.Search == nil && o.Index != nil { // nil in the routes of the OpenAPI document
		o.Search = o.Index.Search
	}
	if o.Parts == nil {
		o.Parts = func(context.Context) map[string]server.Part { return nil }
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 64 << 20
	}
	if o.MaxQuery <= 0 {
		o.MaxQuery = 32 << 10
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	s := &routes{o: o, api: knowledge.API(), started: o.Now()}
	all := append(s.fileRoutes(), s.storeRoutes()...)
	all = append(all, s.responseRoutes()...)
	all = append(all, s.statusRoutes()...)
	all = append(all, s.modelRoutes()...)
	for i := range all {
		all[i].Fault = s.api.Fault
	}
	return all
}

// Parameters of the routes, for the OpenAPI document.
type (
	idParam struct {
		ID string `path:"id"`
	}
	listParams struct {
		Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
		After string `query:"after" description:"Id of an entry. The list continues after it."`
	}
)

// page reads the parameters of a list.
func page(r *http.Request) (after string, limit int, err error) {
	limit, err = server.IntParam(r.URL.Query(), "limit", 20, 1, maxPage)
	after = r.URL.Query().Get("after")
	if len(after) > 256 || !printable(after) {
		err = fault.Invalid("after", "not an id")
	}
	return after, limit, err
}

// object checks a field that is an object of limited size and depth, and encodes it again: input such as half a surrogate
// pair must not reach other clients. The result is nil if the field is left out or null.
func object(field string, raw json.RawMessage, most int) (json.RawMessage, error) {
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil, nil
	case raw[0] != '{':
		return nil, fault.Invalid(field, "want an object")
	case len(raw) > most:
		return nil, fault.Invalid(field, "want at most %d bytes", most)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fault.Invalid(field, "not valid JSON")
	}
	if err := readable(field, v, maxDepth); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// readable returns an error if a value holds something that not every JSON parser reads.
func readable(field string, v any, depth int) error {
	var inner iter.Seq[any]
	switch v := v.(type) {
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return fault.Invalid(field, "a number is out of range")
		}
		return nil
	case map[string]any:
		inner = maps.Values(v)
	case []any:
		inner = slices.Values(v)
	default:
		return nil
	}
	if depth == 0 {
		return fault.Invalid(field, "want it nested at most %d deep", maxDepth)
	}
	for v := range inner {
		if err := readable(field, v, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// orEmpty returns raw, or an empty object if there is none.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// isoTime formats a time as the service does: in UTC, with microseconds and without a time zone.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// notFound converts the error for a missing object to [fault.NotFound].
func notFound(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such %s", what)
	}
	return err
}

// drain reads the rest of a body. Otherwise a client that reads the reply only after it has sent everything would not
// receive the error.
func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, maxForm) }
