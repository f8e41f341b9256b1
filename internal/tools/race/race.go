// Package race tells tests whether the race detector is on, and skips the tests whose figures it would distort.
package race

import (
	"strings"
	"testing"
)

// Measure skips a test of quality floors or sizes, or one of hundreds of processes, under the race detector, where it takes ten times
// as long and memory is not that of the program. `make test` runs such tests in a second pass without the detector, which finds them by
// their names: TestFloor…, TestSize… and TestExhaustive….
func Measure(tb testing.TB) {
	tb.Helper()
	switch name := tb.Name(); {
	case !strings.HasPrefix(name, "TestFloor") && !strings.HasPrefix(name, "TestSize") && !strings.HasPrefix(name, "TestExhaustive"):
		tb.Fatalf("%s: make test only runs such tests if they are named TestFloor…, TestSize… or TestExhaustive…", name)
	case Enabled:
		tb.Skip("figures are measured without the race detector, in the second pass of make test")
	case testing.Short():
		tb.Skip("figures are not measured with -short")
	}
}
