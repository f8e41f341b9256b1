package embedded

import (
	"maps"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/index/embedded/inverted"
)

// filter selects the rows of the documents of a scope.
type filter struct {
	parts []*part // the sets and documents of the rows
	rows  rowSet

	mu sync.Mutex
	// segments caches the visible chunks by segment. The numbers of the chunks of a segment never change.
	segments map[*inverted.Segment]visible
}

// visible are the chunks of a segment that a filter selects, by their numbers in the segment.
type visible struct {
	numbers inverted.Bits
	count   int
}

// Visible implements [inverted.Filter].
func (f *filter) Visible(seg *inverted.Segment) (inverted.Bits, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.segments[seg]
	if !ok {
		v.numbers = inverted.NewBits(seg.Docs())
		for _, r := range f.rows {
			first, end := seg.Range(r[0], r[1])
			for n := first; n < end; n++ {
				v.numbers.Set(n)
			}
			v.count += int(end - first)
		}
		if f.segments == nil {
			f.segments = map[*inverted.Segment]visible{}
		}
		f.segments[seg] = v
	}
	return v.numbers, v.count
}

// prune removes segments from the cache that s does not have, if these are many. The others may be those of another level.
func (f *filter) prune(s *inverted.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	used := slices.Collect(s.Segments())
	if len(f.segments) > 2*len(used)+levels {
		maps.DeleteFunc(f.segments, func(seg *inverted.Segment, _ visible) bool { return !slices.Contains(used, seg) })
	}
}
