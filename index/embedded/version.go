package embedded

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

var _ index.Versions = (*Index)(nil)

// Version implements [index.Versions]. It is the sum of the generations of the collection's levels in the current snapshot, plus the
// creation time of the folder. The version of a scope is the sum of the versions of its sets and documents; it grows with each
// change to its members or their chunks.
func (x *Index) Version(ctx context.Context, collection string) (uint64, error) {
	if err := x.enter(ctx); err != nil {
		return 0, err
	}
	defer x.life.RUnlock()
	scope, c, err := x.resolve(collection)
	if err != nil || c == nil {
		return 0, failed("read version", err)
	}
	var sum uint64
	if scope.Whole() {
		s := c.acquire()
		defer c.release(s)
		for i := range levels {
			sum += s.levels[i].generation
		}
	} else {
		s, parts, err := x.acquireScope(ctx, c, scope)
		if err != nil {
			return 0, failed("read version", err)
		}
		defer c.release(s)
		for _, p := range parts {
			sum += p.version
		}
	}
	if sum > 0 {
		sum += x.created
	}
	return sum, nil
}

// Hashes implements [index.Versions].
func (x *Index) Hashes(ctx context.Context, collection string, ids []corpus.DocumentID) (map[corpus.DocumentID]string, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	out := make(map[corpus.DocumentID]string, len(ids))
	err := x.inCollection(collection, func(tx *txn, c uint32, s index.Scope) error {
		clear(out)
		for _, id := range ids {
			d, err := readDocument(tx, c, id)
			if err != nil {
				return err
			}
			if d != nil && within(tx, c, s, id) {
				out[id] = d.Hash
			}
		}
		return nil
	})
	return out, failed("read hashes", err)
}
