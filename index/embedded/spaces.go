package embedded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

const (
	missingDefault = 100
	missingScan    = 20_000 // approximate number of chunks that one call scans, because Compact waits for it
	clearBatch     = 2000   // vectors of a dropped space that one transaction deletes
)

func errDimension(have, want int) error {
	return fault.Invalid("vector", "has %d components where those of its space have %d", have, want)
}

// spaceFor returns the record of a space for a vector with dim components (0: a chunk without vector), and creates it if needed.
func (ed *edits) spaceFor(tx *txn, name string, dim int) (spaceRecord, error) {
	r, ok := ed.spaces[name]
	if !ok {
		n, err := tx.Bucket(bucketSpaces).NextSequence()
		if err != nil {
			return r, err
		}
		if n > math.MaxUint32 {
			return r, fmt.Errorf("too many spaces")
		}
		chunks := uint64(0)
		for i := range levels {
			chunks += ed.levels[i].record.Chunks
		}
		r = spaceRecord{Number: uint32(n), Complete: len(ed.spaces) == 0 && chunks == ed.leaving}
	}
	if r.Dim == 0 {
		r.Dim = dim
	}
	if dim != 0 && dim != r.Dim {
		return r, errDimension(dim, r.Dim)
	}
	return r, nil
}

// putVector writes the vector of a row without a vector of the space, and returns its key. An empty vector records that the row has
// none.
func (ed *edits) putVector(tx *txn, collection uint32, level int, v vectorRow) (key []byte, err error) {
	r, err := ed.spaceFor(tx, v.space, len(v.vector))
	if err != nil {
		return nil, err
	}
	key = vectorKey(collection, r.Number, level+1, v.row)
	vectors := tx.Bucket(bucketVectors)
	vectors.FillPercent = 1 // keys ascend within a level
	if err := vectors.Put(key, seal(v.vector)); err != nil {
		return nil, err
	}
	r.Vectors++
	ed.spaces[v.space] = r
	if len(v.vector) > 0 {
		ed.levels[level].vectors = append(ed.levels[level].vectors, v)
	}
	return key, nil
}

// deleteVectors deletes a row's vectors of all spaces.
func (ed *edits) deleteVectors(tx *txn, collection uint32, level int, row uint64) error {
	b := tx.Bucket(bucketVectors)
	for name, r := range ed.spaces {
		k := vectorKey(collection, r.Number, level, row)
		if b.Get(k) == nil {
			continue
		}
		if err := b.Delete(k); err != nil {
			return err
		}
		r.Vectors--
		ed.spaces[name] = r
	}
	return nil
}

// writeSpaces writes the records that changed.
func writeSpaces(tx *txn, c *collection, spaces map[string]spaceRecord) error {
	for name, r := range spaces {
		if had, ok := c.spaces[name]; ok && had == r {
			continue
		}
		raw, err := sealJSON(r)
		if err != nil {
			return err
		}
		if err := tx.Bucket(bucketSpaces).Put(idKey(c.id, name), raw); err != nil {
			return err
		}
	}
	return nil
}

// Collections implements [index.Spaces].
func (x *Index) Collections(ctx context.Context) (names []string, err error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	return x.names(), nil
}

// VectorStats implements [index.Spaces]. The statistics of a scope are those of its collection.
func (x *Index) VectorStats(ctx context.Context, collection string) (index.VectorStats, error) {
	var out index.VectorStats
	if err := x.enter(ctx); err != nil {
		return out, err
	}
	defer x.life.RUnlock()
	err := x.inCollection(collection, func(tx *txn, c uint32, _ index.Scope) error {
		out = index.VectorStats{}
		for i := range levels {
			if raw := tx.Bucket(bucketLevels).Get(levelKey(c, i+1)); raw != nil {
				var r levelRecord
				if err := unsealJSON(raw, &r); err != nil {
					return fmt.Errorf("%w: statistics of a level: %w", errDamaged, err)
				}
				out.Chunks += int(r.Chunks)
			}
		}
		spaces, err := readSpaces(tx, c)
		for _, name := range slices.Sorted(maps.Keys(spaces)) {
			r := spaces[name]
			out.Spaces = append(out.Spaces, index.Space{Name: name, Dim: r.Dim, Vectors: r.Vectors, Complete: r.Complete})
		}
		return err
	})
	return out, failed("count vectors", err)
}

// MissingVectors implements [index.Spaces]. Chunks are sorted by the ids of their documents and by row.
func (x *Index) MissingVectors(ctx context.Context, collection, space, after string, limit int) (chunks []index.UnembeddedChunk, next string, err error) {
	if _, err := prepare.Collection(collection); err != nil {
		return nil, "", err
	}
	if err := x.enter(ctx); err != nil {
		return nil, "", err
	}
	defer x.life.RUnlock()
	if limit <= 0 {
		limit = missingDefault
	}
	err = x.inCollection(collection, func(tx *txn, c uint32, _ index.Scope) error {
		chunks, next, err = missing(ctx, tx, c, space, after, limit)
		return err
	})
	return chunks, next, failed("list chunks without vectors", err)
}

// missing lists chunks after a cursor, which holds the last scanned row, 8 bytes, and the id of its document.
func missing(ctx context.Context, tx *txn, c uint32, space, after string, limit int) (chunks []index.UnembeddedChunk, next string, err error) {
	spaces, err := readSpaces(tx, c)
	if err != nil {
		return nil, "", err
	}
	s, known := spaces[space]
	var passed uint64
	prefix := idKey(c, "")
	start := prefix
	if after != "" {
		if len(after) < 8 {
			return nil, "", fault.Invalid("after", "is no cursor of this index")
		}
		passed = binary.BigEndian.Uint64([]byte(after))
		start = idKey(c, after[8:])
	}
	vectors, reader := tx.Bucket(bucketVectors), chunkReader{tx: tx}
	scanned := uint64(0)
	cur := tx.Bucket(bucketDocuments).Cursor()
	for k, v := cur.Seek(start); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		var d docRecord
		if err := unsealJSON(v, &d); err != nil {
			return nil, "", fmt.Errorf("%w: a document: %w", errDamaged, err)
		}
		begun := after != "" && bytes.Equal(k, start)
		_, end := d.rows(levels - 1)
		for i := range levels {
			for row, to := d.rows(i); row < to && d.indexed(i); row++ {
				if begun && row <= passed || known && vectors.Get(vectorKey(c, s.Number, i+1, row)) != nil {
					continue
				}
				chunk, err := reader.read(row)
				if err != nil {
					return nil, "", err
				}
				chunks = append(chunks, index.UnembeddedChunk{Ref: refOf(row, i, chunk.ID), Text: chunk.SearchText()})
				if len(chunks) == limit {
					return chunks, string(rowKey(row)) + string(k[len(prefix):]), nil
				}
			}
		}
		if scanned += end - d.First; scanned > missingScan && end > d.First {
			return chunks, string(rowKey(end-1)) + string(k[len(prefix):]), nil
		}
	}
	return chunks, "", nil
}

// refOf returns a reference to a chunk: its row, which is never reused, its level and its id.
func refOf(row uint64, level int, id corpus.ChunkID) string {
	return string(append(rowKey(row), byte(level))) + string(id)
}

// refRow returns the row and level of a reference. The level is -1 if the chunk does not exist any more.
func refRow(tx *txn, collection uint32, ref string) (row uint64, level int, err error) {
	if len(ref) < 10 || len(ref) > maxKey+9 || ref[8] >= levels {
		return 0, -1, fault.Invalid("ref", "is not of this index")
	}
	reader := chunkReader{tx: tx}
	has, ok, err := reader.find(collection, corpus.ChunkID(ref[9:]))
	if row = binary.BigEndian.Uint64([]byte(ref)); err != nil || !ok || has != row {
		return 0, -1, err
	}
	return row, int(ref[8]), nil
}

