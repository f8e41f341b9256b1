package embedded

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"sync"
)

// slab holds vectors in one array, by ascending row. A slab is immutable: changes make a new one, which may share
// memory that readers of the old one do not access. Only one writer may derive slabs at a time.
type slab struct {
	dim       int
	rows      []uint64
	data      []byte    // len(rows) × stride(dim)
	inverses  []float32 // of the Euclidean lengths, by row
	dead      []uint64  // one bit a row; may be shorter than rows
	deadCount int       // how many are dead
}

func (s *slab) isDead(i int) bool { return i>>6 < len(s.dead) && s.dead[i>>6]&(1<<(i&63)) != 0 }

// find returns the index of a row, or -1.
func (s *slab) find(row uint64) int {
	i := sort.Search(len(s.rows), func(i int) bool { return s.rows[i] >= row })
	if i == len(s.rows) || s.rows[i] != row || s.isDead(i) {
		return -1
	}
	return i
}

func (s *slab) vector(i int) stored {
	n := stride(s.dim)
	return stored{s.data[i*n : (i+1)*n], s.inverses[i]}
}

// slabs are the vectors of one space at one level, all of the same dimension. No row is in two slabs. New documents append to one
// slab. Vectors that are added later for earlier rows start other slabs, which are merged as they grow.
type slabs []*slab

// find returns the vector of a row, if it has one.
func (ss slabs) find(row uint64) (v stored, ok bool) {
	for _, s := range ss {
		if i := s.find(row); i >= 0 {
			return s.vector(i), true
		}
	}
	return v, false
}

func (ss slabs) dim() int {
	if len(ss) == 0 {
		return 0
	}
	return ss[0].dim
}

// spaces holds the vectors of a level by the name of their space.
type spaces map[string]slabs

// vectorRow is a vector to add. The rows of one call ascend, and none has a vector yet.
type vectorRow struct {
	space  string
	row    uint64
	vector []byte // see [index.Quantize]
}

// change returns a copy with vectors added and then rows removed.
func (m spaces) change(added []vectorRow, removed [][2]uint64) spaces {
	out := spaces{}
	for name, ss := range m {
		out[name] = make(slabs, len(ss))
		for i, s := range ss {
			c := *s
			out[name][i] = &c
		}
	}
	for _, a := range added {
		out[a.space] = out[a.space].add(a.row, a.vector)
	}
	for name, ss := range out {
		for i, s := range ss {
			s.remove(removed)
			if s.deadCount > 1024 && s.deadCount > len(s.rows)/4 {
				ss[i] = mergeSlabs(s)
			}
		}
		ss = slices.DeleteFunc(ss, func(s *slab) bool { return s.deadCount == len(s.rows) })
		if out[name] = ss.mergeSmall(); len(ss) == 0 {
			delete(out, name)
		}
	}
	return out
}

// without returns a copy without one space.
func (m spaces) without(name string) spaces {
	out := maps.Clone(m)
	delete(out, name)
	return out
}

// add appends to the first slab that ends before the row.
func (ss slabs) add(row uint64, vector []byte) slabs {
	at := slices.IndexFunc(ss, func(s *slab) bool { return s.rows[len(s.rows)-1] < row })
	if at < 0 {
		at = len(ss)
		ss = append(ss, &slab{dim: len(vector)})
	}
	s := ss[at]
	s.rows = append(s.rows, row)
	s.data = appendPadded(s.data, vector)
	s.inverses = append(s.inverses, inverseLength(vector))
	return ss
}

// mergeSmall merges slabs until each is more than twice as large as the next, so that there are few slabs and each vector is copied
// only a few times.
func (ss slabs) mergeSmall() slabs {
	slices.SortStableFunc(ss, func(a, b *slab) int { return cmp.Compare(len(b.rows), len(a.rows)) })
	for i := len(ss) - 1; i > 0; i-- {
		if len(ss[i-1].rows) <= 2*len(ss[i].rows) {
			ss[i-1] = mergeSlabs(ss[i-1], ss[i])
			ss = slices.Delete(ss, i, i+1)
		}
	}
	return ss
}

