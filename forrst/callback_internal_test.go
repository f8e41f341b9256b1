package forrst

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestCallbackURLs(t *testing.T) {
	t.Parallel()
	secret := []byte("s")
	all := newCallbacks(AsyncOptions{CallbackSecret: secret})
	some := newCallbacks(AsyncOptions{CallbackSecret: secret, CallbackHosts: []string{"Hooks.example.com", "10.0.0.1"}})
	anywhere := newCallbacks(AsyncOptions{CallbackSecret: secret, CallbacksAnywhere: true})
	long := "https://example.com/" + strings.Repeat("a", maxCallbackURL)
	for _, c := range []struct {
		c    *callbacks
		url  string
		want string // a part of the error; empty: accepted
	}{
		{all, "https://example.com", ""},
		{all, "https://example.com:8443/a?b=c", ""},
		{all, "https://93.184.216.34/", ""},
		{all, "https://[2606:4700::1]/", ""},
		{all, long[:maxCallbackURL], ""},
		{all, long[:maxCallbackURL+1], "2048"},
		{all, "", "1 to"},
		{all, "http://example.com", "https"},
		{all, "ftp://example.com", "https"},
		{all, "//example.com", "https"},
		{all, "/path", "absolute"},
		{all, "https:example.com", "absolute"},
		{all, "https://", "absolute"},
		{all, "https://:443", "absolute"},
		{all, "https://exa mple.com", "absolute"},
		{all, "https://user@example.com", "credentials"},
		{all, "https://user:hunter2@example.com", "credentials"},
		{all, "https://example.com/#x", "fragment"},
		{all, "https://localhost", "public"},
		{all, "https://LOCALHOST.", "public"},
		{all, "https://a.localhost/", "public"},
		{all, "https://127.0.0.1/", "public"},
		{all, "https://169.254.169.254/latest", "public"},
		{all, "https://[::1]/", "public"},
		{all, "https://[::ffff:10.0.0.1]/", "public"},
		{all, "https://[fe80::1%25eth0]/", "public"},
		{some, "https://hooks.EXAMPLE.com/x", ""},
		{some, "https://example.com/x", "allowed"},
		{some, "https://hooks.example.com.evil.net/x", "allowed"},
		{some, "https://10.0.0.1/x", "public"},
		{anywhere, "http://localhost:80/x", ""},
		{anywhere, "https://10.0.0.1/x", ""},
		{anywhere, "ftp://10.0.0.1/x", "https"},
		{nil, "https://example.com", "secret"},
	} {
		raw, _ := json.Marshal(c.url)
		if err := c.c.check(raw); (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v, want %q", c.url, err, c.want)
		}
	}
	if all.check(json.RawMessage(`1`)) == nil || all.check(json.RawMessage(`["https://example.com"]`)) == nil {
		t.Error("a URL that is no string was accepted")
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "223.255.255.255": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.9.9.9": false, "169.254.169.254": false, "172.31.255.255": false,
		"192.168.1.1": false, "198.19.0.1": false, "224.0.0.1": false, "239.1.1.1": false, "255.255.255.255": false, "::": false, "::1": false,
		"::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "fc00::1": false, "fe80::1": false, "ff02::1": false, "2002:7f00:1::": false,
		"2001::1": false, "2001:db8::1": false,
	} {
		if got := publicAddress(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is public: %t", text, got)
		}
	}
}

// TestCallbackDial has names and redirects that lead to this machine.
func TestCallbackDial(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := newCallbacks(AsyncOptions{CallbackSecret: []byte("s")})
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"} { // as if the check of the URL had passed
		if err := c.post(t.Context(), "http://"+net.JoinHostPort(strings.Trim(host, "[]"), port), nil); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if transport, ok := c.client.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("a proxy would make the connection")
	}
}

// pipes is a listener in memory, so that servers and clients run in a bubble.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestCallbackAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statuses []int // 0 never replies
		want     string
	}{
		"success":        {[]int{200}, "0s"},
		"another 2xx":    {[]int{204}, "0s"},
		"second attempt": {[]int{503, 200}, "0s 1s"},
		"backoff":        {[]int{500, 429, 408, 502, 200}, "0s 1s 3s 7s"},
		"refused":        {[]int{404, 200}, "0s"},
		"redirect":       {[]int{307, 200}, "0s"},
		"hangs":          {[]int{0, 200}, "0s 11s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var attempts []string
				l := pipes{make(chan net.Conn)}
				receiver := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if want := `{"protocol":{"name":"forrst","version":"0.1.0"},"callback":{"operation_id":"op_1","original_request_id":"r1","status":"completed","result":null,"completed_at":"2000-01-01T00:00:00.000Z"}}`; string(body) != want || r.URL.Path != "/hook" {
						t.Errorf("%s got %s", r.URL, body)
					}
					status := c.statuses[len(attempts)]
					attempts = append(attempts, time.Since(began).String())
					w.Header().Set("Location", "/other")
					if status == 0 {
						<-r.Context().Done()
						return
					}
					w.WriteHeader(status)
					for range 100 { // more than is read
						if _, err := fmt.Fprint(w, strings.Repeat("x", 1000)); err != nil {
							return
						}
					}
				})}
				done := make(chan struct{})
				go func() { defer close(done); _ = receiver.Serve(l) }()
				cb := newCallbacks(AsyncOptions{CallbackSecret: []byte("s"), CallbacksAnywhere: true})
				cb.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
					a, b := net.Pipe()
					l.conns <- b
					return a, nil
				}
				cb.send(t.Context(), "http://receiver/hook", Operation{ID: "op_1", RequestID: "r1", Status: OperationCompleted, Completed: began}, Outcome{})
				if got := strings.Join(attempts, " "); got != c.want {
					t.Errorf("attempts at %s, want %s", got, c.want)
				}
				close(l.conns)
				_ = receiver.Close()
				<-done
			})
		})
	}
}
