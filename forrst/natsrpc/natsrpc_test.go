package natsrpc_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/natsrpc"
	"github.com/sluice-rag/sluice/forrst/transporttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

func connect(t testing.TB, s *natstest.Server, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.URL(), append([]nats.Option{nats.MaxReconnects(-1)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// serve serves in the background until the function that it returns is called. It returns when requests are accepted.
func serve(t testing.TB, nc *nats.Conn, subject string, s *forrst.Server, o natsrpc.Options) (stop func()) {
	t.Helper()
	stop = transporttest.Background(t, func(ctx context.Context) error { return natsrpc.Serve(ctx, nc, subject, s, o) })
	c := client.New(natsrpc.New(nc, subject, natsrpc.ClientOptions{}), client.Options{})
	for {
		if _, err := c.Ping(t.Context()); err == nil {
			return stop
		}
	}
}

func TestNATS(t *testing.T) {
	b := natstest.New(t)
	transporttest.Run(t, func(t testing.TB, s *forrst.Server) (client.Transport, func()) {
		subject := "rpc." + client.NewID()
		stop := serve(t, connect(t, b), subject, s, natsrpc.Options{})
		return natsrpc.New(connect(t, b), subject, natsrpc.ClientOptions{}), stop
	})
}
