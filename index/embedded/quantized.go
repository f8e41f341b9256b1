package embedded

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sluice-rag/sluice/index"
)

// Vectors are stored with one signed byte for each component; see [index.Quantize]. Their length is lost, because all have unit length.

// unquantized returns the vector of unit length with the given components.
func unquantized(components []byte) []float32 {
	if len(components) == 0 {
		return nil
	}
	out := make([]float32, len(components))
	inverse := inverseLength(components)
	for i, b := range components {
		out[i] = float32(int8(b)) * inverse
	}
	return out
}

// inverseLength returns 1 divided by the Euclidean length of components, or 0 if all are 0.
func inverseLength(components []byte) float32 {
	squares := 0
	for _, b := range components {
		squares += int(int8(b)) * int(int8(b))
	}
	if squares == 0 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(squares)))
}

// unsealVector returns the components of a sealed vector of a space. Before format 8, they were float32s.
func unsealVector(b []byte, dim int) ([]byte, error) {
	raw, err := unseal(b)
	if err != nil {
		return nil, err
	}
	switch len(raw) {
	case 0, dim:
		return raw, nil
	case 4 * dim:
		v := make([]float32, dim)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return index.Quantize(v), nil
	}
	return nil, fmt.Errorf("vector of %d bytes in a space of %d components", len(raw), dim)
}

// dotStep is the number of components that dotAVX2 multiplies at once. Vectors in memory are followed by zeros up to a multiple of it.
const dotStep = 16

// stride returns the number of bytes of a vector in memory.
func stride(dim int) int { return (dim + dotStep - 1) / dotStep * dotStep }

// appendPadded appends components, followed by zeros up to the stride.
func appendPadded(to, components []byte) []byte {
	return append(append(to, components...), make([]byte, stride(len(components))-len(components))...)
}

// stored is a vector in memory.
type stored struct {
	components []byte  // signed; followed by zeros
	inverse    float32 // of the Euclidean length
}

// target is a query vector.
type target struct {
	components []int16 // followed by zeros
	step       float64 // what 1 of a component stands for
}

// newTarget quantizes a vector of unit length with as many bits as fit, so that a dot product does not overflow.
func newTarget(v []float32) *target {
	var most float64
	for _, f := range v {
		most = max(most, math.Abs(float64(f)))
	}
	largest := float64(min(math.MaxInt16, math.MaxInt32/(127*max(1, len(v)))))
	t := &target{components: make([]int16, stride(len(v))), step: most / largest}
	for i, f := range v {
		t.components[i] = int16(math.Round(float64(f) / most * largest))
	}
	return t
}

// dot returns the cosine of the query and a vector of the same dimension.
func (t *target) dot(v stored) float32 {
	return float32(float64(dotBytes(v.components, t.components)) * t.step * float64(v.inverse))
}

// dotPortable is dotBytes for processors without AVX2.
func dotPortable(v []byte, q []int16) (sum int32) {
	q = q[:len(v)]
	for i, b := range v {
		sum += int32(int8(b)) * int32(q[i])
	}
	return sum
}
