package delivery

import (
	"context"
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

// A writer sends packets to the client of one stream. It is all that a stream knows of its connection.
type writer interface {
	// write sends the data of packets, if possible in one write to the network, and never a part of a packet without the rest. It
	// returns when the network has accepted all of it. Errors wrap errDisconnected.
	write(packets []packet) error
}

type connKey struct{}

// ConnContext is for [http.Server.ConnContext]. It lets Serve write to the connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// httpWriter writes the body of a response. Over HTTP/1.1 it writes to the connection, in the chunks of that protocol and not
// through the buffers of net/http, which would cut a frame into several writes and cost a third of what an event costs.
// net/http writes the header before, and the last chunk when the handler returns.
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
		hw.conn, _ = r.Context().Value(connKey{}).(net.Conn)
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

// extend gives the client the write timeout from now on to accept data. It spares most system calls by doing so before half of
// the last timeout is left.
func (w *httpWriter) extend() {
	if now := time.Now(); w.deadline.Sub(now) < w.timeout/2 {
		w.deadline = now.Add(w.timeout)
		_ = w.control.SetWriteDeadline(w.deadline) // fails on a server that has no deadlines
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

// buffers are shared, so that a stream without events holds none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*maxWrite); return &b }}

// maxPooled bounds the buffers that are kept for later, in bytes.
const maxPooled = 64 << 10
