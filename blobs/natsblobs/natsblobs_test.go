package natsblobs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/blobs/blobstest"
	"github.com/sluice-rag/sluice/blobs/natsblobs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

func open(t *testing.T, url string, o natsblobs.Options) (*natsblobs.Buckets, *natsconn.Conn) {
	t.Helper()
	c, err := natsconn.Connect(url, natsconn.Options{})
	require.NoError(t, err)
	b := natsblobs.New(c, o)
	t.Cleanup(func() { _ = b.Close() })
	return b, c
}

// damage replaces the only part of an object.
func damage(c *natsconn.Conn) func(t *testing.T, tenant, sum string) {
	return func(t *testing.T, tenant, sum string) {
		bucket := "sluice-files-" + tenant
		objects, err := c.JS.ObjectStore(t.Context(), bucket)
		require.NoError(t, err)
		info, err := objects.GetInfo(t.Context(), sum)
		require.NoError(t, err)
		stream, err := c.JS.Stream(t.Context(), "OBJ_"+bucket)
		require.NoError(t, err)
		part := "$O." + bucket + ".C." + info.NUID
		require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(part)))
		if _, err := c.JS.Publish(t.Context(), part, make([]byte, info.Size)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStore(t *testing.T) {
	b, c := open(t, natstest.New(t).URL(), natsblobs.Options{})
	blobstest.Exercise(t, b, 128<<10, damage(c))
}

func TestAway(t *testing.T) {
	s := natstest.New(t)
	b, c := open(t, s.URL(), natsblobs.Options{Patience: time.Millisecond})
	connected := c.NC.StatusChanged(nats.CONNECTED)
	blobstest.Away(t, b, s.Stop, func() {
		s.Start(t)
		<-connected // a call is not tried again
	})
}

// TestNothingIsLeft removes a blob, after which the bucket has no message about it.
func TestNothingIsLeft(t *testing.T) {
	b, c := open(t, natstest.New(t).URL(), natsblobs.Options{})
	s, err := b.Open(context.Background(), "one")
	require.NoError(t, err)
	blobstest.PutRemove(t, s)
	stream, err := c.JS.Stream(t.Context(), "OBJ_sluice-files-one")
	require.NoError(t, err)
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("messages: %+v, %v", info.State, err)
	}
}

func TestStoreInCluster(t *testing.T) {
	b, c := open(t, natstest.NewCluster(t).URL(), natsblobs.Options{})
	blobstest.Exercise(t, b, 128<<10, damage(c))
}

// TestLeaderDies stops the server that leads a bucket while a file is written, and its successor while the file is read. Both continue.
func TestLeaderDies(t *testing.T) {
	nodes := natstest.NewCluster(t)
	b, _ := open(t, nodes.URL(), natsblobs.Options{Patience: time.Minute})
	s, err := b.Open(t.Context(), "one")
	require.NoError(t, err)
	const bucket = "OBJ_sluice-files-one"
	data, sum := blobstest.Blob(1, 4<<20)
	first := nodes.Leader(t, bucket)
	if err := s.Put(t.Context(), sum, &interrupted{Reader: bytes.NewReader(data), at: 1 << 20, do: first.Stop}, int64(len(data))); err != nil {
		t.Fatalf("write: %v", err)
	}
	first.Start(t)
	nodes.WaitInSync(t, bucket)
	r, err := s.Open(t.Context(), sum)
	require.NoError(t, err)
	begin, err := io.ReadAll(io.LimitReader(r, 1<<20))
	require.NoError(t, err)
	nodes.Leader(t, bucket).Stop()
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(append(begin, rest...), data) {
		t.Errorf("read %d of %d bytes: %v", len(begin)+len(rest), len(data), err)
	}
	if err := errors.Join(r.Close(), blobs.Verify(t.Context(), s, sum)); err != nil {
		t.Error(err)
	}
}

// interrupted calls do once, when a number of bytes has been read since the start.
type interrupted struct {
	*bytes.Reader
	at   int64
	do   func()
	done bool
}

func (r *interrupted) Read(p []byte) (int, error) {
	if !r.done && r.Size()-int64(r.Len()) >= r.at {
		r.done = true
		r.do()
	}
	return r.Reader.Read(p)
}
