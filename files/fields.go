package files

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// Limits of the fields of a file.
const (
	maxFields = 64 << 10 // bytes of all fields
	maxText   = 8 << 10  // bytes of one text
	maxItems  = 1000     // of one list
	maxDepth  = 16       // of metadata
)

// fields are the fields that users may set, each with a function that returns what is wrong with a value.
var fields = map[string]func(any) string{
	"title": text, "author": text, "owner": text, "last_read_at": text,
	"read_progress": func(v any) string {
		if n, ok := v.(float64); !ok || n < 0 || n > 1 {
			return "want a number from 0 to 1"
		}
		return ""
	},
	"bookmarks": list(func(v any) string {
		if n, ok := v.(float64); !ok || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return "want integers"
		}
		return ""
	}),
	"highlights": list(text), "notes": list(text), "related_docs": list(text), "permissions": list(text),
	"is_favorite": func(v any) string {
		if _, ok := v.(bool); !ok {
			return "want true or false"
		}
		return ""
	},
	"metadata": func(v any) string {
		if _, ok := v.(map[string]any); !ok {
			return "want an object"
		}
		if deeper(v, maxDepth) {
			return "is nested too deeply"
		}
		return ""
	},
	"dublin_core": func(v any) string {
		m, ok := v.(map[string]any)
		if !ok {
			return "want an object"
		}
		var all corpus.DublinCore
		for _, e := range all.Elements() {
			*e.Value, ok = m[e.Name].(string)
			if _, given := m[e.Name]; given && !ok {
				return e.Name + ": want a text"
			}
			delete(m, e.Name)
		}
		if len(m) > 0 {
			return "has an unknown element"
		}
		if err := all.Validate(); err != nil {
			return fault.Public(err).Message
		}
		return ""
	},
	"contributor": func(v any) string {
		if name, ok := v.(string); !ok || !corpus.ValidAccount(name) {
			return corpus.WantAccount
		}
		return ""
	},
}

// given is what users state about a file. It is stored in the fields of the file, and copied to its document in the index.
type given struct {
	Meta        corpus.DublinCore
	Contributor string
}

// checkField returns an error if a field cannot have a value.
func checkField(name string, raw json.RawMessage) error {
	var v any
	if len(raw) > maxFields || json.Unmarshal(raw, &v) != nil {
		return fault.Invalid(name, "want JSON of at most %d bytes", maxFields)
	}
	if wrong := fields[name](v); wrong != "" {
		return fault.Invalid(name, "%s", wrong)
	}
	return nil
}

// givenOf returns what users stated about a file.
func givenOf(f store.File) (g given) {
	var all struct {
		Meta        map[string]string `json:"dublin_core"`
		Contributor string            `json:"contributor"`
	}
	if len(f.Fields) > 0 && json.Unmarshal(f.Fields, &all) == nil { // it was checked when it was stored
		for _, e := range g.Meta.Elements() {
			*e.Value = all.Meta[e.Name]
		}
		g.Contributor = all.Contributor
	}
	return g
}

// fields returns the fields of a new file, with its metadata; nil if there are none.
func (g given) fields(metadata json.RawMessage) json.RawMessage {
	all := map[string]any{}
	meta := map[string]string{}
	for _, e := range g.Meta.Elements() {
		if *e.Value != "" {
			meta[e.Name] = *e.Value
		}
	}
	if len(meta) > 0 {
		all["dublin_core"] = meta
	}
	if g.Contributor != "" {
		all["contributor"] = g.Contributor
	}
	if len(metadata) > 0 {
		all["metadata"] = metadata
	}
	if len(all) == 0 {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic("files: " + err.Error()) // strings always have JSON, and the metadata was checked
	}
	return raw
}

// in reports whether the document has what users stated.
func (g given) in(d corpus.Document) bool {
	return d.Given == g.Meta && (g.Contributor == "" || d.Contributor == g.Contributor)
}

// annotate copies what users stated about a file to its document, if it is indexed.
func (s *Service) annotate(ctx context.Context, id string) error {
	s.givenMu.Lock()
	defer s.givenMu.Unlock()
	f, err := s.opts.Store.File(ctx, id)
	if err != nil {
		return ignore(err, store.ErrNotFound)
	}
	g := givenOf(f)
	return s.opts.Index.Annotate(ctx, Collection, corpus.DocumentID(id), g.Meta, g.Contributor)
}

func text(v any) string {
	if s, ok := v.(string); !ok || len(s) > maxText {
		return "want texts of at most 8 KiB"
	}
	return ""
}

func list(of func(any) string) func(any) string {
	return func(v any) string {
		items, ok := v.([]any)
		if !ok || len(items) > maxItems {
			return "want a list of at most 1,000"
		}
		for _, item := range items {
			if wrong := of(item); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// deeper reports whether a value is nested deeper than depth.
func deeper(v any, depth int) bool {
	inner := func(v any) bool { return deeper(v, depth-1) }
	switch v := v.(type) {
	case map[string]any:
		return depth == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), inner)
	case []any:
		return depth == 0 || slices.ContainsFunc(v, inner)
	}
	return false
}

// UpdateFile sets fields of a file: title, author, owner, read_progress, last_read_at, bookmarks, highlights, notes, related_docs,
// permissions, is_favorite, metadata, dublin_core and contributor. Each is replaced as a whole, and null removes it. Any other field is an
// error. The last two are those of the document in the index too.
func (s *Service) UpdateFile(ctx context.Context, id string, changes map[string]json.RawMessage) (store.File, error) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if fields[name] == nil {
			return store.File{}, fault.Invalid(name, "not a field that can be changed")
		}
		if isNull(changes[name]) {
			continue
		}
		if err := checkField(name, changes[name]); err != nil {
			return store.File{}, err
		}
	}
	f, err := s.opts.Store.UpdateFile(ctx, id, func(f *store.File) error {
		all := map[string]json.RawMessage{}
		if len(f.Fields) > 0 {
			if err := json.Unmarshal(f.Fields, &all); err != nil {
				return err
			}
		}
		for name, v := range changes {
			if all[name] = v; isNull(v) {
				delete(all, name)
			}
		}
		raw, err := json.Marshal(all)
		if err == nil && len(raw) > maxFields {
			err = fault.Invalid("metadata", "the fields of the file together are longer than %d bytes", maxFields)
		}
		f.Fields, f.UpdatedAt = raw, s.opts.Now().UTC()
		return err
	})
	if err == nil {
		s.saveRecord(ctx, id)
		s.setRunning(&f)
		err = s.annotate(context.WithoutCancel(ctx), id)
	}
	return f, notFound(err, "file")
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }
