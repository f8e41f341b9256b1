package inverted

import "math/bits"

// Bits is a set of small numbers. Nil is the empty set, which cannot be changed.
type Bits []uint64

// NewBits returns an empty set for numbers below n.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Has reports whether n is in the set.
func (b Bits) Has(n uint32) bool { return int(n>>6) < len(b) && b[n>>6]&(1<<(n&63)) != 0 }

// Set adds n.
func (b Bits) Set(n uint32) { b[n>>6] |= 1 << (n & 63) }

// Count returns the number of members.
func (b Bits) Count() (n int) {
	for _, x := range b {
		n += bits.OnesCount64(x)
	}
	return n
}

// ranges returns the members below n as ascending ranges [from, to).
func (b Bits) ranges(n int) (out [][2]uint32) {
	for i := uint32(0); int(i) < min(n, 64*len(b)); i++ {
		switch {
		case !b.Has(i):
		case len(out) > 0 && out[len(out)-1][1] == i:
			out[len(out)-1][1]++
		default:
			out = append(out, [2]uint32{i, i + 1})
		}
	}
	return out
}
