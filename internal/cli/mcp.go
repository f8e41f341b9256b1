package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/internal/config"
	mcproutes "github.com/sluice-rag/sluice/server/mcp"
)

type mcpCmd struct {
	serverOrOwn
}

// Run passes messages of the Model Context Protocol between the standard streams, a message a line, and a server.
func (c *mcpCmd) Run(e *env) (err error) {
	own, at, err := c.open(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var work sync.WaitGroup
	ready := make(chan struct{}) // closed when the documents are indexed
	work.Go(func() {
		defer close(ready)
		if err := ingestWith(ctx, e, own, at); err != nil && ctx.Err() == nil {
			fmt.Fprintln(e.Err, "sluice:", err)
		}
	})
	defer func() {
		cancel()
		work.Wait()
		if own != nil {
			err = errors.Join(err, own.stop())
		}
	}()
	return bridge(e.ctx, e.In, e.Out, at, ready)
}

// indexTime is how long uses of documents wait until the documents are indexed, counted from the first one. After it, tools use what is indexed.
const indexTime = 20 * time.Second

// bridge passes messages between a client at the standard streams and a server, until the input has ended and each request has its response. Requests that
// use documents wait for ready, if it is not nil; other messages do not.
func bridge(ctx context.Context, in io.Reader, out io.Writer, at remote, ready <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	headers := &bridgeHeaders{key: at.key}
	far, err := (&mcp.StreamableClientTransport{Endpoint: at.url + mcproutes.Path, HTTPClient: &http.Client{Transport: headers}}).Connect(ctx)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	b := &messageBridge{out: out, far: far, headers: headers, open: map[any]bool{}, held: map[any]chan struct{}{}, stop: cancel}
	if ready != nil {
		b.indexed = sync.OnceValue(func() context.Context { return atMost(ctx, indexTime, ready) })
	}
	var work sync.WaitGroup
	work.Go(func() { cancel(b.answers(ctx)) })
	go func() { // it may wait for input that never comes
		if err := b.requests(ctx, in); err != nil {
			cancel(err)
		}
		b.end()
	}()
	<-ctx.Done()
	err = context.Cause(ctx)
	closed := far.Close() // it ends the session
	work.Wait()
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return closed
	}
	return fmt.Errorf("mcp: %w", err)
}

// bridgeHeaders adds the key and the version of the protocol to requests. A client of the SDK would add the version; here the client is at the
// other end of the bridge.
type bridgeHeaders struct {
	key     config.Secret
	version atomic.Pointer[string] // nil: not agreed
}

const (
	headerVersion = "Mcp-Protocol-Version"
	maxMessage    = 1 << 20 // bytes of a message of the client, which is the limit of the server, and of the reply with an error
)

// RoundTrip implements [http.RoundTripper]. An error reply gets the form of JSON-RPC: the transport of the SDK closes the connection after others.
func (h *bridgeHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if h.key != "" {
		r.Header.Set("Authorization", "Bearer "+h.key.Reveal())
	}
	if v := h.version.Load(); v != nil {
		r.Header.Set(headerVersion, *v)
	}
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || w.StatusCode < http.StatusBadRequest || w.StatusCode == http.StatusNotFound { // 404: the session has ended
		return w, err
	}
	body, err := io.ReadAll(io.LimitReader(w.Body, maxMessage))
	if err := errors.Join(err, w.Body.Close()); err != nil {
		return nil, err
	}
	failed := struct{ JSONRPC, Message string }{}
	if json.Unmarshal(body, &failed) != nil {
		failed.Message = strings.TrimSpace(string(body))
	}
	if failed.JSONRPC == "" {
		if body, err = json.Marshal(failure(1, jsonrpc.CodeInternalError, failed.Message)); err != nil { // its id is not used
			return nil, err
		}
	}
	w.Body, w.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return w, nil
}

// failure returns an error response to a request with an id, which is nil if the request has none that can be read.
func failure(id any, code int64, message string) any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": jsonrpc.Error{Code: code, Message: message}}
}

// messageBridge passes messages between a client and a server.
type messageBridge struct {
	far     mcp.Connection
	headers *bridgeHeaders
	indexed func() context.Context  // it ends when documents can be used; nil: they can
	stop    context.CancelCauseFunc // called with [io.EOF] when the input has ended and no request is open

	mu    sync.Mutex
	out   io.Writer
	open  map[any]bool          // ids of requests without a response
	held  map[any]chan struct{} // ids of requests that wait for documents; the channel is closed when the client cancels the request
	ended bool
}

