package embedded

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// postings reads the postings of one field of a snapshot of a lexical index. It does what bleve's TermFieldReader does, but without
// the setup for each term, which takes ten times longer than the lookup of a rare term. It is not safe for concurrent use.
type postings struct {
	parts []segmentTerms
}

// segmentTerms is the sorted term list of one segment, with its documents numbered from 0.
type segmentTerms struct {
	*scorch.SegmentSnapshot
	first uint64 // number of its first document in the index
	size  uint64
	// except are the documents to skip: deleted ones and those that the filter of the view excludes. An exclusion contains the deleted ones.
	except *roaring.Bitmap
	terms  segment.TermDictionary
	list   segment.PostingsList // reused for the next term
	each   segment.PostingsIterator
}

// whole returns the view without its filter.
func (v *view) whole() *view {
	all := *v
	all.only = nil
	return &all
}

// postingsOf returns the postings of a field of the visible chunks.
func (v *view) postingsOf(field string) (*postings, error) {
	if v.reader == nil {
		return &postings{}, nil
	}
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
		p := segmentTerms{SegmentSnapshot: seg, first: first, size: size, terms: terms, except: seg.Deleted()}
		first += size
		if terms.Cardinality() == 0 {
			continue
		}
		if v.only != nil {
			b, err := v.only.exclusion(v.of, seg, s.Segments())
			if err != nil {
				return nil, err
			}
			if b.all {
				continue
			}
			p.except = b.numbers
		}
		out.parts = append(out.parts, p)
	}
	return out, nil
}

// find looks up a term in a segment.
func (p *segmentTerms) find(term string) (segment.PostingsList, error) {
	list, err := p.terms.PostingsList([]byte(term), p.except, p.list)
	if err != nil {
		return nil, err
	}
	p.list = list
	return list, nil
}

// count returns the number of documents that contain a term.
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

// all calls do for each of the df documents that contain a term, with its number and its posting. The posting is only valid during the call.
func (ps *postings) all(ctx context.Context, term string, do func(df, n uint64, p segment.Posting)) error {
	df, err := ps.count(term)
	if err != nil || df == 0 {
		return err
	}
	for i := range ps.parts {
		p := &ps.parts[i]
		if p.list.Count() == 0 {
			continue
		}
		p.each = p.list.Iterator(true, true, false, p.each)
		for k := 0; ; k++ {
			if k&4095 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			got, err := p.each.Next()
			if err != nil {
				return err
			}
			if got == nil {
				break
			}
			do(df, p.first+got.Number(), got)
		}
	}
	return nil
}

// numbers returns the ascending numbers of the first documents that contain a term, at most most.
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

// among returns those of ascending numbers whose documents contain a term.
func (ps *postings) among(term string, numbers []uint32) (out []uint32, err error) {
	err = ps.split(numbers, func(p *segmentTerms, from, to int) error {
		list, err := p.find(term)
		if err != nil || list.Count() == 0 {
			return err
		}
		p.each = list.Iterator(false, false, false, p.each)
		var got segment.Posting
		for _, n := range numbers[from:to] {
			local := uint64(n) - p.first
			if got == nil || got.Number() < local {
				if got, err = p.each.Advance(local); err != nil || got == nil {
					return err
				}
			}
			if got.Number() == local {
				out = append(out, n)
			}
		}
		return nil
	})
	return out, err
}

// split calls do for each segment that has some of ascending numbers: numbers[from:to].
func (ps *postings) split(numbers []uint32, do func(p *segmentTerms, from, to int) error) error {
	for i := range ps.parts {
		p := &ps.parts[i]
		from, _ := slices.BinarySearch(numbers, uint32(p.first))
		to, _ := slices.BinarySearch(numbers, uint32(p.first+p.size))
		if from == to {
			continue
		}
		if err := do(p, from, to); err != nil {
			return err
		}
	}
	return nil
}

// places returns the positions of terms in each document of ascending numbers, by document and term.
func (ps *postings) places(terms []string, numbers []uint32) ([][][]int, error) {
	out := make([][][]int, len(numbers))
	for i := range out {
		out[i] = make([][]int, len(terms))
	}
	sought := newSought(terms)
	err := ps.split(numbers, func(p *segmentTerms, from, to int) error {
		for i := from; i < to; i++ {
			err := p.VisitDocument(uint64(numbers[i])-p.first, func(field string, _ byte, value []byte, _ []uint64) bool {
				if field == fieldOrder {
					sought.find(value, out[i])
				}
				return field != fieldOrder
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
