package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	defaultMaxResponse  = 16 << 20
	defaultMaxRetryWait = time.Minute
	defaultMaxAttempts  = 10
	// grace is how long the client waits for the reply of the server after the deadline: the error of the server has more details.
	grace = time.Second
	// cancelTime limits the call that cancels another.
	cancelTime = 5 * time.Second

	protocolVersion = "0.1.0"
	streamURN       = "urn:forrst:ext:stream"
	deadlineURN     = "urn:forrst:ext:deadline"
	cancellationURN = "urn:forrst:ext:cancellation"
	idempotencyURN  = "urn:forrst:ext:idempotency"
)

// Options are the settings of a client. The zero value works.
type Options struct {
	// Header returns headers of each call, such as Authorization. Transports without headers ignore them.
	Header func(ctx context.Context) http.Header
	// Traceparent returns the W3C trace context of each call, or an empty string. It is sent as a header. Over a transport
	// without headers, return the tracing extension in Extensions instead.
	Traceparent func(ctx context.Context) string
	// Extensions returns extensions that each call lists.
	Extensions func(ctx context.Context) []Extension
	// NoDeadline keeps the deadline of the context from the server, for servers without the deadline extension.
	NoDeadline bool
	// MaxAttempts limits how often a call is sent, even if the server advises more attempts. Default: 10. 1: calls are never repeated.
	MaxAttempts int
	// MaxRetryWait is the longest wait before a call is repeated. If the server advises a longer one, the call fails.
	// Default: one minute.
	MaxRetryWait time.Duration
	// MaxResponse limits a response document and an event, in bytes. Default: 16 MiB.
	MaxResponse int64
}

// CallOptions are the settings of one call. The zero value works.
type CallOptions struct {
	// Version selects a version of the function. Default: the newest stable one.
	Version string
	// Context is metadata that the server passes on, such as caller or tenant_id. Its values encode as JSON.
	Context map[string]any
	// Extensions are those that the client does not set itself.
	Extensions []Extension
	// IdempotencyKey makes the server run the call once, however often it is sent; a repeated call gets the reply of the first.
	// It also allows the client to repeat the call. See [NewID].
	IdempotencyKey string
	// Repeatable allows the client to repeat the call, if the server advises it or the connection fails. Set it for functions
	// that may run twice, such as those that only read.
	Repeatable bool
	// Token makes the call cancellable with [Client.Cancel]. The client does so when the context or the iteration ends before the
	// reply. Without a token, the server only learns of it from the connection, which a proxy may keep. See [NewID].
	Token string
	// Header is sent beside the call, if the transport has headers.
	Header http.Header
	// NoDeadline keeps the deadline of the context from the server.
	NoDeadline bool
}

// Extension is an extension that a call lists.
type Extension struct {
	URN     string         `json:"urn"`
	Options map[string]any `json:"options,omitempty"`
}

func extension[V any](urn string, options map[string]V) Extension {
	e := Extension{URN: urn, Options: map[string]any{}}
	for k, v := range options {
		e.Options[k] = v
	}
	return e
}

// Client calls the functions of one server. It is safe for concurrent use.
type Client struct {
	transport Transport
	options   Options
	cancels   sync.WaitGroup
}

// New returns a client over a transport, such as that of [HTTP].
func New(t Transport, o Options) *Client {
	if o.MaxResponse <= 0 {
		o.MaxResponse = defaultMaxResponse
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = defaultMaxAttempts
	}
	if o.MaxRetryWait <= 0 {
		o.MaxRetryWait = defaultMaxRetryWait
	}
	return &Client{transport: t, options: o}
}

// Close waits for cancellations that are being sent, at most some seconds, and closes the transport.
func (c *Client) Close() error {
	c.cancels.Wait()
	if closer, ok := c.transport.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// NewID returns a random id of 26 letters and digits, for idempotency keys and tokens.
func NewID() string { return rand.Text() }

// Call calls a function and decodes its result. in encodes as a JSON object; nil is no arguments. Pass at most one CallOptions.
// An error of the server is an [*Error].
func Call[Out any](ctx context.Context, c *Client, function string, in any, options ...CallOptions) (Out, error) {
	var out Out
	r, err := c.Do(ctx, function, in, options...)
	if err == nil {
		if err = r.Decode(&out); err != nil {
			err = fmt.Errorf("call %s: %w", function, err)
		}
	}
	return out, err
}

// Do calls a function and returns the whole response. See [Call].
func (c *Client) Do(ctx context.Context, function string, in any, options ...CallOptions) (*Response, error) {
	p, err := c.prepare(function, in, options)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		r, err := c.do(ctx, p)
		if err == nil {
			return r, nil
		}
		if !c.wait(ctx, p, n, err) {
			return nil, p.wrap(err)
		}
	}
}

// do makes one attempt.
func (c *Client) do(ctx context.Context, p *prepared) (*Response, error) {
	id := NewID()
	for m, err := range c.attempt(ctx, p, id) {
		if err != nil {
			return nil, err
		}
		return decodeResponse(m, m.Body, id)
	}
	return nil, ErrBroken
}

