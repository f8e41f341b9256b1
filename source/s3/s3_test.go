package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/s3"
	"github.com/sluice-rag/sluice/source/sourcetest"
)

const keys = s3test.AccessKey + ":" + s3test.SecretKey

// bucket is a prefix in a bucket of a real server.
type bucket struct {
	*testing.T
	server *s3test.Server
	host   string
	client *minio.Client
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	s := s3test.New(t)
	u, err := url.Parse(s.URL(""))
	require.NoError(t, err)
	host := strings.TrimPrefix(u.Query().Get("endpoint"), "http://")
	c, err := minio.New(host, &minio.Options{Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, "")})
	require.NoError(t, err)
	return &bucket{t, s, host, c}
}

func (b *bucket) Location() string {
	return "s3+http://" + b.host + "/" + b.server.Bucket + "/team docs/a/"
}

func (b *bucket) Put(name, text string) { b.put("team docs/a/"+name, text) }

func (b *bucket) put(key, text string) {
	b.Helper()
	_, err := b.client.PutObject(b.Context(), b.server.Bucket, key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
	require.NoError(b.T, err)
}

func (b *bucket) Remove(name string) {
	require.NoError(b.T, b.client.RemoveObject(b.Context(), b.server.Bucket, "team docs/a/"+name, minio.RemoveObjectOptions{}))
}

func (b *bucket) Break() { b.server.Stop() }

// kind is the kind with a guard that permits only the addresses in allow besides the public ones.
func kind(allow ...netip.Prefix) source.Kind {
	return s3.Kind(s3.Options{Dial: fetch.New(fetch.Options{Allow: allow}).Dial})
}

var loopback = netip.MustParsePrefix("127.0.0.0/8")

func TestConnector(t *testing.T) {
	t.Parallel()
	k := kind(loopback)
	k.Open = func(location string) (source.Connector, error) { return k.OpenWith(location, keys) }
	sourcetest.TestConnector(t, k, func(t *testing.T) sourcetest.Place { return newBucket(t) })
}

// TestSelected checks which objects of a bucket are documents, and that their URIs are escaped.
func TestSelected(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	for _, name := range []string{"kept #1?.md", ".hidden.md", ".git/x.md", "node_modules/x.md", "picture.png"} {
		b.Put(name, "text")
	}
	b.put("team docs/other.md", "not below the prefix")
	k := kind(loopback)
	location, err := k.Locate(b.Location())
	require.NoError(t, err)
	c, err := k.OpenWith(location, keys)
	require.NoError(t, err)
	l, err := c.List(t.Context())
	require.NoError(t, err)
	want := "s3+http://" + b.host + "/test/team%20docs/a/kept%20%231%3F.md"
	if len(l.Documents) != 1 || l.Documents[0].URI != want || l.Documents[0].Version == "" || l.Ignored != 1 || len(l.Failed) > 0 {
		t.Fatalf("listed %+v, want %s", l, want)
	}
	if data, err := c.Read(t.Context(), l.Documents[0], 100); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	require.NoError(t, c.Close())
}

// TestRefused checks the errors of servers that refuse, and of those that may not be asked. They hold no secret.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	for name, c := range map[string]struct {
		kind           source.Kind
		location, keys string
		want           string
	}{
		"address":   {kind(), b.Location(), keys, "not at a public address"},
		"secret":    {kind(loopback), b.Location(), s3test.AccessKey + ":hunter2", "refuses it with status 403: SignatureDoesNotMatch"},
		"anonymous": {kind(loopback), b.Location(), "", "refuses it with status 403"},
		"bucket":    {kind(loopback), "s3+http://" + b.host + "/none", keys, "NoSuchBucket"},
		"form":      {kind(loopback), b.Location(), "hunter2", "ACCESS_KEY:SECRET_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := c.kind.OpenWith(c.location, c.keys)
			if err == nil {
				_, err = conn.List(t.Context())
				require.NoError(t, conn.Close())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestNotS3 checks that replies that are no listings are errors, since an empty listing removes all documents.
func TestNotS3(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html><body>Log in</body></html>")
		}, "does not answer as a server"},
		"empty":   {func(http.ResponseWriter, *http.Request) {}, "could not be read"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "sends more than"},
		"cut":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<ListBucketResult><Name>test") }, "could not be read"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.serve)
			defer s.Close()
			conn, err := kind(loopback).Open(strings.Replace(s.URL, "http:", "s3+http:", 1) + "/test")
			require.NoError(t, err)
			l, err := conn.List(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v, want %q", l, err, c.want)
			}
			require.NoError(t, conn.Close())
		})
	}
}

func endless(w io.Writer) {
	for block := bytes.Repeat([]byte("x"), 1<<16); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"s3://S3.example.com/bucket":              "s3://s3.example.com/bucket",
		"s3://s3.example.com:9000/bucket/a/../b/": "s3://s3.example.com:9000/bucket/b",
		"s3+http://localhost:9000/bucket/ü x":     "s3+http://localhost:9000/bucket/%C3%BC%20x",
	} {
		if got, err := kind().Locate(in); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"s3://bucket", "s3://host/b", "s3://key:hunter2@host/bucket", "http://host/bucket", "s3://host/bucket?hunter2", "s3://host/bucket/%00", "s3://%zzhunter2"} {
		if got, err := kind().Locate(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}
