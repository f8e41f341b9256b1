package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// TestStartingServer replies to health checks during the start, and loses no request when the server takes over.
func TestStartingServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o := server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}, Instance: "one"}
	starting := server.NewStarting(l.(*net.TCPListener), o)
	url := "http://" + l.Addr().String()
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/healthz", 200, `"status":"starting"`},
		{"GET", "/readyz", 503, `"progress":{"phase":"opening","files_done":0,"files_total":0,"answering":false}`},
		{"POST", "/api/query/stream", 503, `"type":"error"`},
		{"POST", "/v1/responses", 503, `{"code":"UNAVAILABLE"`},
		{"GET", "/api/runs", 503, "the server is starting"},
	} {
		status, header, body := fetch(t, c.method, url+c.path)
		if status != c.status || !strings.Contains(body, c.want) || status == 503 && header.Get("Retry-After") != "1" {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}

	var asked atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			for {
				status, _, body := fetch(t, "GET", url+"/healthz")
				var h server.Health
				if err := json.Unmarshal([]byte(body), &h); err != nil || status != 200 || h.Instance != "one" {
					t.Errorf("%d %s", status, body)
				}
				asked.Add(1)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for asked.Load() < 50 {
	}
	starting.Stop()
	s, err := server.New(engine.New(saying(everything(1, 1)...), engine.Options{}), o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	for from := asked.Load(); asked.Load() < from+50; {
	}
	close(done)
	wg.Wait()
	if status, _, body := fetch(t, "GET", url+"/readyz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func fetch(t *testing.T, method, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(""))
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, http.Header{}, ""
	}
	return res.StatusCode, res.Header, slurp(t, res.Body)
}
