package socket_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/forrst/socket"
	"github.com/sluice-rag/sluice/forrst/transporttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

type none = struct{}

func frame(payload string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func dial(t testing.TB, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func write(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// read returns the payload of the next frame.
func read(t testing.TB, c net.Conn) string {
	t.Helper()
	var n uint32
	require.NoError(t, binary.Read(c, binary.BigEndian, &n))
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// expectEnd expects that the server closes the connection.
func expectEnd(t testing.TB, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	s, started, ended := transporttest.Waiting(t, forrst.Options{MaxRequest: 1000})
	l, path := listen(t)
	serve(t, l, s, socket.Options{})
	ping := transporttest.Request("forrst.ping", "")

	// Two calls over one connection, in small pieces.
	c := dial(t, path)
	for range 2 {
		for _, b := range frame(ping) {
			write(t, c, []byte{b})
		}
		if got := read(t, c); !strings.Contains(got, `"healthy"`) {
			t.Error(got)
		}
	}
	// A frame over the limit is refused, and the connection is still good.
	write(t, c, frame(strings.Repeat("x", 1001)))
	if got := read(t, c); !strings.Contains(got, "larger than 1000 bytes") || !strings.Contains(got, `"id":null`) {
		t.Error(got)
	}
	for _, nonsense := range []string{"", "GET / HTTP/1.1", "[]", "\xff\xfe"} {
		write(t, c, frame(nonsense))
		if got := read(t, c); !strings.Contains(got, `"errors"`) {
			t.Error(got)
		}
	}
	// Anything that is sent before the end of a reply ends the call and the connection.
	write(t, c, frame(transporttest.Request("wait", transporttest.StreamExtension)))
	if got := read(t, c); !strings.Contains(got, "connected") {
		t.Error(got)
	}
	<-started
	write(t, c, frame(ping))
	<-ended
	expectEnd(t, c)
	// So does the end of the connection.
	c = dial(t, path)
	write(t, c, frame(transporttest.Request("wait", transporttest.StreamExtension)))
	<-started
	c.Close()
	<-ended
}

// TestTimeouts checks that half-written frames and idle connections do not stay.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	for _, c := range []struct {
		o    socket.Options
		sent []byte
	}{
		{socket.Options{ReadTimeout: time.Millisecond}, []byte{0}},
		{socket.Options{ReadTimeout: time.Millisecond}, []byte{0, 0, 1, 0, '{'}},
		{socket.Options{ReadTimeout: time.Millisecond}, []byte{0xff, 0xff, 0xff, 0xff, '{'}},
		{socket.Options{IdleTimeout: time.Millisecond}, nil},
		{socket.Options{IdleTimeout: 50 * time.Millisecond}, frame(transporttest.Request("forrst.ping", ""))},
	} {
		l, path := listen(t)
		serve(t, l, s, c.o)
		nc := dial(t, path)
		if len(c.sent) > 0 {
			write(t, nc, c.sent)
		}
		expectEnd(t, nc)
	}
}

// TestMemory checks that a header alone allocates nothing.
func TestMemory(t *testing.T) {
	s, _, _ := transporttest.Waiting(t, forrst.Options{MaxRequest: 1 << 30})
	l, path := listen(t)
	stop := serve(t, l, s, socket.Options{Grace: time.Millisecond})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		c := dial(t, path)
		write(t, c, []byte{0x3f, 0xff, 0xff, 0xff, '{'})
		c.Close()
	}
	stop()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 50<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestMemoryOfIdleConnections checks that connections do not keep their last requests.
func TestMemoryOfIdleConnections(t *testing.T) {
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	l, path := listen(t)
	serve(t, l, s, socket.Options{})
	large := frame(strings.Repeat(" ", 900_000) + transporttest.Request("forrst.ping", ""))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 20 {
		c := dial(t, path)
		for _, b := range [][]byte{large, frame(transporttest.Request("forrst.ping", ""))} {
			write(t, c, b)
			if got := read(t, c); !strings.Contains(got, `"healthy"`) {
				t.Error(got)
			}
		}
	}
	if after := heap(); after > before+10<<20 {
		t.Errorf("20 idle connections keep %d bytes", after-before)
	}
}

// TestGraceOfSlowClients checks that a client which does not read cannot hold up the end of Serve, and one that does not write neither.
func TestGraceOfSlowClients(t *testing.T) {
	t.Parallel()
	began := make(chan none, 1)
	s, err := forrst.New([]forrst.Function{forrst.Func("large", "1.0.0", func(context.Context, none) (string, error) {
		began <- none{}
		return strings.Repeat("x", 9<<20), nil
	})}, forrst.Options{})
	require.NoError(t, err)
	l, path := listen(t)
	stop := serve(t, l, s, socket.Options{Grace: 50 * time.Millisecond, ReadTimeout: time.Hour})
	reader, writer := dial(t, path), dial(t, path)
	write(t, writer, []byte{0, 0, 1})
	write(t, reader, frame(transporttest.Request("large", "")))
	<-began
	stopped := make(chan none)
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Error("Serve waits for slow clients")
		reader.Close()
		writer.Close()
	}
}

// TestAuthenticationPanics checks that a panic of the hook ends the connection only.
func TestAuthenticationPanics(t *testing.T) {
	t.Parallel()
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	l, path := listen(t)
	first := true
	serve(t, l, s, socket.Options{MaxConnections: 1, Context: func(ctx context.Context, _ net.Conn) (context.Context, error) {
		if first {
			first = false
			panic("hunter2")
		}
		return ctx, nil
	}})
	expectEnd(t, dial(t, path))
	c := dial(t, path)
	write(t, c, frame(transporttest.Request("forrst.ping", "")))
	read(t, c)
}

// TestSlowClient checks that a client that does not read loses its connection after the write timeout.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	ended := make(chan none, 1)
	s, err := forrst.New([]forrst.Function{
		forrst.StreamFunc[none, any]("flood", "1.0.0", func(context.Context, none) iter.Seq2[forrst.Chunk, error] {
			return func(yield func(forrst.Chunk, error) bool) {
				for yield(forrst.Data(strings.Repeat("x", 10_000)), nil) {
				}
				ended <- none{}
			}
		}),
	}, forrst.Options{WriteTimeout: 50 * time.Millisecond})
	require.NoError(t, err)
	l, path := listen(t)
	serve(t, l, s, socket.Options{})
	c := dial(t, path)
	write(t, c, frame(transporttest.Request("flood", transporttest.StreamExtension)))
	<-ended
}

