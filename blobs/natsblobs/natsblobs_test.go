package natsblobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/blobs/blobstest"
	"github.com/sluice-rag/sluice/blobs/natsblobs"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

func open(t *testing.T, url string, o natsblobs.Options) (*natsblobs.Buckets, *natsconn.Conn) {
	t.Helper()
	c, err := natsconn.Connect(url, natsconn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := natsblobs.New(c, o)
	t.Cleanup(func() { _ = b.Close() })
	return b, c
}

// damage replaces the only part of an object.
func damage(c *natsconn.Conn) func(t *testing.T, tenant, sum string) {
	return func(t *testing.T, tenant, sum string) {
		bucket := "sluice-files-" + tenant
		objects, err := c.JS.ObjectStore(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		info, err := objects.GetInfo(t.Context(), sum)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := c.JS.Stream(t.Context(), "OBJ_"+bucket)
		if err != nil {
			t.Fatal(err)
		}
		part := "$O." + bucket + ".C." + info.NUID
		if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(part)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.JS.Publish(t.Context(), part, make([]byte, info.Size)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStore(t *testing.T) {
	b, c := open(t, natstest.New(t).ClientURL(), natsblobs.Options{})
	blobstest.Exercise(t, b, damage(c))
}

func TestAway(t *testing.T) {
	s := natstest.New(t)
	b, _ := open(t, s.ClientURL(), natsblobs.Options{Patience: time.Millisecond})
	blobstest.Away(t, b, s.Stop, func() { s.Start(t) })
}

// TestNothingIsLeft removes a blob, after which the bucket has no message about it.
func TestNothingIsLeft(t *testing.T) {
	b, c := open(t, natstest.New(t).ClientURL(), natsblobs.Options{})
	s, err := b.Open(context.Background(), "one")
	if err != nil {
		t.Fatal(err)
	}
	blobstest.PutRemove(t, s)
	stream, err := c.JS.Stream(t.Context(), "OBJ_sluice-files-one")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("messages: %+v, %v", info.State, err)
	}
}
