// Package webdav is the connector of folders on WebDAV servers (RFC 4918), such as Nextcloud, ownCloud and Apache. It changes nothing on them.
package webdav

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/source"
)

// Options configure the kind. Dial is required.
type Options struct {
	// Dial connects to a server: see [fetch.Fetcher.Dial].
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
	TLS        *tls.Config // nil: the default
	Extensions []string    // of files that are read although they are commonly no documents: see [ingest.Options]
	Limits
}

// Limits are the limits of a listing. Zero values select the defaults.
type Limits struct {
	Documents int           // default 500,000
	Folders   int           // default 50,000
	Depth     int           // of folders; default 100: a server can have endless ones, such as links to a folder above
	Reply     int64         // bytes of the list of a folder; default 64 MiB
	Time      time.Duration // default 30 minutes
}

const (
	readTimeout  = 10 * time.Minute
	dialTimeout  = 30 * time.Second
	replyTimeout = time.Minute // until a reply begins
	maxURL       = 2048        // bytes of the URL of a document
	maxVersion   = 1000        // bytes of an ETag
	maxFailures  = 10          // folders in succession that cannot be listed
)

// Kind returns the kind of source. Its locations are https://HOST/PATH, or http:// for a server without TLS; users write webdavs:// and webdav:// or davs:// and dav://,
// so that they are not taken for websites. The credentials are USER:PASSWORD.
func Kind(o Options) source.Kind {
	o.Documents = cmp.Or(o.Documents, 500_000)
	o.Folders = cmp.Or(o.Folders, 50_000)
	o.Depth = cmp.Or(o.Depth, 100)
	o.Reply = cmp.Or(o.Reply, 64<<20)
	o.Time = cmp.Or(o.Time, 30*time.Minute)
	return source.Kind{
		Suits: func(location string) bool {
			scheme, _, ok := strings.Cut(location, "://")
			return ok && strings.Contains(scheme, "dav") && schemes[scheme] != ""
		},
		Locate: func(location string) (string, error) {
			p, err := parseLocation(location)
			if err != nil {
				return "", err
			}
			return p.uri(""), nil
		},
		Open:     func(location string) (source.Connector, error) { return open(o, location, "") },
		OpenWith: func(location, credentials string) (source.Connector, error) { return open(o, location, credentials) },
	}
}

// schemes are the schemes of HTTP by those that users write.
var schemes = map[string]string{"webdavs": "https", "davs": "https", "https": "https", "webdav": "http", "dav": "http", "http": "http"}

// place is a parsed location.
type place struct {
	scheme, host string
	path         string // of the folder, with a slash at its beginning and none at its end; of the root, ""
}

func parseLocation(text string) (place, error) {
	u, err := url.Parse(text)
	if err != nil || schemes[u.Scheme] == "" || u.Hostname() == "" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
		return place{}, fault.Invalid("location", "want webdavs://HOST/PATH, or webdav://HOST/PATH for a server without TLS")
	}
	p := place{schemes[u.Scheme], strings.ToLower(u.Host), strings.TrimSuffix(path.Clean("/"+u.Path), "/")}
	switch {
	case u.User != nil:
		return place{}, fault.Invalid("location", "must not contain credentials: name them in the setting credentials")
	case !source.Printable(p.path):
		return place{}, fault.Invalid("location", "has characters that cannot be printed")
	}
	if port := u.Port(); port == "443" && p.scheme == "https" || port == "80" && p.scheme == "http" {
		p.host = strings.TrimSuffix(p.host, ":"+port)
	}
	return p, nil
}

// uri returns the URL of a file or folder, whose path inside the location begins with a slash unless it is empty.
func (p place) uri(inside string) string {
	u := url.URL{Scheme: p.scheme, Host: p.host, Path: cmp.Or(p.path+inside, "/")}
	return u.String()
}

// name returns the name of the place for users.
func (p place) name() string {
	if p.path == "" {
		return p.host
	}
	return path.Base(p.path)
}

type connector struct {
	place
	options        Options
	user, password string
	transport      *http.Transport
	client         *http.Client
	known          map[string]bool // URIs; set by List
}

func open(o Options, location, credentials string) (source.Connector, error) {
	p, err := parseLocation(location)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{DialContext: o.Dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: replyTimeout, DisableCompression: true,
		MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: dialTimeout, MaxIdleConnsPerHost: 8, ForceAttemptHTTP2: true}
	// Redirects are not followed: a client turns a PROPFIND into a GET, and the credentials are for this host.
	c := &connector{place: p, options: o, transport: t, client: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if credentials == "" {
		return c, nil
	}
	if c.user, c.password, err = source.UserPassword(credentials); err != nil {
		return nil, err
	}
	if p.scheme != "https" {
		return nil, fault.New(fault.InvalidRequest, "credentials are only sent with TLS: use webdavs://")
	}
	return c, nil
}

// request sends a request for a path of the host. The caller closes the body.
func (c *connector) request(ctx context.Context, method, at string, header http.Header, body io.Reader) (*http.Response, error) {
	u := url.URL{Scheme: c.scheme, Host: c.host, Path: at}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("User-Agent", "sluice")
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	return c.client.Do(req)
}

// List implements [source.Connector]. Hidden files and folders of dependencies are left out, as in folders.
func (c *connector) List(outer context.Context) (source.Listing, error) {
	ctx, cancel := context.WithTimeout(outer, c.options.Time)
	defer cancel()
	l := &listing{connector: c, ctx: ctx, outer: outer, known: map[string]bool{}}
	if err := l.run(); err != nil {
		return source.Listing{}, err
	}
	c.known = l.known
	return l.out, nil
}

// Read implements [source.Connector].
func (c *connector) Read(outer context.Context, d source.Document, limit int64) (data []byte, err error) {
	if !c.known[d.URI] {
		return nil, fs.ErrNotExist
	}
	ctx, cancel := context.WithTimeout(outer, readTimeout)
	defer cancel()
	res, err := c.request(ctx, http.MethodGet, c.path+"/"+d.Path, nil, http.NoBody)
	if err != nil {
		return nil, source.Unreachable(outer, c.host, err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, c.refused(res.StatusCode)
	}
	if data, err = io.ReadAll(io.LimitReader(res.Body, limit+1)); err != nil {
		return nil, source.Unreachable(outer, c.host, err)
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.TooLarge, "is larger than the limit of %d bytes", limit)
	}
	return data, nil
}

// Close implements [source.Connector].
func (c *connector) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// refused is the error of a status that is no success.
func (c *connector) refused(status int) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fault.New(fault.Forbidden, "%q refuses access with status %d: it needs other credentials", c.host, status)
	case status >= 300 && status < 400:
		return fault.New(fault.Unavailable, "%q redirects to another URL: use that URL as the location", c.host)
	}
	return fault.New(fault.Unavailable, "%q refuses the request with status %d", c.host, status)
}

// wanted reports whether a name is that of a document.
func (c *connector) wanted(name string) bool {
	return parse.Supported(name) || slices.Contains(c.options.Extensions, strings.ToLower(path.Ext(name)))
}

// failure is a file or folder that cannot be read.
func failure(inside, reason string) ingest.Failure {
	return ingest.Failure{Path: parse.PrintableName(strings.TrimPrefix(inside, "/")), Reason: reason}
}
