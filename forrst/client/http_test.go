package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/transporttest"
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
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(connections) != 1 {
		t.Errorf("%d connections for five streams", len(connections))
	}
}
