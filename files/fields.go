package files

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

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
// permissions, is_favorite and metadata. Each is replaced as a whole, and null removes it. Any other field is an error.
func (s *Service) UpdateFile(ctx context.Context, id string, changes map[string]json.RawMessage) (store.File, error) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		check := fields[name]
		if check == nil {
			return store.File{}, fault.Invalid(name, "not a field that can be changed")
		}
		if isNull(changes[name]) {
			continue
		}
		var v any
		if len(changes[name]) > maxFields || json.Unmarshal(changes[name], &v) != nil {
			return store.File{}, fault.Invalid(name, "want JSON of at most %d bytes", maxFields)
		}
		if wrong := check(v); wrong != "" {
			return store.File{}, fault.Invalid(name, "%s", wrong)
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
	}
	return f, notFound(err, "file")
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }
