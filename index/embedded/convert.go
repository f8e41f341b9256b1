package embedded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// convertTurn is the time after which the conversion lets other background work run.
const convertTurn = 10 * time.Second

// convertBatch is the number of vectors that one transaction converts.
const convertBatch = 1000

// conversion is how far the documents of earlier formats were converted.
type conversion struct {
	begun     bool
	names     []string          // collections that are not converted
	after     corpus.DocumentID // of the first of them: the last document that was considered
	documents int               // that were converted
	vector    []byte            // the key of the last vector that was considered
	vectors   int               // that were converted
}

// convert writes the documents of earlier formats again that can be nested, group by group, and vectors of float32s as bytes, so that they need less space and memory. Other
// calls can read and write in the meantime. It returns after about a turn, and reports whether nothing is left. If the process ends, the next one begins again, and skips what is converted.
func (x *Index) convert(ctx context.Context, c *conversion, turn time.Duration) (done bool, err error) {
	if !c.begun {
		due := false
		err := x.view(func(tx *txn) error { due = tx.Bucket(bucketMeta).Get(keyConvert) != nil; return nil })
		if err != nil || !due {
			return err == nil, err
		}
		x.opts.Logger.Info("converting the index of an earlier version, so that it needs less space", "folder", x.dir)
		c.begun, c.names = true, x.names()
	}
	for begun := time.Now(); len(c.names) > 0; {
		n, last, err := x.convertGroup(ctx, c.names[0], c.after)
		if err != nil {
			return false, fmt.Errorf("convert collection %.100q: %w", c.names[0], err)
		}
		c.documents += n
		if c.after = last; last == "" {
			c.names = c.names[1:]
		}
		if len(c.names) > 0 && time.Since(begun) > turn {
			return false, nil
		}
	}
	for begun, more := time.Now(), true; more; {
		if more, err = x.convertVectors(ctx, c); err != nil {
			return false, fmt.Errorf("convert vectors: %w", err)
		}
		if more && time.Since(begun) > turn {
			return false, nil
		}
	}
	x.write.Lock()
	defer x.write.Unlock()
	err = x.update(func(tx *txn) error {
		meta := tx.Bucket(bucketMeta)
		return errors.Join(meta.Put(keyScrub, nil), meta.Delete(keyConvert)) // a compaction shrinks the file
	})
	if err != nil {
		return false, err
	}
	x.opts.Logger.Info("index converted", "folder", x.dir, "documents", c.documents, "vectors", c.vectors)
	return true, nil
}

