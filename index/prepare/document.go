// Package prepare checks what is written to an index, for all back ends alike.
package prepare

import (
	"math"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

const (
	// MaxKey is the maximum length in bytes of ids and of names of collections and spaces.
	MaxKey = 4096
	// Levels is the number of levels of a document. Levels are numbered from 1.
	Levels = 3
	// maxParts is the maximum number of sets and documents of a scope.
	maxParts = 1024
)

// Document is a document that may be written, with its chunks.
type Document struct {
	Document corpus.Document
	Entries  []index.Entry
	Mentions []*Mentions // by entry; nil: none
}

// Check checks a document. Vectors of the result have length 1. An empty vector that is not nil means that the chunk has none; nil means that it is
// still missing.
func Check(d corpus.Document, entries []index.Entry) (Document, error) {
	var err error
	if d.Collection, err = Collection(d.Collection); err != nil {
		return Document{}, err
	}
	if !ValidID(string(d.ID)) {
		return Document{}, fault.Invalid("document", "an id has 1 to %d bytes of UTF-8", MaxKey)
	}
	if len(d.Collection) > MaxKey {
		return Document{}, fault.Invalid("collection", "a name has 1 to %d bytes", MaxKey)
	}
	out, names := make([]index.Entry, len(entries)), make([]*Mentions, len(entries))
	seen := make(map[corpus.ChunkID]bool, len(entries))
	for i, e := range entries {
		switch {
		case !ValidID(string(e.ID)):
			return Document{}, fault.Invalid("chunk", "an id has 1 to %d bytes of UTF-8", MaxKey)
		case seen[e.ID]:
			return Document{}, fault.Invalid("chunk", "a document has two of id %.100q", e.ID)
		case e.Level < 1 || e.Level > Levels:
			return Document{}, fault.Invalid("chunk", "%.100q is of level %d", e.ID, e.Level)
		case e.Document != "" && e.Document != d.ID:
			return Document{}, fault.Invalid("chunk", "%.100q is of another document", e.ID)
		}
		seen[e.ID] = true
		e.Document = d.ID
		if len(e.Space) > MaxKey {
			return Document{}, fault.Invalid("space", "a name has at most %d bytes", MaxKey)
		}
		v, err := Unit(e.Vector)
		if err != nil {
			return Document{}, err
		}
		if v == nil && (e.Space != "" || e.Vector != nil) {
			v = []float32{}
		}
		e.Vector = v
		if names[i], err = mentionsOf(&e); err != nil {
			return Document{}, err
		}
		out[i] = e
	}
	return Document{d, out, names}, nil
}

// ValidID reports whether an id of a document or chunk is valid.
func ValidID(id string) bool { return id != "" && len(id) <= MaxKey && utf8.ValidString(id) }

// Scope parses the name of a collection or scope.
func Scope(name string) (index.Scope, error) {
	s, err := index.ParseScope(name)
	if err == nil && len(s.Sets)+len(s.Documents) > maxParts {
		err = fault.Invalid("collection", "names more than %d sets and documents", maxParts)
	}
	if s.Collection == "" {
		s.Collection = corpus.DefaultCollection
	}
	return s, err
}

// Collection checks the name of a collection to write to. Scopes are read-only.
func Collection(name string) (string, error) {
	s, err := Scope(name)
	if err == nil && !s.Whole() {
		err = fault.Invalid("collection", "is a scope, which is read-only")
	}
	return s.Collection, err
}

// Unit normalizes a vector to length 1. It returns v itself if v has that length, and nil for a zero vector.
func Unit(v []float32) ([]float32, error) {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, fault.Invalid("vector", "a component is no finite number")
	}
	if sum == 0 {
		return nil, nil
	}
	if math.Abs(sum-1) < 1e-6 { // most embedders normalize; this is the error of float32
		return v, nil
	}
	out := make([]float32, len(v))
	norm := 1 / math.Sqrt(sum)
	for i, f := range v {
		out[i] = float32(float64(f) * norm)
	}
	return out, nil
}
