package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// line asks for places in order and notes who got them.
type line struct {
	mu    sync.Mutex
	f     *fairSemaphore
	order []string
	free  map[string]func()
	errs  map[string]error
	leave map[string]context.CancelFunc
}

func (l *line) ask(t *testing.T, client, name string, cost int) {
	ctx, cancel := context.WithCancel(t.Context())
	l.leave[name] = cancel
	go func() {
		release, err := l.f.acquire(ctx, client, cost)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil {
			l.errs[name] = err
			return
		}
		l.order, l.free[name] = append(l.order, name), release
	}()
	synctest.Wait()
}

func newLine(f *fairSemaphore) *line {
	return &line{f: f, free: map[string]func(){}, errs: map[string]error{}, leave: map[string]context.CancelFunc{}}
}

func (l *line) end(name string) {
	l.mu.Lock()
	release := l.free[name]
	l.mu.Unlock()
	release()
	synctest.Wait()
}

func (l *line) want(t *testing.T, order string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.order, " "); got != order {
		t.Errorf("places were given to %q, want %q", got, order)
	}
}

func (l *line) err(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errs[name]
}

func TestClientsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(newFairSemaphore(2, 0, -1, 0))
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1"} {
			l.ask(t, name[:1], name, 1)
		}
		l.want(t, "a1 a2")
		for _, name := range []string{"a1", "a2", "a3", "b1", "c1", "a4"} {
			l.end(name)
		}
		l.want(t, "a1 a2 a3 b1 c1 a4 b2 a5")
		for name, release := range l.free {
			release()
			release() // counts once
			l.leave[name]()
		}
		if l.f.used != 0 || len(l.f.held)+len(l.f.waiting)+len(l.f.turns)+l.f.queued != 0 {
			t.Errorf("something is left: %+v", l.f)
		}
	})
}

func TestClientHasItsShareAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(newFairSemaphore(8, 2, 100, time.Minute))
		for _, name := range []string{"a1", "a2", "a3", "b1", "a4", "b2", "b3"} {
			l.ask(t, name[:1], name, 1)
		}
		l.want(t, "a1 a2 b1 b2")
		l.leave["a3"]()
		synctest.Wait()
		l.end("a1")
		l.want(t, "a1 a2 b1 b2 a4")
		if !errors.Is(l.err("a3"), context.Canceled) {
			t.Errorf("a question that left: %v", l.err("a3"))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if fault.CodeOf(l.err("b3")) != fault.Overloaded {
			t.Errorf("a question that waited too long: %v", l.err("b3"))
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(newFairSemaphore(1, 1, 4, time.Minute))
		for _, name := range []string{"a0", "a1", "a2", "a3", "b1", "b2", "b3", "c1"} {
			l.ask(t, name[:1], name, 1)
		}
		for name, refused := range map[string]bool{"a1": false, "a2": false, "a3": true, "b1": false, "b2": false, "b3": true, "c1": true} {
			if (fault.CodeOf(l.err(name)) == fault.Overloaded) != refused {
				t.Errorf("%s: %v", name, l.err(name))
			}
		}
		l.end("a0")
		l.want(t, "a0 a1")
		for _, leave := range l.leave {
			leave()
		}
		synctest.Wait()
	})
}

func TestLongQuestionsCostMore(t *testing.T) {
	t.Parallel()
	short, long := event.Question{Query: "why?"}, event.Question{Query: "why?", History: []event.Message{{Role: event.RoleUser, Text: strings.Repeat("x", 5*slotBytes)}}}
	if cost(&short) != 1 || cost(&long) != 6 {
		t.Errorf("costs %d and %d, want 1 and 6", cost(&short), cost(&long))
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLine(newFairSemaphore(8, 4, 100, time.Minute))
		l.ask(t, "a", "a1", 1)
		l.ask(t, "a", "long", 6) // over the share: alone
		l.ask(t, "a", "a2", 1)   // does not overtake it
		l.ask(t, "b", "b1", 3)
		l.want(t, "a1 b1")
		l.end("a1")
		l.want(t, "a1 b1 long")
		l.end("long")
		l.want(t, "a1 b1 long a2")
		// A costly question is not overtaken by those of others for ever.
		l.ask(t, "c", "c1", 4)
		l.ask(t, "d", "d1", 2)
		l.ask(t, "e", "e1", 1)
		l.want(t, "a1 b1 long a2 c1") // which leaves no room for d1 and e1
		for _, leave := range l.leave {
			leave()
		}
		synctest.Wait()
	})
}
