package natslog_test

import (
	"testing"

	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
)

// connect connects to NATS.
func connect(t testing.TB, urls string) *natsconn.Conn {
	t.Helper()
	c, err := natsconn.Connect(urls, natsconn.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// open opens a log over a connection of its own.
func open(t testing.TB, urls string, o natslog.Options) *natslog.Log {
	t.Helper()
	c := connect(t, urls)
	l, err := natslog.Open(t.Context(), c, o)
	require.NoError(t, err)
	require.CloseAfter(t, l)
	return l
}
