package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/openai"
)

// waiting starts a server whose handlers can wait for the end of the test.
func waiting(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, over <-chan struct{})) string {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, over) }))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL
}

func TestInvalidModelNames(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"control": `evil\u001b[31m`, "line": `two\nlines`, "hidden": `m\u202ex`, "endless": strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pages(t, map[string]string{"GET /v1/models": `{"data":[{"id":"` + id + `","max_model_len":4096}]}`})
			c := open(t, openai.Options{URL: url})
			c.Limits(t.Context())
			if _, err := text(t.Context(), c, model.Request{Messages: user("Hi")}); err == nil {
				t.Error("a model of that name was asked")
			}
			if got := c.Name(); got != strings.TrimPrefix(url, "http://") {
				t.Errorf("named %.40q", got)
			}
			if _, err := openai.NewEmbedder(t.Context(), openai.EmbedOptions{URL: url}); err == nil {
				t.Error("an embedder of that name was made")
			}
		})
	}
}

// TestCountTimeout checks that Count does not wait repeatedly for a server that does not respond.
func TestCountTimeout(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	url := waiting(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		switch r.URL.Path {
		case "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"m","owned_by":"llamacpp"}]}`)
		case "/props":
			_, _ = io.WriteString(w, `{"default_generation_settings":{"n_ctx":4096}}`)
		case "/tokenize":
			asked.Add(1)
			select {
			case <-over:
			case <-r.Context().Done():
			}
		}
	})
	c := open(t, openai.Options{URL: url, Stall: 50 * time.Millisecond})
	move := openai.SetClock(c, time.Unix(1e9, 0))
	for _, s := range []string{"one", "two", "three"} {
		if n := c.Count(t.Context(), s); n == 0 {
			t.Error("no estimate")
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	move(time.Unix(1e9+61, 0))
	c.Count(t.Context(), "four")
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times after a minute", n)
	}
}

// TestStreamStaysOpen checks that a complete answer does not wait for a server that keeps the stream open.
func TestStreamStaysOpen(t *testing.T) {
	t.Parallel()
	url := waiting(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	c := open(t, openai.Options{URL: url, Model: "m", Stall: time.Hour})
	if got, err := text(t.Context(), c, model.Request{Messages: user("Hi")}); err != nil || got != "Hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEmbedStalls(t *testing.T) {
	t.Parallel()
	url := waiting(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		_, _ = io.WriteString(w, `{"data":[`)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	e := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m", Stall: 20 * time.Millisecond})
	_, err := e.Embed(t.Context(), []string{"a"}, model.ForPassage)
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Failure != model.Stalled {
		t.Errorf("got %v", err)
	}
}

// TestPerTokenIsNotRetried checks that PerToken does not retry a failed request.
func TestPerTokenIsNotRetried(t *testing.T) {
	t.Parallel()
	asked := 0
	e := newEmbedder(t, openai.EmbedOptions{Model: "m", URL: embedServer(t, func(n int, _ sent) (int, string, string) {
		asked = n
		return http.StatusServiceUnavailable, "", ""
	})})
	if e.PerToken(t.Context()) {
		t.Error("it is said to give vectors of tokens")
	}
	if asked != 0 {
		t.Errorf("asked again %d times", asked)
	}
}

// TestLimitsAreRetriedWithConfiguredContext checks that a server that was unreachable is asked again if the context window is configured.
func TestLimitsAreRetriedWithConfiguredContext(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	url := waiting(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		switch {
		case !up.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"m","owned_by":"llamacpp"}]}`)
		case r.URL.Path == "/props":
			_, _ = io.WriteString(w, `{"default_generation_settings":{"n_ctx":4096}}`)
		}
	})
	c := open(t, openai.Options{URL: url, Model: "m", Context: 2048})
	move := openai.SetClock(c, time.Unix(1e9, 0))
	if k := c.Tokenizer(t.Context()); k != "estimate" {
		t.Errorf("counted by %s", k)
	}
	up.Store(true)
	move(time.Unix(1e9+61, 0))
	if k, l := c.Tokenizer(t.Context()), c.Limits(t.Context()); k != "server" || l.Context != 2048 {
		t.Errorf("counted by %s, limits %+v", k, l)
	}
}