// SetVectors implements [index.Spaces].
func (x *Index) SetVectors(ctx context.Context, collection, space string, refs []string, vectors [][]float32) error {
	if len(refs) != len(vectors) {
		return fault.Invalid("vectors", "%d of them for %d chunks", len(vectors), len(refs))
	}
	units := make([][]float32, len(vectors))
	for i, v := range vectors {
		u, err := prepare.Unit(v)
		if err != nil {
			return fmt.Errorf("set vectors: %w", err)
		}
		units[i] = u
	}
	return x.edit(ctx, "set vectors", collection, space, func(tx *txn, c *collectionEdit) error {
		var rows [levels][]vectorRow
		for i, ref := range refs {
			row, level, err := refRow(tx, c.id, ref)
			if err != nil {
				return err
			}
			if level >= 0 {
				rows[level] = append(rows[level], vectorRow{space, row, index.Quantize(units[i])})
			}
		}
		for i, vs := range rows {
			slices.SortFunc(vs, func(a, b vectorRow) int { return cmp.Compare(a.row, b.row) })
			for _, v := range vs {
				if s, ok := c.spaces[space]; ok && tx.Bucket(bucketVectors).Get(vectorKey(c.id, s.Number, i+1, v.row)) != nil {
					continue
				}
				if _, err := c.putVector(tx, c.id, i, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// MarkComplete implements [index.Spaces].
func (x *Index) MarkComplete(ctx context.Context, collection, space string) error {
	return x.edit(ctx, "complete space", collection, space, func(tx *txn, c *collectionEdit) error {
		r, err := c.spaceFor(tx, space, 0)
		r.Complete = true
		c.spaces[space] = r
		return err
	})
}

// DropSpace implements [index.Spaces]. When it returns, searches do not use the space, and its name can be used again. If a crash
// happens before the vectors are deleted, the next DropSpace or compaction deletes them.
func (x *Index) DropSpace(ctx context.Context, collection, space string) error {
	err := x.edit(ctx, "drop space", collection, space, func(tx *txn, c *collectionEdit) error {
		r, ok := c.spaces[space]
		if !ok {
			return nil
		}
		delete(c.spaces, space)
		meta := tx.Bucket(bucketMeta)
		if err := meta.Put(keyScrub, nil); err != nil { // a compaction shrinks the file
			return err
		}
		if err := tx.Bucket(bucketDropped).Put(spaceKey(c.id, r.Number), nil); err != nil {
			return err
		}
		return tx.Bucket(bucketSpaces).Delete(idKey(c.id, space))
	})
	if err != nil {
		return err
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	return failed("drop space", x.clearDropped(ctx))
}

// collectionEdit is a change of vectors and spaces.
type collectionEdit struct {
	id uint32
	*edits
}

// edit changes the vectors and spaces of a collection, and publishes a new snapshot. It does nothing if the collection does not exist.
func (x *Index) edit(ctx context.Context, op, collection, space string, do func(*txn, *collectionEdit) error) error {
	if len(space) > maxKey {
		return fault.Invalid("space", "a name has at most %d bytes", maxKey)
	}
	collection, err := prepare.Collection(collection)
	if err != nil {
		return err
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	c, err := x.collection(collection)
	if err == nil && c != nil {
		err = x.repair(c)
	}
	if err != nil || c == nil {
		return failed(op, err)
	}
	ed := c.edits()
	err = x.update(func(tx *txn) error {
		if err := do(tx, &collectionEdit{c.id, ed}); err != nil {
			return err
		}
		return writeSpaces(tx, c, ed.spaces)
	})
	if err != nil {
		return failed(op, err)
	}
	var vectors [levels]spaces
	for i := range levels {
		vectors[i] = c.cur.levels[i].spaces
		if len(ed.levels[i].vectors) > 0 {
			vectors[i] = vectors[i].change(ed.levels[i].vectors, nil)
		}
		for name := range c.spaces {
			if _, kept := ed.spaces[name]; !kept {
				vectors[i] = vectors[i].without(name)
			}
		}
	}
	c.spaces = ed.spaces
	c.publish(vectors, nil)
	return nil
}

// clearDropped deletes the vectors of dropped spaces in batches. It holds x.write during each batch.
func (x *Index) clearDropped(ctx context.Context) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var dropped []byte
		err := x.view(func(tx *txn) error {
			k, _ := tx.Bucket(bucketDropped).Cursor().First()
			dropped = bytes.Clone(k)
			return nil
		})
		if err != nil || dropped == nil {
			return err
		}
		x.write.Lock()
		err = x.update(func(tx *txn) error { return clearDroppedBatch(tx, dropped) })
		x.write.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// clearDroppedBatch deletes up to clearBatch vectors with a prefix. With the last one, it deletes the entry of the dropped space.
func clearDroppedBatch(tx *txn, prefix []byte) error {
	b := tx.Bucket(bucketVectors)
	var keys [][]byte
	cur := b.Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix) && len(keys) < clearBatch; k, _ = cur.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	if len(keys) == clearBatch {
		return nil
	}
	return tx.Bucket(bucketDropped).Delete(prefix)
}
