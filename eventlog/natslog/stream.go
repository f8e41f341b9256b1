package natslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/natsconn"
)

// keepIndex is how much longer the index keeps a prefix of ids than the runs, and twice how often it is written again while ids with it begin.
const keepIndex = 24 * time.Hour

// openStreams creates the streams of the tenant, or changes their retention.
func (l *Log) openStreams(ctx context.Context) error {
	runs := jetstream.StreamConfig{
		Name: l.names.runs, Subjects: []string{l.names.base + ">"}, Description: "logs of runs of Sluice", Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardOld, MaxAge: l.o.MaxAge, MaxBytes: -1, AllowDirect: true,
	}
	if l.o.MaxBytes > 0 {
		runs.MaxBytes = l.o.MaxBytes
	}
	index := jetstream.StreamConfig{
		Name: l.names.index, Subjects: []string{l.names.mark + ">"}, Description: "index of the runs of Sluice", Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardOld, MaxMsgsPerSubject: 1,
	}
	if l.o.MaxAge > 0 {
		runs.Duplicates = min(2*time.Minute, l.o.MaxAge)
		index.MaxAge = l.o.MaxAge + keepIndex
	}
	for _, s := range []struct {
		config jetstream.StreamConfig
		opened *jetstream.Stream
	}{{runs, &l.runs}, {index, &l.index}} {
		err := l.retry(ctx, func(ctx context.Context) (err error) { *s.opened, err = l.openStream(ctx, s.config); return err })
		if natsconn.NoStorage(err) {
			err = fmt.Errorf("JetStream cannot reserve MaxBytes, %d bytes: raise its max_file_store, or lower MaxBytes: %w", s.config.MaxBytes, err)
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.config.Name, err)
		}
	}
	return nil
}

func (l *Log) openStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := l.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s, err = l.createStream(ctx, c); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
		s, err = l.js.Stream(ctx, c.Name) // another server has just created it
	}
	if err != nil {
		return nil, err
	}
	has := s.CachedInfo().Config
	if c.Replicas = has.Replicas; l.o.Replicas > 0 {
		c.Replicas = l.o.Replicas
	}
	if has.MaxAge == c.MaxAge && has.MaxBytes == c.MaxBytes && has.Replicas == c.Replicas {
		return s, nil
	}
	return l.js.UpdateStream(ctx, c)
}

// createStream creates a stream with as many replicas as the options want or the cluster allows.
func (l *Log) createStream(ctx context.Context, c jetstream.StreamConfig) (s jetstream.Stream, err error) {
	n, err := natsconn.CreateReplicated(l.o.Replicas, func(replicas int) (err error) {
		c.Replicas = replicas
		s, err = l.js.CreateStream(ctx, c)
		return err
	})
	if err == nil {
		l.o.Log.Info("a stream was created in NATS", "stream", c.Name, "replicas", n)
	}
	return s, err
}

// putMark writes an empty message to the index and returns its sequence.
func (l *Log) putMark(ctx context.Context, subject string) (seq uint64, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		ack, err := l.js.Publish(ctx, subject, nil)
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	return seq, err
}

// purge removes the messages of a subject from a stream.
func (l *Log) purge(ctx context.Context, stream jetstream.Stream, subject string) error {
	return l.purgeBefore(ctx, stream, subject, 0)
}

// purgeBefore removes the messages of a subject that are before a sequence of the stream; 0: all of them.
func (l *Log) purgeBefore(ctx context.Context, stream jetstream.Stream, subject string, seq uint64) error {
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if seq > 0 {
		options = append(options, jetstream.WithPurgeSequence(seq))
	}
	return l.retry(ctx, func(ctx context.Context) error { return stream.Purge(ctx, options...) })
}

// subjects returns the subjects of a stream that match a filter.
func (l *Log) subjects(ctx context.Context, stream jetstream.Stream, filter string) (subjects []string, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		subjects = subjects[:0]
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			subjects = append(subjects, subject)
		}
		return nil
	})
	return subjects, err
}
