// Package knowledge is the routes of the knowledge service besides its questions: files, tasks, vector stores, stored
// responses and the server's state. Their JSON objects are those of package wire/knowledge.
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
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Index is what the routes read of an index. The name of a vector store, as package index/scope resolves it, stands in a
// collection's place.
type Index interface {
	index.Reader
	index.DocumentReader
}

// Options are what the routes need. Files, Engine and Index are required.
type Options struct {
	Files  *files.Service
	Engine *engine.Engine
	Index  Index
	// Search finds passages, by vectors too where there are some; default: Index.Search, by words alone.
	Search func(ctx context.Context, q index.Query) ([]index.Hit, error)
	// Parts gives the state of each part of the server; default: none.
	Parts func(ctx context.Context) map[string]server.Part

	Models []string // names by which a question may ask for one, the first to be asked first

	MaxFileBytes int64  // of an upload; default 64 MiB
	MaxQuery     int    // bytes of a search's query; default 32 KiB
	Version      string // shown in the server's status

	Now   func() time.Time
	NewID func() string // of requests
}

// The limits of the routes.
const (
	maxForm     = 1 << 20          // bytes of a form besides its file
	maxIDs      = 1 << 20          // bytes of a body that may list files
	maxPage     = 100              // entries of a list
	maxDepth    = 16               // of metadata
	bodyIdle    = 30 * time.Second // in which some of an upload must come
	uploadTime  = 2 * time.Minute  // from an upload's last byte to its reply
	readingTime = time.Minute      // of what reads much of an index
)

// routes serve the options' parts.
type routes struct {
	o       Options
	entry   wire.Entry
	started time.Time
}

// Routes gives the routes. Their errors have the form of the knowledge protocol's.
func Routes(o Options) []server.Route {
	if o.Search == nil && o.Index != nil { // a document of the routes needs neither
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
	s := &routes{o: o, entry: knowledge.Entry(), started: o.Now()}
	all := append(s.ofFiles(), s.ofStores()...)
	all = append(all, s.ofResponses()...)
	all = append(all, s.ofStatus()...)
	all = append(all, s.ofModels()...)
	for i := range all {
		all[i].Fault = s.entry.Fault
	}
	return all
}

// Parameters of routes, for the document.
type (
	idParam struct {
		ID string `path:"id"`
	}
	listParams struct {
		Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
		After string `query:"after" description:"An id: the list goes on behind it."`
	}
)

// page reads the parameters of a list.
func page(r *http.Request) (after string, limit int, err error) {
	limit, err = number(r, "limit", 20, 1, maxPage)
	after = r.URL.Query().Get("after")
	if len(after) > 256 || !printable(after) {
		err = fault.Invalid("after", "not an id")
	}
	return after, limit, err
}

// number reads a parameter that is a whole number; def stands for one that is left out.
func number(r *http.Request, name string, def, least, most int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, fault.Invalid(name, "want %d to %d", least, most)
	}
	return n, nil
}

// read reads the JSON object of a body into v. Fields that v does not have are errors.
func read(r *http.Request, v any) error {
	body, err := server.ReadJSON(r)
	if err != nil {
		return err
	}
	return parse(body, v, v)
}

// parse reads a JSON object into v. Its fields must be those of the struct type of like.
func parse(body []byte, v, like any) error {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0 || body[0] != '{':
		return fault.Invalid("body", "want a JSON object")
	case !utf8.Valid(body):
		return fault.Invalid("body", "not valid UTF-8")
	}
	err := json.Unmarshal(body, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		field, _, _ := strings.Cut(wrong.Field, ".")
		return fault.Invalid(field, "want %s", wanted(wrong.Type))
	}
	if err != nil {
		return fault.Invalid("body", "not valid JSON")
	}
	return wire.CheckFields(body, like)
}

// wanted names what a field of a type holds.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "another type"
}

// object gives a field that is an object of bounded size and depth, written anew: what one client sent, such as half a surrogate pair, must
// not be what others cannot read. None and null are none.
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

// readable holds a value to what every client's parser reads.
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

// orEmpty gives an object that is never null.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// naive writes a time as the service's recordings have it: UTC, with microseconds and without a zone.
func naive(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// lost gives what is not there the code that says so.
func lost(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such %s", what)
	}
	return err
}

// drain reads what is left of a body, which a client that is told nothing before its last byte would otherwise never hear of.
func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, maxForm) }
