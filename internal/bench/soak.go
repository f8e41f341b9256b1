package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Parameters of a soak. Tokens are large and buffers are small, so that a reader that stalls for some seconds fills its connection.
const (
	soakSize    = 500              // bytes of a token, about
	soakRecv    = 2304             // receive buffer of a reader in bytes
	soakSend    = 4608             // send buffer of the server in bytes
	soakDials   = 64               // connections that are made at a time
	actEvery    = 20 * time.Second // average time after which a reader stalls or leaves, at most a fifth of the soak
	longestWait = 5 * time.Second  // maximum time of a stall, and until a reader returns; at most a fifth of the soak
)

// soak delivers runs to readers that stall, leave and return. Each reader reads one run after another to its end.
type soak struct {
	options *soakCmd
	addr    string
	slots   []*slot
	dials   chan struct{} // semaphore of connections that are being made
	loop    *loop
	opened  atomic.Int64 // connections
	left    sync.WaitGroup
	ctx     context.Context

	// Used within loop.do.
	stopping bool
	readers  []*soakReader
	latency  histogram // of the interval; without what was read after a stall or a return
	soakCounts
}

// soakCounts counts what happened in a soak.
type soakCounts struct {
	Events    int64 `json:"events"`
	Lost      int64 `json:"lost"`    // tokens that a reader did not get
	Doubled   int64 `json:"doubled"` // tokens that a reader got again
	Cut       int64 `json:"cut"`     // streams that ended before their run, or could not be opened
	Completed int64 `json:"completed"`
	Stalls    int64 `json:"stalls"`
	Returns   int64 `json:"returns"`
}

// slot is a sequence of runs, one after another.
type slot struct {
	mu     sync.Mutex
	number int // of the current run; 0: none yet
	run    string
	tokens int64
}

// next gives a reader the run after its last one. It starts the run with ask if no reader has needed it yet.
func (s *slot) next(r *soakReader, ask func(tokens int64) (string, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.number <= r.number {
		tokens := r.soak.options.Tokens/2 + rand.Int64N(r.soak.options.Tokens)
		run, err := ask(tokens)
		if err != nil {
			return err
		}
		s.run, s.tokens, s.number = run, tokens, r.number+1
	}
	r.run, r.tokens, r.number = s.run, s.tokens, s.number
	return nil
}

// soakReader is one reader. Its fields are used within loop.do only, except to connect.
type soakReader struct {
	soak    *soak
	slot    *slot
	socket  *socket // nil: not connected
	paused  bool
	scanner scanner
	run     string
	number  int   // of the run in the slot
	tokens  int64 // of the run
	last    int64 // number of the last token
	since   int64 // tokens before this time in Unix nanoseconds do not count for the latency
	now     int64
}

// ask starts a run and returns its id. The run goes on without a reader for a minute.
func (s *soak) ask(tokens int64) (string, error) {
	q := request{addr: s.addr, method: "POST", path: "/api/query/stream",
		body: fmt.Sprintf(`{"query":"`+finiteQuery+`","mode":"direct","no_cache":true}`, tokens, soakSize)}
	c, run, _, err := q.open(s.ctx, int(s.opened.Add(1)))
	if err == nil {
		err = c.Close()
	}
	return run, err
}

// connect opens the stream of the reader's run after its last token, or the next run of its slot. A reader whose stream cannot be opened is cut.
func (r *soakReader) connect() {
	s := r.soak
	s.dials <- struct{}{}
	defer func() { <-s.dials }()
	err := s.ctx.Err()
	if err == nil && r.run == "" {
		err = r.slot.next(r, s.ask)
	}
	q := request{addr: s.addr, method: "GET", path: "/runs/" + r.run + "/stream", header: "Connection: close\r\n", buffer: soakRecv}
	if r.last > 0 {
		q.header += fmt.Sprintf("Last-Event-ID: %d\r\n", r.last+eventsBeforeTokens)
	}
	var c *socket
	var read []byte
	if err == nil {
		c, _, read, err = q.open(s.ctx, int(s.opened.Add(1)))
	}
	s.loop.do(func() {
		if err == nil {
			r.socket, r.scanner, r.since = c, scanner{}, time.Now().UnixNano()
			r.receive(read, r.since)
			err = s.loop.add(c, r)
		}
		if err != nil {
			s.Cut++
			s.left.Done()
		}
	})
}

// receive implements [receiver].
func (r *soakReader) receive(data []byte, now int64) {
	r.now = now
	r.scanner.scan(data, r.token)
}

func (r *soakReader) token(m mark) {
	s := r.soak
	s.Events++
	switch {
	case m.n <= r.last:
		s.Doubled++
	default:
		s.Lost += m.n - r.last - 1
		r.last = m.n
	}
	if m.at >= r.since {
		s.latency.add(r.now - m.at)
	}
}

// end implements [receiver]. The reader goes on with the next run.
func (r *soakReader) end(err error) {
	s := r.soak
	r.socket = nil
	s.Lost += r.tokens - r.last
	if s.Completed++; err != nil || r.last < r.tokens {
		s.Cut++
	}
	r.run, r.last = "", 0
	if s.stopping {
		s.left.Done()
		return
	}
	go r.connect()
}

// act makes a reader stall or leave, and continue later. The caller runs in do.
func (r *soakReader) act() {
	s := r.soak
	if r.socket == nil || r.paused {
		return
	}
	pause := rand.N(s.short(longestWait))
	if rand.N(2) == 0 {
		s.Stalls++
		socket := r.socket
		r.paused = true
		s.loop.pause(socket, true)
		time.AfterFunc(pause, func() {
			s.loop.do(func() {
				r.paused, r.since = false, time.Now().UnixNano()
				s.loop.pause(socket, false)
			})
		})
		return
	}
	s.Returns++
	s.loop.remove(r.socket)
	r.socket = nil
	time.AfterFunc(pause, r.connect)
}

// short returns a duration, or a fifth of the soak if that is shorter.
func (s *soak) short(d time.Duration) time.Duration { return min(d, s.options.Duration/5) }

// live runs the readers for the duration, and calls mark after each interval. It then lets the readers finish their runs.
func (s *soak) live(interval time.Duration, mark func() error) error {
	for i := range s.options.Readers {
		r := &soakReader{soak: s, slot: s.slots[i%len(s.slots)]}
		s.readers = append(s.readers, r)
		s.left.Add(1)
		go r.connect()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	acted, next := 0, began.Add(interval)
	for now := began; now.Sub(began) < s.options.Duration; {
		select {
		case now = <-tick.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		s.loop.do(func() {
			for due := int(now.Sub(began).Seconds() / s.short(actEvery).Seconds() * float64(len(s.readers))); acted < due; acted++ {
				s.readers[rand.N(len(s.readers))].act()
			}
		})
		if !now.Before(next) {
			next = next.Add(interval)
			if err := mark(); err != nil {
				return err
			}
		}
	}
	return s.finish()
}

// finish waits until all readers have read their runs to the end.
func (s *soak) finish() error {
	s.loop.do(func() { s.stopping = true })
	done := make(chan struct{})
	go func() {
		s.left.Wait()
		close(done)
	}()
	limit := 4*time.Duration(float64(s.options.Tokens)/s.options.Rate*float64(time.Second)) + 4*longestWait + controlTimeout
	select {
	case <-done:
		return nil
	case <-time.After(limit):
		return errors.New("some readers did not reach the end of their runs")
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}
