package mcp

import (
	"context"
	"sync"
	"time"
)

// presence cancels the calls of sessions whose client has left. A client is present while one of its requests is open: the POST of a call, the
// stream of the session, or a stream that was resumed.
type presence struct {
	grace    time.Duration
	mu       sync.Mutex
	sessions map[string]*present // sessions with open requests or calls
}

type present struct {
	open  int // requests
	calls map[int]context.CancelFunc
	next  int
	timer *time.Timer // set while no request is open and a call is running
}

// of returns the entry of a session. The caller holds the lock, and calls settle before it releases it.
func (p *presence) of(id string) *present {
	s := p.sessions[id]
	if s == nil {
		s = &present{calls: map[int]context.CancelFunc{}}
		p.sessions[id] = s
	}
	return s
}

// settle starts or stops the timer of a session, and forgets a session without requests and calls.
func (p *presence) settle(id string, s *present) {
	if s.open == 0 && len(s.calls) > 0 {
		if s.timer == nil && p.grace >= 0 {
			s.timer = time.AfterFunc(p.grace, func() { p.leave(s) })
		}
		return
	}
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.open == 0 {
		delete(p.sessions, id)
	}
}

// leave cancels the calls of a session whose client has not come back.
func (p *presence) leave(s *present) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.open > 0 {
		return
	}
	for _, cancel := range s.calls {
		cancel()
	}
}

// enter counts an open request of a session until the returned function is called.
func (p *presence) enter(id string) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(id)
	s.open++
	p.settle(id, s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.open--
		p.settle(id, s)
	}
}

// call registers a call of a session until the returned function is called. cancel is called if the client leaves.
func (p *presence) call(id string, cancel context.CancelFunc) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(id)
	n := s.next
	s.next++
	s.calls[n] = cancel
	p.settle(id, s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(s.calls, n)
		p.settle(id, s)
	}
}
