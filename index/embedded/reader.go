package embedded

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
)

// chunkReader reads chunks in one transaction. It keeps the section and the sentences that it read last.
type chunkReader struct {
	tx        *txn
	document  corpus.DocumentID
	row       uint64 // of the section
	section   *nestedRecord
	title     string
	headings  []string
	text      string         // and the propositions and mentions
	sectionID corpus.ChunkID // empty until it is needed
	buffer    []byte
	runRow    uint64
	run       sentenceRun
}

var errMissing = errors.New("is missing")

// read returns the chunk of a row.
func (r *chunkReader) read(row uint64) (*corpus.Chunk, error) {
	c, err := r.chunk(row)
	if err != nil {
		return nil, damagedChunk(row, err)
	}
	return c, nil
}

func damagedChunk(row uint64, err error) error {
	return fmt.Errorf("%w: chunk %d: %w", errDamaged, row, err)
}

func (r *chunkReader) chunk(row uint64) (*corpus.Chunk, error) {
	rec, raw, err := r.record(row)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		c := new(corpus.Chunk)
		return c, json.Unmarshal(raw, c)
	}
	var parent *nestedRecord
	at, up := row, rec
	for up.level > corpus.Section {
		if at -= up.up; at > row || up.up == 0 { // the row of a parent is smaller, so the loop ends
			return nil, errTruncated
		}
		if up, _, err = r.record(at); err != nil {
			return nil, err
		}
		if up == nil {
			return nil, errTruncated
		}
		parent = cmp.Or(parent, up)
	}
	if err := r.open(at, up); err != nil {
		return nil, err
	}
	c := &corpus.Chunk{Document: r.document, Level: rec.level, Ordinal: int(rec.ordinal), Title: r.title, Headings: slices.Clone(r.headings), Pages: rec.pages, PageStarts: rec.starts}
	if c.Text, err = r.textOf(rec); err != nil {
		return nil, err
	}
	c.ID = r.idOf(rec, c.Text)
	if c.Start = int(up.start); rec != up {
		c.Start += int(rec.start)
		if c.Parent, err = r.parentID(parent); err != nil {
			return nil, err
		}
	}
	c.End = c.Start + len(c.Text)
	from := up.size + rec.proposition[0]
	if from+rec.proposition[1] > uint64(len(r.text)) {
		return nil, errTruncated
	}
	if rec.proposition[1] > 0 {
		c.Proposition = r.text[from : from+rec.proposition[1]]
	}
	return c, nil
}

// textOf returns the text of a chunk of the open section.
func (r *chunkReader) textOf(rec *nestedRecord) (string, error) {
	start := rec.start
	if rec.level == corpus.Section {
		start = 0
	}
	if start+rec.size > r.section.size || r.section.size > uint64(len(r.text)) {
		return "", errTruncated
	}
	return r.text[start : start+rec.size], nil
}

// idOf returns the id of a chunk of the open section.
func (r *chunkReader) idOf(rec *nestedRecord, text string) corpus.ChunkID {
	if rec.id != "" {
		return rec.id
	}
	return corpus.NewChunkID(r.document, rec.level, int(rec.ordinal), text)
}

// parentID returns the id of a section or passage of the open section.
func (r *chunkReader) parentID(parent *nestedRecord) (corpus.ChunkID, error) {
	if parent == r.section && r.sectionID != "" {
		return r.sectionID, nil
	}
	text, err := r.textOf(parent)
	if err != nil {
		return "", err
	}
	id := r.idOf(parent, text)
	if parent == r.section {
		r.sectionID = id
	}
	return id, nil
}

