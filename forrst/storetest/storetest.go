// Package storetest checks implementations of the stores of package forrst. Each test runs in a bubble of testing/synctest, so
// that leases expire without waiting: the function open is called in the bubble, and closes the store with t.Cleanup. A store
// must work in one: it takes the time from package time, and waits only for its own goroutines.
package storetest

import (
	"context"
	"testing"
	"testing/synctest"
)

// run runs a test with a store of its own.
func run[S any](t *testing.T, name string, open func(t *testing.T) S, test func(t *testing.T, s S)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, open(t)) })
	})
}

// ctx is not the context of the test: stores may watch it, and tests wait for all goroutines.
func ctx() context.Context { return context.Background() }
