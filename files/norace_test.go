//go:build !race

package files_test

// raceEnabled makes tests that start processes start fewer.
const raceEnabled = false
