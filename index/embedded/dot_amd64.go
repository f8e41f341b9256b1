package embedded

import "golang.org/x/sys/cpu"

// dotBytes returns the dot product of signed bytes and the components of a query, whose number is the same multiple of dotStep, and not 0.
func dotBytes(v []byte, q []int16) int32 {
	if !cpu.X86.HasAVX2 || len(v) == 0 || len(v) != len(q) || len(v)%dotStep != 0 {
		return dotPortable(v, q)
	}
	return dotAVX2(&v[0], &q[0], len(v))
}

// dotAVX2 multiplies n components, which is a multiple of 16 and not 0.
//
//go:noescape
func dotAVX2(v *byte, q *int16, n int) int32