// Cancel cancels the call that has a token.
func (c *Client) Cancel(ctx context.Context, token string) error {
	_, err := c.Do(ctx, cancellationURN+":fn:cancel", map[string]string{"token": token})
	return err
}

// prepared is a call that can be sent several times.
type prepared struct {
	function   string
	arguments  json.RawMessage
	options    CallOptions
	extensions []Extension
}

func (c *Client) prepare(function string, in any, options []CallOptions, extensions ...Extension) (*prepared, error) {
	p := &prepared{function: function, extensions: extensions}
	if len(options) > 1 {
		return nil, p.wrap(errors.New("more than one CallOptions"))
	}
	if len(options) == 1 {
		p.options = options[0]
	}
	if in != nil {
		var err error
		if p.arguments, err = json.Marshal(in); err != nil {
			return nil, p.wrap(fmt.Errorf("encode the arguments: %w", err))
		}
	}
	if key := p.options.IdempotencyKey; key != "" {
		p.extensions = append(p.extensions, extension(idempotencyURN, map[string]string{"key": key}))
	}
	if token := p.options.Token; token != "" {
		p.extensions = append(p.extensions, extension(cancellationURN, map[string]string{"token": token}))
	}
	p.extensions = append(p.extensions, p.options.Extensions...)
	return p, nil
}

func (p *prepared) wrap(err error) error { return fmt.Errorf("call %s: %w", p.function, err) }

// request is a request document.
type request struct {
	Protocol struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"protocol"`
	ID   string `json:"id"`
	Call struct {
		Function  string          `json:"function"`
		Version   string          `json:"version,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	} `json:"call"`
	Context    map[string]any `json:"context,omitempty"`
	Extensions []Extension    `json:"extensions,omitempty"`
}

// encode returns the document of an attempt.
func (c *Client) encode(ctx context.Context, p *prepared, id string, deadline time.Time) ([]byte, error) {
	r := request{ID: id, Context: p.options.Context, Extensions: p.extensions[:len(p.extensions):len(p.extensions)]}
	r.Protocol.Name, r.Protocol.Version = "forrst", protocolVersion
	r.Call.Function, r.Call.Version, r.Call.Arguments = p.function, p.options.Version, p.arguments
	if !deadline.IsZero() {
		left := (time.Until(deadline) + time.Millisecond - 1) / time.Millisecond
		r.Extensions = append(r.Extensions, extension(deadlineURN, map[string]any{"value": max(left, 1), "unit": "millisecond"}))
	}
	if c.options.Extensions != nil {
		r.Extensions = append(r.Extensions, c.options.Extensions(ctx)...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (c *Client) header(ctx context.Context, p *prepared) http.Header {
	h := http.Header{}
	if c.options.Header != nil {
		maps.Copy(h, c.options.Header(ctx))
	}
	if c.options.Traceparent != nil {
		if t := c.options.Traceparent(ctx); t != "" {
			h.Set("Traceparent", t)
		}
	}
	maps.Copy(h, p.options.Header)
	return h
}

// attempt sends a call once and yields the messages of its reply. If the reply does not end, a call with a token is
// cancelled.
func (c *Client) attempt(ctx context.Context, p *prepared, id string) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Message{}, err)
			return
		}
		sending, deadline := ctx, time.Time{}
		if at, ok := ctx.Deadline(); ok && !c.options.NoDeadline && !p.options.NoDeadline {
			var cancel context.CancelFunc
			sending, cancel = afterDeadline(ctx, at)
			defer cancel()
			deadline = at
		}
		body, err := c.encode(ctx, p, id, deadline)
		if err != nil {
			yield(Message{}, fmt.Errorf("encode the request: %w", err))
			return
		}
		ended := false // the reply
		defer func() {
			if !ended && p.options.Token != "" {
				c.cancel(ctx, p.options.Token)
			}
		}()
		out := Outgoing{Body: body, Header: c.header(ctx, p), MaxMessage: c.options.MaxResponse}
		for m, err := range c.transport.Send(sending, out) {
			switch {
			case err != nil && ctx.Err() != nil:
				err = ctx.Err()
			case err != nil:
				ended = true // a connection that fails ends the call, or it is repeated
				err = &sendError{err}
			case p.options.Token != "":
				ended = Last(m.Body)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
		ended = ctx.Err() == nil
	}
}

// sendError is a failure of the transport.
type sendError struct{ err error }

func (e *sendError) Error() string { return e.err.Error() }
func (e *sendError) Unwrap() error { return e.err }

// afterDeadline returns a context that ends with ctx, but some time after its deadline.
func afterDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	late, cancel := context.WithDeadline(context.WithoutCancel(ctx), at.Add(grace))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
		}
	})
	return late, func() { stop(); cancel() }
}

// cancel cancels a call whose caller has left. It does not wait for the reply.
func (c *Client) cancel(ctx context.Context, token string) {
	c.cancels.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer stop()
		_ = c.Cancel(ctx, token) // the call may have ended
	})
}
