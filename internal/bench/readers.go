package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// receiver gets what a socket of a loop receives.
type receiver interface {
	receive(data []byte, now int64) // now is the time of the read in Unix nanoseconds
	end(err error)                  // the server has closed the connection; nil: in order
}

// request is the request of a stream.
type request struct {
	addr, method, path, body string
	header                   string // more lines of the header, each with its end
	buffer                   int    // see dial
}

// portsPerAddress is how many connections have the same source address. The system has about 28,000 ports for each.
const portsPerAddress = 20_000

// sourceAddress returns the source address of the n-th connection.
func sourceAddress(n int) net.IP { return net.IPv4(127, 0, 0, byte(1+n/portsPerAddress)) }

// open sends a request and reads the header of the reply. It returns the id of the run, if the reply names it, and what was read after the header.
func (q request) open(ctx context.Context, number int) (s *socket, run string, read []byte, err error) {
	c, err := dial(ctx, q.addr, sourceAddress(number), q.buffer)
	if err != nil {
		return nil, "", nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
			err = fmt.Errorf("open stream: %w", err)
		}
	}()
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", q.method, q.path, q.addr, q.header,
		len(q.body), q.body)
	if err != nil {
		return nil, "", nil, err
	}
	buf := make([]byte, 0, 2048)
	for {
		n, err := c.Read(buf[len(buf):cap(buf)])
		if n <= 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, "", nil, err
		}
		buf = buf[:len(buf)+n]
		head, rest, whole := bytes.Cut(buf, []byte("\r\n\r\n"))
		switch status, fields, _ := strings.Cut(string(head), "\r\n"); {
		case whole && !strings.HasPrefix(status, "HTTP/1.1 200"):
			return nil, "", nil, errors.New(status)
		case whole:
			return c, headerOf(fields, "Sluice-Run-Id"), rest, nil
		case len(buf) == cap(buf):
			return nil, "", nil, errors.New("the header of the reply is too long")
		}
	}
}

// headerOf returns the value of a field of a header.
func headerOf(fields, name string) string {
	for line := range strings.SplitSeq(fields, "\r\n") {
		if k, v, _ := strings.Cut(line, ":"); strings.EqualFold(k, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// readerSet reads streams with as little code as possible, because it shares the processors with the server. The zero value is ready. Close it.
type readerSet struct {
	mu     sync.Mutex
	opened int
	loop   *loop
	err    error

	// Used within loop.do.
	counting bool
	latency  histogram // from append to receipt
	lost     int64     // tokens that are missing between others, or were received twice
}

// reader reads one stream.
type reader struct {
	set     *readerSet
	socket  *socket
	scanner scanner
	last    int64 // number of the last token
	mark    func(mark)
	now     int64
}

// open starts reading a stream and returns the id of its run. It can be called concurrently.
func (l *readerSet) open(ctx context.Context, q request) (run string, r *reader, err error) {
	l.mu.Lock()
	if l.loop == nil && l.err == nil {
		l.loop, l.err = newLoop()
	}
	number, err := l.opened, l.err
	l.opened++
	l.mu.Unlock()
	if err != nil {
		return "", nil, err
	}
	s, run, read, err := q.open(ctx, number)
	if err != nil {
		return "", nil, err
	}
	r = &reader{set: l, socket: s}
	r.mark = r.count
	l.loop.do(func() {
		r.receive(read, time.Now().UnixNano())
		err = l.loop.add(s, r)
	})
	return run, r, err
}

// receive implements [receiver].
func (r *reader) receive(data []byte, now int64) {
	r.now = now
	r.scanner.scan(data, r.mark)
}

// end implements [receiver].
func (r *reader) end(error) {}

func (r *reader) count(m mark) {
	if r.last > 0 && m.n > 0 && m.n != r.last+1 {
		r.set.lost++
	}
	if r.last = m.n; r.set.counting {
		r.set.latency.add(r.now - m.at)
	}
}

// close closes the connection.
func (r *reader) close() { r.set.loop.do(func() { r.set.loop.remove(r.socket) }) }

// count begins or ends the measurement of latencies.
func (l *readerSet) count(on bool) { l.loop.do(func() { l.counting = on }) }

func (l *readerSet) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loop != nil {
		l.loop.close()
		l.loop, l.err = nil, errors.New("the readers are closed")
	}
}

// openers is how many streams are opened at a time.
const openers = 8

// openAll calls open n times, some at a time, and returns the first error.
func openAll(n int, open func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, openers)
	for worker := range openers {
		wg.Go(func() {
			for i := worker; i < n && errs[worker] == nil; i += openers {
				errs[worker] = open(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
