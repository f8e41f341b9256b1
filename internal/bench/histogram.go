package bench

import "math/bits"

// Each power of two is divided into so many buckets, so a quantile is at most 1/128 too high.
const (
	bucketBits = 7
	buckets    = 1 << bucketBits
)

// histogram counts durations in nanoseconds. Unlike a list of them, it does not grow while a measurement runs. The zero value is empty.
type histogram struct {
	counts [(64 - bucketBits) * buckets]int64
	n      int64
}

func (h *histogram) add(ns int64) {
	h.counts[bucketOf(uint64(max(ns, 0)))]++ //nolint:gosec // not negative
	h.n++
}

func bucketOf(v uint64) int {
	exponent := max(bits.Len64(v)-bucketBits-1, 0)
	return exponent*buckets + int(v>>exponent) //nolint:gosec // below 2*buckets
}

// upper returns the largest duration of a bucket.
func upper(bucket int) float64 {
	exponent := max(bucket/buckets-1, 0)
	return float64(uint64(bucket-exponent*buckets+1)<<exponent - 1) //nolint:gosec // a small exponent
}

// ms returns the quantile q in milliseconds.
func (h *histogram) ms(q float64) float64 {
	rank := min(int64(q*float64(h.n)), h.n-1)
	for i, c := range h.counts {
		if rank -= c; rank < 0 && h.n > 0 {
			return upper(i) / 1e6
		}
	}
	return 0
}

// share returns the share of durations that are longer than a limit in nanoseconds.
func (h *histogram) share(limit int64) float64 {
	if h.n == 0 {
		return 0
	}
	var n int64
	for _, c := range h.counts[bucketOf(uint64(limit))+1:] { //nolint:gosec // a positive constant
		n += c
	}
	return float64(n) / float64(h.n)
}
