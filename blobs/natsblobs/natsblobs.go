// Package natsblobs stores the bytes of uploaded files in object stores of NATS JetStream: a bucket for each tenant.
package natsblobs

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/natsconn"
)

// Times of calls.
const (
	attempt    = 5 * time.Second  // the longest wait for one reply
	patience   = 15 * time.Second // how long a call is tried again while NATS does not reply
	retryPause = 200 * time.Millisecond
)

// Options configure the stores. The zero value works.
type Options struct {
	Prefix   string        // letters, digits and dashes: the beginning of the names of buckets; default "sluice-files"
	Patience time.Duration // how long a call is tried again while NATS does not reply; default 15 seconds
}

// Buckets are the stores of all tenants on a connection.
type Buckets struct {
	conn *natsconn.Conn
	o    Options
}

var _ blobs.Tenants = (*Buckets)(nil)

// New returns the stores on a connection, which [Buckets.Close] closes.
func New(c *natsconn.Conn, o Options) *Buckets {
	if o.Prefix == "" {
		o.Prefix = "sluice-files"
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	return &Buckets{c, o}
}

func (b *Buckets) bucket(tenant string) string { return b.o.Prefix + "-" + tenant }

// Open implements [blobs.Tenants].
func (b *Buckets) Open(ctx context.Context, tenant string) (blobs.Store, error) {
	s := &store{bucket: b.bucket(tenant), conn: b.conn, patience: b.o.Patience}
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		if s.stream, err = b.conn.JS.Stream(ctx, "OBJ_"+s.bucket); errors.Is(err, jetstream.ErrStreamNotFound) {
			s.stream, err = s.create(ctx)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", s.bucket, err)
	}
	return s, nil
}

// Delete implements [blobs.Tenants].
func (b *Buckets) Delete(ctx context.Context, tenant string) error {
	err := retry(ctx, b.o.Patience, func(ctx context.Context) error { return b.conn.JS.DeleteObjectStore(ctx, b.bucket(tenant)) })
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// Close implements [blobs.Tenants].
func (b *Buckets) Close() error { return b.conn.Close() }

// store is the bucket of a tenant.
type store struct {
	bucket   string
	conn     *natsconn.Conn
	stream   jetstream.Stream
	patience time.Duration
}

// create creates the bucket, as [jetstream.ObjectStoreManager] does. But only its leader replies to reads: other servers may not have the latest write yet.
func (s *store) create(ctx context.Context) (stream jetstream.Stream, err error) {
	n, err := natsconn.CreateReplicated(0, func(n int) (err error) {
		stream, err = s.conn.JS.CreateStream(ctx, jetstream.StreamConfig{
			Name: "OBJ_" + s.bucket, Subjects: []string{"$O." + s.bucket + ".C.>", "$O." + s.bucket + ".M.>"}, Description: "uploaded files of Sluice",
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, AllowRollup: true, Replicas: n,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another server has just created it
		return s.conn.JS.Stream(ctx, "OBJ_"+s.bucket)
	}
	if err == nil {
		s.conn.Log.Info("a bucket was created in NATS", "bucket", s.bucket, "replicas", n)
	}
	return stream, err
}

func (s *store) retry(ctx context.Context, do func(context.Context) error) error {
	return retry(ctx, s.patience, do)
}

// retry calls do until it succeeds or its error is not that of a NATS that does not reply. Then the error is [blobs.ErrUnavailable].
func retry(ctx context.Context, patience time.Duration, do func(context.Context) error) error {
	for began := time.Now(); ; {
		once, cancel := context.WithTimeout(ctx, attempt)
		err := do(once)
		cancel()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !natsconn.Transient(err) {
			return err
		}
		if time.Since(began) > patience {
			return blobs.Unavailable(err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// partSize is the size of a message.
const partSize = 128 << 10

// meta is the subject of the description of a blob.
func (s *store) meta(sum string) string {
	return "$O." + s.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(sum))
}

// parts is the subject of the parts of a blob, which are written under a name of their own each time.
func (s *store) parts(nuid string) string { return "$O." + s.bucket + ".C." + nuid }

// info returns the description of a blob and its sequence in the stream.
func (s *store) info(ctx context.Context, sum string) (info jetstream.ObjectInfo, seq uint64, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		m, err := s.stream.GetLastMsgForSubject(ctx, s.meta(sum))
		if err == nil {
			seq, err = m.Sequence, json.Unmarshal(m.Data, &info)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && info.Deleted {
		err = blobs.ErrNotFound
	}
	return info, seq, err
}

// Put implements [blobs.Store]. It does not use that of the client library, which sends the wrong bytes when it sends a part again.
func (s *store) Put(ctx context.Context, sum string, body io.ReadSeeker, size int64) (err error) {
	if err := blobs.Rewind(body, sum); err != nil {
		return err
	}
	old, seq, err := s.info(ctx, sum)
	if err != nil && !errors.Is(err, blobs.ErrNotFound) {
		return err
	}
	info := jetstream.ObjectInfo{Bucket: s.bucket, NUID: sum + "." + rand.Text(), Size: uint64(size), Digest: digest(sum),
		ObjectMeta: jetstream.ObjectMeta{Name: sum, Opts: &jetstream.ObjectMetaOptions{ChunkSize: partSize}}}
	useless := true // the parts
	defer func() {
		if useless {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), attempt)
			defer cancel()
			_ = s.stream.Purge(clean, jetstream.WithPurgeSubject(s.parts(info.NUID))) // if that fails, Remove removes them
		}
	}()
	part, left := make([]byte, partSize), size
	for ; left > 0; info.Chunks++ {
		n := min(left, partSize)
		if _, err := io.ReadFull(body, part[:n]); err != nil {
			return fmt.Errorf("read file: %w", err)
		}
		left -= n
		m := &nats.Msg{Subject: s.parts(info.NUID), Data: part[:n]}
		if err := s.publish(ctx, m, jetstream.WithMsgID(fmt.Sprint(info.NUID, " ", info.Chunks))); err != nil {
			return err
		}
	}
	m := &nats.Msg{Subject: s.meta(sum), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	if m.Data, err = json.Marshal(info); err != nil {
		return err
	}
	useless = false // if no reply comes, the description may have been written
	for began := time.Now(); ; {
		err = s.publish(ctx, m, jetstream.WithMsgID(info.NUID), jetstream.WithExpectLastSequencePerSubject(seq))
		if !natsconn.WrongSequence(err) {
			break
		}
		// Another server has stored the blob, or is doing so.
		if found := blobs.Verify(ctx, s, sum); !errors.Is(found, blobs.ErrNotFound) {
			useless = true
			return found
		}
		if time.Since(began) > s.patience {
			return blobs.Unavailable(err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if old, seq, err = s.info(ctx, sum); err != nil && !errors.Is(err, blobs.ErrNotFound) {
			return err
		}
	}
	if err == nil && old.NUID != "" {
		err = s.purge(ctx, s.parts(old.NUID))
	}
	return err
}

// publish writes a message once, also if its confirmation is lost.
func (s *store) publish(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) error {
	return s.retry(ctx, func(ctx context.Context) error {
		_, err := s.conn.JS.PublishMsg(ctx, m, o...)
		return err
	})
}

func (s *store) purge(ctx context.Context, subject string) error {
	return s.retry(ctx, func(ctx context.Context) error { return s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)) })
}

// digest returns a hash as object stores write it.
func digest(sum string) string {
	raw, _ := hex.DecodeString(sum)
	return "SHA-256=" + base64.URLEncoding.EncodeToString(raw)
}

// Open implements [blobs.Store].
func (s *store) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	info, _, err := s.info(ctx, sum)
	if err != nil {
		return nil, err
	}
	return &reader{store: s, ctx: ctx, subject: s.parts(info.NUID), chunks: info.Chunks, next: 1}, nil
}

// reader reads an object part by part, each with one request. Unlike that of the client library, it neither waits for ever when NATS is away
// nor ends after a fixed time.
type reader struct {
	store   *store
	ctx     context.Context //nolint:containedctx // of Open
	subject string
	chunks  uint32 // that remain
	next    uint64 // sequence in the stream
	data    []byte
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if r.chunks == 0 {
			return 0, io.EOF
		}
		err := r.store.retry(r.ctx, func(ctx context.Context) error {
			m, err := r.store.stream.GetMsg(ctx, r.next, jetstream.WithGetMsgSubject(r.subject))
			if err == nil {
				r.data, r.next, r.chunks = m.Data, m.Sequence+1, r.chunks-1
			}
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, blobs.ErrNotFound // it was removed or replaced meanwhile
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// Close implements [io.Closer].
func (r *reader) Close() error { return nil }

// Remove implements [blobs.Store]. It leaves no mark, and also removes what a Put has not completed.
func (s *store) Remove(ctx context.Context, sum string) error {
	if err := s.purge(ctx, s.meta(sum)); err != nil {
		return err
	}
	return s.purge(ctx, s.parts(sum+".>"))
}

// List implements [blobs.Store].
func (s *store) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var info *jetstream.StreamInfo
		prefix := "$O." + s.bucket + ".M."
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			info, err = s.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
			return err
		})
		if err != nil {
			yield("", err)
			return
		}
		for subject := range info.State.Subjects {
			name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, prefix))
			if err == nil && blobs.ValidSum(string(name)) && !yield(string(name), nil) {
				return
			}
		}
	}
}

// Check implements [blobs.Store].
func (s *store) Check(ctx context.Context) error {
	if !s.conn.NC.IsConnected() {
		return blobs.Unavailable(nats.ErrDisconnected)
	}
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if _, err := s.stream.GetLastMsgForSubject(ctx, s.meta("probe")); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return blobs.Unavailable(err)
	}
	return nil
}
