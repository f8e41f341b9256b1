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
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Resolver looks up the addresses of a host, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure a [Fetcher]. The zero value works.
type Options struct {
	Allow     []netip.Prefix // ranges to which connections are allowed although they are not public
	MaxBytes  int64          // maximum size of a response, compressed and decompressed; default 64 MiB
	MaxHeader int64          // maximum size of the header of a response; default 64 KiB
	Timeout   time.Duration  // of a fetch with its redirects; default 2 minutes
	Redirects int            // maximum number of redirects; default 5; negative: none
	Resolver  Resolver       // default [net.DefaultResolver]
	TLS       *tls.Config
	Agent     string // User-Agent; default "sluice"
}

// Fetcher fetches URLs. It is safe for concurrent use.
type Fetcher struct {
	opts   Options
	client *http.Client
}

// New returns a fetcher. It keeps no connections and no cookies. It uses no proxy, since it could not check the addresses that a proxy connects to.
func New(o Options) *Fetcher {
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), 64<<20)
	o.MaxHeader = cmp.Or(max(o.MaxHeader, 0), 64<<10)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 2*time.Minute)
	o.Redirects = cmp.Or(o.Redirects, 5)
	o.Agent = cmp.Or(o.Agent, "sluice")
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	f := &Fetcher{opts: o}
	f.client = &http.Client{
		Transport: &http.Transport{
			DialContext: f.dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: 15 * time.Second,
			MaxResponseHeaderBytes: o.MaxHeader, DisableKeepAlives: true, DisableCompression: true,
		},
		CheckRedirect: f.redirect,
	}
	return f
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
		return forbidden(host)
	}
	return nil
}

func invalid(why string) error { return fault.Invalid("url", "%s", why) }

// forbidden returns an error that contains only the host, so that it does not reveal addresses of a private network.
func forbidden(host string) error {
	return invalid(fmt.Sprintf("%q is not at a public address", host))
}

// Fetch writes the content of a URL to w and returns its media type in lower case, without parameters, or "" if the server sends none. Errors are
// [fault.Error]s for users that contain only the host of the URL. After an error, w may have received a part of the content.
func (f *Fetcher) Fetch(ctx context.Context, raw string, w io.Writer) (mediaType string, err error) {
	u, err := f.parse(raw)
	if err != nil {
		return "", err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	at := &currentHost{u.Hostname()}
	mediaType, err = f.get(context.WithValue(ctx, hostKey{}, at), u, w)
	if err == nil {
		return mediaType, nil
	}
	coded, isCoded := errors.AsType[*fault.Error](err)
	_, isWrite := errors.AsType[*writeError](err)
	switch {
	case outer.Err() != nil:
		return "", outer.Err()
	case isCoded:
		return "", coded
	case isWrite:
		return "", err
	case ctx.Err() != nil:
		return "", fault.New(fault.Timeout, "%q took longer than %s", at.name, f.opts.Timeout)
	}
	return "", fault.New(fault.Unavailable, "%q %s", at.name, reason(err))
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

func (f *Fetcher) get(ctx context.Context, u *url.URL, w io.Writer) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", f.opts.Agent)
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Encoding", "identity")
	res, err := f.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	host := res.Request.URL.Hostname()
	if res.StatusCode != http.StatusOK {
		return "", fault.New(fault.Unavailable, "%q answered with status %d", host, res.StatusCode)
	}
	tooLarge := fault.New(fault.TooLarge, "the response of %q is larger than the limit of %d bytes", host, f.opts.MaxBytes)
	if res.ContentLength > f.opts.MaxBytes {
		return "", tooLarge
	}
	var body io.Reader = io.LimitReader(res.Body, f.opts.MaxBytes+1)
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip": // some servers send it although it was not requested; the limit stops decompression bombs
		if body, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	default:
		return "", fault.New(fault.Unavailable, "%q sends an unsupported encoding", host)
	}
	n, err := io.Copy(writer{w}, io.LimitReader(body, f.opts.MaxBytes+1))
	if n > f.opts.MaxBytes {
		return "", tooLarge
	}
	if err != nil {
		return "", err
	}
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || len(mediaType) > 127 {
		return "", nil // it can be detected from the content and the name
	}
	return mediaType, nil
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
	if len(via) > f.opts.Redirects {
		return fault.New(fault.Unavailable, "%q redirects more than %d times", via[0].URL.Hostname(), max(f.opts.Redirects, 0))
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
			return forbidden(host)
		}
		return nil
	}}
	// A host that also has addresses that are not permitted is rejected.
	for _, addr := range addrs {
		if !permitted(addr, f.opts.Allow) {
			return nil, forbidden(host)
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
