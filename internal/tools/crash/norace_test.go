//go:build !race

package crash_test

const raced = false
