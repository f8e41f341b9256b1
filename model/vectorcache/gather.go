package vectorcache

import (
	"context"
	"sync"
)

// store stores values. It need not be safe for concurrent use.
type store[V any] interface {
	get(k key) (V, bool)
	put(ks []key, vs []V)
}

// gatherer looks values up in a store and computes missing values. Concurrent calls compute each value once.
type gatherer[V any] struct {
	mu           sync.Mutex // guards the following fields and the store
	store        store[V]
	flights      map[key]*flight[V]
	hits, misses int64
}

// flight is a value that a call is computing. When done is closed, ok reports whether it succeeded.
type flight[V any] struct {
	done  chan struct{}
	value V
	ok    bool
}

// waiting is the index of a value that another call is computing.
type waiting[V any] struct {
	index  int
	flight *flight[V]
}

// computeFunc computes the values of the keys at the given indexes.
type computeFunc[V any] func(ctx context.Context, indexes []int) ([]V, error)

// all returns the values of keys, in order. It calls compute for keys that are neither in the store nor being computed by another call. If
// another call fails, it computes those values, too. It returns the error of compute or ctx.
func (g *gatherer[V]) all(ctx context.Context, keys []key, compute computeFunc[V]) ([]V, error) {
	out := make([]V, len(keys))
	first := make(map[key]int, len(keys))
	var todo []int
	for i, k := range keys {
		if _, duplicate := first[k]; !duplicate {
			first[k] = i
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		mine, others := g.lookUp(keys, todo, out)
		if len(mine) > 0 {
			if err := g.compute(ctx, keys, mine, out, compute); err != nil {
				return nil, err
			}
		}
		todo = nil
		for _, w := range others {
			select {
			case <-w.flight.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if out[w.index] = w.flight.value; !w.flight.ok {
				todo = append(todo, w.index)
			}
		}
	}
	for i, k := range keys {
		out[i] = out[first[k]]
	}
	return out, nil
}

// lookUp sets the values that are in the store. It returns the indexes that this call must compute, and those that others are computing.
func (g *gatherer[V]) lookUp(keys []key, todo []int, out []V) (mine []int, others []waiting[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range todo {
		if v, ok := g.store.get(keys[i]); ok {
			out[i] = v
			g.hits++
		} else if f := g.flights[keys[i]]; f != nil {
			others = append(others, waiting[V]{i, f})
			g.hits++
		} else {
			if g.flights == nil {
				g.flights = map[key]*flight[V]{}
			}
			g.flights[keys[i]] = &flight[V]{done: make(chan struct{})}
			mine = append(mine, i)
			g.misses++
		}
	}
	return mine, others
}

// compute computes and stores values and wakes the calls that wait for them, even if compute panics.
func (g *gatherer[V]) compute(ctx context.Context, keys []key, mine []int, out []V, compute computeFunc[V]) error {
	var vs []V
	err := context.Canceled // if compute panics
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		ks := make([]key, len(mine))
		for j, i := range mine {
			ks[j] = keys[i]
			f := g.flights[keys[i]]
			delete(g.flights, keys[i])
			if err == nil {
				out[i], f.value, f.ok = vs[j], vs[j], true
			}
			close(f.done)
		}
		if err == nil {
			g.store.put(ks, vs)
		}
	}()
	vs, err = compute(ctx, mine)
	return err
}
