package embedded

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/viterin/vek/vek32"
)

// slab holds vectors of one dimension, of unit length, one after the other by ascending row. A slab is never changed:
// add and remove give a new one, which may share memory that no reader of the old one looks at. One writer at a time.
type slab struct {
	dim  int
	rows []uint64
	data []float32 // len(rows) × dim
	dead []uint64  // one bit a row; may be shorter than rows
	gone int       // how many are dead
}

func (s *slab) isDead(i int) bool { return i>>6 < len(s.dead) && s.dead[i>>6]&(1<<(i&63)) != 0 }

// find gives the place of a row, or -1.
func (s *slab) find(row uint64) int {
	i := sort.Search(len(s.rows), func(i int) bool { return s.rows[i] >= row })
	if i == len(s.rows) || s.rows[i] != row || s.isDead(i) {
		return -1
	}
	return i
}

func (s *slab) vector(i int) []float32 { return s.data[i*s.dim : (i+1)*s.dim] }

// slabs is by dimension: vectors of different dimensions never meet.
type slabs map[int]*slab

// vectorRow is a vector to add. Rows ascend from call to call.
type vectorRow struct {
	row    uint64
	vector []float32
}

// change gives the slabs with vectors added and then rows removed.
func (m slabs) change(added []vectorRow, removed [][2]uint64) slabs {
	out := slabs{}
	for dim, s := range m {
		c := *s
		out[dim] = &c
	}
	for _, a := range added {
		s := out[len(a.vector)]
		if s == nil {
			s = &slab{dim: len(a.vector)}
			out[s.dim] = s
		}
		s.rows = append(s.rows, a.row)
		s.data = append(s.data, a.vector...)
	}
	for dim, s := range out {
		s.remove(removed)
		if s.gone == len(s.rows) {
			delete(out, dim)
		} else if s.gone > 1024 && s.gone > len(s.rows)/4 {
			out[dim] = s.packed()
		}
	}
	return out
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
			s.gone++
		}
	}
}

// packed gives the slab without the dead.
func (s *slab) packed() *slab {
	n := len(s.rows) - s.gone
	out := &slab{dim: s.dim, rows: make([]uint64, 0, n), data: make([]float32, 0, n*s.dim)}
	for i, row := range s.rows {
		if !s.isDead(i) {
			out.rows = append(out.rows, row)
			out.data = append(out.data, s.vector(i)...)
		}
	}
	return out
}

// near is a row with its cosine.
type near struct {
	row    uint64
	cosine float32
}

// scanAlone is how many components one goroutine scans before it is worth starting another.
const scanAlone = 2 << 20

// nearest gives the n rows whose vectors have the greatest dot product with q, greatest first, ties by row.
func (s *slab) nearest(ctx context.Context, q []float32, n int) ([]near, error) {
	parts := min(runtime.GOMAXPROCS(0), 1+len(s.data)/scanAlone)
	found := make([][]near, parts)
	var wg sync.WaitGroup
	for p := range parts {
		from, to := len(s.rows)*p/parts, len(s.rows)*(p+1)/parts
		if p == parts-1 {
			found[p] = s.scan(ctx, q, from, to, n)
			break
		}
		wg.Go(func() { found[p] = s.scan(ctx, q, from, to, n) })
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
		if c := cmp.Compare(b.cosine, a.cosine); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
}

// scan keeps a buffer of up to twice n and cuts it back to the best n when it is full, which costs less than a heap.
func (s *slab) scan(ctx context.Context, q []float32, from, to, n int) []near {
	best := make([]near, 0, 2*n)
	floor := float32(-2)
	for i := from; i < to; i++ {
		if i&4095 == 0 && ctx.Err() != nil {
			return nil
		}
		dot := vek32.Dot(q, s.vector(i))
		if dot <= floor || s.isDead(i) {
			continue
		}
		best = append(best, near{s.rows[i], dot})
		if len(best) == cap(best) {
			sortNear(best)
			best = best[:n]
			floor = best[n-1].cosine
		}
	}
	sortNear(best)
	return best[:min(n, len(best))]
}
