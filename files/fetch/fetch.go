// Package fetch fetches URLs from untrusted users. It only connects to public addresses, and limits the size and time of responses.
package fetch

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Resolver looks up the addresses of a host, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	maxHeader    = 64 << 10 // bytes of the header of a response
	maxRedirects = 5
)

// Options configure a [Fetcher]. The zero value works.
type Options struct {
	Allow    []netip.Prefix // ranges to which connections are allowed although they are not public
	MaxBytes int64          // maximum size of a response, compressed and decompressed; default 64 MiB
	Timeout  time.Duration  // of a fetch with its redirects; default 2 minutes
	// Permit is appended to errors about addresses that are not public. It tells users how to permit such addresses. It may be empty.
	Permit   string
	Resolver Resolver // default [net.DefaultResolver]
	TLS      *tls.Config
	// KeepAlive keeps a connection to each host open for the next request, and opens no second one while a request is in progress.
	KeepAlive bool
}

// Fetcher fetches URLs. It is safe for concurrent use.
type Fetcher struct {
	opts   Options
	client *http.Client
}

// New returns a fetcher. It keeps no cookies, and no connections unless KeepAlive is set. It uses no proxy, since it could not check the
// addresses that a proxy connects to.
func New(o Options) *Fetcher {
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), 64<<20)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 2*time.Minute)
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	f := &Fetcher{opts: o}
	f.client = &http.Client{
		Transport: &http.Transport{
			DialContext: f.dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: 15 * time.Second,
			MaxResponseHeaderBytes: maxHeader, DisableKeepAlives: !o.KeepAlive, DisableCompression: true,
			MaxConnsPerHost: connections(o.KeepAlive), MaxIdleConns: 100, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: f.redirect,
	}
	return f
}

// connections is the maximum number of connections to a host; 0 is no limit.
func connections(keepAlive bool) int {
	if keepAlive {
		return 1
	}
	return 0
}

// Check returns an error if the URL is never fetched. It does not look up the host; Fetch checks the addresses.
func (f *Fetcher) Check(raw string) error {
	_, err := f.parse(raw)
	return err
}

func (f *Fetcher) parse(raw string) (*url.URL, error) {
	if len(raw) > 8<<10 {
		return nil, invalid("longer than 8 KiB")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, invalid("not a URL") // err contains the URL
	}
	return u, f.check(u)
}

func (f *Fetcher) check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return invalid("only http and https are fetched")
	case host == "" || len(host) > 253 || u.Opaque != "":
		return invalid("has no host")
	case u.User != nil:
		return invalid("contains a user name or password, which would be stored")
	}
	if addr, err := netip.ParseAddr(host); err == nil && !permitted(addr, f.opts.Allow) {
		return f.forbidden(host)
	}
	return nil
}

func invalid(why string) error { return fault.Invalid("url", "%s", why) }

// forbidden returns an error that contains only the host, so that it does not reveal addresses of a private network.
func (f *Fetcher) forbidden(host string) error {
	permit := ""
	if f.opts.Permit != "" {
		permit = ": " + f.opts.Permit
	}
	return invalid(fmt.Sprintf("%q is not at a public address%s", host, permit))
}

// Fetch writes the content of a URL to w and returns its media type in lower case, without parameters, or "" if the server sends none. Errors are
// [fault.Error]s for users that contain only the host of the URL. After an error, w may have received a part of the content.
func (f *Fetcher) Fetch(ctx context.Context, raw string, w io.Writer) (mediaType string, err error) {
	res, err := f.Get(ctx, Request{URL: raw}, w)
	if err == nil && res.Status != http.StatusOK {
		return "", fault.New(fault.Unavailable, "%q answered with status %d", res.Host, res.Status)
	}
	return res.MediaType, err
}

// currentHost is the host of the last redirect, in the context of a fetch.
type currentHost struct{ name string }

type hostKey struct{}

// writeError is an error of the writer that receives the content.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// reason describes an error without addresses and URLs, which the errors of net/http contain.
func reason(err error) string {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isDNS && dns.IsNotFound:
		return "was not found"
	case isDNS:
		return "could not be looked up"
	case isCert:
		return "has a certificate that is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused the connection"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "closed the connection before all was sent"
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return "sent invalid gzip data"
	}
	return "could not be read"
}

// writer wraps the errors of a writer in writeError.
type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// redirect checks the URL of a redirect. Its address is checked when dial connects to it.
func (f *Fetcher) redirect(req *http.Request, via []*http.Request) error {
	if direct, ok := req.Context().Value(directKey{}).(bool); ok && direct {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return fault.New(fault.Unavailable, "%q redirects more than %d times", via[0].URL.Hostname(), maxRedirects)
	}
	req.Header.Del("Referer") // the previous URL, whose query may contain a secret
	if err := f.check(req.URL); err != nil {
		return err
	}
	if at, ok := req.Context().Value(hostKey{}).(*currentHost); ok {
		at.name = req.URL.Hostname()
	}
	return nil
}

// dial connects to the first address of a host that answers. It checks the address of the connection itself, so that a second lookup of the name
// cannot return another address.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = f.opts.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 15 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !permitted(to.Addr(), f.opts.Allow) {
			return f.forbidden(host)
		}
		return nil
	}}
	// A host that also has addresses that are not permitted is rejected.
	for _, addr := range addrs {
		if !permitted(addr, f.opts.Allow) {
			return nil, f.forbidden(host)
		}
	}
	err = &net.DNSError{Err: "no such host", IsNotFound: true}
	for _, addr := range addrs[:min(len(addrs), 4)] {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
