package delivery

import (
	"context"
	"net"
)

// conn is the connection of requests. Of HTTP/1.1, one request at a time uses it.
type conn struct {
	net.Conn
	taken bool     // a writer loop owns the connection: its stream goes on after the handler has returned
	ended []func() // called when the stream ends
}

type connKey struct{}

// connOf returns the connection of a request; nil: it is not known.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// ConnContext is for [http.Server.ConnContext]. It lets Serve write to the connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &conn{Conn: c})
}

// AtEnd calls f at the end of the stream that replies to a request, or now if there is no such stream. Handlers that call [Hub.Serve], and those that call
// such handlers, defer AtEnd for what must be done after the reply, because a stream may go on when they have returned.
func AtEnd(ctx context.Context, f func()) {
	if c := connOf(ctx); c != nil && c.taken {
		c.ended = append(c.ended, f)
		return
	}
	f()
}
