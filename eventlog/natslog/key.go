package natslog

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/natsconn"
)

// The events of each run are encrypted with a key of the run, which is a message of the index. A deletion overwrites the key: what JetStream and the
// log of its consensus still have of the run cannot be read any more. JetStream can overwrite the messages of a run, too, but it rewrites a file
// of up to 8 MB for each of them while nobody can write to the stream.

const keyBytes = 32 // AES-256

// sealer encrypts and decrypts the messages of a run: AES-GCM, with a random nonce before the ciphertext.
type sealer struct {
	aead cipher.AEAD
	raw  []byte
}

func randomKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}

func newSealer(key []byte) (sealer, error) {
	if len(key) != keyBytes {
		return sealer{}, fmt.Errorf("%w: its key has %d bytes", errRecord, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead, key}, err
}

// bound is what a message's ciphertext is bound to, so that messages cannot be exchanged.
func (r record) bound() []byte {
	return fmt.Appendf(nil, "%d-%d %t %d/%d %s", r.first, r.last, r.end, r.part, r.parts, r.write)
}

func (s sealer) seal(r record) record {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(r.data)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	r.data = s.aead.Seal(nonce, nonce, r.data, r.bound())
	return r
}

func (s sealer) open(r record) (record, error) {
	n := s.aead.NonceSize()
	if len(r.data) < n {
		return r, errRecord
	}
	data, err := s.aead.Open(nil, r.data[:n], r.data[n:], r.bound())
	if err != nil {
		return r, fmt.Errorf("%w: %w", errRecord, err)
	}
	r.data = data
	return r, nil
}

// sealer returns the key of a run. Errors: errNone.
func (l *Log) sealer(ctx context.Context, id event.RunID) (sealer, error) {
	if s, ok := l.keys.Get(id); ok {
		return s, nil
	}
	var m stored
	err := l.retry(ctx, func(ctx context.Context) (err error) {
		m, err = l.get(ctx, l.names.index, getRequest{Last: l.names.key(id)})
		return err
	})
	if err != nil {
		return sealer{}, err
	}
	s, err := newSealer(m.Data)
	if err == nil {
		l.keys.Add(id, s)
	}
	return s, err
}

// putKey writes the key of a new run to the index. ErrConflict: the run has a key.
func (l *Log) putKey(ctx context.Context, id event.RunID, s sealer) error {
	err := l.retry(ctx, func(ctx context.Context) error {
		_, err := l.js.Publish(ctx, l.names.key(id), s.raw, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if !natsconn.WrongSequence(err) {
			return err
		}
		m, err := l.get(ctx, l.names.index, getRequest{Last: l.names.key(id)})
		switch {
		case errors.Is(err, errNone):
			return errInFlight
		case err == nil && !bytes.Equal(m.Data, s.raw):
			return eventlog.ErrConflict
		}
		return err
	})
	if err == nil {
		l.keys.Add(id, s)
	}
	return err
}

// eraseKey overwrites the key of a run.
func (l *Log) eraseKey(ctx context.Context, id event.RunID) error {
	return l.retry(ctx, func(ctx context.Context) error {
		m, err := l.get(ctx, l.names.index, getRequest{Last: l.names.key(id)})
		if err == nil {
			err = l.index.SecureDeleteMsg(ctx, m.Seq)
		}
		if errors.Is(err, errNone) {
			return nil
		}
		return err
	})
}
