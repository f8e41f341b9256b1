package embedded

import (
	"fmt"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// postings reads which passages hold the terms of one field of one state of a lexical index: what bleve's TermFieldReader
// reads, without making one anew for each term, which takes ten times longer than to look a rare term up. It is for one
// goroutine.
type postings struct {
	parts []part
}

// part is a segment of the index: a sorted list of terms with their documents, numbered from 0.
type part struct {
	*scorch.SegmentSnapshot
	first uint64 // number of its first document in the whole
	size  uint64
	terms segment.TermDictionary
	list  segment.PostingsList // used again for the next term
	each  segment.PostingsIterator
}

func (v *view) postingsOf(field string) (*postings, error) {
	s, ok := v.reader.(*scorch.IndexSnapshot)
	if !ok {
		return nil, fmt.Errorf("a lexical index of another kind: %T", v.reader)
	}
	out := &postings{}
	first := uint64(0)
	for _, seg := range s.Segments() {
		terms, err := seg.Segment().Dictionary(field)
		if err != nil {
			return nil, err
		}
		size := seg.Segment().Count()
		if terms.Cardinality() > 0 {
			out.parts = append(out.parts, part{SegmentSnapshot: seg, first: first, size: size, terms: terms})
		}
		first += size
	}
	return out, nil
}

// find looks a term up in a part; nil where it is not.
func (p *part) find(term string) (segment.PostingsList, error) {
	list, err := p.terms.PostingsList([]byte(term), p.Deleted(), p.list)
	if err != nil {
		return nil, err
	}
	p.list = list
	return list, nil
}

// count counts the documents that hold a term.
func (ps *postings) count(term string) (n uint64, err error) {
	for i := range ps.parts {
		list, err := ps.parts[i].find(term)
		if err != nil {
			return 0, err
		}
		n += list.Count()
	}
	return n, nil
}

// numbers gives the numbers of the first documents that hold a term, at most so many, ascending.
func (ps *postings) numbers(term string, most int) (out []uint32, err error) {
	for i := range ps.parts {
		p := &ps.parts[i]
		list, err := p.find(term)
		if err != nil {
			return nil, err
		}
		if list.Count() == 0 {
			continue
		}
		p.each = list.Iterator(false, false, false, p.each)
		for len(out) < most {
			got, err := p.each.Next()
			if err != nil {
				return nil, err
			}
			if got == nil {
				break
			}
			out = append(out, uint32(p.first+got.Number()))
		}
	}
	return out, nil
}

// among gives those of ascending numbers whose documents hold a term.
func (ps *postings) among(term string, numbers []uint32) (out []uint32, err error) {
	for i := range ps.parts {
		p := &ps.parts[i]
		from, _ := slices.BinarySearch(numbers, uint32(p.first))
		to, _ := slices.BinarySearch(numbers, uint32(p.first+p.size))
		if from == to {
			continue
		}
		list, err := p.find(term)
		if err != nil {
			return nil, err
		}
		if list.Count() == 0 {
			continue
		}
		p.each = list.Iterator(false, false, false, p.each)
		at, begun := uint64(0), false
		for _, n := range numbers[from:to] {
			local := uint64(n) - p.first
			if !begun || at < local {
				got, err := p.each.Advance(local)
				if err != nil {
					return nil, err
				}
				if got == nil {
					break
				}
				at, begun = got.Number(), true
			}
			if at == local {
				out = append(out, n)
			}
		}
	}
	return out, nil
}