// TestMaxConnections checks that a connection over the limit is served when another one ends.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	l, path := listen(t)
	serve(t, l, s, socket.Options{MaxConnections: 1})
	first, second := dial(t, path), dial(t, path)
	write(t, first, frame(transporttest.Request("forrst.ping", "")))
	read(t, first)
	write(t, second, frame(transporttest.Request("forrst.ping", "")))
	require.NoError(t, second.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := second.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("two connections are served", err)
	}
	first.Close()
	require.NoError(t, second.SetReadDeadline(time.Time{}))
	read(t, second)
}

// TestGrace checks that a call that does not end is ended after the grace period.
func TestGrace(t *testing.T) {
	t.Parallel()
	s, started, ended := transporttest.Waiting(t, forrst.Options{})
	l, path := listen(t)
	stop := serve(t, l, s, socket.Options{Grace: 50 * time.Millisecond})
	idle, c := dial(t, path), dial(t, path)
	write(t, c, frame(transporttest.Request("wait", transporttest.StreamExtension)))
	<-started
	stop()
	<-ended
	expectEnd(t, idle)
}

func TestListenerFails(t *testing.T) {
	t.Parallel()
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	l, _ := listen(t)
	l.Close()
	if err := socket.Serve(t.Context(), l, s, socket.Options{}); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

type callerKey struct{}

// TestPeer checks that the credentials of the peer can decide.
func TestPeer(t *testing.T) {
	t.Parallel()
	var caller string
	s, _, _ := transporttest.Waiting(t, forrst.Options{Caller: func(ctx context.Context) string {
		caller, _ = ctx.Value(callerKey{}).(string)
		return caller
	}})
	l, path := listen(t)
	var refuse atomic.Bool
	serve(t, l, s, socket.Options{Context: func(ctx context.Context, conn net.Conn) (context.Context, error) {
		p, err := socket.PeerOf(conn)
		if runtime.GOOS != "linux" {
			return context.WithValue(ctx, callerKey{}, "me"), nil
		}
		if err != nil || int(p.UID) != os.Getuid() || int(p.PID) != os.Getpid() {
			t.Error(p, err)
		}
		if refuse.Load() {
			return nil, errors.New("no")
		}
		return context.WithValue(ctx, callerKey{}, "me"), nil
	}})
	c := client.New(socket.New("unix", path, socket.ClientOptions{}), client.Options{})
	if _, err := c.Ping(t.Context()); err != nil || caller != "me" {
		t.Error(err, caller)
	}
	c.Close()
	refuse.Store(true)
	c = client.New(socket.New("unix", path, socket.ClientOptions{}), client.Options{MaxAttempts: 1})
	if _, err := c.Ping(t.Context()); !errors.Is(err, client.ErrBroken) && err == nil {
		t.Error(err)
	}
	if _, err := socket.PeerOf(&net.TCPConn{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	l, path := listen(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Error(info.Mode(), err)
	}
	if _, err := socket.Listen(path); err == nil {
		t.Error("two listeners on one path")
	}
	l.Close()
	l.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left")
	}
	// The socket of a process that has crashed is replaced.
	crash := func() {
		old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		require.NoError(t, err)
		old.SetUnlinkOnClose(false)
		old.Close()
	}
	crash()
	if l, err = socket.Listen(path); err != nil {
		t.Fatal(err)
	}
	dial(t, path)
	l.Close()
	// One that is in use by a process that takes no lock is not.
	other, err := net.Listen("unix", path)
	require.NoError(t, err)
	if _, err := socket.Listen(path); err == nil {
		t.Error("a socket in use is replaced")
	}
	dial(t, path)
	other.Close()
	// Neither is a file.
	for _, name := range []string{path, path + "~"} {
		require.NoError(t, os.WriteFile(name, []byte("data"), 0o600))
		if _, err := socket.Listen(path); err == nil {
			t.Error("a file is replaced")
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != "data" {
			t.Error(string(got), err)
		}
		require.NoError(t, os.Remove(name))
	}
	if _, err := socket.Listen(filepath.Join(t.TempDir(), "none", "s")); err == nil {
		t.Error("no folder")
	}
}

// TestPool checks that connections are kept, and that one that the server has closed is not used.
func TestPool(t *testing.T) {
	t.Parallel()
	s, _, _ := transporttest.Waiting(t, forrst.Options{})
	l, path := listen(t)
	stop := serve(t, l, s, socket.Options{})
	dials := 0
	transport := socket.New("unix", path, socket.ClientOptions{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	c := client.New(transport, client.Options{})
	call := func() {
		t.Helper()
		if _, err := c.Do(t.Context(), "forrst.ping", nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		call()
	}
	if dials != 1 {
		t.Errorf("%d connections for five calls", dials)
	}
	stop()
	l, err := socket.Listen(path)
	require.NoError(t, err)
	serve(t, l, s, socket.Options{})
	call()
	if dials != 2 {
		t.Errorf("%d connections after a restart", dials)
	}
	c.Close()
	if _, err := c.Do(t.Context(), "forrst.ping", nil); err == nil {
		t.Error("a closed transport sends")
	}
}

// FuzzServer sends bytes to a server, and expects that every reply is made of frames.
func FuzzServer(f *testing.F) {
	s, _, _ := transporttest.Waiting(f, forrst.Options{MaxRequest: 1000})
	l, path := listen(f)
	serve(f, l, s, socket.Options{ReadTimeout: time.Second})
	f.Add(frame(transporttest.Request("forrst.ping", "")))
	f.Add(append(frame(transporttest.Request("forrst.ping", "")), frame("{")...))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1, '{'})
	f.Add([]byte{0, 0, 4, 0})
	f.Add(frame(strings.Repeat("x", 1001)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := dial(t, path).(*net.UnixConn)
		defer c.Close()
		if _, err := c.Write(data); err != nil {
			return
		}
		_ = c.CloseWrite()
		for {
			var n uint32
			if err := binary.Read(c, binary.BigEndian, &n); err != nil {
				if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
					t.Error(err)
				}
				return
			}
			var payload bytes.Buffer
			if _, err := io.CopyN(&payload, c, int64(n)); err != nil {
				t.Fatal(err)
			}
			if got := payload.String(); !strings.HasPrefix(got, `{"protocol"`) && !strings.HasPrefix(got, "event: ") {
				t.Errorf("the reply is %q", got)
			}
		}
	})
}

// FuzzClient sends replies of a hostile server to a client.
func FuzzClient(f *testing.F) {
	f.Add(frame("event: data\ndata: 1\n\n"))
	f.Add(append(frame(": keep-alive\n\n"), frame("event: complete\ndata: {}\n\n")...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			var n uint32
			if binary.Read(theirs, binary.BigEndian, &n) == nil {
				_, _ = io.CopyN(io.Discard, theirs, int64(n))
				_, _ = theirs.Write(data)
			}
		}()
		c := client.New(socket.New("", "", socket.ClientOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}),
			client.Options{MaxResponse: 1 << 16})
		defer c.Close()
		var last error
		for _, err := range c.Stream(t.Context(), "f", nil) {
			last = err
		}
		if last == nil {
			t.Error("a reply without the id of the request is accepted")
		}
	})
}

// pipe is a listener with one connection in memory.
type pipe struct {
	conns chan net.Conn
	close func()
}

func newPipe() (l pipe, client net.Conn) {
	client, server := net.Pipe()
	conns := make(chan net.Conn, 1)
	conns <- server
	return pipe{conns, sync.OnceFunc(func() { close(conns) })}, client
}

func (p pipe) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipe) Close() error   { p.close(); return nil }
func (p pipe) Addr() net.Addr { return nil }

// TestUnreadReply: a connection whose last frame could not be written is closed, because a part of the frame may have been sent.
func TestUnreadReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := transporttest.Waiting(t, forrst.Options{WriteTimeout: time.Second})
		l, c := newPipe()
		serve(t, l, s, socket.Options{IdleTimeout: time.Hour})
		began := time.Now()
		write(t, c, frame(transporttest.Request("forrst.ping", "")))
		time.Sleep(2 * time.Second)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
