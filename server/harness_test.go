package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/sse"
)

// script is an answerer that runs a function of the test.
type script func(ctx context.Context, r *answer.Recorder) error

func (s script) Answer(ctx context.Context, r *answer.Recorder) error { return s(ctx, r) }

// saying returns a script that only emits bodies.
func saying(bodies ...event.Body) script {
	return func(ctx context.Context, r *answer.Recorder) error { return emit(ctx, r, bodies...) }
}

func emit(ctx context.Context, r *answer.Recorder, bodies ...event.Body) error {
	for _, b := range bodies {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// streamWriter is what writes the streams of the tests: see TestWriterLoops.
var streamWriter = flag.String("stream-writer", string(delivery.NetHTTP), "")

// site is a server under test.
type site struct {
	t       testing.TB
	engine  *engine.Engine
	server  *server.Server
	http    *http.Client
	metrics *prometheus.Registry
	url     string
	dial    func() net.Conn
	stop    func()       // stops the server
	done    <-chan error // result of Serve
}

func newSite(t testing.TB, a answer.Answerer, eo engine.Options, so server.Options, l net.Listener) *site {
	t.Helper()
	if so.Protocols == nil {
		so.Protocols = []server.Endpoint{forgeEndpoint}
	}
	so.Registry = prometheus.NewRegistry()
	if so.StreamWriter == "" {
		so.StreamWriter = delivery.WriterMode(*streamWriter)
	}
	e := engine.New(a, eo)
	srv, err := server.New(e, so)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	return &site{t: t, engine: e, server: srv, metrics: so.Registry, url: "http://" + l.Addr().String(), stop: stop, done: done}
}

// serve starts a server on a local port, which stops with the test.
func serve(t testing.TB, a answer.Answerer, eo engine.Options, so server.Options) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newSite(t, a, eo, so, l)
	s.http = &http.Client{Transport: &http.Transport{}}
	s.dial = func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		return c
	}
	t.Cleanup(s.close)
	return s
}

// close stops the server and checks that Serve returns no error.
func (s *site) close() {
	s.http.CloseIdleConnections()
	s.stop()
	if err := <-s.done; err != nil {
		s.t.Errorf("serve: %v", err)
	}
}

// pipes is a listener in memory. Each write to a connection blocks until the peer has read it.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.closed)
	return nil
}

func (l *pipes) Addr() net.Addr { return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}) }

func (l *pipes) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// The endpoints of the program.
var (
	forgeEndpoint     = server.Endpoint{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"}
	knowledgeEndpoint = server.Endpoint{API: knowledge.API(), StreamPath: "/v1/responses", AlwaysOK: true}
)

// inMemory starts a server on connections in memory, for bubbles of synctest. The test must close it.
func inMemory(t testing.TB, a answer.Answerer, eo engine.Options, so server.Options) *site {
	t.Helper()
	l := newPipes()
	s := newSite(t, a, eo, so, l)
	s.http = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial() }, DisableCompression: true}}
	s.dial = func() net.Conn {
		c, err := l.dial()
		require.NoError(t, err)
		return c
	}
	return s
}

// do makes a request with headers given as pairs.
func (s *site) do(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	res, err := s.try(context.Background(), method, path, body, headers...)
	require.NoError(s.t, err)
	return res
}

func (s *site) try(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.http.Do(req)
}

// ask asks a question and returns its stream.
func (s *site) ask(query string, headers ...string) *http.Response {
	s.t.Helper()
	res := s.do("POST", "/api/query/stream", question(query), headers...)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("ask: %s: %s", res.Status, slurp(s.t, res.Body))
	}
	return res
}

// answered asks a question and returns the id of the run and the whole stream.
func (s *site) answered(query string) (run string, evs []sse.Event) {
	s.t.Helper()
	res := s.ask(query)
	return res.Header.Get("Sluice-Run-Id"), whole(s.t, res)
}

func question(query string) string {
	b, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func slurp(t testing.TB, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

// checker checks the rules of a stream: the grammar, increasing cursors, and types that equal the names of the events.
type checker struct {
	grammar forge.Grammar
	last    wire.Cursor
}

func (c *checker) next(ev sse.Event) error {
	id, err := wire.ParseCursor(ev.ID)
	if err != nil {
		return err
	}
	if id.Compare(c.last) <= 0 {
		return fmt.Errorf("cursor %s follows %s", id, c.last)
	}
	c.last = id
	var p struct {
		Type, Tool  string
		Recoverable bool
	}
	if err := json.Unmarshal([]byte(ev.Data), &p); err != nil {
		return fmt.Errorf("event %s: %w: %.80q", ev.ID, err, ev.Data)
	}
	if p.Type != ev.Name {
		return fmt.Errorf("event %s is named %q and has the type %q", ev.ID, ev.Name, p.Type)
	}
	return c.grammar.Next(p.Type, p.Tool, p.Recoverable)
}

func (c *checker) all(evs []sse.Event) error {
	for _, ev := range evs {
		if err := c.next(ev); err != nil {
			return err
		}
	}
	if !c.grammar.Ended() {
		return errors.New("the stream has no last event")
	}
	return nil
}

// whole reads a stream to its end and checks its rules.
func whole(t testing.TB, res *http.Response) []sse.Event {
	t.Helper()
	evs := rest(t, res)
	require.NoError(t, new(checker).all(evs))
	return evs
}

// rest reads a stream to its end.
func rest(t testing.TB, res *http.Response) []sse.Event {
	t.Helper()
	defer res.Body.Close()
	var evs []sse.Event
	for ev, err := range sse.NewReader(res.Body, 0).All() {
		if err != nil {
			t.Fatalf("after %d events: %v", len(evs), err)
		}
		evs = append(evs, ev)
	}
	return evs
}

// textAndNames returns the text of the tokens, and the names of the other events in order.
func textAndNames(evs []sse.Event) (text string, names []string) {
	for _, ev := range evs {
		var p struct{ Content string }
		_ = json.Unmarshal([]byte(ev.Data), &p) // valid JSON: see whole
		text += p.Content
		if ev.Name != "token" {
			names = append(names, ev.Name)
		}
	}
	return text, names
}

// failure returns the error code of the last event of a stream.
func failure(t testing.TB, evs []sse.Event) string {
	t.Helper()
	if len(evs) == 0 {
		t.Fatal("no events")
	}
	var p forge.Error
	require.NoError(t, json.NewDecoder(bytes.NewReader([]byte(evs[len(evs)-1].Data))).Decode(&p))
	return p.Code
}
