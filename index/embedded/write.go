package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// The limits of a transaction, so that a long Put needs little memory, can be cancelled, and lets searches in between. A document that is larger is staged.
const (
	groupChunks = 5000
	groupBytes  = 8 << 20
)

// change is a document to put, or to delete if put is false; then doc only has an id.
type change struct {
	collection string
	doc        corpus.Document
	entries    []index.Entry
	named      []*prepare.Mentions // by entry
	put        bool
	nesting    *nesting                       // nil: the document is not nested
	others     map[corpus.ChunkID][]vectorRow // vectors of passages in other spaces than that of their entry, for a conversion
	staged     bool                           // its rows are written already, and marked as garbage until the document is put
	first      uint64                         // first staged row
}

// edit collects the changes of a group at one level of a collection.
type edit struct {
	added   []newChunk
	vectors []vectorRow
	ranges  [][2]uint64 // of added rows
	removed [][2]uint64
	deleted [][2]uint64 // rows of chunks that are in no lexical index
	record  levelRecord
	touched bool
}

// edits collects the changes of a group in a collection.
type edits struct {
	levels  [levels]edit
	spaces  map[string]spaceRecord
	leaving uint64               // number of chunks of the document that is being replaced, while the new one is staged
	parts   map[string]*partEdit // of sets and documents by key
}

func (c *collection) edits() *edits {
	e := &edits{spaces: maps.Clone(c.spaces)}
	for i := range levels {
		e.levels[i].record = c.records[i]
		e.levels[i].record.Added, e.levels[i].record.Removed = nil, nil
	}
	return e
}

// Put implements [index.Writer]. Documents are written in groups. Each group is durable and visible before the next. A chunk id
// that belongs to another document of the collection is a [fault.Conflict].
func (x *Index) Put(ctx context.Context, docs []corpus.Document, entries [][]index.Entry) error {
	if len(docs) != len(entries) {
		return fault.Invalid("entries", "%d of them for %d documents", len(entries), len(docs))
	}
	changes := make([]change, len(docs))
	for i := range docs {
		c, err := checked(docs[i], entries[i])
		if err != nil {
			return fmt.Errorf("put documents: %w", err)
		}
		changes[i] = c
	}
	if err := x.opts.Reserve.Check(); err != nil {
		return err
	}
	return x.apply(ctx, "put documents", changes)
}

// Delete implements [index.Writer]. The texts are not visible any more when it returns. They are erased from the files in the
// background, or by [Index.Compact].
func (x *Index) Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	collection, err := prepare.Collection(collection)
	if err != nil {
		return err
	}
	var changes []change
	for _, id := range ids {
		if id != "" && len(id) <= maxKey && len(collection) <= maxKey {
			changes = append(changes, change{collection: collection, doc: corpus.Document{ID: id}})
		}
	}
	return x.opts.Reserve.Use(func() error { return x.apply(ctx, "delete documents", changes) })
}

// checked validates a document and returns it as a change with normalized vectors.
func checked(d corpus.Document, entries []index.Entry) (change, error) {
	p, err := prepare.Check(d, entries)
	if err != nil {
		return change{}, err
	}
	c := change{collection: p.Document.Collection, doc: p.Document, entries: p.Entries, named: p.Mentions, put: true}
	if c.nesting = nestingOf(&c); c.nesting != nil {
		c.nesting.dropVectors(c.entries)
	}
	return c, nil
}

// apply applies changes in groups. No group contains a document twice.
func (x *Index) apply(ctx context.Context, op string, changes []change) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	type key struct {
		collection string
		id         corpus.DocumentID
	}
	for len(changes) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, chunks, bytes, seen := 0, 0, 0, map[key]bool{}
		for n < len(changes) && n < groupChunks {
			size := changes[n].size()
			if n > 0 && (chunks+changes[n].indexed() > groupChunks || bytes+size > groupBytes) {
				break
			}
			k := key{changes[n].collection, changes[n].doc.ID}
			if seen[k] {
				break
			}
			seen[k] = true
			chunks += changes[n].indexed()
			bytes += size
			n++
		}
		if err := x.applyGroup(ctx, changes[:n]); err != nil {
			return failed(op, err)
		}
		changes = changes[n:]
	}
	return nil
}

