package embedded

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

var _ index.Versions = (*Index)(nil)

// Version implements [index.Versions]: the sum of the generations of the collection's levels, as searches see them,
// counted from when the folder was made.
func (x *Index) Version(ctx context.Context, collection string) (uint64, error) {
	if err := x.enter(ctx); err != nil {
		return 0, err
	}
	defer x.life.RUnlock()
	c, err := x.collection(collection)
	if err != nil || c == nil {
		return 0, failed("read version", err)
	}
	s := c.acquire()
	defer c.release(s)
	var sum uint64
	for i := range levels {
		sum += s.levels[i].generation
	}
	if sum > 0 {
		sum += x.made
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
	err := x.inCollection(collection, func(tx *bolt.Tx, c uint32) error {
		clear(out)
		for _, id := range ids {
			if !validID(string(id)) {
				continue
			}
			raw := tx.Bucket(bucketDocuments).Get(idKey(c, string(id)))
			if raw == nil {
				continue
			}
			var d docRecord
			if err := unsealJSON(raw, &d); err != nil {
				return fmt.Errorf("damaged: document %.100q: %w", id, err)
			}
			out[id] = d.Hash
		}
		return nil
	})
	return out, failed("read hashes", err)
}
