package client

import (
	"context"
	"iter"
	"net/http"
)

// Transport sends calls to one server. It is safe for concurrent use. If it implements io.Closer, [Client.Close] closes it.
type Transport interface {
	// Send sends a request document when the iteration starts, and yields the messages of its reply in their order: one
	// response document, or server-sent events up to the event complete. An error is the last thing it yields. The end of
	// the context and the end of the iteration both end the call: the server notices that the client has disconnected.
	Send(ctx context.Context, out Outgoing) iter.Seq2[Message, error]
}

// Outgoing is a call as a transport sends it.
type Outgoing struct {
	Body []byte // the request document
	// Header is sent beside the document by transports that have headers.
	Header http.Header
	// MaxMessage is the limit of one message of the reply in bytes. A larger one is [ErrTooLarge].
	MaxMessage int64
}

// Message is a part of a reply.
type Message struct {
	// Body is a response document, which begins with {, or one server-sent event or comment. It is valid until the next
	// message is asked for.
	Body []byte
	// Status is the HTTP status, and 0 if the transport has none.
	Status int
	// Header holds the headers of the reply, if the transport has them.
	Header http.Header
}

// Last reports whether the body of a message is the last one of a reply: a response document or the event complete. It is
// for implementations of [Transport].
func Last(body []byte) bool { return isDocument(body) || parseEvent(body).name == "complete" }
