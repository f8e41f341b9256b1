package weaviate

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// AddToSet implements [index.Sets].
func (x *Index) AddToSet(ctx context.Context, name, set string, ids []corpus.DocumentID) error {
	return x.changeSet(ctx, "add to set", name, set, ids, true, func(c *collection) error {
		var objects []stored
		for _, member := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			k := key(string(member))
			id := idOf("member", set, k)
			objects = append(objects, stored{c.class, x.tenant, id, object{Kind: kindMember, Row: rowOf(id), Set: set, Document: k, Order: orderOf(member)}, nil})
		}
		return x.putObjects(ctx, objects, levelQuorum)
	})
}

// RemoveFromSet implements [index.Sets].
func (x *Index) RemoveFromSet(ctx context.Context, name, set string, ids []corpus.DocumentID) error {
	return x.changeSet(ctx, "remove from set", name, set, ids, false, func(c *collection) error {
		for some := range slices.Chunk(keysOf(ids), askedKeys) {
			if err := x.erase(ctx, c, whereAll(whereKind(kindMember), whereText(propSet, set), whereAny(propDocument, some)), levelQuorum); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteSet implements [index.Sets].
func (x *Index) DeleteSet(ctx context.Context, name, set string) error {
	return x.changeSet(ctx, "delete set", name, set, nil, false, func(c *collection) error {
		return x.erase(ctx, c, whereAll(whereKind(kindMember), whereText(propSet, set)), levelQuorum)
	})
}

// changeSet changes members, and then the version of the collection.
func (x *Index) changeSet(ctx context.Context, op, name, set string, ids []corpus.DocumentID, create bool, do func(*collection) error) error {
	if !index.ValidSet(set) {
		return fault.Invalid("set", "a name has 1 to 256 letters, digits, dashes and underscores")
	}
	for _, id := range ids {
		if !prepare.ValidID(string(id)) {
			return fault.Invalid("document", "an id has 1 to %d bytes of UTF-8", prepare.MaxKey)
		}
	}
	return x.change(ctx, op, name, create, func(c *collection) error {
		if err := do(c); err != nil {
			return err
		}
		w, err := x.begin(ctx, c)
		if err != nil {
			return err
		}
		return w.commit(ctx)
	})
}
