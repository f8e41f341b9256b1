package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/output"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/openai"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	var log output.Buffer
	modeltest.TestChat(t, func(url string, stall time.Duration) model.Chat {
		return open(t, openai.Options{
			URL: url, Key: modeltest.Key, Model: "gpt-4o-mini", Stall: stall,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
	}, os.DirFS("testdata"))
	t.Cleanup(func() { // the recordings run at once, and end before
		if text := log.String(); strings.Contains(text, modeltest.Key) || strings.Contains(text, "sluice?") {
			t.Errorf("the log holds a secret:\n%s", text)
		}
	})
}

// open returns a model.
func open(t testing.TB, o openai.Options) *openai.Chat {
	t.Helper()
	c, err := openai.New(o)
	require.NoError(t, err)
	return c
}

// text sends a request and returns the text of the answer.
func text(ctx context.Context, c model.Chat, r model.Request) (string, error) {
	var b strings.Builder
	for p, err := range c.Complete(ctx, r) {
		if err != nil {
			return b.String(), err
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"file:///etc/passwd", "127.0.0.1:8080", "http://", "/v1", "http://user:secret@:0x/", "ftp://host/v1", "http://a b/", "://secret",
	} {
		if _, err := openai.New(openai.Options{URL: url, Model: "m"}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error is %v", url, err)
		}
	}
	if _, err := openai.New(openai.Options{Key: "secret\nX-Other: 1", Model: "m"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a key of two lines: the error is %v", err)
	}
}

// TestAddress checks the URL and headers of requests, which must not depend on the environment.
func TestAddress(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-environment")
	t.Setenv("OPENAI_BASE_URL", "http://environment.invalid/v1")
	t.Setenv("OPENAI_ORG_ID", "org-environment")
	t.Setenv("OPENAI_PROJECT_ID", "proj-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: environment")
	seen := make(chan *http.Request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"}}]}`)
	}))
	defer s.Close()
	bare := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct{ url, key, path, authorization string }{
		{s.URL, "", "/v1/chat/completions", ""},
		{s.URL + "/", "k", "/v1/chat/completions", "Bearer k"},
		{s.URL + "/v1", "k", "/v1/chat/completions", "Bearer k"},
		{s.URL + "/v1/", "k", "/v1/chat/completions", "Bearer k"},
		{s.URL + "/api/v1/", "k", "/api/v1/chat/completions", "Bearer k"},
		{s.URL + "/openai?api-version=7#x", "k", "/openai/chat/completions?api-version=7", "Bearer k"},
		{"http://user:pass@" + bare, "", "/v1/chat/completions", "Basic dXNlcjpwYXNz"},
		{"http://user:pass@" + bare, "k", "/v1/chat/completions", "Bearer k"},
	} {
		got, err := text(t.Context(), open(t, openai.Options{URL: c.url, Key: c.key, Model: "m"}), modeltest.Ask())
		if err != nil || got != "yes" {
			t.Fatalf("%s: %q, %v", c.url, got, err)
		}
		r := <-seen
		if r.URL.String() != c.path || r.Header.Get("Authorization") != c.authorization {
			t.Errorf("%s: asked %s with %q", c.url, r.URL, r.Header.Get("Authorization"))
		}
		if head := fmt.Sprint(r.Header); strings.Contains(head, "environment") {
			t.Errorf("the environment came through: %s", head)
		}
	}
}

// TestErrorsHideAddresses sends requests to an unreachable URL that contains secrets.
func TestErrorsHideAddresses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c := open(t, openai.Options{URL: "http://user:hunter2@" + strings.TrimPrefix(s.URL, "http://") + "/v1?token=hunter2", Key: "hunter2"})
	_, err := text(t.Context(), c, modeltest.Ask())
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Failure != model.Unreachable {
		t.Fatalf("the error is %v", err)
	}
	if all := err.Error() + c.Name() + fmt.Sprintf("%+v", failed.Cause); strings.Contains(all, "hunter2") {
		t.Errorf("a secret stands in %s", all)
	}
}

