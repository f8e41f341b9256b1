package openai

import (
	"sync/atomic"
	"time"
)

// SetClock sets a stopped clock and returns a function that changes its time.
func SetClock(c *Chat, at time.Time) func(time.Time) {
	var now atomic.Pointer[time.Time]
	now.Store(&at)
	c.capabilities.now = func() time.Time { return *now.Load() }
	return func(at time.Time) { now.Store(&at) }
}
