package natsrpc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/natsrpc"
	"github.com/sluice-rag/sluice/forrst/transporttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

type none = struct{}

const subject = "rpc.test"

// waiting has functions that wait for the end of their context, and one that floods its client.
func waiting(t testing.TB, o forrst.Options) (s *forrst.Server, started, ended chan none) {
	t.Helper()
	s, started, ended = transporttest.Waiting(t, o,
		forrst.StreamFunc[none, any]("flood", "1.0.0", func(context.Context, none) iter.Seq2[forrst.Chunk, error] {
			return func(yield func(forrst.Chunk, error) bool) {
				for yield(forrst.Data("x"), nil) {
				}
				ended <- none{}
			}
		}),
		forrst.Func("trace", "1.0.0", func(ctx context.Context, _ none) (string, error) {
			trace, _ := forrst.TraceOf(ctx)
			return trace.TraceID, nil
		}))
	return s, started, ended
}

// rawCall sends a request without the library's client.
func rawCall(t testing.TB, nc *nats.Conn, body string, header nats.Header) *nats.Subscription {
	t.Helper()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	require.NoError(t, err)
	require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox, Data: []byte(body), Header: header}))
	return sub
}

func next(t testing.TB, sub *nats.Subscription) *nats.Msg {
	t.Helper()
	m, err := sub.NextMsgWithContext(t.Context())
	require.NoError(t, err)
	return m
}

// TestLease ends a call whose client says nothing more.
func TestLease(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, started, ended := waiting(t, forrst.Options{})
	serve(t, connect(t, b), subject, s, natsrpc.Options{Lease: 100 * time.Millisecond})
	nc := connect(t, b)
	rawCall(t, nc, transporttest.Request("wait", transporttest.StreamExtension), nil)
	<-started
	nc.Close()
	<-ended

	// A client that lives renews the lease.
	c := client.New(natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.Stream(ctx, "wait", nil) {
		if err != nil {
			break
		}
		<-started
		select {
		case <-ended:
			t.Error("the call of a client that lives has ended")
		case <-time.After(400 * time.Millisecond): // four leases
		}
		cancel()
	}
	<-ended
}

// TestFlowControl checks that a server waits for acks, and gives up without them.
func TestFlowControl(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, _, ended := waiting(t, forrst.Options{WriteTimeout: 200 * time.Millisecond})
	serve(t, connect(t, b), subject, s, natsrpc.Options{})
	sub := rawCall(t, connect(t, b), transporttest.Request("flood", transporttest.StreamExtension), nil)
	if m := next(t, sub); m.Header.Get("Forrst-Control") == "" || m.Header.Get("Forrst-Lease") != "30000" {
		t.Error(m.Header)
	}
	<-ended
	for i := 1; i <= natsrpc.Window; i++ {
		if m := next(t, sub); m.Header.Get("Forrst-Seq") != strconv.Itoa(i) {
			t.Fatalf("message %d has the number %s", i, m.Header.Get("Forrst-Seq"))
		}
	}
	if m, err := sub.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("a message beyond the window: %s", m.Data)
	}
}

// TestAcks checks that acks open the window, and that those without sense do not.
func TestAcks(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, _, ended := waiting(t, forrst.Options{})
	serve(t, connect(t, b), subject, s, natsrpc.Options{})
	nc := connect(t, b)
	sub := rawCall(t, nc, transporttest.Request("flood", transporttest.StreamExtension), nil)
	control := next(t, sub).Header.Get("Forrst-Control")
	say := func(text string) {
		t.Helper()
		require.NoError(t, nc.Publish(control, []byte(text)))
	}
	for range natsrpc.Window {
		next(t, sub)
	}
	for _, nonsense := range []string{"ack 1000000", "ack -1", "ack ", "ack x", "", "ack 0"} {
		say(nonsense)
	}
	say("ack 1")
	if m := next(t, sub); m.Header.Get("Forrst-Seq") != strconv.Itoa(natsrpc.Window+1) {
		t.Error(m.Header)
	}
	if m, err := sub.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("a message beyond the window: %v", m.Header)
	}
	say("gone")
	<-ended
	// The server does not know the call any more, and says so.
	require.NoError(t, nc.PublishRequest(control, sub.Subject, []byte("ack 2")))
	for m := next(t, sub); m.Header.Get("Forrst-Unknown") == ""; m = next(t, sub) {
		if err := nc.PublishRequest(control, sub.Subject, []byte("ack 2")); err != nil { // it may not have ended yet
			t.Fatal(err)
		}
	}
}