// convertVectors writes a batch of vectors of float32s as bytes, and reports whether there may be more. The vectors in memory are the same already.
func (x *Index) convertVectors(ctx context.Context, c *conversion) (more bool, err error) {
	if err := cmp.Or(ctx.Err(), x.opts.Reserve.Check()); err != nil {
		return false, err
	}
	x.write.Lock()
	defer x.write.Unlock()
	seen, converted := 0, 0
	last := c.vector
	err = x.update(func(tx *txn) error {
		dims := map[string]int{} // by spaceKey
		err := tx.Bucket(bucketSpaces).ForEach(func(k, v []byte) error {
			var r spaceRecord
			if len(k) >= 4 && unsealJSON(v, &r) == nil {
				dims[string(spaceKey(binary.BigEndian.Uint32(k), r.Number))] = r.Dim
			}
			return nil
		})
		if err != nil {
			return err
		}
		vectors, changed := tx.Bucket(bucketVectors), map[string][]byte{}
		cur := vectors.Cursor()
		for k, v := cur.Seek(append(bytes.Clone(c.vector), 0)); k != nil && seen < convertBatch; k, v = cur.Next() {
			seen++
			last = bytes.Clone(k)
			dim := dims[string(k[:min(len(k), 8)])] // 0: of a space that was dropped
			if components, err := unsealVector(v, dim); err == nil && dim > 0 && len(v) > len(components)+4 {
				changed[string(k)] = seal(components)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(changed)) {
			if err := vectors.Put([]byte(k), changed[k]); err != nil {
				return err
			}
		}
		converted = len(changed)
		return nil
	})
	if err != nil {
		return false, err
	}
	c.vector, c.vectors = last, c.vectors+converted
	return seen == convertBatch, nil
}

// convertGroup converts documents of a collection after an id, up to about the size of a transaction. It returns how many it converted, and the last id that
// it considered, which is empty at the end of the collection.
func (x *Index) convertGroup(ctx context.Context, name string, after corpus.DocumentID) (converted int, last corpus.DocumentID, err error) {
	x.write.Lock() // until the documents are written, so that nobody changes them in the meantime
	defer x.write.Unlock()
	var group []change
	err = x.inCollection(name, func(tx *txn, c uint32, _ index.Scope) error {
		group, last = nil, ""
		spaces, err := readSpaces(tx, c)
		if err != nil {
			return err
		}
		space, in := usedSpace(spaces)
		chunks, size := 0, 0
		prefix, start := idKey(c, ""), idKey(c, string(after))
		cur := tx.Bucket(bucketDocuments).Cursor()
		for k, v := cur.Seek(start); bytes.HasPrefix(k, prefix) && chunks < groupChunks/2 && size < groupBytes/2; k, v = cur.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if after != "" && bytes.Equal(k, start) {
				continue
			}
			last = corpus.DocumentID(k[len(prefix):])
			var d docRecord
			if chunks++; unsealJSON(v, &d) != nil || d.Nested {
				continue // a damaged one is reported when the files are verified
			}
			es, err := exported(ctx, tx, c, &d, space, in)
			if errors.Is(err, errDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			d.Collection = name // the record is JSON, which cannot hold arbitrary bytes
			ch, err := checked(d.Document, es)
			if err != nil {
				continue // it stays as it is
			}
			chunks += len(es)
			if size += ch.size(); ch.nesting == nil {
				continue
			}
			if ch.others, err = otherVectors(tx, c, &d, spaces, space); err != nil {
				return err
			}
			group = append(group, ch)
		}
		return nil
	})
	if err != nil || len(group) == 0 {
		return 0, last, err
	}
	if err := x.opts.Reserve.Check(); err != nil {
		return 0, "", err
	}
	for rest := group; len(rest) > 0; {
		n := 1
		for n < len(rest) && !rest[n].large() { // a large document is written alone
			n++
		}
		if err := x.applyGroup(ctx, rest[:n]); err != nil {
			return 0, "", failed("convert documents", err)
		}
		rest = rest[n:]
	}
	return len(group), last, nil
}

// otherVectors returns the vectors of a document's passages in all spaces but one, such as those of an embedder for which the collection is being
// embedded again.
func otherVectors(tx *txn, collection uint32, d *docRecord, all map[string]spaceRecord, but string) (map[corpus.ChunkID][]vectorRow, error) {
	out := map[corpus.ChunkID][]vectorRow{}
	reader := chunkReader{tx: tx}
	for name, s := range all {
		if name == but {
			continue
		}
		for row, to := d.rows(passages); row < to; row++ {
			raw := tx.Bucket(bucketVectors).Get(vectorKey(collection, s.Number, passages+1, row))
			if raw == nil {
				continue
			}
			v, err := unsealVector(raw, s.Dim)
			if err != nil {
				return nil, fmt.Errorf("%w: the vector of chunk %d: %w", errDamaged, row, err)
			}
			id, err := reader.id(row)
			if err != nil {
				return nil, err
			}
			out[id] = append(out[id], vectorRow{space: name, vector: bytes.Clone(v)})
		}
	}
	return out, nil
}

// usedSpace returns the complete space with the most vectors, which searches use.
func usedSpace(all map[string]spaceRecord) (name string, in *spaceRecord) {
	for n, r := range all {
		if r.Complete && (in == nil || r.Vectors > in.Vectors || r.Vectors == in.Vectors && n < name) {
			name, in = n, &r
		}
	}
	return name, in
}
