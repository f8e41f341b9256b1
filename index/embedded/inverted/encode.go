package inverted

import "encoding/binary"

// blockSize is the number of documents of a block, except the last one of a list.
const blockSize = 128

// listWriter encodes the list of one term. It is reused for all terms of a field.
type listWriter struct {
	detail Detail
	df     int
	last   int64 // document before
	from   int64 // last document of the block before

	docs, positions []byte // of the current block
	blocks          []byte // complete blocks
	skips           []byte // their entries
}

func (w *listWriter) reset() {
	w.df, w.last, w.from = 0, -1, -1
	w.docs, w.positions, w.blocks, w.skips = w.docs[:0], w.positions[:0], w.blocks[:0], w.skips[:0]
}

// add adds a document, which is greater than the one before. positions are encoded ones of a document.
func (w *listWriter) add(doc, tf uint32, positions []byte) {
	if w.df > 0 && w.df%blockSize == 0 {
		w.endBlock()
	}
	delta := uint64(int64(doc) - w.last)
	w.last = int64(doc)
	w.df++
	switch {
	case w.detail == Documents:
		w.docs = binary.AppendUvarint(w.docs, delta)
	case tf == 1:
		w.docs = binary.AppendUvarint(w.docs, delta<<1|1)
	default:
		w.docs = binary.AppendUvarint(binary.AppendUvarint(w.docs, delta<<1), uint64(tf))
	}
	w.positions = append(w.positions, positions...)
}

func (w *listWriter) endBlock() {
	w.skips = binary.AppendUvarint(w.skips, uint64(w.last-w.from))
	w.skips = binary.AppendUvarint(w.skips, uint64(len(w.docs)))
	w.skips = binary.AppendUvarint(w.skips, uint64(len(w.positions)))
	w.blocks = append(append(w.blocks, w.docs...), w.positions...)
	w.docs, w.positions = w.docs[:0], w.positions[:0]
	w.from = w.last
}

// encoded appends the list to dst.
func (w *listWriter) encoded(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(w.df))
	if w.df > blockSize {
		w.endBlock()
		return append(append(dst, w.skips...), w.blocks...)
	}
	if w.detail == Positions {
		dst = binary.AppendUvarint(dst, uint64(len(w.docs)))
	}
	return append(append(dst, w.docs...), w.positions...)
}
