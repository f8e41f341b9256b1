package delivery

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxWrite bounds the bytes of packets that are written together.
const maxWrite = 1400

// errDisconnected says that the client accepts no more bytes.
var errDisconnected = errors.New("client disconnected")

// A writer sends packets to the client of one stream.
type writer interface {
	// write sends the data of packets, if possible in one write to the network, and never a part of a packet without the rest. It
	// returns when the network has accepted all of it. Errors wrap errDisconnected.
	write(packets []packet) error
}

// httpWriter writes the body of a response. Over HTTP/1.1 it writes chunks directly to the connection: the buffers of net/http
// would cut a frame into several writes and take a third of the processor time of an event. net/http writes the header before,
// and the last chunk after the handler returns.
type httpWriter struct {
	response http.ResponseWriter
	control  *http.ResponseController
	conn     net.Conn // nil: write to response
	timeout  time.Duration
	deadline time.Time
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
	w.extend()
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
	_, err := w.conn.Write(out)
	return disconnected(err)
}

// extend moves the write deadline to the write timeout from now. To save system calls, it only does so if less than half of the
// last timeout is left.
func (w *httpWriter) extend() {
	if now := time.Now(); w.deadline.Sub(now) < w.timeout/2 {
		w.deadline = now.Add(w.timeout)
		_ = w.control.SetWriteDeadline(w.deadline) // not supported by the recorders of tests
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
