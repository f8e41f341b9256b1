// Package s3blobs stores the bytes of uploaded files in a bucket of a server with the API of S3. The key of a blob is PREFIX/TENANT/SHA256.
package s3blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/sluice-rag/sluice/blobs"
)

// Location is where the blobs are: see [Parse].
type Location struct {
	Bucket, Prefix string
	Endpoint       string // HOST or HOST:PORT
	Insecure       bool   // http instead of https
	Region         string // empty: the server says it
}

// Parse parses a URL: s3://BUCKET/PREFIX?endpoint=URL&region=NAME. The prefix and the parameters may be missing. The default endpoint is that of Amazon.
// Credentials are not part of the URL, and errors do not contain it.
func Parse(text string) (l Location, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" {
		return l, errors.New("want s3://BUCKET/PREFIX?endpoint=URL&region=NAME")
	}
	if u.User != nil {
		return l, errors.New("must have no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or blobs-credentials")
	}
	l = Location{Bucket: u.Host, Prefix: strings.Trim(path.Clean("/"+u.Path), "/"), Endpoint: "s3.amazonaws.com"}
	if l.Bucket == "" {
		return l, errors.New("has no bucket")
	}
	for name, values := range u.Query() {
		switch name {
		case "region":
			l.Region = values[0]
		case "endpoint":
			e, err := url.Parse(values[0])
			if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" || e.User != nil {
				return l, errors.New("endpoint: want http://HOST:PORT or https://HOST:PORT")
			}
			l.Endpoint, l.Insecure = e.Host, e.Scheme == "http"
		default:
			return l, fmt.Errorf("has the unknown parameter %q", name)
		}
	}
	return l, nil
}

// connectTimeout bounds the check of the bucket in [Connect], and replyTimeout the wait for the beginning of a reply.
const (
	connectTimeout = 20 * time.Second
	replyTimeout   = 10 * time.Second
	retries        = 4 // attempts of one request, while the server cannot be reached
)

// Bucket holds the stores of all tenants.
type Bucket struct {
	client *minio.Client
	at     Location
}

var _ blobs.Tenants = (*Bucket)(nil)

// Connect returns the stores in a bucket, which must exist. The credentials are those of a file in the format of AWS, or, without a file, of the usual
// variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), or of the usual file, or of the role of the machine. A bucket that keeps old versions is an
// error, since deleted files would stay there.
func Connect(ctx context.Context, at Location, file string) (*Bucket, error) {
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}
	if file != "" {
		providers = []credentials.Provider{&credentials.FileAWSCredentials{Filename: file}}
	}
	transport, err := minio.DefaultTransport(!at.Insecure)
	if err != nil {
		return nil, fmt.Errorf("connect to S3: %w", err)
	}
	transport.ResponseHeaderTimeout = replyTimeout
	c, err := minio.New(at.Endpoint, &minio.Options{Creds: credentials.NewChainCredentials(providers), Secure: !at.Insecure, Region: at.Region,
		Transport: transport, MaxRetries: retries})
	if err != nil {
		return nil, fmt.Errorf("connect to S3: %w", err)
	}
	b := &Bucket{c, at}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := b.check(ctx); err != nil {
		return nil, fmt.Errorf("connect to S3: bucket %s: %w", at.Bucket, err)
	}
	v, err := c.GetBucketVersioning(ctx, at.Bucket) // not all servers have versions, and not all users may ask
	if err == nil && v.Enabled() {
		return nil, fmt.Errorf("connect to S3: the bucket %s keeps old versions, so deleted files would stay: use a bucket without versioning", at.Bucket)
	}
	return b, nil
}

func (b *Bucket) check(ctx context.Context) error {
	exists, err := b.client.BucketExists(ctx, b.at.Bucket)
	if err != nil {
		return classify(ctx, err)
	}
	if !exists {
		return errors.New("does not exist")
	}
	return nil
}

// Open implements [blobs.Tenants].
func (b *Bucket) Open(_ context.Context, tenant string) (blobs.Store, error) {
	return &store{b, path.Join(b.at.Prefix, tenant) + "/"}, nil
}

// Delete implements [blobs.Tenants].
func (b *Bucket) Delete(ctx context.Context, tenant string) error {
	s := &store{b, path.Join(b.at.Prefix, tenant) + "/"}
	for sum, err := range s.List(ctx) {
		if err == nil {
			err = s.Remove(ctx, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close implements [blobs.Tenants].
func (b *Bucket) Close() error { return nil }

// store holds the blobs of a tenant.
type store struct {
	*Bucket
	prefix string // ends in a slash
}

// Put implements [blobs.Store]. The server compares checksums of what it receives, and makes an object visible when it is complete.
func (s *store) Put(ctx context.Context, sum string, body io.ReadSeeker, size int64) error {
	if err := blobs.Rewind(body, sum); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, s.at.Bucket, s.prefix+sum, body, size, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return fmt.Errorf("store file: %w", classify(ctx, err))
	}
	return nil
}

// Open implements [blobs.Store].
func (s *store) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	o, err := s.client.GetObject(ctx, s.at.Bucket, s.prefix+sum, minio.GetObjectOptions{})
	if err != nil {
		return nil, classify(ctx, err)
	}
	if _, err := o.Stat(); err != nil { // sends the request
		return nil, errors.Join(classify(ctx, err), o.Close())
	}
	return &reader{ctx, o}, nil
}

// reader reads an object from its start to its end.
type reader struct {
	ctx    context.Context //nolint:containedctx // of Open
	object *minio.Object
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.object.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = classify(r.ctx, err)
	}
	return n, err
}

// Close implements [io.Closer].
func (r *reader) Close() error { return r.object.Close() }

// Remove implements [blobs.Store].
func (s *store) Remove(ctx context.Context, sum string) error {
	err := classify(ctx, s.client.RemoveObject(ctx, s.at.Bucket, s.prefix+sum, minio.RemoveObjectOptions{}))
	if errors.Is(err, blobs.ErrNotFound) {
		return nil
	}
	return err
}

// List implements [blobs.Store].
func (s *store) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o := range s.client.ListObjectsIter(ctx, s.at.Bucket, minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}) {
			if o.Err != nil {
				yield("", classify(ctx, o.Err))
				return
			}
			if sum := strings.TrimPrefix(o.Key, s.prefix); blobs.ValidSum(sum) && !yield(sum, nil) {
				return
			}
		}
	}
}

// Check implements [blobs.Store].
func (s *store) Check(ctx context.Context) error { return s.check(ctx) }

// classify returns the error of this package for one of the client.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case ok && r.Code == minio.NoSuchKey:
		return blobs.ErrNotFound
	case ok && r.StatusCode >= http.StatusBadRequest && r.StatusCode < http.StatusInternalServerError && r.StatusCode != http.StatusTooManyRequests:
		return fmt.Errorf("S3 refuses it: %s: %s", r.Code, r.Message)
	}
	return blobs.Unavailable(err)
}
