package embedded

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// fewRows is how many times more chunks than a filter has rows a segment must hold for these to be looked up one by one; where it
// holds fewer, each of its chunks is.
const fewRows = 16

// filter lets some rows through: those of the documents of a scope.
type filter struct {
	parts []*part // whose rows they are
	rows  rowSet

	mu sync.Mutex
	// segments are what it bars of those of a lexical index, by their ids. One of an id holds the same chunks by the same numbers
	// as long as there is one of it.
	segments map[*lexical]map[uint64]*barred
}

// barred are the chunks of a segment, by their numbers in it, that a filter does not let through.
type barred struct {
	all     bool
	numbers *roaring.Bitmap // nil: none
}

// barred gives what of a segment, one of all those of l, is not let through.
func (f *filter) barred(l *lexical, seg *scorch.SegmentSnapshot, all []*scorch.SegmentSnapshot) (*barred, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.segments[l][seg.Id()]; b != nil {
		return b, nil
	}
	b, err := f.bar(l, seg, all)
	if err != nil {
		return nil, err
	}
	if f.segments[l] == nil {
		if f.segments == nil || len(f.segments) == levels { // of those, some were made anew since
			f.segments = map[*lexical]map[uint64]*barred{}
		}
		f.segments[l] = map[uint64]*barred{}
	}
	f.segments[l][seg.Id()] = b
	prune(f.segments[l], all)
	return b, nil
}

// prune forgets segments that were merged into others.
func prune[T any](by map[uint64]T, all []*scorch.SegmentSnapshot) {
	if len(by) <= len(all) {
		return
	}
	maps.DeleteFunc(by, func(id uint64, _ T) bool {
		return !slices.ContainsFunc(all, func(s *scorch.SegmentSnapshot) bool { return s.Id() == id })
	})
}

func (f *filter) bar(l *lexical, seg *scorch.SegmentSnapshot, all []*scorch.SegmentSnapshot) (*barred, error) {
	count := seg.Segment().Count()
	passed := roaring.New()
	if size := f.rows.size(); size*fewRows < count {
		ids := make([]string, 0, size)
		for _, r := range f.rows {
			for row := r[0]; row < r[1]; row++ {
				ids = append(ids, string(rowKey(row)))
			}
		}
		var err error
		if passed, err = seg.Segment().DocNumbers(ids); err != nil {
			return nil, err
		}
	} else {
		rows, err := l.rowsOf(seg, all)
		if err != nil {
			return nil, err
		}
		last := [2]uint64{}
		for n, row := range rows {
			if row < last[0] || row >= last[1] { // neighbours are often of one document
				i := f.rows.place(row)
				if i == len(f.rows) || f.rows[i][0] > row {
					continue
				}
				last = f.rows[i]
			}
			passed.Add(uint32(n))
		}
	}
	switch passed.GetCardinality() {
	case 0:
		return &barred{all: true}, nil
	case count:
		return &barred{}, nil
	}
	passed.Flip(0, count) // and not made of runs, which are slower to leave out of postings
	return &barred{numbers: passed}, nil
}

// rowsOf gives the rows of the chunks of a segment, one of all, by their numbers in it.
func (l *lexical) rowsOf(seg *scorch.SegmentSnapshot, all []*scorch.SegmentSnapshot) ([]uint64, error) {
	l.mu.Lock()
	rows := l.rows[seg.Id()]
	l.mu.Unlock()
	if rows != nil {
		return rows, nil
	}
	rows = make([]uint64, seg.Segment().Count())
	for n := range rows {
		id, err := seg.Segment().DocID(uint64(n))
		if err != nil {
			return nil, err
		}
		if len(id) != 8 {
			return nil, fmt.Errorf("row of %d bytes", len(id))
		}
		rows[n] = binary.BigEndian.Uint64(id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[uint64][]uint64{}
	}
	l.rows[seg.Id()] = rows
	prune(l.rows, all)
	return rows, nil
}
