package inverted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/blevesearch/vellum"
)

// live is a segment with its deleted documents. It is immutable.
type live struct {
	*Segment
	deleted Bits // nil: none
	gone    int  // their number
}

// Snapshot is a state of an index. Its documents are numbered from 0, in the order of its segments. It is safe for concurrent use.
type Snapshot struct {
	segments []live
	firsts   []uint32 // number of the first document of each segment
	state    uint64   // number of the state of the index
	closed   atomic.Bool
}

func newSnapshot(segments []live, state uint64) *Snapshot {
	s := &Snapshot{segments: segments, firsts: make([]uint32, len(segments)), state: state}
	first := uint32(0)
	for i, seg := range segments {
		seg.retain()
		s.firsts[i] = first
		first += uint32(seg.docs)
	}
	return s
}

// Close ends the use of the snapshot. A second Close does nothing.
func (s *Snapshot) Close() {
	if s.closed.Swap(true) {
		return
	}
	for _, seg := range s.segments {
		seg.release()
	}
}

// Segments iterates over the segments.
func (s *Snapshot) Segments() iter.Seq[*Segment] {
	return func(yield func(*Segment) bool) {
		for _, seg := range s.segments {
			if !yield(seg.Segment) {
				return
			}
		}
	}
}

// Row returns the row of document n.
func (s *Snapshot) Row(n uint32) uint64 {
	i, ok := slices.BinarySearch(s.firsts, n)
	if !ok {
		i--
	}
	return s.segments[i].Row(n - s.firsts[i])
}

// Number returns the number of the document with a row, and false if there is none.
func (s *Snapshot) Number(row uint64) (uint32, bool) {
	for i, seg := range s.segments {
		if first, end := seg.Range(row, row+1); first < end && !seg.deleted.Has(first) {
			return s.firsts[i] + first, true
		}
	}
	return 0, false
}

// Verify reads all segments, and returns an [ErrDamaged] for the first with a wrong checksum.
func (s *Snapshot) Verify(ctx context.Context) error {
	for _, seg := range s.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := safely(seg.verify); err != nil {
			return fmt.Errorf("%s: %w", seg.path, err)
		}
	}
	return nil
}

// Filter selects documents of segments. It gets a segment many times, and should remember the result.
type Filter interface {
	// Visible returns the numbers of the selected documents of a segment, and how many these are.
	Visible(*Segment) (Bits, int)
}

// Terms returns a reader of the terms of a field. A filter selects the documents whose postings are read; nil: all. The reader is not safe for
// concurrent use, and must not be used after the snapshot was closed. Its methods panic on damaged data.
func (s *Snapshot) Terms(field int, only Filter) (*Terms, error) {
	t := &Terms{parts: make([]part, 0, len(s.segments))}
	for i, seg := range s.segments {
		f := &seg.fields[field]
		if f.terms.Len() == 0 {
			continue
		}
		p := part{live: seg, field: f, first: s.firsts[i]}
		if only != nil {
			var n int
			if p.only, n = only.Visible(seg.Segment); n == 0 {
				continue
			}
			if n == seg.docs {
				p.only = nil
			}
		}
		p.hides = p.only != nil || seg.gone > 0
		var err error
		if p.terms, err = f.terms.Reader(); err != nil {
			return nil, err
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// Match calls do for the terms of a field that an automaton accepts, in order, with the number of their documents, until it returns false. Deleted
// documents count.
func (s *Snapshot) Match(field int, a vellum.Automaton, do func(term string, documents int) bool) error {
	cursors, err := openCursors(s.segments, field, a)
	if err != nil {
		return err
	}
	for {
		term, lists, ok := cursors.next()
		if !ok {
			return cursors.err
		}
		n := 0
		for _, c := range lists {
			df, _ := uvarint(s.segments[c.segment].fields[field].postings[c.offset:])
			n += int(df)
		}
		if !do(term, n) {
			return nil
		}
	}
}
