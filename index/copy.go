package index

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
)

// Copied is an index that can be copied to another one.
type Copied interface {
	Exporter
	VectorStats(ctx context.Context, collection string) (VectorStats, error) // as in [Spaces]
}

// CopyTarget is an index to which another one can be copied. Its methods are those of [Writer], [DocumentReader], [Sets] and [Spaces].
type CopyTarget interface {
	Put(ctx context.Context, docs []corpus.Document, entries [][]Entry) error
	DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error)
	AddToSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error
	MarkComplete(ctx context.Context, collection, space string) error
}

// exportDocuments is the most documents of one export.
const exportDocuments = 100

// Copy copies a collection with its sets to another index, and calls progress after each group of documents with their number. Documents that the target
// already has as they are in the source are skipped, so that a copy that was interrupted can be repeated. Vectors are copied of the space that searches
// use; the target computes those of others.
func Copy(ctx context.Context, from Copied, to CopyTarget, collection string, progress func(documents int)) error {
	space, err := spaceInUse(ctx, from, collection)
	if err != nil {
		return err
	}
	err = eachExport(ctx, from, collection, space, func(docs []corpus.Document, entries [][]Entry) error {
		ids := make([]corpus.DocumentID, len(docs))
		for i, d := range docs {
			ids[i] = d.ID
		}
		there, err := to.DocumentsByID(ctx, collection, ids)
		if err != nil {
			return err
		}
		has := map[corpus.DocumentID]corpus.Document{}
		for _, d := range there {
			has[d.ID] = d
		}
		var newDocs []corpus.Document
		var newEntries [][]Entry
		for i, d := range docs {
			if old, ok := has[d.ID]; !ok || !sameRecord(old, d) {
				newDocs, newEntries = append(newDocs, d), append(newEntries, entries[i])
			}
		}
		if err := to.Put(ctx, newDocs, newEntries); err != nil {
			return err
		}
		progress(len(docs))
		return nil
	})
	if err != nil {
		return err
	}
	sets, err := from.Members(ctx, collection)
	if err != nil {
		return err
	}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		for ids := range slices.Chunk(sets[set], 1000) {
			if err := to.AddToSet(ctx, collection, set, ids); err != nil {
				return err
			}
		}
	}
	if space == "" {
		return nil
	}
	return to.MarkComplete(ctx, collection, space)
}

// spaceInUse returns the name of the complete space of a collection with the most vectors, or nothing.
func spaceInUse(ctx context.Context, x Copied, collection string) (string, error) {
	stats, err := x.VectorStats(ctx, collection)
	if err != nil {
		return "", err
	}
	best, name := -1, ""
	for _, s := range stats.Spaces {
		if s.Complete && s.Vectors > best {
			best, name = s.Vectors, s.Name
		}
	}
	return name, nil
}

// eachExport calls do with groups of the documents of a collection.
func eachExport(ctx context.Context, x Exporter, collection, space string, do func([]corpus.Document, [][]Entry) error) error {
	for after := corpus.DocumentID(""); ; {
		docs, entries, err := x.Export(ctx, collection, space, after, exportDocuments)
		if err != nil || len(docs) == 0 {
			return err
		}
		if err := do(docs, entries); err != nil {
			return err
		}
		after = docs[len(docs)-1].ID
	}
}

func sameRecord(a, b corpus.Document) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Sums calls add with a SHA-256 for each document of a collection, over what [Copy] copies of it, and for each set with members.
func Sums(ctx context.Context, x Copied, collection string, add func([sha256.Size]byte)) error {
	space, err := spaceInUse(ctx, x, collection)
	if err != nil {
		return err
	}
	err = eachExport(ctx, x, collection, space, func(docs []corpus.Document, entries [][]Entry) error {
		for i, d := range docs {
			h := sha256.New()
			fmt.Fprintf(h, "document %q %q\x00", collection, space)
			if err := sum(h, d, entries[i]); err != nil {
				return err
			}
			add([sha256.Size]byte(h.Sum(nil)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	sets, err := x.Members(ctx, collection)
	if err != nil {
		return err
	}
	for set, ids := range sets {
		h := sha256.New()
		fmt.Fprintf(h, "set %q %q %q", collection, set, ids)
		add([sha256.Size]byte(h.Sum(nil)))
	}
	return nil
}

// sum writes a document with its entries to a hash.
func sum(h hash.Hash, d corpus.Document, entries []Entry) error {
	to := json.NewEncoder(h)
	if err := to.Encode(d); err != nil {
		return err
	}
	for _, e := range entries {
		v := e.Vector
		if e.Level != corpus.Passage {
			v, e.Space = nil, "" // not every index keeps it; see [PassageVectors]
		}
		e.Vector = nil
		if err := to.Encode(e); err != nil {
			return err
		}
		_, _ = io.WriteString(h, map[bool]string{true: "none ", false: "vector "}[v == nil])
		_, _ = h.Write(Quantize(v)) // all that some indexes keep
	}
	return nil
}
