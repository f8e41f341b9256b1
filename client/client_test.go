package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

type script func(ctx context.Context, r *answer.Recorder) error

func (s script) Answer(ctx context.Context, r *answer.Recorder) error { return s(ctx, r) }

// words answers with n words, and sources with texts of so many bytes.
func words(n, source int) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		bodies := []event.Body{event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}}
		for i := range n {
			bodies = append(bodies, event.Token{Text: fmt.Sprintf(" w%d", i)})
		}
		bodies = append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{},
			event.Attributed{Sources: []event.Source{{N: 1, Chunk: "c", Text: strings.Repeat("x", source)}}})
		for _, b := range bodies {
			if err := r.Emit(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
}

func serve(t *testing.T, a answer.Answerer) (string, *engine.Engine) {
	t.Helper()
	e := engine.New(a, engine.Options{})
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
	require.NoError(t, err)
	h := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(ctx)
	})
	return h.URL, e
}

func dial(t *testing.T, url string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(url, o)
	require.NoError(t, err)
	return c
}

// The endpoints of the program.
var (
	forgeEndpoint     = server.Endpoint{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"}
	knowledgeEndpoint = server.Endpoint{API: knowledge.API(), StreamPath: "/v1/responses", AlwaysOK: true}
)

// transport modifies responses.
type transport func(req *http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// uncompressed disables compression: compressed streams may begin with more padding than some tests let through.
var uncompressed = &http.Transport{DisableCompression: true}

// cutting breaks off each stream after so many bytes: with an error or, as some proxies do, with a regular end.
func cutting(after int64, cleanly bool, connections *atomic.Int64) *http.Client {
	return &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
		connections.Add(1)
		res, err := uncompressed.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, "/stream") {
			end := io.Reader(broken{})
			if cleanly {
				end = strings.NewReader("")
			}
			res.Body = body{io.MultiReader(io.LimitReader(res.Body, after), end), res.Body}
		}
		return res, err
	})}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type body struct {
	io.Reader
	io.Closer
}

// told joins the tokens of a stream and lists the other events. It checks that ids increase.
func told(t *testing.T, c *client.Client) (text string, names []string, err error) {
	t.Helper()
	var last wire.Cursor
	var g forge.Grammar
	for ev, err := range c.Ask(t.Context(), forge.Request{Query: "why?"}).Events() {
		if err != nil {
			return text, names, err
		}
		id, perr := wire.ParseCursor(ev.ID)
		if perr != nil || id.Compare(last) <= 0 {
			t.Fatalf("event %q follows %s: %v", ev.ID, last, perr)
		}
		last = id
		require.NoError(t, g.Next(ev.Name, "", false))
		if ev.Name == "token" {
			_, content, _ := strings.Cut(string(ev.Data), `"content":"`)
			text += strings.TrimSuffix(content, `"}`)
			continue
		}
		names = append(names, ev.Name)
	}
	if !g.Ended() {
		t.Error("the stream has no end")
	}
	return text, names, nil
}

func TestStreamGoesOnThroughEveryCut(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, words(12, 10))
	want, names, err := told(t, dial(t, url, client.Options{}))
	if err != nil || strings.Count(want, " w") != 12 {
		t.Fatalf("%q %v %v", want, names, err)
	}
	const longest = 400 // bytes of an event with its frame
	for after := int64(longest); after < 2*longest; after += 17 {
		for _, cleanly := range []bool{false, true} {
			var connections atomic.Int64
			c := dial(t, url, client.Options{HTTP: cutting(after, cleanly, &connections), Backoff: 1})
			got, gotNames, err := told(t, c)
			if err != nil || got != want || !cmp.Equal(names, gotNames) {
				t.Fatalf("cut after %d: %q, %v", after, got, err)
			}
			if connections.Load() < 2 {
				t.Fatalf("cut after %d: %d connections", after, connections.Load())
			}
		}
	}
}

func TestStreamThatGetsNowhereGivesUp(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, words(12, 10))
	for _, retries := range []int{1, 3} {
		var connections atomic.Int64
		c := dial(t, url, client.Options{HTTP: cutting(10, false, &connections), Backoff: 1, Retries: retries})
		_, _, err := told(t, c)
		if !errors.Is(err, io.ErrUnexpectedEOF) || connections.Load() != int64(retries)+1 {
			t.Errorf("%v after %d connections", err, connections.Load())
		}
	}
}

func TestServerThatIsGoneIsGivenUp(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	if _, _, err := told(t, dial(t, h.URL, client.Options{Backoff: 1})); err == nil {
		t.Error("no error")
	}
}

