package natslog

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// follower has one consumer for all runs that are followed here. When they change, or when the consumer is lost, it makes another one that begins
// after the last message that was delivered, so nothing is missed. All of this happens in one goroutine.
type follower struct {
	log     *Log
	changed chan struct{} // the runs have changed

	mu      sync.Mutex
	runs    map[event.RunID]*feed
	waiting []chan uint64 // get the stream sequence after which the consumer includes the runs
}

const (
	maxFilters  = 256               // runs from which on the consumer delivers all runs of the tenant
	heartbeat   = time.Second       // of an idle consumer
	silence     = 5 * heartbeat / 2 // after which a consumer is lost
	unusedAfter = time.Minute       // after which NATS removes a consumer of a lost process
)

// add makes the consumer deliver the messages of a run to its feed. It returns the stream sequence after which it does.
func (f *follower) add(one *feed) (seq uint64, err error) {
	done := make(chan uint64, 1)
	f.mu.Lock()
	f.runs[one.id] = one
	f.waiting = append(f.waiting, done)
	f.mu.Unlock()
	f.change()
	select {
	case seq := <-done:
		return seq, nil
	case <-f.log.ctx.Done():
		return 0, eventlog.ErrClosed
	}
}

func (f *follower) remove(one *feed) {
	f.mu.Lock()
	removed := f.runs[one.id] == one
	if removed {
		delete(f.runs, one.id)
	}
	f.mu.Unlock()
	if removed {
		f.change()
	}
}

func (f *follower) change() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// filters returns the subjects of the runs that are followed, and those who wait for them.
func (f *follower) filters() (subjects []string, waiting []chan uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting, f.waiting = f.waiting, nil
	if len(f.runs) > maxFilters {
		return []string{f.log.names.base + ">"}, waiting
	}
	for id := range f.runs {
		subjects = append(subjects, f.log.names.run(id))
	}
	slices.Sort(subjects)
	return subjects, waiting
}

// loop runs until the log is closed.
func (f *follower) loop() {
	ctx := f.log.ctx
	var c *consumer // nil: no run is followed
	var waiting []chan uint64
	lost := false
	defer func() { c.close() }()
	for pause := firstPause; ctx.Err() == nil; {
		subjects, more := f.filters()
		waiting = append(waiting, more...)
		if lost || c == nil || !slices.Equal(c.subjects, subjects) {
			next, err := f.replace(ctx, c, subjects)
			if err != nil {
				f.log.o.Log.Debug("could not follow runs in NATS; it is tried again", "error", err)
				pause = min(2*pause, lastPause)
				_ = f.log.pause(ctx, pause, err)
				continue
			}
			c, pause = next, firstPause
		}
		for _, done := range waiting {
			done <- c.position()
		}
		waiting = nil
		lost = !f.deliver(ctx, c)
	}
}

// consumer is a push consumer of the stream of the runs, which NATS holds in memory and does not wait for acknowledgements of.
type consumer struct {
	log       *Log
	name      string
	subjects  []string
	sub       *nats.Subscription
	messages  chan *nats.Msg
	seq       uint64 // stream sequence after which it continues
	delivered uint64 // messages that it has delivered
}

// position returns the stream sequence after which the consumer continues.
func (c *consumer) position() uint64 {
	if c == nil {
		return 0
	}
	return c.seq
}

// replace makes a consumer of the subjects that continues after another one, which it closes. It returns nil for no subjects.
func (f *follower) replace(ctx context.Context, before *consumer, subjects []string) (*consumer, error) {
	if len(subjects) == 0 {
		before.close()
		return nil, nil //nolint:nilnil // no run is followed
	}
	l := f.log
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	c := &consumer{log: l, subjects: subjects, messages: make(chan *nats.Msg, 4096)}
	if before != nil {
		c.seq = before.seq
	} else {
		info, err := l.runs.Info(ctx)
		if err != nil {
			return nil, err
		}
		c.seq = info.State.LastSeq
	}
	inbox := l.nc.NewInbox()
	var err error
	if c.sub, err = l.nc.ChanSubscribe(inbox, c.messages); err != nil {
		return nil, err
	}
	made, err := l.js.CreatePushConsumer(ctx, l.names.runs, jetstream.ConsumerConfig{
		DeliverSubject: inbox, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: c.seq + 1, FilterSubjects: subjects,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, IdleHeartbeat: heartbeat, FlowControl: true, InactiveThreshold: unusedAfter,
	})
	if err != nil {
		c.close()
		return nil, err
	}
	c.name = made.CachedInfo().Name
	before.close()
	return c, nil
}

// close removes the consumer. NATS removes it later if it cannot be reached.
func (c *consumer) close() {
	if c == nil {
		return
	}
	_ = c.sub.Unsubscribe()
	if name := c.name; name != "" && c.log.nc.IsConnected() {
		c.log.work.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), attempt)
			defer cancel()
			_ = c.log.js.DeleteConsumer(ctx, c.log.names.runs, name)
		})
	}
}

// deliver passes messages on until the runs change. It returns false if the consumer is lost. A consumer of nil waits for runs.
func (f *follower) deliver(ctx context.Context, c *consumer) bool {
	if c == nil {
		select {
		case <-f.changed:
		case <-ctx.Done():
		}
		return true
	}
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-f.changed:
			return true
		case <-ctx.Done():
			return true
		case <-quiet.C:
			return false
		case m := <-c.messages:
			quiet.Reset(silence)
			if !f.handle(c, m) {
				return false
			}
		}
	}
}

// handle passes one message on. It returns false if a message is missing.
func (f *follower) handle(c *consumer, m *nats.Msg) bool {
	if m.Header.Get("Status") != "" {
		return c.control(m)
	}
	meta, err := m.Metadata()
	if err != nil || meta.Sequence.Consumer != c.delivered+1 {
		return false
	}
	r, err := parseRecord(m.Header, m.Data)
	f.mu.Lock()
	one := f.runs[runID(m.Subject)]
	f.mu.Unlock()
	switch {
	case one == nil:
	case err != nil:
		one.end(errStale) // Load returns the error
	default:
		one.deliver(message{seq: meta.Sequence.Stream, subject: m.Subject, record: r})
	}
	c.delivered, c.seq = meta.Sequence.Consumer, meta.Sequence.Stream
	f.log.saw(c.seq)
	return true
}

// control handles a heartbeat or a request of flow control. It returns false if the consumer is gone or has delivered more messages than arrived.
func (c *consumer) control(m *nats.Msg) bool {
	if m.Header.Get("Status") != "100" {
		return false
	}
	if m.Reply != "" {
		_ = m.Respond(nil)
	}
	if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
		_ = c.log.nc.Publish(stalled, nil)
	}
	if text := m.Header.Get("Nats-Last-Consumer"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		return err == nil && n == c.delivered
	}
	return true
}
