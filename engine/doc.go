// Package engine holds the life of a run, from the question to the terminal event: admission, sharing of equal questions,
// cancellation, deadlines, recovery after a crash, deletion.
//
// A run is one append-only log of typed events (package event). Readers pull from that log by cursor, so live, resumed and
// replayed reading are the same, and a slow reader costs only itself. The package knows no protocol and no back end.
package engine
