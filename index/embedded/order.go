package embedded

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/blevesearch/bleve/v2/analysis"
)

// The order of the terms of a chunk tells which of its terms are neighbours. It has two bytes for each term. Bleve's positions take about seven, and
// prevent its short form of terms with one occurrence. Codes of two terms are rarely equal; see docs/decisions/0087-computed-ids-and-order-of-terms.md.

// gapCode stands for [fieldGap].
const gapCode = 0

// termCode returns the code of a term, which is not gapCode.
func termCode(term []byte) uint16 {
	h := fnv.New32a()
	_, _ = h.Write(term)
	return max(uint16(h.Sum32()>>16), gapCode+1)
}

// termOrder returns the codes of terms in order. Between terms that are not neighbours, there is a gapCode.
func termOrder(terms analysis.TokenStream) []byte {
	out := make([]byte, 0, 2*len(terms)+8)
	next := 1
	for _, t := range terms {
		if t.Position != next {
			out = binary.LittleEndian.AppendUint16(out, gapCode)
		}
		out = binary.LittleEndian.AppendUint16(out, termCode(t.Term))
		next = t.Position + 1
	}
	return out
}

// sought are the terms whose positions are sought.
type sought struct {
	codes []uint16
	maybe [256]bool // by the low byte of a code: whether codes may contain it
}

func newSought(terms []string) *sought {
	s := &sought{codes: make([]uint16, len(terms))}
	for i, t := range terms {
		s.codes[i] = termCode([]byte(t))
		s.maybe[s.codes[i]&0xff] = true
	}
	return s
}

// find appends the positions of each term in the result of termOrder.
func (s *sought) find(order []byte, places [][]int) {
	position := 0
	for ; len(order) >= 2; order = order[2:] {
		code := binary.LittleEndian.Uint16(order)
		if code == gapCode {
			position += fieldGap - 1
			continue
		}
		position++
		if !s.maybe[code&0xff] {
			continue
		}
		for i, c := range s.codes {
			if c == code {
				places[i] = append(places[i], position)
			}
		}
	}
}
