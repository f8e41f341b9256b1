package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// TestBodyThatNeverArrives sends headers that announce a body, and no body. On every route, net/http would wait for the
// body before it writes a reply.
func TestBodyThatNeverArrives(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(3, 1)...), engine.Options{}, server.Options{BodyTimeout: 50 * time.Millisecond})
	run, _ := s.answered("why?")
	for head, want := range map[string]string{ // empty: any reply or none
		"POST /nope HTTP/1.1\r\n":                                               "",
		"GET /api/runs HTTP/1.1\r\n":                                            "",
		"POST /api/query/stream HTTP/1.1\r\nContent-Type: text/plain\r\n":       "",
		"POST /api/query/stream HTTP/1.1\r\nContent-Type: application/json\r\n": "HTTP/1.1 408 ",
		"POST /api/query/stream HTTP/1.1\r\nSluice-Run-Id: " + run + "\r\n":     "",
	} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		defer c.Close()
		if _, err := fmt.Fprintf(c, "%sHost: localhost\r\nContent-Length: 10\r\n\r\n", head); err != nil {
			t.Fatal(err)
		}
		// If the server waits forever, this ends with the time limit of the test.
		got, err := io.ReadAll(c)
		if err != nil {
			t.Logf("%q: %v", head, err)
		}
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("%q: %q, want %s", head, got, want)
		}
	}
}

// TestClientThatDoesNotRead requests large replies and does not read them.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(3, 1)...), engine.Options{}, server.Options{WriteTimeout: 100 * time.Millisecond})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	// The requests are larger than the buffers of the connection. When the server gives up, a write fails here.
	for {
		if _, err := io.WriteString(c, "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return
		}
	}
}

func TestForeignHostIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(3, 1)...), engine.Options{}, server.Options{AllowHosts: []string{"sluice.example"}})
	for host, want := range map[string]int{
		"evil.example": 403, "evil.example:80": 403, "127.0.0.1.evil.example": 403, "10.0.0.1": 403,
		"localhost": 200, "localhost:9": 200, "127.0.0.1:9": 200, "[::1]:9": 200, "sluice.example": 200, "SLUICE.example:1": 200,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/runs", nil)
		require.NoError(t, err)
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, res.StatusCode, want)
		}
	}
}

func TestPlaceIsFreeWhenTheEndIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(3, 1)...), engine.Options{MaxRuns: 1}, server.Options{})
	for range 50 {
		res := s.ask("why?")
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d after the run before has ended", res.StatusCode)
		}
		if evs := whole(t, res); evs[len(evs)-1].Name != "done" {
			t.Fatal("no done")
		}
	}
}
