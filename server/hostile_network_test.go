package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// TestBodyThatNeverArrives sends headers that announce a body, and only its first byte. net/http waits for the body before it writes a reply.
func TestBodyThatNeverArrives(t *testing.T) {
	t.Parallel()
	refuse := func(http.ResponseWriter, *http.Request) error { return fault.New(fault.NotFound, "no such thing") }
	read := func(_ http.ResponseWriter, r *http.Request) error { return server.DecodeJSON(r, new(struct{})) }
	routes := []server.Route{{Method: "POST", Path: "/refuse", Serve: refuse}, {Method: "POST", Path: "/read", Serve: read},
		{Method: "POST", Path: "/upload", BodyIdle: 20 * time.Second, Serve: read}, {Method: "POST", Path: "/upload/refuse", BodyIdle: 20 * time.Second, Serve: refuse}}
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(3, 1)...), engine.Options{}, server.Options{Routes: routes})
		defer s.close()
		run, _ := s.answered("why?")
		for _, c := range []struct {
			head   string
			status int
			wait   time.Duration
		}{
			{"POST /nope", 404, 30 * time.Second}, {"POST /nope HTTP/1.1\r\nOrigin: https://evil.example", 403, 30 * time.Second}, {"GET /api/runs", 200, 30 * time.Second}, {"POST /api/query/stream", 408, 30 * time.Second},
			{"POST /api/query", 408, 30 * time.Second}, {"POST /api/query HTTP/1.1\r\nContent-Type: text/plain", 415, 30 * time.Second},
			{"POST /api/query/stream HTTP/1.1\r\nSluice-Run-Id: " + run, 408, 30 * time.Second}, {"POST /refuse", 404, 30 * time.Second},
			{"POST /read", 408, 30 * time.Second}, {"POST /upload", 408, 20 * time.Second}, {"POST /upload/refuse", 404, 20 * time.Second},
		} {
			head := c.head
			if !strings.Contains(head, "HTTP/1.1") {
				head += " HTTP/1.1\r\nContent-Type: application/json"
			}
			began, conn := time.Now(), s.dial()
			write(t, conn, head+"\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
			got, _ := io.ReadAll(conn) // until the server closes the connection
			if took := time.Since(began).Round(time.Second); took > c.wait+time.Second || !strings.HasPrefix(string(got), fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%q: after %s: %.100q, want %d after %s", c.head, took, got, c.status, c.wait)
			}
			_ = conn.Close()
		}
	})
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
