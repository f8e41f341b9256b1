package index

import "math"

// Quantize returns the components of a vector as signed bytes, of which the largest is ±127 (scalar quantization). Indexes may store only these. For vectors of unit length with 100
// components, a cosine differs by about 0.001. Quantizing a vector of quantized components again does not change them.
func Quantize(v []float32) []byte {
	var most float32
	for _, f := range v {
		most = max(most, f, -f)
	}
	out := make([]byte, len(v))
	if most > 0 {
		for i, f := range v {
			out[i] = byte(int8(math.Round(float64(f) / float64(most) * 127)))
		}
	}
	return out
}
