package delivery

import "hash/crc32"

// checksum is the length and the CRC-32 of an uncompressed text. The trailer of gzip holds both.
type checksum struct {
	n   uint64
	crc uint32
}

func (s *checksum) add(b []byte) {
	s.n += uint64(len(b))
	s.crc = crc32.Update(s.crc, crc32.IEEETable, b)
}

// extend adds the part of another text between two of its checksums. It does not need the bytes, like crc32_combine of zlib: the CRC
// of two texts in a row is the CRC of the first one, shifted by the length of the second one, plus the CRC of the second one. The
// part of the other text before from cancels out.
func (s *checksum) extend(from, to checksum) {
	n := to.n - from.n
	s.crc = shift(s.crc^from.crc, n) ^ to.crc
	s.n += n
}

// shift multiplies a remainder by x^(8n), modulo the polynomial of CRC-32.
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

// times multiplies two polynomials modulo that of CRC-32.
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