// TestUnsupportedParametersAreRemembered sends two requests to a server that rejects the temperature.
func TestUnsupportedParametersAreRemembered(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"temperature"`)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"temperature is not supported","param":"temperature"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"}}]}`)
	}))
	defer s.Close()
	c := open(t, openai.Options{URL: s.URL, Model: "m"})
	ask, warm := modeltest.Ask(), 0.7
	ask.Temperature = &warm
	for i, want := range []int32{2, 3} {
		if got, err := text(t.Context(), c, ask); err != nil || got != "yes" || requests.Load() != want {
			t.Errorf("%d: %q, %v after %d requests", i, got, err, requests.Load())
		}
	}
}

// TestModel uses the first model that the server lists.
func TestModel(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Models: []string{"one", "two"}})
	c := open(t, openai.Options{URL: s.URL})
	if got := c.Name(); !strings.HasPrefix(s.URL, "http://"+got) {
		t.Errorf("before it is known the name is %q", got)
	}
	if _, err := text(t.Context(), c, modeltest.Ask()); err != nil {
		t.Fatal(err)
	}
	var sent struct{ Model string }
	if err := json.Unmarshal(s.Requests()[0], &sent); err != nil || sent.Model != "one" || c.Name() != "one" {
		t.Errorf("asked for %q, by the name %q, %v", sent.Model, c.Name(), err)
	}
	none := open(t, openai.Options{URL: modeltest.NewOpenAI(t, modeltest.Script{Models: []string{}}).URL})
	if _, err := text(t.Context(), none, modeltest.Ask()); err == nil {
		t.Error("a server without models gave an answer")
	}
}

// TestStallIsAnIdleTimeout sends pieces for longer than the stall timeout, with shorter pauses.
func TestStallIsAnIdleTimeout(t *testing.T) {
	t.Parallel()
	const stall = 500 * time.Millisecond
	s := modeltest.NewOpenAI(t, modeltest.Script{Tokens: strings.Fields(strings.Repeat("a ", 16)), Every: stall / 12})
	if _, err := text(t.Context(), open(t, openai.Options{URL: s.URL, Model: "m", Stall: stall}), modeltest.Ask()); err != nil {
		t.Fatal(err)
	}
}

// TestSlowReaderDoesNotStall reads for longer than the stall timeout, which must not count against the server.
func TestSlowReaderDoesNotStall(t *testing.T) {
	t.Parallel()
	const stall = 400 * time.Millisecond
	s := modeltest.NewOpenAI(t, modeltest.Script{})
	for _, err := range open(t, openai.Options{URL: s.URL, Model: "m", Stall: stall}).Complete(t.Context(), modeltest.Ask()) {
		require.NoError(t, err)
		<-time.After(stall / 4) // nine pieces take two of it
	}
}

// TestConnectionsAreReused streams many answers twice over the same connections.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	const streams = 40
	s := modeltest.NewOpenAI(t, modeltest.Script{Every: time.Millisecond})
	c := open(t, openai.Options{URL: s.URL, Model: "m"})
	for round := range 2 {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				if got, err := text(t.Context(), c, modeltest.Ask()); err != nil || got != "A sluice is a gate for water." {
					t.Errorf("round %d: %q, %v", round, got, err)
				}
			})
		}
		wg.Wait()
	}
	if got := s.Opened(); got > streams+streams/4 { // some streams open a connection before another one is returned
		t.Errorf("%d connections were opened for %d streams at once, twice", got, streams)
	}
}

// TestConnectionIsReusedAfterALateEnd sends the end of the body after the last piece was read. The connection must be reused.
func TestConnectionIsReusedAfterALateEnd(t *testing.T) {
	t.Parallel()
	read := make(chan struct{}, 1)
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		_ = http.NewResponseController(w).Flush()
		<-read
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := open(t, openai.Options{URL: s.URL, Model: "m"})
	for range 5 {
		for p, err := range c.Complete(t.Context(), modeltest.Ask()) {
			require.NoError(t, err)
			if p.Stop != "" {
				read <- struct{}{}
			}
		}
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections were opened for answers one after another", opened.Load())
	}
}

