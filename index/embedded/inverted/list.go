package inverted

import (
	"encoding/binary"
	"errors"
	"sort"
)

// errList is the panic and error for a list that is not as [listWriter] writes it.
var errList = errors.New("damaged list of documents")

// uvarint reads a number of at most 64 bits. Most have one byte.
func uvarint(b []byte) (uint64, []byte) {
	if b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	x, n := binary.Uvarint(b)
	if n <= 0 {
		panic(errList)
	}
	return x, b[n:]
}

// block is a block of a list, not decoded yet.
type block struct {
	before          int64  // the last document of the block before; -1: none
	last            uint32 // its last document, if the list has several blocks
	size            int    // number of documents
	docs, positions []byte
	bytes           [2]uint64 // sizes of docs and positions
}

// list is the list of one term in a segment. It is reused for other terms.
type list struct {
	detail Detail
	df     int
	blocks []block

	// The decoded block.
	at   int // its number; -1: none
	docs [blockSize]uint32
	tfs  [blockSize]uint32
}

// open reads the heads of the blocks of a list. It panics if the list is damaged.
func (l *list) open(b []byte, detail Detail) {
	l.detail, l.at, l.blocks = detail, -1, l.blocks[:0]
	n, b := uvarint(b)
	l.df = int(n)
	if l.df <= 0 {
		panic(errList)
	}
	if l.df <= blockSize {
		docs := b
		var positions []byte
		if detail == Positions {
			n, rest := uvarint(b)
			docs, positions = rest[:n], rest[n:]
		}
		l.blocks = append(l.blocks, block{before: -1, size: l.df, docs: docs, positions: positions})
		return
	}
	if l.df/blockSize > len(b)/3 {
		panic(errList)
	}
	before := int64(-1)
	for left := l.df; left > 0; left -= blockSize {
		var delta, docs, positions uint64
		delta, b = uvarint(b)
		docs, b = uvarint(b)
		positions, b = uvarint(b)
		last := before + int64(delta)
		l.blocks = append(l.blocks, block{before: before, last: uint32(last), size: min(left, blockSize), bytes: [2]uint64{docs, positions}})
		before = last
	}
	for i := range l.blocks {
		k := &l.blocks[i]
		k.docs, b = b[:k.bytes[0]], b[k.bytes[0]:]
		k.positions, b = b[:k.bytes[1]], b[k.bytes[1]:]
	}
}

// decode decodes block i into docs and tfs, and returns its number of documents.
func (l *list) decode(i int) int {
	k := &l.blocks[i]
	if l.at == i {
		return k.size
	}
	l.at = i
	b, doc := k.docs, k.before
	for n := range k.size {
		var x uint64
		x, b = uvarint(b)
		tf := uint64(1)
		if l.detail != Documents {
			if x&1 == 0 {
				tf, b = uvarint(b)
			}
			x >>= 1
		}
		doc += int64(x)
		l.docs[n], l.tfs[n] = uint32(doc), uint32(tf)
	}
	return k.size
}

// find returns the place of a document: its block, and its number in that. Documents must be sought in ascending order, beginning at block from.
func (l *list) find(doc uint32, from int) (i, n int, ok bool) {
	i = from
	if len(l.blocks) > 1 {
		i += sort.Search(len(l.blocks)-from, func(k int) bool { return l.blocks[from+k].last >= doc })
	}
	if i >= len(l.blocks) {
		return i, 0, false
	}
	size := l.decode(i)
	n = sort.Search(size, func(k int) bool { return l.docs[k] >= doc })
	return i, n, n < size && l.docs[n] == doc
}

// positionsOf returns the encoded positions of document n of the decoded block.
func (l *list) positionsOf(n int) []byte {
	b := l.blocks[l.at].positions
	for k := range n {
		b = b[positionsSize(b, l.tfs[k]):]
	}
	return b[:positionsSize(b, l.tfs[n])]
}

// positionsSize returns the size of the first tf numbers of b.
func positionsSize(b []byte, tf uint32) int {
	i := 0
	for ; tf > 0; tf-- {
		for b[i] >= 0x80 {
			i++
		}
		i++
	}
	return i
}

// decodePositions appends encoded positions to dst.
func decodePositions(dst []int, b []byte) []int {
	at := 0
	for len(b) > 0 {
		var x uint64
		x, b = uvarint(b)
		at += int(x)
		dst = append(dst, at)
	}
	return dst
}
