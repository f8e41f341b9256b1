package lang

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// Recent holds what was computed for recent strings, because most words of a text are among the last few thousand different ones. A string replaces
// the one with the same hash. It may be used concurrently.
type Recent[V any] struct {
	seed   maphash.Seed
	values []atomic.Pointer[recentValue[V]]
}

type recentValue[V any] struct {
	of    string
	value V
}

// NewRecent returns a cache of at most size strings, which is a power of two.
func NewRecent[V any](size int) *Recent[V] {
	return &Recent[V]{maphash.MakeSeed(), make([]atomic.Pointer[recentValue[V]], size)}
}

// Get returns the value of a string, which it computes if it is not there. A string that is longer than longest is not kept.
func (c *Recent[V]) Get(s string, longest int, compute func(string) V) V {
	if len(s) > longest {
		return compute(s)
	}
	at := &c.values[maphash.String(c.seed, s)&uint64(len(c.values)-1)]
	if v := at.Load(); v != nil && v.of == s {
		return v.value
	}
	s = strings.Clone(s) // it may be a part of a long text
	value := compute(s)
	at.Store(&recentValue[V]{s, value})
	return value
}
