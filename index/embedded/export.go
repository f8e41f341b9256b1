package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

var _ index.Exporter = (*Index)(nil)

// Export implements [index.Exporter].
func (x *Index) Export(ctx context.Context, collection, space string, after corpus.DocumentID, limit int) (docs []corpus.Document, entries [][]index.Entry, err error) {
	name, err := prepare.Collection(collection)
	if err = errors.Join(err, prepare.Limit(limit)); err != nil {
		return nil, nil, err
	}
	if err := x.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer x.life.RUnlock()
	err = x.inCollection(name, func(tx *txn, c uint32, _ index.Scope) error {
		all, err := readSpaces(tx, c)
		if err != nil {
			return err
		}
		var in *spaceRecord
		if r, ok := all[space]; ok {
			in = &r
		}
		start, prefix, chunks := idKey(c, string(after)), idKey(c, ""), 0
		cur := tx.Bucket(bucketDocuments).Cursor()
		for k, v := cur.Seek(start); bytes.HasPrefix(k, prefix) && len(docs) < limit && chunks <= index.ExportChunks; k, v = cur.Next() {
			if after != "" && bytes.Equal(k, start) {
				continue
			}
			var d docRecord
			if err := unsealJSON(v, &d); err != nil {
				return fmt.Errorf("%w: a document: %w", errDamaged, err)
			}
			es, err := exported(ctx, tx, c, &d, space, in)
			if err != nil {
				return err
			}
			d.Collection = name // the record is JSON, which cannot hold arbitrary bytes
			docs, entries, chunks = append(docs, d.Document), append(entries, es), chunks+len(es)
		}
		return nil
	})
	return docs, entries, failed("export documents", err)
}

// exported returns the entries of a document with their vectors in a space, which may be nil.
func exported(ctx context.Context, tx *txn, collection uint32, d *docRecord, space string, in *spaceRecord) ([]index.Entry, error) {
	var out []index.Entry
	reader := chunkReader{tx: tx}
	for i := range levels {
		for row, end := d.rows(i); row < end; row++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			chunk, err := reader.read(row)
			if err != nil {
				return nil, err
			}
			mentions, err := reader.mentions(row)
			if err != nil {
				return nil, err
			}
			e := index.Entry{Chunk: *chunk}
			mentions.Restore(&e)
			if in != nil {
				if raw := tx.Bucket(bucketVectors).Get(vectorKey(collection, in.Number, i+1, row)); raw != nil {
					v, err := unsealVector(raw, in.Dim)
					if err != nil {
						return nil, fmt.Errorf("%w: the vector of chunk %d: %w", errDamaged, row, err)
					}
					prepare.SetVector(&e, space, unquantized(v))
				}
			}
			out = append(out, e)
		}
	}
	prepare.SortEntries(out)
	return out, nil
}

// Members implements [index.Exporter].
func (x *Index) Members(ctx context.Context, collection string) (map[string][]corpus.DocumentID, error) {
	name, err := prepare.Collection(collection)
	if err != nil {
		return nil, err
	}
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	out := map[string][]corpus.DocumentID{}
	err = x.inCollection(name, func(tx *txn, c uint32, _ index.Scope) error {
		prefix := idKey(c, "")
		cur := tx.Bucket(bucketMembers).Cursor()
		for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
			set, id, _ := bytes.Cut(k[len(prefix):], []byte{0})
			out[string(set)] = append(out[string(set)], corpus.DocumentID(id))
		}
		return ctx.Err()
	})
	return out, failed("read sets", err)
}