// TestExpired checks that a request that has waited for longer than its deadline does not run.
func TestExpired(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, started, _ := waiting(t, forrst.Options{})
	serve(t, connect(t, b), subject, s, natsrpc.Options{})
	nc := connect(t, b)
	deadline := func(ms int64) string {
		return fmt.Sprintf(`{"urn":"urn:forrst:ext:deadline","options":{"value":%d,"unit":"millisecond"}}`, ms)
	}
	sent := func(ago time.Duration) nats.Header {
		return nats.Header{"Forrst-Sent": {strconv.FormatInt(time.Now().Add(-ago).UnixMicro(), 10)}}
	}
	for _, c := range []struct {
		header  nats.Header
		ms      int64
		expired bool
	}{
		{sent(2 * time.Second), 1000, true},
		{sent(0), 60_000, false},
		{sent(-time.Hour), 60_000, false},                  // from the future
		{sent(1000 * time.Hour), 7_200_000, false},         // at most an hour ago
		{sent(1000 * time.Hour), 1000, true},               //
		{nats.Header{"Forrst-Sent": {"x"}}, 60_000, false}, //
		{nil, 60_000, false},
	} {
		sub := rawCall(t, nc, transporttest.Request("trace", deadline(c.ms)), c.header)
		next(t, sub)
		if m := next(t, sub); strings.Contains(string(m.Data), "DEADLINE_EXCEEDED") != c.expired || m.Header.Get("Forrst-Last") == "" {
			t.Errorf("%v: %s", c, m.Data)
		}
	}
	if len(started) > 0 {
		t.Error("an expired call has run")
	}
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, started, ended := waiting(t, forrst.Options{})
	serve(t, connect(t, b), subject, s, natsrpc.Options{MaxCalls: 1})
	c := client.New(natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), client.Options{})
	for _, err := range c.Stream(t.Context(), "wait", nil) {
		if err != nil {
			// The call of the check that the server is there may be about to end.
			t.Fatal(err)
		}
		<-started
		_, err = c.Do(t.Context(), "trace", nil)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != forrst.Unavailable || e.Status != 503 || e.Retry == nil || !e.Retry.Allowed {
			t.Error(err)
		}
		break
	}
	<-ended
}

type callerKey struct{}

// TestHeaders checks that headers go both ways, and that a request can be authenticated by them.
func TestHeaders(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, _, _ := waiting(t, forrst.Options{Node: "n1", Authorize: func(ctx context.Context, _ *forrst.Call) error {
		if ctx.Value(callerKey{}) == nil {
			return forrst.Errorf(forrst.Forbidden, "no")
		}
		return nil
	}})
	o := natsrpc.Options{Context: func(ctx context.Context, m *nats.Msg) (context.Context, error) {
		switch m.Header.Get("Authorization") {
		case "":
			return nil, forrst.Errorf(forrst.Unauthorized, "no key")
		case "broken":
			return nil, errors.New("hunter2")
		case "panics":
			panic("hunter2")
		}
		return context.WithValue(ctx, callerKey{}, "me"), nil
	}}
	key := "Bearer x"
	options := client.Options{
		Header:      func(context.Context) http.Header { return http.Header{"Authorization": {key}} },
		Traceparent: func(context.Context) string { return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
	}
	server := connect(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- natsrpc.Serve(ctx, server, subject, s, o) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	c := client.New(natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), options)
	r, err := c.Do(t.Context(), "trace", nil, client.CallOptions{Repeatable: true})
	require.NoError(t, err)
	if string(r.Result) != `"0af7651916cd43dd8448eb211c80319c"` || r.Header.Get("X-Forrst-Node") != "n1" || r.Header.Get("X-Forrst-Request-Id") != r.ID {
		t.Errorf("%s %v", r.Result, r.Header)
	}
	key = ""
	if _, err := c.Do(t.Context(), "trace", nil); client.CodeOf(err) != forrst.Unauthorized {
		t.Error(err)
	}
	for _, key = range []string{"broken", "panics"} {
		if _, err := c.Do(t.Context(), "trace", nil); client.CodeOf(err) != forrst.InternalError || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	}
}

// TestNoServer checks the errors of a subject that nobody, or a foreigner, listens on.
func TestNoServer(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	nc := connect(t, b)
	c := client.New(natsrpc.New(nc, subject, natsrpc.ClientOptions{AcceptTimeout: 50 * time.Millisecond}), client.Options{})
	if _, err := c.Do(t.Context(), "f", nil); !errors.Is(err, natsrpc.ErrNoServer) {
		t.Error(err)
	}
	if _, err := nc.SubscribeSync(subject); err != nil { // and never answers
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), "f", nil); !errors.Is(err, natsrpc.ErrNoServer) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestHostileServer checks what the client makes of replies that break the rules.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	h := func(pairs ...string) nats.Header {
		out := nats.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out.Set(pairs[i], pairs[i+1])
		}
		return out
	}
	for name, c := range map[string]struct {
		messages []nats.Msg
		want     error
	}{
		"gap":            {[]nats.Msg{{Header: h("Forrst-Seq", "1"), Data: []byte("event: data\ndata: 1\n\n")}, {Header: h("Forrst-Seq", "3"), Data: []byte("event: data\ndata: 3\n\n")}}, natsrpc.ErrGap},
		"repeated":       {[]nats.Msg{{Header: h("Forrst-Seq", "1"), Data: []byte(":\n\n")}, {Header: h("Forrst-Seq", "1"), Data: []byte(":\n\n")}}, natsrpc.ErrGap},
		"not a number":   {[]nats.Msg{{Header: h("Forrst-Seq", "x"), Data: []byte("{}")}}, natsrpc.ErrGap},
		"unknown":        {[]nats.Msg{{Header: h("Forrst-Unknown", "true")}}, client.ErrBroken},
		"last too early": {[]nats.Msg{{Header: h("Forrst-Seq", "1", "Forrst-Last", "true"), Data: []byte("event: data\ndata: 1\n\n")}}, client.ErrBroken},
		"endless parts": {[]nats.Msg{{Header: h("Forrst-Seq", "1", "Forrst-More", "true"), Data: make([]byte, 900)},
			{Header: h("Forrst-Seq", "2", "Forrst-More", "true"), Data: make([]byte, 900)}}, client.ErrTooLarge},
		"server is lost": {[]nats.Msg{{Header: h("Forrst-Control", "nowhere", "Forrst-Lease", "30")}}, client.ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := connect(t, b)
			own := subject + "." + client.NewID()
			if _, err := nc.Subscribe(own, func(m *nats.Msg) {
				for _, reply := range c.messages {
					reply.Subject = m.Reply
					if err := nc.PublishMsg(&reply); err != nil {
						t.Error(err)
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, nc.Flush())
			var last error
			for _, err := range client.New(natsrpc.New(connect(t, b), own, natsrpc.ClientOptions{}), client.Options{MaxResponse: 1000}).Stream(t.Context(), "f", nil) {
				last = err
			}
			if !errors.Is(last, c.want) {
				t.Error(last)
			}
		})
	}
}

// TestSmallPayload checks a NATS server with a small limit: replies are cut and put together, requests are refused.
func TestSmallPayload(t *testing.T) {
	t.Parallel()
	b := natstest.Configured(t, "max_payload: 2000")
	s, err := forrst.New([]forrst.Function{forrst.StreamFunc[map[string]int, string]("long", "1.0.0", func(_ context.Context, in map[string]int) iter.Seq2[forrst.Chunk, error] {
		return func(yield func(forrst.Chunk, error) bool) {
			for i := range 10 {
				if !yield(forrst.Data(strings.Repeat(strconv.Itoa(i), in["n"])), nil) {
					return
				}
			}
			yield(forrst.Done(strings.Repeat("x", in["n"])), nil)
		}
	})}, forrst.Options{})
	require.NoError(t, err)
	serve(t, connect(t, b), subject, s, natsrpc.Options{})
	c := client.New(natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), client.Options{})
	for _, n := range []int{1, 1700, 1744, 1745, 200_000} {
		out, err := client.Call[string](t.Context(), c, "long", map[string]int{"n": n})
		if err != nil || out != strings.Repeat("x", n) {
			t.Error(n, len(out), err)
		}
		i := 0
		for e, err := range c.Stream(t.Context(), "long", map[string]int{"n": n}) {
			if err != nil || e.Kind == client.KindData && string(e.Data) != `"`+strings.Repeat(strconv.Itoa(i), n)+`"` {
				t.Fatal(n, err)
			}
			i++
		}
		if i != 11 {
			t.Error(i, "events")
		}
	}
	_, err = c.Do(t.Context(), "long", map[string]string{"n": strings.Repeat("x", 3000)})
	if !errors.Is(err, nats.ErrMaxPayload) || !strings.Contains(err.Error(), "2000 bytes") {
		t.Error(err)
	}
}