func TestBigEvents(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("é", 1<<20)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Sluice-Run-Id", "run_1")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 2\nevent: token\ndata: {\"type\":\"token\",\"content\":\"%s\"}\n\nid: 3\nevent: done\ndata: {}\n\n", big)
	}))
	t.Cleanup(h.Close)
	n := 0
	for ev, err := range dial(t, h.URL, client.Options{}).Ask(t.Context(), forge.Request{Query: "x"}).Events() {
		require.NoError(t, err)
		n += len(ev.Data)
	}
	if n < len(big) {
		t.Errorf("%d bytes", n)
	}
}

func TestEndingTheContextEndsTheStream(t *testing.T) {
	t.Parallel()
	url, e := serve(t, script(func(ctx context.Context, r *answer.Recorder) error {
		_ = r.Emit(ctx, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct})
		<-ctx.Done()
		return ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range dial(t, url, client.Options{Backoff: time.Hour}).Ask(ctx, forge.Request{Query: "x"}).Events() {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("%v", last)
	}
	if e.Live() != 1 {
		t.Errorf("%d live: leaving is not cancelling", e.Live())
	}
}

func TestCancelStopsARun(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, script(func(ctx context.Context, r *answer.Recorder) error {
		_ = r.Emit(ctx, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct})
		<-ctx.Done()
		return ctx.Err()
	}))
	c := dial(t, url, client.Options{})
	var names []string
	run := ""
	for ev, err := range c.Ask(t.Context(), forge.Request{Query: "x"}).Events() {
		require.NoError(t, err)
		if names = append(names, ev.Name); len(names) == 1 {
			run = ev.Run
			require.NoError(t, c.Cancel(t.Context(), run))
		}
	}
	if diff := cmp.Diff([]string{"query_analysis", "error"}, names); diff != "" {
		t.Error(diff)
	}
	var d server.RunDetail
	if err := c.Get(t.Context(), "/api/runs/"+run, &d); err != nil || d.Status != event.Cancelled {
		t.Errorf("%v %v", d.Status, err)
	}
	if fault.CodeOf(c.Cancel(t.Context(), "none")) != fault.NotFound {
		t.Error("a run that is none was cancelled")
	}
}

func TestStreamOfAFinishedRun(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, words(5, 10))
	c := dial(t, url, client.Options{Backoff: 1})
	var evs []client.Event
	for ev, err := range c.Ask(t.Context(), forge.Request{Query: "x"}).Events() {
		require.NoError(t, err)
		evs = append(evs, ev)
	}
	for i := range evs {
		n := 0
		for _, err := range c.Stream(t.Context(), evs[0].Run, evs[i].ID).Events() {
			if err != nil {
				t.Fatalf("after %s: %v", evs[i].ID, err)
			}
			n++
		}
		if n == 0 != (i == len(evs)-1) {
			t.Errorf("after %s: %d events", evs[i].ID, n)
		}
	}
	for _, c2 := range [][2]string{{"none", ""}, {evs[0].Run, "999"}, {evs[0].Run, "x"}, {"../healthz", ""}} {
		var last error
		for _, err := range c.Stream(t.Context(), c2[0], c2[1]).Events() {
			last = err
		}
		if f, ok := errors.AsType[*fault.Error](last); !ok || f.Code != fault.NotFound && f.Code != fault.InvalidRequest {
			t.Errorf("%v: %v", c2, last)
		}
	}
}

func TestRefusalsAreFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   fault.Error
	}{
		"of the server":    {400, `{"type":"error","code":"INVALID_REQUEST","message":"query: required","field":"query"}`, fault.Error{Code: fault.InvalidRequest, Message: "query: required", Field: "query"}},
		"of the service":   {400, `{"code":"INVALID_REQUEST","message":"input: required","detail":{"field":"input"}}`, fault.Error{Code: fault.InvalidRequest, Message: "input: required", Field: "input"}},
		"as OpenAI's":      {404, `{"error":{"code":"model_not_found","message":"no such model","param":"model"}}`, fault.Error{Code: fault.NotFound, Message: "no such model", Field: "model"}},
		"of the other":     {413, `{"code":1,"message":"too big"}`, fault.Error{Code: fault.TooLarge, Message: "too big"}},
		"of a proxy":       {502, "<html>bad gateway</html>", fault.Error{Code: fault.Internal, Message: "the server answered 502"}},
		"without a body":   {500, "", fault.Error{Code: fault.Internal, Message: "the server answered 500"}},
		"with another one": {404, `{"detail":"x"}`, fault.Error{Code: fault.NotFound, Message: "the server answered 404"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(h.Close)
			_, _, err := told(t, dial(t, h.URL, client.Options{Backoff: 1}))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Code != c.want.Code || f.Message != c.want.Message || f.Field != c.want.Field {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestBasesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "localhost:8000", "ftp://x", "http://", "://", "http://a b"} {
		if _, err := client.New(base, client.Options{}); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
}
