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

// fewRows decides how the chunks of a filter are found in a segment. If the segment has more than fewRows times as many chunks as the
// filter has rows, each row is looked up; otherwise each chunk is tested.
const fewRows = 16

// filter selects the rows of the documents of a scope.
type filter struct {
	parts []*part // the sets and documents of the rows
	rows  rowSet

	mu sync.Mutex
	// segments caches the exclusions by lexical index and segment id. The numbers of the chunks of a segment never change.
	segments map[*lexical]map[uint64]*exclusion
}

// exclusion holds the chunks of a segment that a filter excludes, by their numbers in the segment.
type exclusion struct {
	all     bool
	numbers *roaring.Bitmap // nil: none
}

// exclusion returns the chunks of seg that the filter excludes. all are the segments of l.
func (f *filter) exclusion(l *lexical, seg *scorch.SegmentSnapshot, all []*scorch.SegmentSnapshot) (*exclusion, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.segments[l][seg.Id()]; b != nil {
		return b, nil
	}
	b, err := f.computeExclusion(l, seg, all)
	if err != nil {
		return nil, err
	}
	if f.segments[l] == nil {
		if f.segments == nil || len(f.segments) == levels { // then some belong to indexes that were reopened
			f.segments = map[*lexical]map[uint64]*exclusion{}
		}
		f.segments[l] = map[uint64]*exclusion{}
	}
	f.segments[l][seg.Id()] = b
	prune(f.segments[l], all)
	return b, nil
}

// prune removes segments that were merged from a cache.
func prune[T any](by map[uint64]T, all []*scorch.SegmentSnapshot) {
	if len(by) <= len(all) {
		return
	}
	maps.DeleteFunc(by, func(id uint64, _ T) bool {
		return !slices.ContainsFunc(all, func(s *scorch.SegmentSnapshot) bool { return s.Id() == id })
	})
}

func (f *filter) computeExclusion(l *lexical, seg *scorch.SegmentSnapshot, all []*scorch.SegmentSnapshot) (*exclusion, error) {
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
			if row < last[0] || row >= last[1] { // neighbours often belong to one document
				i := f.rows.search(row)
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
		return &exclusion{all: true}, nil
	case count:
		return &exclusion{}, nil
	}
	passed.Flip(0, count) // without run containers, which are slower to exclude from postings
	return &exclusion{numbers: passed}, nil
}

// rowsOf returns the rows of the chunks of seg, by their numbers in the segment. all are the segments of l.
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
