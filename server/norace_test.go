//go:build !race

package server

// Race says whether the race detector is on.
const Race = false