// record returns the record of the chunk of a row. It is nil if the document is not nested; then raw is the JSON of the chunk.
func (r *chunkReader) record(row uint64) (rec *nestedRecord, raw []byte, err error) {
	if r.section != nil && r.row == row {
		return r.section, nil, nil
	}
	if row >= r.runRow && row-r.runRow < uint64(len(r.run)) {
		return &r.run[row-r.runRow], nil, nil
	}
	key, sealed := r.tx.Bucket(bucketChunks).floor(rowKey(row))
	if len(key) != 8 {
		return nil, nil, errMissing
	}
	if raw, err = unseal(sealed); err != nil || len(raw) == 0 {
		return nil, nil, cmp.Or(err, errTruncated)
	}
	first := binary.BigEndian.Uint64(key)
	if raw[0] == runLevel {
		run, err := decodeRun(raw)
		if err != nil {
			return nil, nil, err
		}
		if row-first >= uint64(len(run)) {
			return nil, nil, errMissing
		}
		r.runRow, r.run = first, run
		return &run[row-first], nil, nil
	}
	if first != row {
		return nil, nil, errMissing
	}
	if raw[0] != '{' {
		rec, err = decodeNested(raw)
	}
	return rec, raw, err
}

// nested returns the record of a chunk of a nested document, or nil for other documents.
func (r *chunkReader) nested(row uint64) (*nestedRecord, error) {
	rec, _, err := r.record(row)
	if err != nil {
		return nil, damagedChunk(row, err)
	}
	return rec, nil
}

// open reads the text of a section, unless it is the last one that was read.
func (r *chunkReader) open(row uint64, s *nestedRecord) error {
	if r.section != nil && r.row == row {
		return nil
	}
	var err error
	if r.buffer, err = zstdDecoder.DecodeAll(s.rest, r.buffer[:0]); err != nil {
		return err
	}
	d := decoder{rest: r.buffer}
	r.document = corpus.DocumentID(d.string())
	r.title, r.headings = d.string(), nil
	for range d.number(len(d.rest)) {
		r.headings = append(r.headings, d.string())
	}
	if d.bad {
		return errTruncated
	}
	r.row, r.section, r.text, r.sectionID = row, s, string(d.rest), ""
	return nil
}

// id returns the id of the chunk of a row.
func (r *chunkReader) id(row uint64) (corpus.ChunkID, error) {
	rec, err := r.nested(row)
	if err != nil {
		return "", err
	}
	if rec != nil && rec.id != "" {
		return rec.id, nil
	}
	c, err := r.read(row)
	if err != nil {
		return "", err
	}
	return c.ID, nil
}

// find returns the row of the chunk with an id. ok is false if the collection has no such chunk.
func (r *chunkReader) find(collection uint32, id corpus.ChunkID) (row uint64, ok bool, err error) {
	if id == "" || len(id) > maxKey {
		return 0, false, nil
	}
	ids := r.tx.Bucket(bucketIDs)
	if document, level, ordinal, computed := id.Place(); computed && level > 0 {
		if at := decodeRows(ids.Get(idKey(collection, document))); at != nil {
			from, to := at.rows(int(level) - 1)
			if row = from + uint64(ordinal); row < to {
				has, err := r.id(row)
				return row, has == id, err
			}
		}
	}
	if raw := ids.Get(idKey(collection, string(id))); len(raw) == 8 {
		return binary.BigEndian.Uint64(raw), true, nil
	}
	return 0, false, nil
}

// deleteID deletes the id of a chunk of a document. If the ids of the document are computed, it deletes all of them.
func (r *chunkReader) deleteID(collection uint32, d *docRecord, row uint64) error {
	id, err := r.id(row)
	if err != nil {
		return err
	}
	key := string(id)
	if d.Computed {
		key, _, _, _ = id.Place()
	}
	return r.tx.Bucket(bucketIDs).Delete(idKey(collection, key))
}

// encodeRows returns the value of a document in the bucket of ids: its first row and the number of its chunks at each level.
func (d *docRecord) encodeRows() []byte {
	b := append(rowKey(d.First), 0) // its size is not that of a row
	for _, n := range d.Counts {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// decodeRows returns a record with the rows of a document, or nil if raw is not one of encodeRows.
func decodeRows(raw []byte) *docRecord {
	if len(raw) < 9+levels {
		return nil
	}
	out := &docRecord{First: binary.BigEndian.Uint64(raw)}
	d := decoder{rest: raw[9:]}
	for i := range out.Counts {
		out.Counts[i] = d.next()
	}
	if d.bad {
		return nil
	}
	return out
}
