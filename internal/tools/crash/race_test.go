//go:build race

package crash_test

// raced tells that the race detector is on, so the server is built with it, too.
const raced = true
