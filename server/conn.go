package server

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
)

type connKey struct{}

// connContext lets handlers find their connection.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// rawConn gives the connection of a request whose response's body may be written to it, in chunks, past net/http's own
// buffers: they would cut a frame into several writes, and cost a third of what an event costs. The header is flushed first,
// and net/http writes the last chunk when the handler returns, as it does for every response of HTTP/1.1 without a length.
// Nil: the body is written through net/http.
func rawConn(r *http.Request) net.Conn {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	if !r.ProtoAtLeast(1, 1) || r.ProtoMajor > 1 {
		return nil
	}
	return c
}

// appendChunk appends b as a chunk of HTTP/1.1 (RFC 9112, 7.1).
// An empty one, which would end the body, is left out.
func appendChunk(dst, b []byte) []byte {
	if len(b) == 0 {
		return dst
	}
	dst = strconv.AppendUint(dst, uint64(len(b)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, b...)
	return append(dst, "\r\n"...)
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// maxPooled bounds the buffers that are kept for later, in bytes.
const maxPooled = 64 << 10

func putBuffer(buf *[]byte) {
	if cap(*buf) <= maxPooled {
		*buf = (*buf)[:0]
		buffers.Put(buf)
	}
}
