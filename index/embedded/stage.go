package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// stageBytes limits what one transaction writes of a large document, because bbolt keeps several copies of the changed pages in
// memory.
const stageBytes = 4 << 20

// sizeOf returns about how many bytes an entry takes in documents.db.
func sizeOf(e *index.Entry) int { return len(e.Text) + len(e.Proposition) + len(e.Vector) }

// size returns about how many bytes the entries of a change take in documents.db.
func (ch *change) size() (bytes int) {
	for i := range ch.entries {
		bytes += sizeOf(&ch.entries[i])
	}
	return bytes
}

// indexed returns the number of entries that get vectors and terms.
func (ch *change) indexed() (n int) {
	for i := range ch.entries {
		if ch.nesting == nil || ch.entries[i].Level == corpus.Passage {
			n++
		}
	}
	return n
}

// large reports whether a document does not fit into a transaction.
func (ch *change) large() bool { return ch.indexed() > groupChunks || ch.size() > groupBytes }

// entryRow is the row of an entry.
type entryRow struct {
	row   uint64
	entry int
}

// assignRows assigns rows from next on to the entries of a change, in the order of level and ordinal.
func assignRows(ch *change, next uint64) []entryRow {
	out := make([]entryRow, len(ch.entries))
	for k := range out {
		out[k].entry = k
	}
	slices.SortStableFunc(out, func(a, b entryRow) int {
		x, y := &ch.entries[a.entry], &ch.entries[b.entry]
		return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Ordinal, y.Ordinal))
	})
	for i := range out {
		out[i].row = next + uint64(i)
	}
	return out
}

// stage writes the chunks, mentions and vectors of a large document in several transactions. Its rows are marked as garbage, with the
// keys of their vectors, until the transaction that puts the document. After a crash, they are swept.
func (x *Index) stage(ctx context.Context, c *collection, ch *change, ed *edits) (err error) {
	first := x.nextRow
	rows := assignRows(ch, first)
	ch.staged, ch.first = true, first
	defer func() { ed.leaving = 0 }()
	err = x.view(func(tx *txn) error {
		d, err := readDocument(tx, c.id, ch.doc.ID)
		if d != nil {
			for i, n := range d.Counts {
				if d.indexed(i) {
					ed.leaving += n
				}
			}
		}
		return err
	})
	for err == nil && len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, bytes := 0, 0
		for n < len(rows) && n < groupChunks && bytes < stageBytes {
			bytes += sizeOf(&ch.entries[rows[n].entry])
			n++
		}
		err = x.update(func(tx *txn) error {
			for _, p := range rows[:n] {
				key, err := ed.writeRow(tx, c.id, ch, p)
				if err != nil {
					return err
				}
				if err := tx.Bucket(bucketGarbage).Put(rowKey(p.row), key); err != nil {
					return err
				}
			}
			return tx.Bucket(bucketMeta).Put(keyNextRow, rowKey(rows[n-1].row+1))
		})
		if err == nil {
			x.nextRow = rows[n-1].row + 1
			rows = rows[n:]
		}
	}
	return err
}

// unstage deletes the staged rows of a document that could not be put. If that fails, the next start deletes them.
func (x *Index) unstage(ch *change) error {
	if !ch.staged || ch.first == x.nextRow {
		return nil
	}
	return x.update(func(tx *txn) error {
		return errors.Join(sweep(tx, [][2]uint64{{ch.first, x.nextRow}}), tx.Bucket(bucketMeta).Put(keyScrub, nil))
	})
}

// writeRow writes an entry's chunk, mentions and vector, and returns the key of the vector, if it has one.
func (ed *edits) writeRow(tx *txn, collection uint32, ch *change, p entryRow) (vector []byte, err error) {
	chunks, mentions := tx.Bucket(bucketChunks), tx.Bucket(bucketMentions)
	chunks.FillPercent, mentions.FillPercent = 1, 1 // keys ascend
	entry, key := &ch.entries[p.entry], rowKey(p.row)
	raw, err := ch.record(p.entry)
	if err != nil {
		return nil, err
	}
	if raw != nil {
		if err := chunks.Put(key, raw); err != nil {
			return nil, err
		}
	}
	if n := ch.named[p.entry]; n != nil && ch.nesting == nil {
		if err := mentions.Put(key, seal(appendMentions(nil, n))); err != nil {
			return nil, err
		}
	}
	if entry.Vector == nil {
		return nil, nil
	}
	return ed.putVector(tx, collection, int(entry.Level)-1, vectorRow{entry.Space, p.row, index.Quantize(entry.Vector)})
}

