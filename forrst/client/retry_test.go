package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// request is what a server gets.
type request struct {
	at         time.Time
	header     http.Header
	ID         string
	Context    map[string]any
	Call       struct{ Function, Version string }
	Extensions []struct {
		URN     string
		Options map[string]any
	}
}

func (r request) option(urn, name string) any {
	for _, e := range r.Extensions {
		if e.URN == urn {
			return e.Options[name]
		}
	}
	return nil
}

// direct is a transport to a handler in the same process. It records the requests.
type direct struct {
	http.Handler
	requests []request
}

func (d *direct) Send(ctx context.Context, out client.Outgoing) iter.Seq2[client.Message, error] {
	return func(yield func(client.Message, error) bool) {
		r := request{at: time.Now(), header: out.Header}
		if err := json.Unmarshal(out.Body, &r); err != nil {
			panic(err)
		}
		d.requests = append(d.requests, r)
		hr := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(string(out.Body)))
		hr.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, hr)
		m := client.Message{Status: w.Code, Header: w.Header()}
		if w.Header().Get("Content-Type") == "text/event-stream" {
			for event := range strings.SplitSeq(w.Body.String(), "\n\n") {
				m.Body = []byte(event)
				if !yield(m, nil) {
					return
				}
			}
			return
		}
		m.Body = w.Body.Bytes()
		if ctx.Err() != nil {
			yield(m, ctx.Err())
			return
		}
		yield(m, nil)
	}
}

// failing returns a function that fails n times with a code.
func failing(n int, code forrst.Code) forrst.Function {
	return forrst.Func("f", "1.0.0", func(context.Context, none) (string, error) {
		if n--; n >= 0 {
			return "", forrst.Errorf(code, "no")
		}
		return "yes", nil
	})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	const s = time.Second
	safe := client.CallOptions{Repeatable: true}
	for name, c := range map[string]struct {
		fails   int
		code    forrst.Code
		options client.Options
		call    client.CallOptions
		timeout time.Duration
		waits   [][2]time.Duration // from, to
		ok      bool
	}{
		"not safe":            {1, forrst.Unavailable, client.Options{}, client.CallOptions{}, 0, nil, false},
		"exponential":         {3, forrst.Unavailable, client.Options{}, safe, 0, [][2]time.Duration{{s / 2, s}, {s, 2 * s}, {2 * s, 4 * s}}, true},
		"server's limit":      {9, forrst.InternalError, client.Options{}, safe, 0, [][2]time.Duration{{s / 2, s}, {s, 2 * s}, {2 * s, 4 * s}}, false},
		"client's limit":      {9, forrst.Unavailable, client.Options{MaxAttempts: 2}, safe, 0, [][2]time.Duration{{s / 2, s}}, false},
		"no attempts":         {9, forrst.Unavailable, client.Options{MaxAttempts: 1}, safe, 0, nil, false},
		"fixed":               {1, forrst.FunctionDisabled, client.Options{}, safe, 0, [][2]time.Duration{{30 * s, 30 * s}}, true},
		"too long":            {1, forrst.FunctionDisabled, client.Options{MaxRetryWait: 29 * s}, safe, 0, nil, false},
		"beyond the deadline": {1, forrst.FunctionDisabled, client.Options{}, safe, 20 * s, nil, false},
		"immediate":           {9, forrst.DeadlineExceeded, client.Options{}, safe, 0, [][2]time.Duration{{0, 0}}, false},
		"not retryable":       {1, forrst.NotFound, client.Options{}, safe, 0, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &direct{Handler: server(t, failing(c.fails, c.code))}
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				out, err := client.Call[string](ctx, client.New(d, c.options), "f", nil, c.call)
				if c.ok != (err == nil && out == "yes") || err != nil && client.CodeOf(err) != c.code {
					t.Error(out, err)
				}
				if len(d.requests) != len(c.waits)+1 {
					t.Fatalf("%d attempts instead of %d", len(d.requests), len(c.waits)+1)
				}
				for i, wait := range c.waits {
					if got := d.requests[i+1].at.Sub(d.requests[i].at); got < wait[0] || got > wait[1] {
						t.Errorf("wait %d is %v instead of %v", i, got, wait)
					}
					if d.requests[i+1].ID == d.requests[i].ID {
						t.Error("the id is used again")
					}
				}
			})
		})
	}
}

