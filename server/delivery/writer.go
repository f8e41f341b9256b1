package delivery

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// maxWrite bounds the bytes of packets that are written together.
const maxWrite = 1400

// errDisconnected says that the client accepts no more bytes.
var errDisconnected = errors.New("client disconnected")

// A writer sends packets to the client of one stream.
type writer interface {
	// write sends the data of packets, if possible in one write to the network, and never a part of a packet without the rest. It
	// returns when the network has accepted all of it, or when the writer is full. Errors wrap errDisconnected.
	write(packets []packet) error
	// full reports whether the network accepts no more without waiting. Only a writer of a writer loop does not wait.
	full() bool
}

// errFull says that a stream of a writer loop must wait for the network.
var errFull = errors.New("the network accepts no more")

// httpWriter writes the body of a response. Over HTTP/1.1 it writes chunks directly to the connection: the buffers of net/http
// would cut a frame into several writes and take a third of the processor time of an event. net/http writes the header before,
// and the last chunk after the handler returns, unless [Conns] has taken the connection over.
type httpWriter struct {
	response http.ResponseWriter
	control  *http.ResponseController
	conn     net.Conn // nil: write to response
	timeout  time.Duration
	deadline time.Time

	raw  syscall.RawConn // of conn, in a writer loop; nil: it has none
	loop bool            // a writer loop owns the connection: write does not wait
	rest []byte          // that the network has not accepted
}

// newHTTPWriter sends the header of the response.
func newHTTPWriter(w http.ResponseWriter, r *http.Request, timeout time.Duration) (*httpWriter, error) {
	hw := &httpWriter{response: w, control: http.NewResponseController(w), timeout: timeout}
	if r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1) {
		if c := connOf(r.Context()); c != nil {
			hw.conn = c.Conn
		}
	}
	hw.extend()
	w.WriteHeader(http.StatusOK)
	return hw, disconnected(hw.control.Flush())
}

func (w *httpWriter) write(packets []packet) error {
	if !w.loop {
		w.extend()
	}
	if w.conn == nil {
		for _, p := range packets {
			if _, err := w.response.Write(p.data); err != nil {
				return disconnected(err)
			}
			if err := w.control.Flush(); err != nil {
				return disconnected(err)
			}
		}
		return nil
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	out := (*buf)[:0]
	for _, p := range packets {
		out = appendChunk(out, p.data)
	}
	if cap(out) <= maxPooled {
		*buf = out
	}
	return w.send(out)
}

// send writes to the connection.
func (w *httpWriter) send(b []byte) error {
	if !w.loop {
		_, err := w.conn.Write(b)
		return disconnected(err)
	}
	n := 0
	if !w.full() {
		var err error
		if n, err = tryWrite(w.raw, b); err != nil {
			return disconnected(err)
		}
	}
	w.rest = append(w.rest, b[n:]...)
	return nil
}

func (w *httpWriter) full() bool { return len(w.rest) > 0 }

// flush leaves the writer loop, and waits until the network has accepted the rest.
func (w *httpWriter) flush() error {
	rest := w.rest
	w.loop, w.rest = false, nil
	if len(rest) == 0 {
		return nil
	}
	w.extend()
	return w.send(rest)
}

// lastChunk ends the body of a connection that was taken over.
func (w *httpWriter) lastChunk() error {
	w.extend()
	return w.send([]byte("0\r\n\r\n"))
}

// extend moves the write deadline to the write timeout from now. To save system calls, it only does so if less than half of the
// last timeout is left.
func (w *httpWriter) extend() {
	if now := time.Now(); w.deadline.Sub(now) < w.timeout/2 {
		w.deadline = now.Add(w.timeout)
		if w.conn != nil {
			_ = w.conn.SetWriteDeadline(w.deadline) // fails if it is closed
		} else {
			_ = w.control.SetWriteDeadline(w.deadline) // not supported by the recorders of tests
		}
	}
}

func disconnected(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errDisconnected, err)
	}
	return nil
}

// appendChunk appends b as a chunk of HTTP/1.1 (RFC 9112, 7.1). It leaves out an empty one, which would end the body.
func appendChunk(dst, b []byte) []byte {
	if len(b) == 0 {
		return dst
	}
	dst = strconv.AppendUint(dst, uint64(len(b)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, b...)
	return append(dst, "\r\n"...)
}

// buffers holds buffers for writes, so that an idle stream needs no buffer.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*maxWrite); return &b }}

// maxPooled bounds the buffers that are kept for later, in bytes.
const maxPooled = 64 << 10
