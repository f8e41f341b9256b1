package inverted

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Detail says what a field keeps of the terms of a document.
type Detail uint8

// The details of a field.
const (
	Documents   Detail = iota // which documents contain the term
	Frequencies               // and how often, and the number of terms of each document
	Positions                 // and where
)

// Token is a term at a position. The positions of the tokens of a field ascend.
type Token struct {
	Term     string
	Position int
}

// Document is a document to add.
type Document struct {
	Row    uint64
	Fields [][]Token // by field; fields at the end may be missing
}

// occurrence is a token of a document of a segment that is built.
type occurrence struct{ doc, position uint32 }

// build writes the segment of documents with ascending rows to w.
func build(w *segmentWriter, docs []Document) error {
	for field, detail := range w.fields {
		b := builder{ids: map[string]uint32{}}
		for _, d := range docs {
			if field < len(d.Fields) {
				b.count(d.Fields[field])
			}
		}
		b.order()
		lengths := make([]uint32, len(docs))
		for n, d := range docs {
			if field < len(d.Fields) {
				lengths[n] = uint32(len(d.Fields[field]))
				b.place(uint32(n), d.Fields[field])
			}
		}
		if err := w.begin(); err != nil {
			return err
		}
		for _, id := range b.sorted {
			w.list.reset()
			b.write(&w.list, b.occurrences[b.starts[id]:b.starts[id+1]], detail)
			if err := w.add([]byte(b.terms[id])); err != nil {
				return err
			}
		}
		if err := w.end(lengths); err != nil {
			return err
		}
	}
	rows := make([]uint64, len(docs))
	for n, d := range docs {
		rows[n] = d.Row
	}
	return w.finish(rows)
}

// builder sorts the occurrences of a field by term, in two passes: it counts them, and then places them.
type builder struct {
	ids         map[string]uint32 // of terms
	terms       []string
	counts      []uint32 // of occurrences by term; then the next place
	starts      []uint32 // of the occurrences of a term, and the end
	tokens      []uint32 // the terms of all documents in order
	read        int      // the tokens that place has read
	sorted      []uint32 // terms in order
	occurrences []occurrence
	encoded     []byte
}

func (b *builder) count(tokens []Token) {
	for i := range tokens {
		id, ok := b.ids[tokens[i].Term]
		if !ok {
			id = uint32(len(b.terms))
			b.ids[tokens[i].Term] = id
			b.terms = append(b.terms, tokens[i].Term)
			b.counts = append(b.counts, 0)
		}
		b.counts[id]++
		b.tokens = append(b.tokens, id)
	}
}

func (b *builder) order() {
	b.starts = make([]uint32, len(b.counts)+1)
	b.sorted = make([]uint32, len(b.terms))
	for id, n := range b.counts {
		b.starts[id+1] = b.starts[id] + n
		b.counts[id] = b.starts[id]
		b.sorted[id] = uint32(id)
	}
	slices.SortFunc(b.sorted, func(x, y uint32) int { return cmp.Compare(b.terms[x], b.terms[y]) })
	b.occurrences = make([]occurrence, len(b.tokens))
}

func (b *builder) place(doc uint32, tokens []Token) {
	for i := range tokens {
		id := b.tokens[b.read]
		b.read++
		b.occurrences[b.counts[id]] = occurrence{doc, uint32(tokens[i].Position)}
		b.counts[id]++
	}
}

// write encodes the list of a term.
func (b *builder) write(w *listWriter, all []occurrence, detail Detail) {
	for len(all) > 0 {
		doc, tf, last := all[0].doc, 0, uint32(0)
		b.encoded = b.encoded[:0]
		for tf < len(all) && all[tf].doc == doc {
			if detail == Positions {
				b.encoded = binary.AppendUvarint(b.encoded, uint64(all[tf].position-last))
				last = all[tf].position
			}
			tf++
		}
		w.add(doc, uint32(tf), b.encoded)
		all = all[tf:]
	}
}
