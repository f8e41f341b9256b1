//go:build race

package beir

// Race says whether the race detector is on. Everything takes some ten times as long then, and data show no more races than
// a sample of them does.
const Race = true
