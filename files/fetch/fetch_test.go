package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// loopback allows connections to the servers of the tests.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// names is a resolver of a few hosts. Each lookup returns the next answer for a host, and then the last one again.
type names struct {
	answers map[string][][]string
	asked   map[string]*atomic.Int32
}

func newNames(answers map[string][][]string) names {
	n := names{answers, map[string]*atomic.Int32{}}
	for host := range answers {
		n.asked[host] = new(atomic.Int32)
	}
	return n
}

func (n names) LookupNetIP(_ context.Context, _, host string) (out []netip.Addr, err error) {
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	turn := int(n.asked[host].Add(1)) - 1
	for _, a := range answers[min(turn, len(answers)-1)] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// serve starts a server and returns its URL and its number of requests.
func serve(t *testing.T, h http.HandlerFunc) (string, *atomic.Int32) {
	t.Helper()
	asked := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func text(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "Text/Plain; charset=utf-8")
	_, _ = io.WriteString(w, "Ferns.")
}

// named returns the URL of a server with a host name instead of its address.
func named(t *testing.T, at, host string) string {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	u.Host = host + ":" + u.Port()
	return u.String()
}

// fails checks that a fetch fails with a code, and returns the message.
func fails(t *testing.T, f *fetch.Fetcher, at string, code fault.Code) string {
	t.Helper()
	_, err := f.Fetch(t.Context(), at, io.Discard)
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("%s: error %v, want %s", at, err, code)
	}
	return e.Error()
}

func TestFetch(t *testing.T) {
	t.Parallel()
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("headers %v", r.Header)
		}
		switch {
		case r.URL.Path == "/to":
			w.Header().Set("Set-Cookie", "a=b")
			http.Redirect(w, r, "/end?q=1", http.StatusFound)
		default:
			text(w, r)
		}
	})
	f := fetch.New(fetch.Options{Allow: loopback, Resolver: newNames(map[string][][]string{"docs.example": {{"127.0.0.1"}}})})
	for _, u := range []string{at + "/x", at + "/to?secret=1", named(t, at, "docs.example") + "/to"} {
		var b strings.Builder
		media, err := f.Fetch(t.Context(), u, &b)
		if err != nil || media != "text/plain" || b.String() != "Ferns." {
			t.Errorf("%s: %q of %q, %v", u, b.String(), media, err)
		}
	}
}

func TestFetchRejectsURLs(t *testing.T) {
	t.Parallel()
	f := fetch.New(fetch.Options{})
	for _, u := range []string{
		"", "ftp://example.org/x", "file:///etc/passwd", "gopher://example.org", "//example.org/x", "http:", "http:///x", "http:example.org",
		"https://user:hunter2@example.org/", "https://hunter2@example.org/", "http://\x00/", "http://exa mple/", "http://[::1", "http://:80/",
		"http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://[::ffff:10.0.0.1]/",
		"http://0.0.0.0/", "http://[::]/", "http://[64:ff9b::a00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1%25eth0]/", "http://" + strings.Repeat("a", 9000),
	} {
		err := f.Check(u)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidRequest || e.Field != "url" {
			t.Errorf("%q: %v", u, err)
		} else if strings.Contains(e.Error(), "hunter2") || strings.Contains(e.Error(), "meta-data") {
			t.Errorf("%q: the error reveals too much: %v", u, err)
		}
		fails(t, f, u, fault.InvalidRequest)
	}
	for _, u := range []string{"http://example.org", "HTTPS://Example.ORG:8443/a?b#c", "http://93.184.215.14/", "http://[2606:2800:21f::1]/"} {
		if err := f.Check(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"127.0.0.1", "127.255.0.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "0.1.2.3",
		"192.0.0.170", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "fe80::1", "fc00::1", "fdff::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "3fff::1", "2001::1", "100::1", "5f00::1", "fec0::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:a00:1::1", "2002:a9fe:a9fe::",
		"64:ff9b::ffff:ffff",
	} {
		f := fetch.New(fetch.Options{Resolver: newNames(map[string][][]string{"h.example": {{addr}}})})
		if msg := fails(t, f, "http://h.example/secret-path", fault.InvalidRequest); strings.Contains(msg, addr) && addr != "::" || strings.Contains(msg, "secret") {
			t.Errorf("%s: the error reveals too much: %s", addr, msg)
		}
		// A host that also has a permitted address is rejected as well.
		f = fetch.New(fetch.Options{Resolver: newNames(map[string][][]string{"h.example": {{"93.184.215.14", addr}}})})
		fails(t, f, "http://h.example/", fault.InvalidRequest)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing leaves this machine
	for _, addr := range []string{"93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:2800:21f::1", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"} {
		f := fetch.New(fetch.Options{Resolver: newNames(map[string][][]string{"h.example": {{addr}}})})
		if _, err := f.Fetch(ctx, "http://h.example/", io.Discard); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestFetchChecksConnections(t *testing.T) {
	t.Parallel()
	inside, asked := serve(t, text)
	// The first lookup of the name returns a public address, and later ones a private address.
	hosts := newNames(map[string][][]string{"rebind.example": {{"93.184.215.14"}, {"127.0.0.1"}}})
	if _, err := hosts.LookupNetIP(t.Context(), "ip", "rebind.example"); err != nil {
		t.Fatal(err)
	}
	fails(t, fetch.New(fetch.Options{Resolver: hosts}), named(t, inside, "rebind.example"), fault.InvalidRequest)

	// Redirects from an allowed URL to a private name, another scheme, and a URL with credentials.
	f := fetch.New(fetch.Options{Allow: loopback, Resolver: newNames(map[string][][]string{"inside.example": {{"10.0.0.1"}}})})
	for _, to := range []string{"http://inside.example", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd", "http://a:hunter2@127.0.0.1" + strings.TrimPrefix(inside, "http://127.0.0.1")} {
		outside, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) })
		if msg := fails(t, f, outside, fault.InvalidRequest); strings.Contains(msg, "hunter2") {
			t.Errorf("%s: %s", to, msg)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the private server received %d requests", n)
	}
}

func TestFetchRejectsPrivateRedirects(t *testing.T) {
	t.Parallel()
	// Two servers on two loopback addresses: the first is allowed, the second is not.
	inside, asked := serve(t, text)
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Skip(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside, http.StatusFound)
	})}}
	s.Start()
	defer s.Close()
	f := fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	if msg := fails(t, f, s.URL, fault.InvalidRequest); !strings.Contains(msg, "127.0.0.1") {
		t.Error(msg)
	}
	if asked.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

