package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRows changes a set of rows at random and compares it with a map.
func TestRows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const most = 120
	ranges := func() (out [][2]uint64) {
		for range r.IntN(5) {
			from := uint64(r.IntN(most))
			out = append(out, [2]uint64{from, from + uint64(r.IntN(9))})
		}
		return out
	}
	for range 300 {
		var s rowSet
		want := map[uint64]bool{}
		for range 8 {
			removed, added := ranges(), ranges()
			for _, x := range removed {
				for row := x[0]; row < x[1]; row++ {
					delete(want, row)
				}
			}
			for _, x := range added {
				for row := x[0]; row < x[1]; row++ {
					want[row] = true
				}
			}
			before := slices.Clone(s)
			next := s.change(removed, added)
			if !slices.Equal(before, s) {
				t.Fatal("a set was changed")
			}
			s = next
			sound(t, s, want, most+10)
		}
		rows := make([]uint64, 0, most)
		for row := range uint64(most) {
			if r.IntN(3) > 0 {
				rows = append(rows, row)
			}
		}
		var got, in []uint64
		c := cursor{rowSet: s}
		for i := 0; i < len(rows); {
			from, to := c.run(rows, i, len(rows))
			got = append(got, rows[from:to]...)
			if to == i {
				t.Fatal("no way on")
			}
			i = to
		}
		for _, row := range rows {
			if want[row] {
				in = append(in, row)
			}
		}
		if !slices.Equal(got, in) {
			t.Fatalf("%v of %v are in %v", got, rows, s)
		}
	}
}

func sound(t *testing.T, s rowSet, want map[uint64]bool, most uint64) {
	t.Helper()
	for i, x := range s {
		if x[0] >= x[1] || i > 0 && x[0] <= s[i-1][1] {
			t.Fatalf("ranges %v", s)
		}
	}
	for row := range most {
		if s.has(row) != want[row] {
			t.Fatalf("row %d: %v, in %v", row, s.has(row), s)
		}
	}
	if n := len(s); n > 0 && s[n-1][1] > most {
		t.Fatalf("ranges %v, of at most %d rows", s, most)
	}
}
