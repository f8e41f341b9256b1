package embedded

import (
	"cmp"
	"slices"
	"sort"
)

// rowSet is an immutable set of rows: ascending half-open ranges that do not touch each other.
type rowSet [][2]uint64

// rowsOf returns the union of ranges. It may sort ranges in place.
func rowsOf(ranges [][2]uint64) rowSet {
	ranges = slices.DeleteFunc(ranges, func(r [2]uint64) bool { return r[0] >= r[1] })
	slices.SortFunc(ranges, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	var out rowSet
	for _, r := range ranges {
		out = out.extended(r)
	}
	return slices.Clip(out)
}

// extended appends a range that does not begin before the last range.
func (s rowSet) extended(r [2]uint64) rowSet {
	if n := len(s); n > 0 && r[0] <= s[n-1][1] {
		s[n-1][1] = max(s[n-1][1], r[1])
		return s
	}
	return append(s, r)
}

// change returns the set without the removed ranges and with the added ranges. It may sort both in place.
func (s rowSet) change(removed, added [][2]uint64) rowSet {
	gone, more := rowsOf(removed), rowsOf(added)
	left := make(rowSet, 0, len(s)+len(gone))
	k := 0
	for _, r := range s {
		for k < len(gone) && gone[k][1] <= r[0] {
			k++
		}
		for i := k; i < len(gone) && gone[i][0] < r[1]; i++ {
			if r[0] < gone[i][0] {
				left = append(left, [2]uint64{r[0], gone[i][0]})
			}
			r[0] = min(gone[i][1], r[1])
		}
		if r[0] < r[1] {
			left = append(left, r)
		}
	}
	if len(more) == 0 {
		return left
	}
	out := make(rowSet, 0, len(left)+len(more))
	for len(left) > 0 || len(more) > 0 {
		from := &left
		if len(left) == 0 || len(more) > 0 && more[0][0] < left[0][0] {
			from = &more
		}
		out = out.extended((*from)[0])
		*from = (*from)[1:]
	}
	return out
}

// search returns the index of the first range that ends after a row.
func (s rowSet) search(row uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i][1] > row })
}

func (s rowSet) has(row uint64) bool {
	i := s.search(row)
	return i < len(s) && s[i][0] <= row
}

// cursor iterates over a set in ascending order.
type cursor struct {
	rowSet
	at int
}

// run returns the indexes from..to of the first run of rows[i:end] that is in the set, or end, end if no row is. rows ascend, also
// from call to call. Galloping search makes both dense and sparse sets cheap.
func (c *cursor) run(rows []uint64, i, end int) (from, to int) {
	for i < end {
		c.at += gallop(len(c.rowSet)-c.at, func(k int) bool { return c.rowSet[c.at+k][1] > rows[i] })
		if c.at == len(c.rowSet) {
			return end, end
		}
		r := c.rowSet[c.at]
		i += gallop(end-i, func(k int) bool { return rows[i+k] >= r[0] })
		if i < end && rows[i] < r[1] {
			return i, i + gallop(end-i, func(k int) bool { return rows[i+k] >= r[1] })
		}
	}
	return end, end
}

// gallop returns the smallest k below n for which is(k) is true, as [sort.Search] does, in time logarithmic in k.
func gallop(n int, is func(k int) bool) int {
	if n <= 0 || is(0) {
		return 0
	}
	low, step := 0, 1
	for low+step < n && !is(low+step) {
		low += step
		step *= 2
	}
	high := min(low+step, n)
	return low + 1 + sort.Search(high-low-1, func(k int) bool { return is(low + 1 + k) })
}
