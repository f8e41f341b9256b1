// Package natslog stores the logs of runs in NATS JetStream, so that several servers can read a run while one of them writes it.
//
// Each tenant has two streams. In the stream of the runs each run is a subject, and a message holds the events that were appended together, or
// while the message before was on its way. The header that names the last sequence of the subject makes NATS refuse a second writer. The stream
// of the index has one message per subject: the prefixes of ids that exist, for lists; the keys with which the events of each run are encrypted; the
// runs that a server has begun and not ended; the deletions that have begun.
//
// Readers of a run that this process writes are served from memory after NATS has acknowledged the events. For all other runs that are followed
// here there is one consumer per tenant, whose filter changes with them. Everything else is read with direct gets: see read.go.
//
// How durable a message is that NATS has acknowledged depends on its settings: replicas, and sync_interval on each server.
package natslog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/natsconn"
)

// Options configure a log. The zero value works.
type Options struct {
	Tenant       string        // letters, digits and dashes: a part of the names of its streams and subjects; default "default"
	Prefix       string        // letters and digits: the beginning of all streams and subjects; default "sluice"
	Server       string        // letters, digits and dashes: the server in [Log.Owned]; default random
	Replicas     int           // copies of each message; 0: as many as the cluster allows, at most 3
	MaxAge       time.Duration // age at which events are deleted; 0: never
	MaxBytes     int64         // size of all runs from which on the oldest events are deleted; 0: none
	Timeout      time.Duration // how long a call waits for NATS while it does not reply; default 1 minute
	PendingBytes int64         // size of the unwritten events from which on Append waits; default 16 MiB
	Log          *slog.Logger  // default: silent
}

// Validate returns an error that lists all invalid fields.
func (o Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int64
	}{{"MaxAge", int64(o.MaxAge)}, {"MaxBytes", o.MaxBytes}, {"Timeout", int64(o.Timeout)}, {"PendingBytes", o.PendingBytes}} {
		if f.n < 0 {
			errs = append(errs, fmt.Errorf("%s is negative", f.name))
		}
	}
	if o.Replicas < 0 || o.Replicas > 5 {
		errs = append(errs, errors.New("Replicas is not from 0 to 5"))
	}
	for _, f := range []struct{ name, value string }{{"Tenant", o.Tenant}, {"Prefix", o.Prefix}, {"Server", o.Server}} {
		if f.value != "" && !event.RunID(f.value).Valid() {
			errs = append(errs, fmt.Errorf("%s is not 1 to 64 letters, digits, dashes and underscores", f.name))
		}
	}
	return errors.Join(errs...)
}

const defaultPrefix = "sluice"

func (o Options) withDefaults() Options {
	o.Tenant, o.Prefix, o.Server = cmp.Or(o.Tenant, "default"), cmp.Or(o.Prefix, defaultPrefix), cmp.Or(o.Server, rand.Text())
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.PendingBytes = cmp.Or(o.PendingBytes, 16<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is the log of one tenant: an [eventlog.Store], [eventlog.Archive], [eventlog.Deleter], [eventlog.Syncer] and [eventlog.Sharer]. It is safe
// for concurrent use. The logs of other processes may have the same tenant open.
//
// Lock order: a writer's mu, then Log.mu, then a feed's.
type Log struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	o     Options
	names names
	runs  jetstream.Stream
	index jetstream.Stream
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	work  sync.WaitGroup

	failure atomic.Pointer[error]         // of the last write; nil: it succeeded
	places  *lru.Cache[cursor, uint64]    // stream sequences from which recent readers continue
	marked  *lru.Cache[string, time.Time] // prefixes of ids that are in the index
	keys    *lru.Cache[event.RunID, sealer]
	heard   []*nats.Subscription // announcements of deletions and claims
	follow  follower
	seen    atomic.Uint64 // the highest stream sequence of the runs that this process knows of

	mu      sync.Mutex
	closed  bool
	writers map[event.RunID]*writer
	feeds   map[event.RunID]*feed
	pending int64         // bytes of events that are not written
	room    chan struct{} // closed when pending falls; nil: no Append waits
	ended   []event.RunID // runs of this server whose marks can be removed
}

// cursor is a position of a reader.
type cursor struct {
	run   event.RunID
	after event.Seq
}

var (
	_ eventlog.Archive = (*Log)(nil)
	_ eventlog.Deleter = (*Log)(nil)
	_ eventlog.Syncer  = (*Log)(nil)
	_ eventlog.Sharer  = (*Log)(nil)
	_ io.Closer        = (*Log)(nil)
)

// Open opens the log of a tenant. It creates the streams, or changes their retention to that of the options. Deletions that an earlier process
// did not complete are completed. The connection must stay open until the log is closed.
func Open(ctx context.Context, c *natsconn.Conn, o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open log in NATS: %w", err)
	}
	o = o.withDefaults()
	l := &Log{nc: c.NC, js: c.JS, o: o, names: newNames(o.Prefix, o.Tenant), writers: map[event.RunID]*writer{}, feeds: map[event.RunID]*feed{}}
	l.places, _ = lru.New[cursor, uint64](8192)
	l.keys, _ = lru.New[event.RunID, sealer](4096)
	l.marked, _ = lru.New[string, time.Time](1024)
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.follow = follower{log: l, changed: make(chan struct{}, 1), runs: map[event.RunID]*feed{}}
	if err := l.openStreams(ctx); err != nil {
		l.stop()
		return nil, fmt.Errorf("open log in NATS: %w", err)
	}
	var err error
	if err = l.listen(); err == nil {
		err = errors.Join(l.completeDeletions(ctx), l.dropReservations(ctx))
	}
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("open log in NATS: %w", err)
	}
	l.work.Go(l.follow.loop)
	l.work.Go(l.maintain)
	return l, nil
}

