// Package fetch gets what a URL leads to, where anybody may say which: it connects to public addresses alone, and bounds what an answer may cost.
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

// Resolver finds the addresses of a host, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are a [Fetcher]'s. The zero value works.
type Options struct {
	Allow     []netip.Prefix // ranges that may be connected to though they are not public
	MaxBytes  int64          // of an answer, as sent and as decoded; 64 MiB
	MaxHeader int64          // bytes of an answer's head; 64 KiB
	Timeout   time.Duration  // of all of it, with redirects; 2 minutes
	Redirects int            // that are followed; 5, and none if negative
	Resolver  Resolver       // [net.DefaultResolver]
	TLS       *tls.Config
	Agent     string // the User-Agent; "sluice"
}

// Fetcher gets URLs. Its methods may be called at once.
type Fetcher struct {
	opts   Options
	client *http.Client
}

// New returns a fetcher. It keeps no connections and no cookies, and uses no proxy: behind one, addresses could not be checked.
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

// Check tells at once what makes a URL one that is never fetched. Whether its host's addresses are permitted turns out when it is.
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
		return nil, invalid("not a URL") // the error's text holds all of it
	}
	return u, f.check(u)
}

func (f *Fetcher) check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return invalid("only http and https are fetched")
	case host == "" || len(host) > 253 || u.Opaque != "":
		return invalid("names no host")
	case u.User != nil:
		return invalid("holds a user name or password, which would be stored")
	}
	if addr, err := netip.ParseAddr(host); err == nil && !permitted(addr, f.opts.Allow) {
		return forbidden(host)
	}
	return nil
}

func invalid(why string) error { return fault.Invalid("url", "%s", why) }

// forbidden says no more than the host, so that nobody learns from it where in a private network a name leads.
func forbidden(host string) error {
	return invalid(fmt.Sprintf("%q is not at a public address", host))
}

// Fetch writes what a URL leads to to w, and says its media type in lower case, without parameters; empty where the server
// says none. Errors are [fault.Error]s fit to be shown, which name no more of a URL than its host; w may have got a part by then.
func (f *Fetcher) Fetch(ctx context.Context, raw string, w io.Writer) (mediaType string, err error) {
	u, err := f.parse(raw)
	if err != nil {
		return "", err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	at := &trail{host: u.Hostname()}
	mediaType, err = f.get(context.WithValue(ctx, trailKey{}, at), u, w)
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
		return "", fault.New(fault.Timeout, "%q took longer than %s", at.host, f.opts.Timeout)
	}
	return "", fault.New(fault.Unavailable, "%q %s", at.host, reason(err))
}

// trail is where a fetch is.
type trail struct{ host string }

type trailKey struct{}

// writeError is one of whoever gets the bytes.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// reason says what failed in words that hold no address and no URL: the errors of net/http hold both.
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
		return "sent bytes that are not the gzip it said"
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
	tooLarge := fault.New(fault.TooLarge, "what %q sends is larger than the limit of %d bytes", host, f.opts.MaxBytes)
	if res.ContentLength > f.opts.MaxBytes {
		return "", tooLarge
	}
	var body io.Reader = io.LimitReader(res.Body, f.opts.MaxBytes+1)
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip": // unasked for, as some send it; a bomb ends at the limit
		if body, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	default:
		return "", fault.New(fault.Unavailable, "%q sends an encoding that is not read", host)
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
		return "", nil // the bytes and the name tell it as well
	}
	return mediaType, nil
}

// writer marks the errors of a writer as such.
type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// redirect judges where an answer leads; its address is checked like any other's when it is connected to.
func (f *Fetcher) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > f.opts.Redirects {
		return fault.New(fault.Unavailable, "%q leads on more than %d times", via[0].URL.Hostname(), max(f.opts.Redirects, 0))
	}
	req.Header.Del("Referer") // the URL before, whose query may be a secret
	if err := f.check(req.URL); err != nil {
		return err
	}
	if at, ok := req.Context().Value(trailKey{}).(*trail); ok {
		at.host = req.URL.Hostname()
	}
	return nil
}

// dial connects to a host's first permitted address that answers. The check is in the connecting itself, after the name was
// looked up, so that no second look-up can give another address.
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
	// One that is not permitted refuses the host: a name that leads both ways is none to follow.
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