// atMost returns a context that ends with ctx, when done is closed, and after a time.
func atMost(ctx context.Context, d time.Duration, done <-chan struct{}) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	go func() {
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}()
	return ctx
}

// settle removes a request that has its response.
func (b *messageBridge) settle(id any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, id)
	if b.ended && len(b.open) == 0 {
		b.stop(io.EOF)
	}
}

// end notes that the input has ended.
func (b *messageBridge) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended = true; len(b.open) == 0 {
		b.stop(io.EOF)
	}
}

// write writes a message to the client.
func (b *messageBridge) write(message []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(append(message, '\n'))
	return err
}

// refuse writes an error response.
func (b *messageBridge) refuse(id any, code int64, cause error) error {
	message, err := json.Marshal(failure(id, code, cause.Error()))
	return errors.Join(err, b.write(message))
}

// requests passes messages of the client to the server until the input ends. A line that is too long gets an error response without an id.
func (b *messageBridge) requests(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, maxMessage)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			line = nil
			if err := b.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Errorf("a message has more than %d bytes", maxMessage)); err != nil {
				return err
			}
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := b.request(ctx, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// request passes one message to the server, or holds it until documents can be used.
func (b *messageBridge) request(ctx context.Context, line []byte) error {
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return b.refuse(nil, jsonrpc.CodeParseError, err)
	}
	q, ok := m.(*jsonrpc.Request)
	call := ok && q.IsCall()
	if call {
		b.mu.Lock()
		b.open[q.ID.Raw()] = true
		b.mu.Unlock()
	}
	if ok && q.Method == "notifications/cancelled" && b.release(q.Params) {
		return nil // the server does not know the request
	}
	if call && b.indexed != nil && (q.Method == "tools/call" || strings.HasPrefix(q.Method, "resources/")) && b.indexed().Err() == nil {
		b.hold(ctx, q)
		return nil
	}
	return b.pass(ctx, m)
}

// hold passes a request to the server when documents can be used, unless the client cancels it before. It does not wait.
func (b *messageBridge) hold(ctx context.Context, q *jsonrpc.Request) {
	id, cancelled := q.ID.Raw(), make(chan struct{})
	b.mu.Lock()
	b.held[id] = cancelled
	b.mu.Unlock()
	go func() { // it ends with ctx
		select {
		case <-b.indexed().Done():
		case <-cancelled:
		}
		b.mu.Lock()
		held := b.held[id] == cancelled
		if held {
			delete(b.held, id)
		}
		b.mu.Unlock()
		if !held {
			b.settle(id) // a cancelled request has no response
		} else if err := b.pass(ctx, q); err != nil {
			b.stop(err)
		}
	}()
}

// release cancels a held request by the parameters of the notification, and reports whether it was held.
func (b *messageBridge) release(params json.RawMessage) bool {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	cancelled, ok := b.held[id.Raw()]
	if ok {
		close(cancelled)
		delete(b.held, id.Raw())
	}
	return ok
}

// pass passes one message to the server. A request that does not reach it gets an error response.
func (b *messageBridge) pass(ctx context.Context, m jsonrpc.Message) error {
	err := b.far.Write(ctx, m)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if q, ok := m.(*jsonrpc.Request); ok && q.IsCall() {
		cause := unreachable(err)
		if said, ok := errors.AsType[*jsonrpc.Error](cause); ok {
			cause = errors.New(said.Message)
		}
		if err := b.refuse(q.ID.Raw(), jsonrpc.CodeInternalError, cause); err != nil {
			return err
		}
		b.settle(q.ID.Raw())
	}
	if errors.Is(err, mcp.ErrSessionMissing) {
		return err
	}
	return nil
}

// answers passes messages of the server to the client.
func (b *messageBridge) answers(ctx context.Context) error {
	for {
		m, err := b.far.Read(ctx)
		if err != nil {
			return err
		}
		r, ok := m.(*jsonrpc.Response)
		if ok && b.headers.version.Load() == nil { // the first response is that of initialize
			var result struct{ ProtocolVersion string }
			if json.Unmarshal(r.Result, &result) == nil && result.ProtocolVersion != "" {
				b.headers.version.Store(&result.ProtocolVersion)
			}
		}
		message, err := jsonrpc.EncodeMessage(m)
		if err := errors.Join(err, b.write(message)); err != nil {
			return err
		}
		if ok {
			b.settle(r.ID.Raw())
		}
	}
}
