// Package s3 is the connector of buckets on servers with the API of S3.
package s3

import (
	"context"
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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/source"
)

// Options configure the kind.
type Options struct {
	// Dial connects to a server: see [fetch.Fetcher.Dial]. It is required.
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
	Extensions []string // of files that are read although they are commonly no documents: see [ingest.Options]
}

const (
	listTimeout  = 30 * time.Minute
	readTimeout  = 10 * time.Minute
	replyTimeout = 30 * time.Second // until a reply begins
	attempts     = 3                // of one request
	maxObjects   = 500_000
)

// Kind returns the kind of source. Its locations are s3://HOST/BUCKET/PREFIX, or s3+http://HOST:PORT/BUCKET/PREFIX without TLS. The credentials are
// ACCESS_KEY:SECRET_KEY. Without them, requests are anonymous: the credentials of the machine are never used.
func Kind(o Options) source.Kind {
	return source.Kind{
		Suits: func(location string) bool {
			return strings.HasPrefix(location, "s3://") || strings.HasPrefix(location, insecure+"://")
		},
		Locate: func(location string) (string, error) {
			p, err := parseLocation(location)
			return p.String(), err
		},
		Open: func(location string) (source.Connector, error) { return open(o, location, "") },
		OpenWith: func(location, keys string) (source.Connector, error) {
			return open(o, location, keys)
		},
	}
}

// place is a parsed location.
type place struct {
	scheme, host, bucket string
	prefix               string // without slashes at its ends
}

const insecure = "s3+http"

func parseLocation(text string) (place, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" && u.Scheme != insecure || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return place{}, fault.Invalid("location", "want s3://HOST/BUCKET/PREFIX, or s3+http://HOST:PORT/BUCKET/PREFIX for a server without TLS")
	}
	if u.User != nil {
		return place{}, fault.Invalid("location", "must not contain credentials: name them in the setting credentials")
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+u.Path), "/"), "/")
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return place{}, fault.Invalid("location", "has no valid name of a bucket after the host")
	}
	if !source.Printable(prefix) {
		return place{}, fault.Invalid("location", "has a prefix with characters that cannot be printed")
	}
	return place{u.Scheme, strings.ToLower(u.Host), bucket, prefix}, nil
}

// String returns the one form of the location; of the zero value, "".
func (p place) String() string {
	if p.host == "" {
		return ""
	}
	return p.uri(p.prefix)
}

// uri returns the URI of an object.
func (p place) uri(key string) string {
	u := url.URL{Scheme: p.scheme, Host: p.host, Path: strings.TrimSuffix("/"+p.bucket+"/"+key, "/")}
	return u.String()
}

type connector struct {
	place
	client     *minio.Client
	transport  *http.Transport
	extensions []string
	keys       map[string]string // by URI; set by List
}

func open(o Options, location, keys string) (source.Connector, error) {
	p, err := parseLocation(location)
	if err != nil {
		return nil, err
	}
	creds := credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	if keys != "" {
		access, secret, ok := strings.Cut(keys, ":")
		if !ok || access == "" || secret == "" {
			return nil, fault.New(fault.InvalidRequest, "the credentials of the source are not of the form ACCESS_KEY:SECRET_KEY")
		}
		creds = credentials.NewStaticV4(access, secret, "")
	}
	t := &http.Transport{DialContext: o.Dial, TLSHandshakeTimeout: replyTimeout, ResponseHeaderTimeout: replyTimeout, DisableCompression: true,
		MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: replyTimeout, MaxIdleConnsPerHost: 8}
	c, err := minio.New(p.host, &minio.Options{Creds: creds, Secure: p.scheme != insecure, Transport: checked{t}, MaxRetries: attempts})
	if err != nil {
		return nil, fault.Invalid("location", "has a host that is not valid")
	}
	return &connector{place: p, client: c, transport: t, extensions: o.Extensions}, nil
}

// List implements [source.Connector]. Hidden files and folders of dependencies are left out, as in folders.
func (c *connector) List(outer context.Context) (source.Listing, error) {
	ctx, cancel := context.WithTimeout(outer, listTimeout)
	defer cancel()
	var out source.Listing
	keys, prefix := map[string]string{}, c.prefix
	if prefix != "" {
		prefix += "/"
	}
	for o := range c.client.ListObjectsIter(ctx, c.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return source.Listing{}, c.describe(outer, o.Err)
		}
		inside, ok := strings.CutPrefix(o.Key, prefix)
		if len(keys)+len(out.Failed) >= maxObjects {
			return source.Listing{}, fault.New(fault.TooLarge, "the bucket has more than %d documents below the prefix", maxObjects)
		}
		switch {
		case !ok || inside == "" || strings.HasSuffix(inside, "/") || ingest.Skipped(inside): // an object that ends in a slash is a folder
		case !parse.Supported(inside) && !slices.Contains(c.extensions, strings.ToLower(path.Ext(inside))):
			out.Ignored++
		case !source.Printable(inside):
			out.Failed = append(out.Failed, ingest.Failure{Path: parse.PrintableName(inside), Reason: "its name has characters that cannot be printed"})
		default:
			d := source.Document{URI: c.uri(o.Key), Path: inside, Name: c.bucket + "/" + o.Key, Version: o.ETag}
			keys[d.URI] = o.Key
			out.Documents = append(out.Documents, d)
		}
	}
	if ctx.Err() != nil { // the listing may have ended early
		return source.Listing{}, c.describe(outer, ctx.Err())
	}
	c.keys = keys
	return out, nil
}

// Read implements [source.Connector].
func (c *connector) Read(outer context.Context, d source.Document, limit int64) (data []byte, err error) {
	key, ok := c.keys[d.URI]
	if !ok {
		return nil, fs.ErrNotExist
	}
	ctx, cancel := context.WithTimeout(outer, readTimeout)
	defer cancel()
	o, err := c.client.GetObject(ctx, c.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, c.describe(outer, err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(o, limit+1)); err != nil {
		return nil, c.describe(outer, err)
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

// describe returns the error for users. It has nothing that the server wrote but its code, and no address.
func (c *connector) describe(outer context.Context, err error) error {
	reply, isReply := errors.AsType[minio.ErrorResponse](err)
	if !isReply || reply.StatusCode < http.StatusBadRequest || outer.Err() != nil || fault.CodeOf(err) != "" {
		return source.Unreachable(outer, c.host, err)
	}
	code := reply.Code
	if len(code) > 64 || !source.Printable(code) {
		code = "an error"
	}
	return fault.New(fault.Unavailable, "%q refuses it with status %d: %s", c.host, reply.StatusCode, code)
}
