package vectorcache

import (
	"context"
	"sync"
)

// store is what holds values. Its methods are called by one at a time.
type store[V any] interface {
	get(k key) (V, bool)
	put(ks []key, vs []V)
}

// gatherer finds values in a store, and asks for those that are not there, each once at a time.
type gatherer[V any] struct {
	mu           sync.Mutex // guards what follows, the store too
	store        store[V]
	open         map[key]*flight[V]
	hits, misses int64
}

// flight is a value that somebody is asking for. Once done is closed, ok says whether it came.
type flight[V any] struct {
	done  chan struct{}
	value V
	ok    bool
}

// waiting is a place whose value another call is asking for.
type waiting[V any] struct {
	at     int
	flight *flight[V]
}

// all gives the values of keys, in order. ask is called with the places of those that are neither in the store nor asked
// for by others; where others fail, it is called for theirs too. Its error, or ctx's, is returned.
func (g *gatherer[V]) all(ctx context.Context, keys []key, ask func(ctx context.Context, which []int) ([]V, error)) ([]V, error) {
	out := make([]V, len(keys))
	first := make(map[key]int, len(keys))
	var todo []int
	for i, k := range keys {
		if _, twice := first[k]; !twice {
			first[k] = i
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		mine, others := g.look(keys, todo, out)
		if len(mine) > 0 {
			if err := g.lead(ctx, keys, mine, out, ask); err != nil {
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
			if out[w.at] = w.flight.value; !w.flight.ok {
				todo = append(todo, w.at)
			}
		}
	}
	for i, k := range keys {
		out[i] = out[first[k]]
	}
	return out, nil
}

// look fills what the store has, and tells the rest apart: mine are to be asked for now.
func (g *gatherer[V]) look(keys []key, todo []int, out []V) (mine []int, others []waiting[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range todo {
		if v, ok := g.store.get(keys[i]); ok {
			out[i] = v
			g.hits++
		} else if f := g.open[keys[i]]; f != nil {
			others = append(others, waiting[V]{i, f})
			g.hits++
		} else {
			if g.open == nil {
				g.open = map[key]*flight[V]{}
			}
			g.open[keys[i]] = &flight[V]{done: make(chan struct{})}
			mine = append(mine, i)
			g.misses++
		}
	}
	return mine, others
}

// lead asks, keeps what comes, and tells those who wait, also if ask panics.
func (g *gatherer[V]) lead(ctx context.Context, keys []key, mine []int, out []V, ask func(context.Context, []int) ([]V, error)) error {
	var vs []V
	err := context.Canceled // where ask does not return
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		ks := make([]key, len(mine))
		for j, i := range mine {
			ks[j] = keys[i]
			f := g.open[keys[i]]
			delete(g.open, keys[i])
			if err == nil {
				out[i], f.value, f.ok = vs[j], vs[j], true
			}
			close(f.done)
		}
		if err == nil {
			g.store.put(ks, vs)
		}
	}()
	vs, err = ask(ctx, mine)
	return err
}
