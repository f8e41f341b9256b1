package lang

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// recent holds what was computed for recent strings, because most words of a text are among the last few thousand different ones. A string replaces
// the one with the same hash. It may be used concurrently.
type recent[V any] struct {
	seed   maphash.Seed
	values []atomic.Pointer[recentValue[V]]
}

type recentValue[V any] struct {
	of    string
	value V
}

func newRecent[V any](size int) *recent[V] {
	return &recent[V]{maphash.MakeSeed(), make([]atomic.Pointer[recentValue[V]], size)}
}

// get returns the value of a string, which it computes if it is not there. A string that is longer than longest is not kept.
func (c *recent[V]) get(s string, longest int, compute func(string) V) V {
	if len(s) > longest {
		return compute(s)
	}
	at := &c.values[maphash.String(c.seed, s)%uint64(len(c.values))]
	if v := at.Load(); v != nil && v.of == s {
		return v.value
	}
	s = strings.Clone(s) // it may be a part of a long text
	value := compute(s)
	at.Store(&recentValue[V]{s, value})
	return value
}
