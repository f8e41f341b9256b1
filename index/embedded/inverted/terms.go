package inverted

import (
	"context"
	"slices"

	"github.com/blevesearch/vellum"
)

// Terms reads the postings of a field of a snapshot.
type Terms struct {
	parts []part
	key   []byte
	spots []int
}

// part is the field in one segment.
type part struct {
	live
	field *segmentField
	first uint32 // number of the first document of the segment
	only  Bits   // the selected documents; nil: all
	hides bool   // whether any document is hidden
	terms *vellum.Reader
	list  list
}

func (p *part) visible(doc uint32) bool {
	return !p.deleted.Has(doc) && (p.only == nil || p.only.Has(doc))
}

// open finds a term, and reports whether the segment has it.
func (p *part) open(term []byte) (bool, error) {
	at, ok, err := p.terms.Get(term)
	if err != nil || !ok {
		return false, err
	}
	p.list.open(p.field.postings[at:], p.field.detail)
	return true, nil
}

// count returns the number of visible documents of the list.
func (p *part) count() (n int) {
	if !p.hides {
		return p.list.df
	}
	for i := range p.list.blocks {
		size := p.list.decode(i)
		for _, d := range p.list.docs[:size] {
			if p.visible(d) {
				n++
			}
		}
	}
	return n
}

// Count returns the number of documents that contain a term.
func (t *Terms) Count(term string) (n int, err error) {
	t.key = append(t.key[:0], term...)
	for i := range t.parts {
		p := &t.parts[i]
		ok, err := p.open(t.key)
		if err != nil {
			return 0, err
		}
		if ok {
			n += p.count()
		}
	}
	return n, nil
}

// Each calls do for each of the df documents that contain a term, with its number, the frequency of the term in it (1 without [Frequencies]), and the number of terms of
// the field in it (0).
func (t *Terms) Each(ctx context.Context, term string, do func(df int, n, tf, length uint32)) error {
	t.key = append(t.key[:0], term...)
	df, found := 0, make([]bool, len(t.parts))
	for i := range t.parts {
		p := &t.parts[i]
		ok, err := p.open(t.key)
		if err != nil {
			return err
		}
		if ok {
			found[i], df = true, df+p.count()
		}
	}
	for i := range t.parts {
		p := &t.parts[i]
		if !found[i] {
			continue
		}
		lengths := p.field.detail != Documents
		for k := range p.list.blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			for j := range p.list.decode(k) {
				d, length := p.list.docs[j], uint32(0)
				if p.hides && !p.visible(d) {
					continue
				}
				if lengths {
					length = p.field.length(d)
				}
				do(df, p.first+d, p.list.tfs[j], length)
			}
		}
	}
	return nil
}

// First returns the numbers of the first documents that contain a term, at most most.
func (t *Terms) First(term string, most int) (out []uint32, err error) {
	t.key = append(t.key[:0], term...)
	for i := range t.parts {
		p := &t.parts[i]
		ok, err := p.open(t.key)
		if err != nil {
			return nil, err
		}
		for k := 0; ok && k < len(p.list.blocks); k++ {
			for _, d := range p.list.docs[:p.list.decode(k)] {
				if len(out) >= most {
					return out, nil
				}
				if p.visible(d) {
					out = append(out, p.first+d)
				}
			}
		}
	}
	return out, nil
}

// Among returns those of ascending numbers whose documents contain a term.
func (t *Terms) Among(term string, numbers []uint32) (out []uint32, err error) {
	err = t.among(term, numbers, func(_ *part, i, _ int) { out = append(out, numbers[i]) })
	return out, err
}

// Positions calls do with the ascending positions of a term in each of ascending numbers whose documents contain it, and with the place of the number. The positions
// are valid during the call.
func (t *Terms) Positions(term string, numbers []uint32, do func(i int, positions []int)) error {
	return t.among(term, numbers, func(p *part, i, n int) {
		t.spots = decodePositions(t.spots[:0], p.list.positionsOf(n))
		do(i, t.spots)
	})
}

// among calls do with the place of each number whose document contains the term, and with its place in the decoded block of the list.
func (t *Terms) among(term string, numbers []uint32, do func(p *part, i, n int)) error {
	t.key = append(t.key[:0], term...)
	for k := range t.parts {
		p := &t.parts[k]
		from, _ := slices.BinarySearch(numbers, p.first)
		to, _ := slices.BinarySearch(numbers, p.first+uint32(p.docs))
		if from == to {
			continue
		}
		ok, err := p.open(t.key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		block := 0
		for i := from; i < to && block < len(p.list.blocks); i++ {
			d := numbers[i] - p.first
			at, n, ok := p.list.find(d, block)
			block = at
			if ok && p.visible(d) {
				do(p, i, n)
			}
		}
	}
	return nil
}
