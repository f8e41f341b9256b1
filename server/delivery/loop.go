package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/eventlog"
)

// shard runs some of the streams of [Conns]. Events, timers and clients that leave queue a stream; a worker steps the queued streams in turn and
// ends when there are none, so an idle shard has no goroutine. Events that arrive meanwhile are sent together in the next turn.
type shard struct {
	mu      sync.Mutex
	queue   []*taken
	working bool

	batch []*taken // of the worker
}

func (sh *shard) add(t *taken) {
	sh.mu.Lock()
	sh.queue = append(sh.queue, t)
	begin := !sh.working
	sh.working = true
	sh.mu.Unlock()
	if begin {
		go sh.work()
	}
}

func (sh *shard) work() {
	for {
		sh.mu.Lock()
		if len(sh.queue) == 0 {
			sh.working = false
			sh.mu.Unlock()
			return
		}
		sh.queue, sh.batch = sh.batch[:0], sh.queue
		sh.mu.Unlock()
		for _, t := range sh.batch {
			t.step()
		}
		clear(sh.batch)
	}
}

// taken is a stream whose connection was taken over. See [Conns] for who owns it.
type taken struct {
	conn   *conn
	stream *stream
	out    *httpWriter
	shard  *shard
	away   atomic.Bool // a goroutine owns the stream; only the shard sets it, and only that goroutine resets it
	queued atomic.Bool // in the shard's queue

	timer *time.Timer // queues the stream at the time at or before
	at    time.Time

	stopNotify func()
	stopEnd    func() bool
	unwatch    func() []byte // nil: the client is not watched
	read       []byte        // bytes of the next request
}

// take takes the connection of a stream over, which waits for events of a log. It returns false if the handler must go on.
func (c *conn) take(w http.ResponseWriter, s *stream, log eventlog.Notifier) bool {
	out, ok := s.writer.(*httpWriter)
	if !ok || out.conn == nil {
		return false
	}
	t := &taken{conn: c, stream: s, out: out, shard: c.conns.shards[int(c.conns.turn.Add(1))%len(c.conns.shards)]}
	t.away.Store(true)
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
	out.response, out.control, out.deadline = nil, nil, time.Time{}
	c.taken = t
	return true
}

// start gives the stream to its shard. The handler has returned.
func (t *taken) start() {
	var err error
	if t.unwatch, err = t.conn.conns.watch(t.conn.Conn, false, t.conn.cancel); err != nil {
		go t.finish(fmt.Errorf("watch the client: %w", err))
		return
	}
	t.stopEnd = context.AfterFunc(t.stream.follower.ctx, t.post)
	t.giveBack()
}

// giveBack makes the shard the owner of the stream.
func (t *taken) giveBack() {
	t.out.loop = true
	t.away.Store(false)
	t.post()
}

// post queues the stream if its shard owns it. giveBack queues it in any case, so what happens while it is away is not missed.
func (t *taken) post() {
	if !t.away.Load() && t.queued.CompareAndSwap(false, true) {
		t.shard.add(t)
	}
}

// step sends what is due. The worker of the shard calls it.
func (t *taken) step() {
	t.queued.Store(false) // before the log is read: later events queue the stream again
	if t.away.Load() {
		return
	}
	err := t.send()
	switch {
	case errors.Is(err, errWait):
		t.arm()
	case errors.Is(err, errFull):
		t.away.Store(true)
		go t.catchUp()
	default:
		t.away.Store(true)
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

// arm sets the timer to the time when the stream has something to send without a new event. A timer that fires earlier stays: the next step
// sets it again.
func (t *taken) arm() {
	at, now := t.stream.source.wakeAt(), time.Now()
	if at.IsZero() || t.at.After(now) && !at.Before(t.at) {
		return
	}
	t.at = at
	if t.timer == nil {
		t.timer = time.AfterFunc(at.Sub(now), t.post)
	} else {
		t.timer.Reset(at.Sub(now))
	}
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
	if t.timer != nil {
		t.timer.Stop()
	}
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