// TestEndlessAdvice has a server that always advises to repeat the call at once.
func TestEndlessAdvice(t *testing.T) {
	t.Parallel()
	d := &direct{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, strings.Replace(head, "@ID", string(idOf(body)), 1)+`"result":null,"errors":[{"code":"UNAVAILABLE","message":"m"}],
			"extensions":[{"urn":"urn:forrst:ext:retry","data":{"allowed":true,"strategy":"immediate"}}]}`)
	})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := client.New(d, client.Options{}).Do(ctx, "f", nil, client.CallOptions{Repeatable: true})
	if client.CodeOf(err) != forrst.Unavailable || len(d.requests) != 10 {
		t.Error(len(d.requests), err)
	}
}

// TestRetryKeepsKey checks that all attempts of a call have the same idempotency key, and that one allows to repeat the call.
func TestRetryKeepsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d *direct
		d = &direct{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if len(d.requests) < 3 {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = w.Write([]byte("<html>"))
				return
			}
			_, _ = w.Write([]byte(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"` + d.requests[2].ID + `","result":1}`))
		})}
		key := client.NewID()
		out, err := client.Call[int](t.Context(), client.New(d, client.Options{}), "f", nil, client.CallOptions{IdempotencyKey: key})
		if err != nil || out != 1 || len(d.requests) != 3 || d.requests[1].at.Sub(d.requests[0].at) != 7*time.Second {
			t.Error(out, err, d.requests)
		}
		for _, r := range d.requests {
			if r.option("urn:forrst:ext:idempotency", "key") != key {
				t.Error(r)
			}
		}
	})
}

// broken fails some times before it passes calls on.
type broken struct {
	*direct
	fails int
	after []client.Message
}

func (b *broken) Send(ctx context.Context, out client.Outgoing) iter.Seq2[client.Message, error] {
	if b.fails--; b.fails < 0 {
		return b.direct.Send(ctx, out)
	}
	return func(yield func(client.Message, error) bool) {
		for _, m := range b.after {
			if !yield(m, nil) {
				return
			}
		}
		yield(client.Message{}, errors.New("connection refused"))
	}
}

// TestStreamIsRepeatedBeforeItsFirstEvent checks that a client repeats streams that fail before their first event, and no others.
func TestStreamIsRepeatedBeforeItsFirstEvent(t *testing.T) {
	t.Parallel()
	greeting := client.Message{Body: []byte("event: data\ndata: {\"status\":\"connected\"}")}
	event := client.Message{Body: []byte("event: data\ndata: 7")}
	for _, c := range []struct {
		after []client.Message
		want  string
	}{{nil, "0 1 done "}, {[]client.Message{greeting}, "0 1 done "}, {[]client.Message{greeting, event}, "7 error "}} {
		synctest.Test(t, func(t *testing.T) {
			b := &broken{direct: &direct{Handler: server(t)}, fails: 2, after: c.after}
			var got strings.Builder
			for e, err := range client.New(b, client.Options{}).Stream(t.Context(), "count", number{2}, client.CallOptions{Repeatable: true}) {
				switch {
				case err != nil:
					got.WriteString("error ")
				case e.Kind == client.KindDone:
					got.WriteString("done ")
				default:
					got.WriteString(string(e.Data) + " ")
				}
			}
			if got.String() != c.want {
				t.Errorf("after %d messages: %s", len(c.after), got.String())
			}
		})
	}
}

// TestDeadline checks what the server is told of the deadline, and that the client waits a second longer for its error.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var wait time.Duration
		d := &direct{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			wait = time.Since(began)
		})}
		for _, c := range []struct {
			options client.Options
			want    any
			wait    time.Duration
		}{{client.Options{}, 2000.0, 3 * time.Second}, {client.Options{NoDeadline: true}, nil, 2 * time.Second}} {
			began = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := client.New(d, c.options).Do(ctx, "f", nil)
			cancel()
			last := d.requests[len(d.requests)-1]
			if !errors.Is(err, context.DeadlineExceeded) || last.option("urn:forrst:ext:deadline", "value") != c.want || wait != c.wait {
				t.Error(err, last, wait)
			}
		}
		// The end of the context for another reason is not delayed.
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		if _, err := client.New(d, client.Options{}).Do(ctx, "f", nil); !errors.Is(err, context.Canceled) || wait != time.Second {
			t.Error(err, wait)
		}
	})
}

// TestEndedContextCancels checks that a call with a token is cancelled by another call when its context ends.
func TestEndedContextCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var started, cancelled bool
		var why error
		s := server(t, forrst.Func("f", "1.0.0", func(ctx context.Context, _ none) (none, error) {
			started = true
			<-ctx.Done()
			why = context.Cause(ctx)
			return none{}, nil
		}))
		// A proxy that does not tell the server that the client is gone.
		d := &direct{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			done := make(chan none)
			go func() { defer close(done); s.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context()))) }()
			select {
			case <-done:
			case <-r.Context().Done():
			}
		})}
		c := client.New(d, client.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Do(ctx, "f", nil, client.CallOptions{Token: "tok"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		var e *forrst.CallError
		cancelled = errors.As(why, &e) && e.Code == forrst.Cancelled
		if !started || !cancelled || len(d.requests) != 2 {
			t.Error(started, why, d.requests)
		}
		// A call that has ended is not cancelled.
		if _, err := c.Do(t.Context(), "count", number{1}, client.CallOptions{Token: "tok2"}); err != nil {
			t.Error(err)
		}
		for _, err := range c.Stream(t.Context(), "count", number{1}, client.CallOptions{Token: "tok3"}) {
			if err != nil {
				t.Error(err)
			}
		}
		if c.Close(); len(d.requests) != 4 {
			t.Error(d.requests[4:])
		}
		for _, err := range c.Stream(t.Context(), "count", number{1}, client.CallOptions{Token: "tok3"}) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if c.Close(); len(d.requests) != 6 || d.requests[5].Call.Function != "urn:forrst:ext:cancellation:fn:cancel" {
			t.Error(d.requests[4:])
		}
	})
}

func TestRequest(t *testing.T) {
	t.Parallel()
	d := &direct{Handler: server(t)}
	audit := client.Extension{URN: "urn:example:forrst:ext:audit", Options: map[string]any{"level": 2}}
	tenant := client.Extension{URN: "urn:example:forrst:ext:tenant"}
	c := client.New(d, client.Options{
		Header:      func(context.Context) http.Header { return http.Header{"Authorization": {"Bearer x"}, "X-Other": {"1"}} },
		Traceparent: func(context.Context) string { return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
		Extensions:  func(context.Context) []client.Extension { return []client.Extension{tenant} },
	})
	_, err := c.Do(t.Context(), "count", number{1}, client.CallOptions{Version: "1", Context: map[string]any{"caller": "me"},
		Extensions: []client.Extension{audit}, Header: http.Header{"X-Other": {"2"}}})
	require.NoError(t, err)
	r := d.requests[0]
	if r.Call.Version != "1" || r.Context["caller"] != "me" || r.option(audit.URN, "level") != 2.0 ||
		!slices.ContainsFunc(r.Extensions, func(e struct {
			URN     string
			Options map[string]any
		}) bool {
			return e.URN == tenant.URN
		}) {
		t.Error(r)
	}
	if r.header.Get("Authorization") != "Bearer x" || r.header.Get("X-Other") != "2" || !strings.HasPrefix(r.header.Get("Traceparent"), "00-0af") {
		t.Error(r.header)
	}
	if _, err := c.Do(t.Context(), "count", nil, client.CallOptions{}, client.CallOptions{}); err == nil {
		t.Error("two CallOptions are accepted")
	}
	if _, err := c.Do(t.Context(), "count", make(chan int)); err == nil {
		t.Error("a channel is encoded")
	}
}
