package anthropic_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/modeltest"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	modeltest.Exercise(t, func(url string, stall time.Duration) model.Chat {
		return open(t, anthropic.Options{URL: url, Key: modeltest.Key, Model: "claude-sonnet-4-6", Stall: stall})
	}, os.DirFS("testdata"))
}

func open(t testing.TB, o anthropic.Options) *anthropic.Chat {
	t.Helper()
	c, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// BenchmarkToken measures what a token costs from the connection to the caller.
func BenchmarkToken(b *testing.B) {
	text, err := os.ReadFile("testdata/good.txtar")
	if err != nil {
		b.Fatal(err)
	}
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
