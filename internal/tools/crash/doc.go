// Package crash tests that a Sluice server loses nothing that it acknowledged. It starts the real program, kills it, damages
// its files and fills its disk, and compares what is there afterwards with what the server had acknowledged before.
//
// The tests run a few iterations by default. `make crash` runs the full number and prints a table of the results.
package crash
