//go:build race

package server

// Race says whether the race detector is on, under which what compresses much takes ten times as long and shows no more races.
const Race = true