// putDocument writes a document whose id is not in use, and returns its rows.
func putDocument(tx *txn, collection uint32, ch *change, terms []lengths, next *uint64, ed *edits) (rows [2]uint64, err error) {
	d := docRecord{Document: ch.doc, First: *next, Ordered: true, Nested: ch.nesting != nil, Computed: ch.nesting != nil && ch.nesting.computed}
	if ch.staged {
		d.First = ch.first
	}
	garbage := tx.Bucket(bucketGarbage)
	for _, p := range assignRows(ch, d.First) {
		entry := &ch.entries[p.entry]
		if !d.Computed {
			if err := putID(tx, collection, entry.ID, p.row); err != nil {
				return rows, err
			}
		}
		if ch.staged {
			err = garbage.Delete(rowKey(p.row))
		} else {
			_, err = ed.writeRow(tx, collection, ch, p)
		}
		if err != nil {
			return rows, err
		}
		for _, v := range ch.others[entry.ID] {
			v.row = p.row
			if _, err := ed.putVector(tx, collection, int(entry.Level)-1, v); err != nil {
				return rows, err
			}
		}
		t, i := terms[p.entry], entry.Level-1
		if d.Counts[i]++; !d.indexed(int(i)) {
			continue
		}
		ed.levels[i].added = append(ed.levels[i].added, newChunk{p.row, &entry.Chunk, ch.named[p.entry], t.terms})
		d.Tokens[i] += t.text
		d.Titles[i] += t.title
	}
	if d.Computed {
		if err := putRows(tx, collection, &d, ch.entries[0].ID); err != nil {
			return rows, err
		}
	}
	*next = max(*next, d.all()[1])
	for i := range levels {
		from, to := d.rows(i)
		if from == to || !d.indexed(i) {
			continue
		}
		e := &ed.levels[i]
		e.touched = true
		e.ranges = append(e.ranges, [2]uint64{from, to})
		e.record.Chunks += d.Counts[i]
		e.record.Tokens += d.Tokens[i]
		e.record.Titles += d.Titles[i]
	}
	raw, err := sealJSON(d)
	if err != nil {
		return rows, err
	}
	return d.all(), tx.Bucket(bucketDocuments).Put(idKey(collection, string(d.ID)), raw)
}

// putID writes the row of a chunk whose id is not in use.
func putID(tx *txn, collection uint32, id corpus.ChunkID, row uint64) error {
	reader := chunkReader{tx: tx}
	document, _, _, computed := id.Place()
	if !computed {
		document = string(id)
	}
	if decodeRows(tx.Bucket(bucketIDs).Get(idKey(collection, document))) != nil {
		return errChunkTaken(id) // it is computed for that document, or the beginning of its ids
	}
	if _, taken, err := reader.find(collection, id); err != nil || taken {
		return cmp.Or(err, errChunkTaken(id))
	}
	return tx.Bucket(bucketIDs).Put(idKey(collection, string(id)), rowKey(row))
}

// putRows writes the rows of a document by the beginning of the ids of its chunks, of which one is given. No other chunk may have an id that begins so.
func putRows(tx *txn, collection uint32, d *docRecord, id corpus.ChunkID) error {
	document, _, _, _ := id.Place()
	key := idKey(collection, document)
	if k, _ := tx.Bucket(bucketIDs).Cursor().Seek(key); bytes.HasPrefix(k, key) {
		return errChunkTaken(id)
	}
	return tx.Bucket(bucketIDs).Put(key, d.encodeRows())
}

func errChunkTaken(id corpus.ChunkID) error {
	return fault.New(fault.Conflict, "chunk %.100q belongs to another document", id)
}
