// Package sluice answers questions over documents and streams everything it does while it does it: analysis, retrieval,
// grading, reranking, the answer's text, verification and sources.
//
// A question is a run, and a run is one append-only log of typed events (package event). Whoever reads a run pulls from
// that log by cursor: live, resumed and replayed reading are the same, a slow reader costs only itself, and a reader that
// leaves takes nothing with it. The program in cmd/sluice is this package behind HTTP and a command line.
package sluice
