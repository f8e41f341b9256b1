package server

import "hash/crc32"

// sum is the length and the checksum of what a body tells, before compression.
type sum struct {
	n   uint64
	crc uint32
}

// add takes up more.
func (s *sum) add(b []byte) {
	s.n += uint64(len(b))
	s.crc = crc32.Update(s.crc, crc32.IEEETable, b)
}

// join takes up what a shared stream told between two of its sums. No byte of it is needed: a checksum is the remainder of
// a polynomial, so that of two texts in a row is the first one's, shifted by the length of the second, plus the second's;
// from both sums of the shared stream, which begin alike, what they have in common falls out.
func (s *sum) join(from, to sum) {
	n := to.n - from.n
	s.crc = shift(s.crc^from.crc, n) ^ to.crc
	s.n += n
}

// shift multiplies a remainder by x^(8n), modulo the polynomial.
func shift(crc uint32, n uint64) uint32 {
	power := uint32(1 << 23) // x^8; the highest bit is x^0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			crc = times(crc, power)
		}
		power = times(power, power)
	}
	return crc
}

// times multiplies two polynomials modulo the one of the checksum.
func times(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1 << 31); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		low := b & 1
		b >>= 1
		if low != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