// closeTimeout bounds the removal of marks by [Log.Close].
const closeTimeout = 2 * time.Second

// Close stops the log. It does not wait for events that NATS has not acknowledged, and logs the runs that lack some: call it after the runs have ended.
// Waiting readers and all later calls get [eventlog.ErrClosed]. While NATS does not reply, Close takes a few seconds. A second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	feeds := l.feeds
	l.feeds = map[event.RunID]*feed{}
	l.mu.Unlock()
	if again {
		return nil
	}
	if l.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(l.ctx, closeTimeout)
		l.unmark(ctx)
		cancel()
	}
	l.stop()
	for _, f := range feeds {
		f.end(eventlog.ErrClosed)
	}
	l.work.Wait()
	for _, heard := range l.heard {
		if err := heard.Unsubscribe(); err != nil && l.nc.IsConnected() {
			return fmt.Errorf("close log in NATS: %w", err)
		}
	}
	return nil
}

// listen subscribes to the announcements of other servers.
func (l *Log) listen() error {
	for subject, do := range map[string]nats.MsgHandler{
		l.names.deleted: func(m *nats.Msg) { l.forget(event.RunID(m.Data)) },
		l.names.claimed: l.claimedElsewhere,
	} {
		s, err := l.nc.Subscribe(subject, do)
		if err != nil {
			return err
		}
		l.heard = append(l.heard, s)
	}
	return nil
}

// healthTimeout bounds [Log.Err].
const healthTimeout = 2 * time.Second

// Err returns an error if the stream cannot be written: there is no connection, the stream has no leader, or the last write failed.
func (l *Log) Err() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	ctx, cancel := context.WithTimeout(l.ctx, healthTimeout)
	defer cancel()
	if !l.nc.IsConnected() {
		return fmt.Errorf("write log in NATS: %w", nats.ErrDisconnected)
	}
	if _, err := l.get(ctx, l.names.runs, getRequest{Last: l.names.base + "probe"}); err != nil && !errors.Is(err, errNone) {
		return fmt.Errorf("write log in NATS: %w", err)
	}
	return nil
}

// Retain does what is due: it removes what is not needed from memory. JetStream itself deletes old events.
func (l *Log) Retain(ctx context.Context) error {
	l.tidy(time.Now())
	l.unmark(ctx)
	return nil
}

// tidyEvery is how often a log removes what it does not need any more.
const tidyEvery = 10 * time.Second

func (l *Log) maintain() {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.tidy(now)
			l.unmark(l.ctx)
		case <-l.ctx.Done():
			return
		}
	}
}

// The pauses between attempts.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 200 * time.Millisecond
	attempt    = 2 * time.Second        // the longest wait for one reply
	written    = 700 * time.Millisecond // the same for the acknowledgement of a message that may be sent again at any time
)

// retry calls do until it succeeds or its error is not that of a NATS that does not reply. The error is then [fault.Unavailable].
func (l *Log) retry(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.o.Timeout, errTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		once, stop := context.WithTimeout(ctx, attempt)
		err := do(once)
		stop()
		if err == nil || !transient(err) {
			if err != nil && l.ctx.Err() != nil {
				return eventlog.ErrClosed
			}
			return err
		}
		if err := l.pause(ctx, pause, err); err != nil {
			return err
		}
	}
}

var errTimeout = errors.New("NATS did not reply in time")

// pause waits before the next attempt. Its error is why there is none; last is the error of the last attempt.
func (l *Log) pause(ctx context.Context, d time.Duration, last error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.ctx.Done():
		return eventlog.ErrClosed
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errTimeout) {
			return fault.Wrap(fault.Unavailable, last, "the run log does not reply; try again")
		}
		return ctx.Err()
	}
}

// transient reports whether an error may be gone at the next attempt.
func transient(err error) bool { return errors.Is(err, errLost) || natsconn.Transient(err) }
