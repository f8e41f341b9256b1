package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSlabs adds rows in batches out of order and removes some. All other rows must be found, and there must be few slabs.
func TestSlabs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	m := spaces{}
	order := r.Perm(n)
	here := map[uint64][]byte{}
	for len(order) > 0 {
		batch := order[:min(64, len(order))]
		order = order[len(batch):]
		slices.Sort(batch)
		var added []vectorRow
		for _, row := range batch {
			here[uint64(row)] = []byte{byte(row & 127), byte(row >> 7 & 127), byte(row >> 14), 127}
			added = append(added, vectorRow{"s", uint64(row), here[uint64(row)]})
		}
		var removed [][2]uint64
		if r.IntN(2) == 0 {
			from := uint64(r.IntN(n))
			removed = append(removed, [2]uint64{from, from + 20})
			for row := from; row < from+20; row++ {
				delete(here, row)
			}
		}
		before := m
		m = m.change(added, removed)
		if _, ok := before["s"].find(uint64(batch[0])); ok {
			t.Fatal("a change is seen in the spaces before it")
		}
		if len(m["s"]) > 12 {
			t.Fatalf("%d slabs", len(m["s"]))
		}
	}
	for row := range uint64(n) {
		v, found := m["s"].find(row)
		if want, ok := here[row]; ok != found || ok && (!slices.Equal(v.components, appendPadded(nil, want)) || v.inverse != inverseLength(want)) {
			t.Fatalf("row %d: %v, want %v, %v", row, v, want, ok)
		}
	}
	q := newTarget([]float32{0.6, 0, 0, 0.8})
	got, err := m["s"].nearest(t.Context(), q, n, nil, 2)
	if err != nil || len(got) != len(here) {
		t.Errorf("%d of %d scanned, %v", len(got), len(here), err)
	}
	some, err := m["s"].nearest(t.Context(), q, 10, nil, 2)
	if err != nil || !slices.Equal(some, got[:10]) {
		t.Errorf("the nearest are %v and %v, %v", some, got[:10], err)
	}
}
