// Package require ends tests whose preparations fail.
package require

import (
	"io"
	"testing"
)

// NoError ends the test if there is an error. Only the goroutine of the test may call it.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// CloseAfter closes c after the test, which fails if c cannot be closed.
func CloseAfter(t testing.TB, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