// mergeSlabs merges slabs into one, without dead rows.
func mergeSlabs(of ...*slab) *slab {
	n := 0
	for _, s := range of {
		n += len(s.rows) - s.deadCount
	}
	out := &slab{dim: of[0].dim, rows: make([]uint64, 0, n), data: make([]byte, 0, n*stride(of[0].dim)), inverses: make([]float32, 0, n)}
	at := make([]int, len(of))
	for {
		next := -1
		for k, s := range of {
			for at[k] < len(s.rows) && s.isDead(at[k]) {
				at[k]++
			}
			if at[k] < len(s.rows) && (next < 0 || s.rows[at[k]] < of[next].rows[at[next]]) {
				next = k
			}
		}
		if next < 0 {
			return out
		}
		out.rows = append(out.rows, of[next].rows[at[next]])
		v := of[next].vector(at[next])
		out.data = append(out.data, v.components...)
		out.inverses = append(out.inverses, v.inverse)
		at[next]++
	}
}

func (s *slab) remove(ranges [][2]uint64) {
	copied := false
	for _, r := range ranges {
		i := sort.Search(len(s.rows), func(i int) bool { return s.rows[i] >= r[0] })
		for ; i < len(s.rows) && s.rows[i] < r[1]; i++ {
			if s.isDead(i) {
				continue
			}
			if !copied {
				dead := make([]uint64, (len(s.rows)+63)/64)
				copy(dead, s.dead)
				s.dead, copied = dead, true
			}
			s.dead[i>>6] |= 1 << (i & 63)
			s.deadCount++
		}
	}
}

// near is a row with its cosine similarity.
type near struct {
	row    uint64
	cosine float32
}

// scanAlone is the number of components that one goroutine scans before another one is worth starting.
const scanAlone = 2 << 20

// nearest returns the n rows that pass the filter only (nil: all rows) with the largest cosines, largest first, ties by row. It uses at most that many processors.
func (ss slabs) nearest(ctx context.Context, q *target, n int, only *filter, processors int) ([]near, error) {
	total := 0
	for _, s := range ss {
		total += len(s.rows)
	}
	parts := min(processors, 1+total*ss.dim()/scanAlone)
	found := make([][]near, parts)
	var wg sync.WaitGroup
	for p := range parts {
		from, to := total*p/parts, total*(p+1)/parts
		if p == parts-1 {
			found[p] = ss.scan(ctx, q, from, to, n, only)
			break
		}
		wg.Go(func() { found[p] = ss.scan(ctx, q, from, to, n, only) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	sortNear(all)
	return all[:min(n, len(all))], nil
}

func sortNear(v []near) {
	slices.SortFunc(v, func(a, b near) int {
		switch { // no cosine is NaN
		case a.cosine > b.cosine:
			return -1
		case a.cosine < b.cosine:
			return 1
		}
		return cmp.Compare(a.row, b.row)
	})
}

// scan scans the vectors from … to-1, counted over all slabs. It collects up to 2n candidates and cuts them back to the best n
// whenever the buffer is full, which is cheaper than a heap.
func (ss slabs) scan(ctx context.Context, q *target, from, to, n int, only *filter) []near {
	best := make([]near, 0, 2*n)
	floor := float32(-2)
	for _, s := range ss {
		first, last := max(from, 0), min(to, len(s.rows))
		var runs cursor
		if only != nil {
			runs.rowSet = only.rows
		}
		stop := last
		for i := first; i < last; i++ {
			if i&4095 == 0 && ctx.Err() != nil {
				return nil
			}
			if only != nil && (i == first || i >= stop) {
				if i, stop = runs.run(s.rows, i, last); i == last {
					break
				}
			}
			cosine := q.dot(s.vector(i))
			if cosine <= floor || s.isDead(i) {
				continue
			}
			best = append(best, near{s.rows[i], cosine})
			if len(best) == cap(best) {
				sortNear(best)
				best = best[:n]
				floor = best[n-1].cosine
			}
		}
		from, to = from-len(s.rows), to-len(s.rows)
	}
	sortNear(best)
	return best[:min(n, len(best))]
}