func (x *Index) applyGroup(ctx context.Context, group []change) error {
	cols, err := x.collectionsOf(group)
	if err != nil {
		return err
	}
	for _, c := range cols {
		if c != nil {
			if err := x.repair(c); err != nil {
				return err
			}
		}
	}
	terms := lengthsOf(group)
	edited := map[*collection]*edits{}
	swept := map[*collection][][2]uint64{}
	for _, c := range cols {
		if c != nil && edited[c] == nil {
			edited[c] = c.edits()
			swept[c] = c.sweepable()
		}
	}
	abort := func(err error) error {
		for c, rows := range swept { // they were not deleted
			if rows != nil {
				c.retired = append(c.retired, retired{0, rows})
			}
		}
		undo := x.unstage(&group[0])
		if undo != nil { // a later write deletes the rows
			cols[0].retired = append(cols[0].retired, retired{0, [][2]uint64{{group[0].first, x.nextRow}}})
		}
		return errors.Join(err, undo)
	}
	if group[0].large() { // it is the only document of the group
		if err := x.stage(ctx, cols[0], &group[0], edited[cols[0]]); err != nil {
			return abort(err)
		}
	}
	for c := range edited {
		c.gate.Lock()
		defer c.gate.Unlock()
	}
	next := x.nextRow
	err = x.update(func(tx *txn) error {
		for _, rows := range swept {
			if err := sweep(tx, rows); err != nil {
				return err
			}
		}
		for i := range group {
			if cols[i] == nil {
				continue // a deletion from an unknown collection
			}
			if err := edited[cols[i]].apply(tx, cols[i].id, &group[i], terms[i], &next); err != nil {
				return err
			}
		}
		if err := writeRecords(tx, edited); err != nil {
			return err
		}
		return tx.Bucket(bucketMeta).Put(keyNextRow, rowKey(next))
	})
	if err != nil {
		return abort(err)
	}
	x.nextRow = next
	var errs []error
	for c, e := range edited {
		if err := x.commit(c, e); err != nil {
			errs = append(errs, x.markStale(c, err))
		}
	}
	return errors.Join(errs...)
}

// apply writes a change to documents.db.
func (ed *edits) apply(tx *txn, collection uint32, ch *change, terms []lengths, next *uint64) error {
	before, err := removeDocument(tx, collection, ch.doc.ID, ed)
	if err != nil {
		return err
	}
	var now [2]uint64
	if ch.put {
		if now, err = putDocument(tx, collection, ch, terms, next, ed); err != nil {
			return err
		}
	}
	return ed.updateMemberships(tx, collection, *ch, before, now, *next)
}

// collectionsOf returns the collection of each change. It is nil for deletions from unknown collections.
func (x *Index) collectionsOf(group []change) ([]*collection, error) {
	out := make([]*collection, len(group))
	for i, ch := range group {
		c, err := x.collection(ch.collection)
		if err != nil {
			return nil, err
		}
		if c == nil && ch.put {
			if c, err = x.create(ch.collection); err != nil {
				return nil, err
			}
		}
		out[i] = c
	}
	return out, nil
}

// create creates a collection.
func (x *Index) create(name string) (*collection, error) {
	var number uint32
	err := x.update(func(tx *txn) error {
		b := tx.Bucket(bucketCollections)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		if n > math.MaxUint32 {
			return errors.New("too many collections")
		}
		number = uint32(n)
		return b.Put([]byte(name), binary.BigEndian.AppendUint32(nil, number))
	})
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.numbers[name] = number
	x.mu.Unlock()
	return x.collection(name)
}