// TestCancelEndsRequests cancels many answers at the same time.
func TestCancelEndsRequests(t *testing.T) {
	t.Parallel()
	const streams = 20
	s := modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Stall, After: 2})
	c := open(t, openai.Options{URL: s.URL, Model: "m"})
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			if _, err := text(ctx, c, modeltest.Ask()); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	s.Wait(t, func(n modeltest.Counts) bool { return n.Tokens == 2*streams })
	end()
	wg.Wait()
	s.Wait(t, func(n modeltest.Counts) bool { return n.Cancelled == streams && n.Running == 0 })
}

// TestScript plays the failures of the test server.
func TestScript(t *testing.T) {
	t.Parallel()
	for how, want := range map[modeltest.Failure]model.Failure{
		modeltest.Cut: model.Truncated, modeltest.Stall: model.Stalled, modeltest.Broken: model.ServerError, modeltest.Junk: model.Malformed,
		modeltest.Refuse: model.RateLimited,
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewOpenAI(t, modeltest.Script{Fail: how, After: 3, Status: 429, RetryAfter: 2 * time.Second})
			got, err := text(t.Context(), open(t, openai.Options{URL: s.URL, Model: "m", Stall: 200 * time.Millisecond}), modeltest.Ask())
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Failure != want {
				t.Fatalf("%q and %v", got, err)
			}
			if how == modeltest.Refuse {
				if failed.RetryAfter != 2*time.Second {
					t.Errorf("it asks to wait %v", failed.RetryAfter)
				}
			} else if got != "A sluice is" {
				t.Errorf("the text is %q", got)
			}
			n := s.Wait(t, func(n modeltest.Counts) bool { return n.Running == 0 })
			if diff := cmp.Diff(1, n.Requests); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRetryAfter checks the limit of the Retry-After header.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]time.Duration{
		"3": {3 * time.Second, 3 * time.Second}, "0.5": {time.Second / 2, time.Second / 2}, "-1": {}, "soon": {}, "NaN": {},
		"1e300": {time.Hour, time.Hour}, "Inf": {time.Hour, time.Hour},
		time.Now().Add(time.Minute).UTC().Format(http.TimeFormat):     {50 * time.Second, time.Minute},
		time.Now().Add(1e5 * time.Hour).UTC().Format(http.TimeFormat): {time.Hour, time.Hour},
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):      {},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		_, err := text(t.Context(), open(t, openai.Options{URL: s.URL, Model: "m"}), modeltest.Ask())
		s.Close()
		if failed, ok := errors.AsType[*model.Error](err); !ok || failed.RetryAfter < want[0] || failed.RetryAfter > want[1] {
			t.Errorf("%s: %+v", value, failed)
		}
	}
}

// BenchmarkComplete measures a token of an answer over loopback, including the test server.
func BenchmarkComplete(b *testing.B) {
	const tokens = 1000
	s := modeltest.NewOpenAI(b, modeltest.Script{Tokens: strings.Fields(strings.Repeat("a ", tokens))})
	c := open(b, openai.Options{URL: s.URL, Model: "m"})
	for i := 0; i < b.N; i += tokens {
		if _, err := text(b.Context(), c, modeltest.Ask()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDefaultModelOfOpenAI checks that OpenAI has a default model, since its list of models has no order.
func TestDefaultModelOfOpenAI(t *testing.T) {
	c, err := openai.New(openai.Options{Key: "sk-x"})
	require.NoError(t, err)
	if limits := c.Limits(t.Context()); !strings.HasPrefix(c.Name(), "gpt-") || limits.Context < 100_000 {
		t.Errorf("%s with %+v", c.Name(), limits)
	}
}