func TestFetchIgnoresProxies(t *testing.T) {
	proxy, asked := serve(t, text)
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("HTTPS_PROXY", proxy)
	f := fetch.New(fetch.Options{Resolver: newNames(map[string][][]string{"h.example": {{"10.0.0.1"}}})})
	fails(t, f, "http://h.example/", fault.InvalidRequest)
	if asked.Load() != 0 {
		t.Error("the proxy was used")
	}
}

func TestFetchLimits(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 1024 {
		_, _ = z.Write(make([]byte, 1<<10))
	}
	_ = z.Close()
	hops := new(atomic.Int32)
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/said":
			w.Header().Set("Content-Length", "1000001")
		case "/unsaid":
			for range 200 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
		case "/broken":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is no gzip at all")
		case "/head":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		case "/round":
			http.Redirect(w, r, fmt.Sprintf("/round?%d", hops.Add(1)), http.StatusFound)
		case "/slow":
			_, _ = io.WriteString(w, "a")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/silent":
			<-r.Context().Done()
		case "/gone":
			http.NotFound(w, r)
		}
	})
	f := fetch.New(fetch.Options{Allow: loopback, MaxBytes: 100 << 10})
	for path, want := range map[string]fault.Code{
		"/said": fault.TooLarge, "/unsaid": fault.TooLarge, "/bomb": fault.TooLarge, "/brotli": fault.Unavailable, "/broken": fault.Unavailable,
		"/head": fault.Unavailable, "/cut": fault.Unavailable, "/round": fault.Unavailable, "/gone": fault.Unavailable,
	} {
		if msg := fails(t, f, at+path+"?secret", want); strings.Contains(msg, "secret") || !strings.Contains(msg, "127.0.0.1") {
			t.Errorf("%s: %s", path, msg)
		}
	}
	if n := hops.Load(); n != 6 {
		t.Errorf("%d hops", n)
	}
	hasty := fetch.New(fetch.Options{Allow: loopback, Timeout: 50 * time.Millisecond})
	for _, path := range []string{"/slow", "/silent"} {
		fails(t, hasty, at+path, fault.Timeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := f.Fetch(ctx, at+"/slow", writes(func() { cancel() })); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// writes calls itself with each write.
type writes func()

func (w writes) Write(p []byte) (int, error) { w(); return len(p), nil }

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFetchReturnsWriterErrors(t *testing.T) {
	t.Parallel()
	at, _ := serve(t, text)
	if _, err := fetch.New(fetch.Options{Allow: loopback}).Fetch(t.Context(), at, full{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestFetchDecodes(t *testing.T) {
	t.Parallel()
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asks for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "Ferns.")
		_ = z.Close()
	})
	var b strings.Builder
	if _, err := fetch.New(fetch.Options{Allow: loopback}).Fetch(t.Context(), at, &b); err != nil || b.String() != "Ferns." {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestFetchTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(text))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	if _, err := fetch.New(fetch.Options{Allow: loopback, TLS: &tls.Config{RootCAs: pool}}).Fetch(t.Context(), s.URL, io.Discard); err != nil {
		t.Error(err)
	}
	if msg := fails(t, fetch.New(fetch.Options{Allow: loopback}), s.URL, fault.Unavailable); !strings.Contains(msg, "certificate") {
		t.Error(msg)
	}
}
