package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/modeltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.TestChat(t, func(url string, stall time.Duration) model.Chat {
		return open(t, anthropic.Options{URL: url, Key: modeltest.Key, Model: "claude-sonnet-4-6", Stall: stall})
	}, os.DirFS("testdata"))
}

func open(t testing.TB, o anthropic.Options) *anthropic.Chat {
	t.Helper()
	c, err := anthropic.New(o)
	require.NoError(t, err)
	return c
}

// TestContextError checks that a cancelled context returns its own error and not a failure of the model.
func TestContextError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil { // a server sees that its client left only once it has read all
			t.Error(err)
		}
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	silent := open(t, anthropic.Options{URL: server.URL})
	for range 2 { // while it is silent, and when it has ended
		for _, err := range silent.Complete(ctx, model.Request{}) {
			if err != context.Canceled { //nolint:errorlint // it must be ctx's and no model.Error around it
				t.Errorf("the error is %#v", err)
			}
		}
	}
}

func TestMaxAnswer(t *testing.T) {
	t.Parallel()
	delta := `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("x", 900<<10) + `"}}` + "\n\n"
	given := reader(strings.Repeat(delta, 10))
	c := open(t, anthropic.Options{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &given}})
	said, failed := 0, error(nil)
	for p, err := range c.Complete(t.Context(), model.Request{}) {
		said += len(p.Text)
		failed = err
	}
	if e, ok := errors.AsType[*model.Error](failed); !ok || e.Failure != model.Malformed || said > 4<<20 {
		t.Errorf("after %d bytes the error is %v", said, failed)
	}
}

// BenchmarkToken measures the cost of a token from the connection to the caller.
func BenchmarkToken(b *testing.B) {
	text, err := os.ReadFile("testdata/good.txtar")
	require.NoError(b, err)
	_, body, _ := strings.Cut(string(text), "-- response --")
	_, body, _ = strings.Cut(body, "\n\n")
	at := strings.Index(body, "event: content_block_delta")
	delta := body[at : at+strings.Index(body[at:], "\n\n")+2]
	given := reader(body[:at] + strings.Repeat(delta, b.N) + body[at:])
	c := open(b, anthropic.Options{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &given}})
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range c.Complete(b.Context(), model.Request{}) {
		if err != nil && b.N < 10000 { // of more the answer becomes too long
			b.Fatal(err)
		}
	}
}
