package weaviate

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

var _ index.Exporter = (*Index)(nil)

// Export implements [index.Exporter].
func (x *Index) Export(ctx context.Context, collection, space string, last corpus.DocumentID, most int) (docs []corpus.Document, entries [][]index.Entry, err error) {
	name, err := prepare.Collection(collection)
	if err = errors.Join(err, prepare.Limit(most)); err != nil {
		return nil, nil, err
	}
	err = x.read(ctx, "export documents", name, func(ctx context.Context, v *view) error {
		docs, entries = nil, nil
		where := isKind(kindDocument)
		if last != "" {
			where = and(where, after(propOrder, orderOf(last)))
		}
		found, err := v.get(ctx, where, propData, limit(min(most, page)), `sort:[{path:["order"],order:asc}]`)
		if err != nil {
			return err
		}
		all, err := v.documents(found)
		if err != nil {
			return err
		}
		r, known, err := x.space(ctx, v.collection, space)
		if err != nil {
			return err
		}
		if !known {
			r = spaceRecord{}
		}
		for chunks := 0; len(docs) < len(all) && chunks <= index.ExportChunks; {
			d := all[len(docs)]
			es, err := v.exported(ctx, d.ID, r)
			if err != nil {
				return err
			}
			docs, entries, chunks = append(docs, d), append(entries, es), chunks+len(es)
		}
		return nil
	})
	return docs, entries, err
}

// exported returns the entries of a document with their vectors in a space, which may be zero.
func (v *view) exported(ctx context.Context, id corpus.DocumentID, in spaceRecord) ([]index.Entry, error) {
	properties := propData + " " + propSpaces
	if in.Dim > 0 {
		properties += " _additional{vectors{" + in.Slot + "}}"
	}
	found, err := v.all(ctx, and(isInt(propKind, "LessThanEqual", prepare.Levels), is(propDocument, key(string(id)))), properties)
	if err != nil {
		return nil, err
	}
	var out []index.Entry
	for _, o := range found {
		var r chunkRecord
		if err := o.decode(&r); err != nil {
			return nil, err
		}
		if r.Chunk.Document != id {
			continue
		}
		e := index.Entry{Chunk: r.Chunk}
		(&prepare.Mentions{List: r.Mentions, Relations: r.Relations}).Restore(&e)
		if in.Slot != "" && slices.Contains(o.Spaces, in.Slot) {
			prepare.SetVector(&e, in.Name, o.Additional.Vectors[in.Slot])
		}
		out = append(out, e)
	}
	prepare.SortEntries(out)
	return out, nil
}

// Members implements [index.Exporter]. Earlier versions did not store the ids of members: of those, it only returns the ones that exist.
func (x *Index) Members(ctx context.Context, collection string) (map[string][]corpus.DocumentID, error) {
	name, err := prepare.Collection(collection)
	if err != nil {
		return nil, err
	}
	out := map[string][]corpus.DocumentID{}
	err = x.read(ctx, "read sets", name, func(ctx context.Context, v *view) error {
		clear(out)
		found, err := (&snapshot{collection: v.collection, x: x}).all(ctx, isKind(kindMember), "set document order")
		if err != nil {
			return err
		}
		ids := map[string]corpus.DocumentID{} // by key
		if slices.ContainsFunc(found, func(o object) bool { return o.Order == "" }) {
			docs, err := v.all(ctx, isKind(kindDocument), propData)
			if err != nil {
				return err
			}
			all, err := v.documents(docs)
			if err != nil {
				return err
			}
			for _, d := range all {
				ids[key(string(d.ID))] = d.ID
			}
		}
		for _, o := range found {
			id := ids[o.Document]
			if o.Order != "" {
				raw, err := hex.DecodeString(o.Order)
				if err != nil {
					return err
				}
				id = corpus.DocumentID(raw)
			}
			if id != "" {
				out[o.Set] = append(out[o.Set], id)
			}
		}
		for _, ids := range out {
			slices.Sort(ids)
		}
		return nil
	})
	return out, err
}
