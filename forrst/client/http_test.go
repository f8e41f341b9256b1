package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/transporttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// kept is a transport with connections of its own.
type kept struct {
	client.Transport
	connections *http.Transport
}

func (k kept) Close() error {
	k.connections.CloseIdleConnections()
	return nil
}

func TestHTTP(t *testing.T) {
	transporttest.Run(t, func(t testing.TB, s *forrst.Server) (client.Transport, func()) {
		ts := httptest.NewServer(s)
		connections := &http.Transport{MaxIdleConnsPerHost: 64}
		stop := func() {
			if err := ts.Config.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(ts.Close)
		return kept{client.HTTP(ts.URL, &http.Client{Transport: connections}), connections}, stop
	})
}

// TestConnectionsAreKept checks that a stream leaves its connection for the next one.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	ts := httptest.NewUnstartedServer(server(t))
	connections := make(chan net.Conn, 10)
	ts.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections <- c
		}
	}
	ts.Start()
	defer ts.Close()
	c := client.New(client.HTTP(ts.URL, ts.Client()), client.Options{})
	for range 5 {
		for _, err := range c.Stream(t.Context(), "count", number{3}) {
			require.NoError(t, err)
		}
	}
	if len(connections) != 1 {
		t.Errorf("%d connections for five streams", len(connections))
	}
}

// TestUnendedStream has a server that does not end the body after the last event: the client must not wait for it.
func TestUnendedStream(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: done\ndata: 1\n\nevent: complete\ndata: "+strings.Replace(head, "@ID", string(idOf(body)), 1)+`"result":{"streamed":true}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer ts.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for e, err := range client.New(client.HTTP(ts.URL, ts.Client()), client.Options{NoDeadline: true}).Stream(ctx, "f", nil) {
		if err != nil || e.Kind != client.KindDone {
			t.Error(e, err)
		}
	}
	<-gone
	if ctx.Err() != nil {
		t.Error("the client waits for the end of the body")
	}
}