// removeDocument removes a document from all buckets except those of chunks and sets. It marks its rows as garbage and returns them.
func removeDocument(tx *txn, collection uint32, id corpus.DocumentID, ed *edits) (rows [2]uint64, err error) {
	d, err := readDocument(tx, collection, id)
	if err != nil || d == nil {
		return rows, err
	}
	reader := chunkReader{tx: tx}
	for i := range levels {
		from, to := d.rows(i)
		if from == to {
			continue
		}
		for row := from; row < to; row++ {
			var unnamed error
			if !d.Computed || row == d.First {
				unnamed = reader.deleteID(collection, d, row)
			}
			if err := errors.Join(unnamed,
				ed.deleteVectors(tx, collection, i+1, row),
				tx.Bucket(bucketGarbage).Put(rowKey(row), nil)); err != nil {
				return rows, err
			}
		}
		e := &ed.levels[i]
		if !d.indexed(i) {
			e.deleted = append(e.deleted, [2]uint64{from, to})
			continue
		}
		e.touched = true
		e.removed = append(e.removed, [2]uint64{from, to})
		e.record.Chunks -= d.Counts[i]
		e.record.Tokens -= d.Tokens[i]
		e.record.Titles -= d.Titles[i]
	}
	if err := tx.Bucket(bucketMeta).Put(keyScrub, nil); err != nil {
		return rows, err
	}
	return d.all(), tx.Bucket(bucketDocuments).Delete(idKey(collection, string(id)))
}

func writeRecords(tx *txn, edited map[*collection]*edits) error {
	for c, e := range edited {
		if err := errors.Join(writeSpaces(tx, c, e.spaces), e.writeSets(tx, c.id)); err != nil {
			return err
		}
		for i := range levels {
			if !e.levels[i].touched {
				continue
			}
			r := &e.levels[i].record
			r.Generation++
			r.Added, r.Removed = e.levels[i].ranges, e.levels[i].removed
			raw, err := sealJSON(r)
			if err != nil {
				return err
			}
			key := levelKey(c.id, i+1)
			if err := tx.Bucket(bucketLevels).Put(key, raw); err != nil {
				return err
			}
			if len(r.Removed) > 0 {
				if err := tx.Bucket(bucketMeta).Put(append(bytes.Clone(keyScrubLevel), key...), nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// commit updates the lexical indexes of a collection after documents.db, and publishes a new snapshot.
func (x *Index) commit(c *collection, ed *edits) error {
	var errs [levels]error
	var wg sync.WaitGroup
	var turn sync.Mutex
	var vectors [levels]spaces
	var rows [][2]uint64
	for i := range levels {
		e := &ed.levels[i]
		vectors[i] = c.cur.levels[i].spaces
		rows = append(rows, e.deleted...)
		if !e.touched {
			continue
		}
		vectors[i] = vectors[i].change(e.vectors, e.removed)
		rows = append(rows, e.removed...)
		c.records[i] = e.record
		wg.Go(func() {
			if len(e.added) > 0 && e.added[0].terms == nil { // a large group: one level at a time, to save memory
				turn.Lock()
				defer turn.Unlock()
			}
			if c.lex[i] == nil {
				if c.lex[i], errs[i] = x.openLexical(c, i); errs[i] != nil {
					return
				}
			}
			errs[i] = c.lex[i].fill(e.added, e.removed, e.record.Generation)
		})
	}
	wg.Wait()
	if rows != nil { // also if the change fails here: the repair of the collection publishes it
		c.retired = append(c.retired, retired{c.seq + 1, rows})
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.spaces = ed.spaces
	c.publish(vectors, ed.parts)
	return nil
}

// sweep deletes the chunks and remaining vectors of garbage rows.
func sweep(tx *txn, rows [][2]uint64) error {
	chunks, mentions, garbage := tx.Bucket(bucketChunks), tx.Bucket(bucketMentions), tx.Bucket(bucketGarbage)
	for _, r := range rows {
		for row := r[0]; row < r[1]; row++ {
			k := rowKey(row)
			if vector := garbage.Get(k); len(vector) > 0 {
				if err := tx.Bucket(bucketVectors).Delete(vector); err != nil {
					return err
				}
			}
			if err := errors.Join(chunks.Delete(k), mentions.Delete(k), garbage.Delete(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepAll sweeps all garbage rows, and reports whether there were any. No snapshot may be in use.
func sweepAll(tx *txn) (swept bool, err error) {
	var rows [][2]uint64
	cur := tx.Bucket(bucketGarbage).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		if len(k) == 8 {
			row := binary.BigEndian.Uint64(k)
			rows = append(rows, [2]uint64{row, row + 1})
		}
	}
	if rows == nil {
		return false, nil
	}
	return true, errors.Join(sweep(tx, rows), tx.Bucket(bucketMeta).Put(keyScrub, nil))
}