// TestReconnect restarts NATS under a server and a client.
func TestReconnect(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, _, _ := waiting(t, forrst.Options{})
	again := make(chan none, 10)
	fast := []nats.Option{nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectHandler(func(*nats.Conn) { again <- none{} })}
	serve(t, connect(t, b, fast...), subject, s, natsrpc.Options{})
	c := client.New(natsrpc.New(connect(t, b, fast...), subject, natsrpc.ClientOptions{}), client.Options{})
	b.Stop()
	b.Start(t)
	<-again
	<-again
	if _, err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClosedConnection checks that Serve returns and ends its calls when its connection is closed for good.
func TestClosedConnection(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, started, ended := waiting(t, forrst.Options{})
	nc := connect(t, b)
	done := make(chan error, 1)
	go func() { done <- natsrpc.Serve(t.Context(), nc, subject, s, natsrpc.Options{}) }()
	c := client.New(natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.Stream(ctx, "wait", nil, client.CallOptions{Repeatable: true}) {
		if err != nil {
			break
		}
		<-started
		nc.Close()
		<-ended
		if err := <-done; !errors.Is(err, nats.ErrConnectionClosed) {
			t.Error(err)
		}
		cancel()
	}
	if err := natsrpc.Serve(t.Context(), nc, subject, s, natsrpc.Options{}); err == nil {
		t.Error("a closed connection is served")
	}
}

// TestGrace ends a call that does not end by itself after the grace period.
func TestGrace(t *testing.T) {
	t.Parallel()
	b := natstest.New(t)
	s, started, ended := waiting(t, forrst.Options{})
	stop := serve(t, connect(t, b), subject, s, natsrpc.Options{Grace: 50 * time.Millisecond})
	rawCall(t, connect(t, b), transporttest.Request("wait", transporttest.StreamExtension), nil)
	<-started
	stop()
	<-ended
}
