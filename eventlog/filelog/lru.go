package filelog

import (
	"container/list"
	"sync"

	"github.com/sluice-rag/sluice/event"
)

// lru orders the ended runs in memory by their last use.
type lru struct {
	mu    sync.Mutex
	max   int64
	bytes int64
	order *list.List // of *cached, the last used in front
	at    map[event.RunID]*list.Element
}

type cached struct {
	run  *run
	size int64
}

func newLRU(maxBytes int64) *lru {
	return &lru{max: maxBytes, order: list.New(), at: map[event.RunID]*list.Element{}}
}

// add adds a run and returns the runs to remove from memory. The run itself stays, however large it is.
func (c *lru) add(r *run, size int64) (leave []*run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[r.id]; e != nil {
		if e.Value.(*cached).run == r {
			c.order.MoveToFront(e)
			return nil
		}
		c.take(e) // a deleted run with the same id
	}
	c.at[r.id] = c.order.PushFront(&cached{run: r, size: size})
	c.bytes += size
	for c.bytes > c.max && c.order.Len() > 1 {
		leave = append(leave, c.take(c.order.Back()))
	}
	return leave
}

func (c *lru) touch(id event.RunID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[id]; e != nil {
		c.order.MoveToFront(e)
	}
}

func (c *lru) drop(id event.RunID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[id]; e != nil {
		c.take(e)
	}
}

func (c *lru) take(e *list.Element) *run {
	v := c.order.Remove(e).(*cached)
	delete(c.at, v.run.id)
	c.bytes -= v.size
	return v.run
}
