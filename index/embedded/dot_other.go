//go:build !amd64

package embedded

// dotBytes returns the dot product of signed bytes and the components of a query, whose number is the same.
func dotBytes(v []byte, q []int16) int32 { return dotPortable(v, q) }
