package socket_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/socket"
	"github.com/sluice-rag/sluice/forrst/transporttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// serve serves in the background until the function that it returns is called.
func serve(t testing.TB, l net.Listener, s *forrst.Server, o socket.Options) (stop func()) {
	t.Helper()
	return transporttest.Background(t, func(ctx context.Context) error { return socket.Serve(ctx, l, s, o) })
}

func listen(t testing.TB) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.Listen(path)
	require.NoError(t, err)
	return l, path
}

func TestUnix(t *testing.T) {
	transporttest.Run(t, func(t testing.TB, s *forrst.Server) (client.Transport, func()) {
		l, path := listen(t)
		return socket.New("unix", path, socket.ClientOptions{}), serve(t, l, s, socket.Options{})
	})
}

func TestTCP(t *testing.T) {
	transporttest.Run(t, func(t testing.TB, s *forrst.Server) (client.Transport, func()) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return socket.New("tcp", l.Addr().String(), socket.ClientOptions{}), serve(t, l, s, socket.Options{})
	})
}
