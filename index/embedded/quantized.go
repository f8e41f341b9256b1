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
	inverse := normOf(components).inverse
	for i, b := range components {
		out[i] = float32(int8(b)) * inverse
	}
	return out
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

// Dot products of bytes have no instruction in Go. So eight components are in a word, each plus 128, and one multiplication adds the products of four of them: the
// bytes at even places are four numbers of 16 bits, and so are four components of the query in reverse order. The upper 16 bits of the product of both words are the
// dot product. Nothing overflows if the numbers of the query have six bits: 4 × 255 × 63 is less than 2¹⁶. A component of a query has 12 bits, in two words.

// pack appends the components of a vector to words.
func pack(words []uint64, components []byte) []uint64 {
	const biases = 0x8080808080808080
	for ; len(components) >= 8; components = components[8:] {
		words = append(words, binary.LittleEndian.Uint64(components)^biases)
	}
	if len(components) > 0 {
		var last [8]byte
		copy(last[:], components)
		words = append(words, binary.LittleEndian.Uint64(last[:])^biases)
	}
	return words
}

// stride returns the number of words of a vector.
func stride(dim int) int { return (dim + 7) / 8 }

// norm is what the dot product needs of a vector besides its words.
type norm struct {
	inverse float32 // of the Euclidean length
	sum     int32   // of the components
}

func normOf(components []byte) (n norm) {
	squares := 0
	for _, b := range components {
		c := int(int8(b))
		n.sum += int32(c)
		squares += c * c
	}
	if squares > 0 {
		n.inverse = float32(1 / math.Sqrt(float64(squares)))
	}
	return n
}

// packed is a vector of a slab.
type packed struct {
	words []uint64
	norm
}

// lanes are six bits each of eight components of a query: those at even and at odd places, in reverse order.
type lanes [2]uint64

// target is a query vector.
type target struct {
	dim               int
	high, low         []lanes
	highBias, lowBias int64   // 128 times the sum of the upper and of the lower bits
	step              float64 // between two values of a component
	slack             float64 // most by which estimate is too low
}

const (
	maxQuery  = 2047 // largest component of a query
	queryBias = 2048 // makes components positive
)

// newTarget quantizes a vector of unit length.
func newTarget(v []float32) *target {
	var most float64
	for _, f := range v {
		most = max(most, math.Abs(float64(f)))
	}
	t := &target{dim: len(v), high: make([]lanes, stride(len(v))), low: make([]lanes, stride(len(v))), step: most / maxQuery}
	var squares float64
	for i, f := range v {
		c := uint64(math.Round(float64(f)/most*maxQuery) + queryBias)
		high, low := c>>6, c&63
		at := 48 - i%8/2*16
		t.high[i/8][i%2] |= high << at
		t.low[i/8][i%2] |= low << at
		t.highBias += 128 * int64(high)
		t.lowBias += 128 * int64(low)
		squares += (float64(low) - meanLow) * (float64(low) - meanLow)
	}
	t.slack = t.step*math.Sqrt(squares) + 1e-5
	return t
}

// meanLow is the mean of six bits.
const meanLow = 31.5

// dotLanes returns the dot product of the components plus 128 with six bits of a query.
func dotLanes(words []uint64, q []lanes) int64 {
	const even = 0x00ff00ff00ff00ff
	q = q[:len(words)]
	var sum uint64
	for i, w := range words {
		sum += (w&even)*q[i][0]>>48 + (w>>8&even)*q[i][1]>>48
	}
	return int64(sum)
}

// dot returns the cosine of the query and a vector.
func (t *target) dot(v packed) float32 {
	sum := 64*(dotLanes(v.words, t.high)-t.highBias) + dotLanes(v.words, t.low) - t.lowBias - queryBias*int64(v.sum)
	return float32(float64(sum) * t.step * float64(v.inverse))
}

// dotAbove returns the cosine of the query and a vector, and whether it is greater than floor. It reads the lower bits of the query only if they matter: by the Cauchy-Schwarz
// inequality, they change the cosine by at most their length.
func (t *target) dotAbove(v packed, floor float32) (float32, bool) {
	estimate := 64*float64(dotLanes(v.words, t.high)-t.highBias) - (queryBias-meanLow)*float64(v.sum)
	if estimate*t.step*float64(v.inverse)+t.slack <= float64(floor) {
		return 0, false
	}
	x := t.dot(v)
	return x, x > floor
}
