package embedded

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

var (
	_ index.DocumentReader = (*Index)(nil)
	_ index.Annotator      = (*Index)(nil)
)

// Annotate implements [index.Annotator].
func (x *Index) Annotate(ctx context.Context, collection string, id corpus.DocumentID, given corpus.DublinCore, contributor string) error {
	name, err := prepare.Collection(collection)
	if err != nil {
		return err
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	c, err := x.collection(name)
	if err != nil || c == nil {
		return failed("annotate document", err)
	}
	var d *docRecord
	if err := x.view(func(tx *txn) error { d, err = readDocument(tx, c.id, id); return err }); err != nil {
		return failed("annotate document", err)
	}
	if d == nil || d.Given == given && (contributor == "" || d.Contributor == contributor) {
		return nil
	}
	d.Given, d.Contributor = given, cmp.Or(contributor, d.Contributor)
	raw, err := sealJSON(d)
	if err != nil {
		return err
	}
	return failed("annotate document", x.update(func(tx *txn) error {
		return errors.Join(tx.Bucket(bucketDocuments).Put(idKey(c.id, string(id)), raw), tx.Bucket(bucketMeta).Put(keyScrub, nil)) // erase what it replaces
	}))
}

// DocumentsByID implements [index.DocumentReader].
func (x *Index) DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	var out []corpus.Document
	err := x.inCollection(collection, func(tx *txn, c uint32, s index.Scope) error {
		for _, id := range ids {
			d, err := readDocument(tx, c, id)
			if err != nil {
				return err
			}
			if d != nil && within(tx, c, s, id) {
				d.Collection = s.Collection // the record is JSON, which cannot hold arbitrary bytes
				out = append(out, d.Document)
			}
		}
		return ctx.Err()
	})
	return out, failed("describe documents", err)
}

// DocumentChunks implements [index.DocumentReader].
func (x *Index) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	if level < 1 || level > levels {
		return nil, fault.Invalid("level", "there is no level %d", level)
	}
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	var out []corpus.Chunk
	err := x.inCollection(collection, func(tx *txn, c uint32, s index.Scope) error {
		d, err := readDocument(tx, c, id)
		if err != nil || d == nil || !within(tx, c, s, id) {
			return err
		}
		out, err = chunksFrom(ctx, tx, d, level, from, limit)
		return err
	})
	return out, failed("read document", err)
}

func chunksFrom(ctx context.Context, tx *txn, d *docRecord, level corpus.Level, from, limit int) (out []corpus.Chunk, err error) {
	first, end := d.rows(int(level) - 1)
	reader := chunkReader{tx: tx}
	if d.Ordered {
		first += uint64(sort.Search(int(end-first), func(i int) bool {
			c, failed := reader.read(first + uint64(i))
			if failed != nil {
				err = failed
				return true
			}
			return c.Ordinal >= from
		}))
	}
	for row := first; row < end && err == nil; row++ {
		if d.Ordered && limit > 0 && len(out) == limit {
			break
		}
		var c *corpus.Chunk
		if c, err = reader.read(row); err == nil && c.Ordinal >= from {
			out = append(out, *c)
			err = ctx.Err()
		}
	}
	if err != nil || d.Ordered {
		return out, err
	}
	slices.SortStableFunc(out, func(a, b corpus.Chunk) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	if limit > 0 {
		out = out[:min(limit, len(out))]
	}
	return out, nil
}
