package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/eventlog"
)

// queue holds the streams of [Conns] that have something to do. Events, timers and clients that leave add a stream; workers step the streams in turn
// and wait for the next when there are none, so idle streams have no goroutine. Events that arrive before a stream's turn are sent together in it.
type queue struct {
	max int // workers

	mu      sync.Mutex
	added   []*taken
	batch   []*taken // comes before added
	head    int      // of batch
	workers int      // that step streams
	parked  int      // workers that wait
	woken   int      // workers that add has woken and that do not run yet
	wake    sync.Cond
	closed  bool // workers do not wait any more
}

func newQueue() *queue {
	q := &queue{max: runtime.GOMAXPROCS(0)}
	q.wake.L = &q.mu
	return q
}

// backlog is the number of queued streams from which on a further worker begins. Their writes take about as long as waking a processor and
// stopping it again.
const backlog = 8

func (q *queue) add(t *taken) {
	q.mu.Lock()
	q.added = append(q.added, t)
	waiting := len(q.added) + len(q.batch) - q.head
	begin := q.workers == 0 || q.workers < q.max && waiting > backlog
	wake := begin && q.parked > 0
	if begin {
		q.workers++
	}
	if wake {
		q.parked--
		q.woken++
	}
	q.mu.Unlock()
	switch {
	case wake:
		q.wake.Signal()
	case begin:
		go q.work()
	}
}

func (q *queue) work() {
	for t := q.next(); t != nil; t = q.next() {
		t.step()
	}
}

// next removes the first stream. If there is none, it waits: a new goroutine would have to grow its stack again. It returns nil when the queue is closed.
func (q *queue) next() *taken {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.batch) {
		if q.batch, q.added, q.head = q.added, q.batch[:0], 0; len(q.batch) > 0 {
			break
		}
		q.workers--
		q.parked++
		for q.woken == 0 && !q.closed {
			q.wake.Wait()
		}
		if q.woken == 0 {
			q.parked--
			return nil
		}
		q.woken--
	}
	t := q.batch[q.head]
	q.batch[q.head] = nil
	q.head++
	return t
}

// close ends the workers.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}

// The states of a stream whose connection was taken over.
const (
	away    = iota // a goroutine of the stream owns it
	waiting        // for an event, its timer, or its client to leave
	queued         // in the queue
	stepped        // a worker steps it
	again          // a worker steps it, and something has happened since it began
)

// taken is a stream whose connection was taken over. See [Conns] for who owns it.
type taken struct {
	conn   *conn
	stream *stream
	out    *httpWriter
	state  atomic.Int32

	alarm alarm // queues the stream when it has something to send without a new event

	stopNotify func()
	stopEnd    func() bool
	stopOver   func() bool   // nil: the run always has an end
	unwatch    func() []byte // nil: the client is not watched
	read       []byte        // bytes of the next request
}

// take takes the connection of a stream over, which waits for events of a log. It returns false if the handler must go on.
func (c *conn) take(w http.ResponseWriter, s *stream, log eventlog.Notifier) bool {
	out, ok := s.writer.(*httpWriter)
	if !ok || out.conn == nil {
		return false
	}
	t := &taken{conn: c, stream: s, out: out} // it is away
	t.alarm.taken = t
	if !c.conns.add(t) {
		return false
	}
	var err error
	if t.stopNotify, err = log.Notify(s.variant.run, t.post); err != nil {
		c.conns.remove(t)
		return false
	}
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.stopNotify()
		c.conns.remove(t)
		return false
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		next, _ := buffered.Reader.Peek(n) // they are in its buffer
		t.read = slices.Clone(next)
	}
	if raw, ok := c.Conn.(syscall.Conn); ok && pollable(c.Conn) {
		out.raw, _ = raw.SyscallConn() // nil if it is closed: a goroutine finds that out
	}
	c.unlink()
	c.unlink = nil
	s.source.trim()
	out.response, out.control, out.deadline = nil, nil, time.Time{}
	c.taken = t
	return true
}

// start gives the stream to the workers. The handler has returned.
func (t *taken) start() {
	var err error
	if t.unwatch, err = t.conn.conns.watch(t.conn.Conn, false, t.conn.cancel); err != nil {
		go t.finish(fmt.Errorf("watch the client: %w", err))
		return
	}
	f := t.stream.follower
	t.stopEnd = context.AfterFunc(f.ctx, t.post)
	if f.over.Done() != nil {
		t.stopOver = context.AfterFunc(f.over, t.post)
	}
	t.giveBack()
}

// giveBack ends the state away. It queues the stream, so what happened while it was away is not missed.
func (t *taken) giveBack() {
	t.out.loop = true
	t.state.Store(queued)
	t.conn.conns.queue.add(t)
}

// post queues the stream because something has happened, unless it is away.
func (t *taken) post() {
	for {
		switch s := t.state.Load(); s {
		case waiting:
			if t.state.CompareAndSwap(s, queued) {
				t.conn.conns.queue.add(t)
				return
			}
		case stepped:
			if t.state.CompareAndSwap(s, again) {
				return
			}
		default:
			return
		}
	}
}

// step sends what is due. A worker calls it.
func (t *taken) step() {
	t.state.Store(stepped) // before the log is read: later events lead to another step
	t.stream.follower.read = 0
	err := t.send()
	switch {
	case errors.Is(err, errWait):
		if at := t.stream.source.wakeAt(); !at.IsZero() {
			t.conn.conns.alarms.setBy(&t.alarm, at)
		}
		if !t.state.CompareAndSwap(stepped, waiting) {
			t.state.Store(queued)
			t.conn.conns.queue.add(t)
		}
	case errors.Is(err, errFull):
		t.state.Store(away)
		go t.catchUp()
	default:
		t.state.Store(away)
		go t.finish(err)
	}
}

// send is [stream.send]. A panic is an error.
func (t *taken) send() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())
		}
	}()
	return t.stream.send()
}

// catchUp sends what is due and waits for the network, until the stream waits for events.
func (t *taken) catchUp() {
	err := t.out.flush()
	if err == nil {
		err = t.send()
	}
	if !errors.Is(err, errWait) {
		t.finish(err)
		return
	}
	_ = t.conn.SetWriteDeadline(time.Time{}) // it would also end writes that do not wait
	t.out.deadline = time.Time{}
	t.giveBack()
}

// finish ends the stream with the error of its last step.
func (t *taken) finish(err error) {
	t.stopNotify()
	if t.stopEnd != nil {
		t.stopEnd()
	}
	if t.stopOver != nil {
		t.stopOver()
	}
	t.conn.conns.alarms.stop(&t.alarm)
	if err == nil {
		err = t.out.flush()
	}
	t.stream.close()
	t.stream.hub.report(t.stream.follower.ctx, t.stream.variant.run, err)
	for _, f := range t.conn.ended {
		f()
	}
	if err == nil {
		err = t.out.lastChunk()
	}
	t.conn.cancel()
	if err != nil || !t.conn.keepAlive {
		_ = t.conn.Close()
	}
	if t.unwatch != nil {
		t.read = append(t.read, t.unwatch()...)
	}
	if err == nil && t.conn.keepAlive {
		_ = t.conn.SetDeadline(time.Time{})
		t.conn.conns.park(t.conn.Conn, t.read)
	}
	t.conn.conns.remove(t)
}
