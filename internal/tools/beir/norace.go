//go:build !race

package beir

// Race says whether the race detector is on.
const Race = false
