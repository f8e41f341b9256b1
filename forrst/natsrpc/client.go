package natsrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/forrst/client"
)

// Errors of calls over NATS, beside those of package client.
var (
	// ErrNoServer means that no server has accepted the call in time. The call may still run, for example if the acceptance arrives later.
	ErrNoServer = errors.New("natsrpc: no server has accepted the call")
	// ErrGap means that a message of the reply was lost.
	ErrGap = errors.New("natsrpc: a message of the reply was lost")
)

// ClientOptions are the settings of a client's side. The zero value works.
type ClientOptions struct {
	// AcceptTimeout is how long a server may take to accept a call. Default: 5 seconds.
	AcceptTimeout time.Duration
}

// Transport sends calls to the servers of a subject. It is safe for concurrent use.
type Transport struct {
	nc      *nats.Conn
	subject string
	o       ClientOptions
	leaving sync.WaitGroup // calls that ended before a server has accepted them
}

// New returns a transport over a connection, which it does not close. Close waits for calls that have ended before a server has accepted them, so that the
// server ends them too.
func New(nc *nats.Conn, subject string, o ClientOptions) *Transport {
	if o.AcceptTimeout <= 0 {
		o.AcceptTimeout = defaultAccept
	}
	return &Transport{nc: nc, subject: subject, o: o}
}

// Close waits until the servers of calls that have ended early have been notified, at most ClientOptions.AcceptTimeout.
func (t *Transport) Close() error {
	t.leaving.Wait()
	return nil
}

// Send implements [client.Transport].
func (t *Transport) Send(ctx context.Context, out client.Outgoing) iter.Seq2[client.Message, error] {
	return func(yield func(client.Message, error) bool) {
		r := &receiver{t: t, inbox: t.nc.NewInbox(), limit: out.MaxMessage}
		sub, err := t.nc.SubscribeSync(r.inbox)
		if err != nil {
			yield(client.Message{}, err)
			return
		}
		defer r.close(sub)
		// A server that ignores the window must not fill the memory. What is dropped is noticed as a gap.
		_ = sub.SetPendingLimits(4*Window, int(4*(WindowBytes+t.nc.MaxPayload()))) // fails as the next line does
		r.accept = time.Now().Add(t.o.AcceptTimeout)
		if err := t.request(r.inbox, out); err != nil {
			r.complete = true // nothing was sent
			yield(client.Message{}, err)
			return
		}
		for !r.complete {
			m, err := r.next(ctx, sub)
			if err == nil && m == nil {
				continue
			}
			if err != nil {
				r.lost = ctx.Err() == nil
				yield(client.Message{}, err)
				return
			}
			if !yield(*m, nil) {
				return
			}
			r.used()
		}
	}
}

func (t *Transport) request(inbox string, out client.Outgoing) error {
	m := nats.NewMsg(t.subject)
	m.Reply, m.Data = inbox, out.Body
	maps.Copy(m.Header, out.Header)
	m.Header.Set(headerSent, strconv.FormatInt(time.Now().UnixMicro(), 10))
	err := t.nc.PublishMsg(m)
	if errors.Is(err, nats.ErrMaxPayload) {
		err = fmt.Errorf("natsrpc: the request is larger than the %d bytes that NATS permits: %w", t.nc.MaxPayload(), err)
	}
	return err
}

// receiver is the client's side of one call.
type receiver struct {
	t        *Transport
	inbox    string
	limit    int64 // of a payload
	accept   time.Time
	begun    bool // a message has arrived
	complete bool
	lost     bool // no more messages are expected
	status   int
	header   http.Header
	parts    bytes.Buffer // of a payload that is not complete

	stop    func() // ends the renewal of the lease
	control string

	mu       sync.Mutex
	received uint64 // number of the last message
	consumed uint64 // number of the last message that was used
	acked    uint64
	unacked  int64 // bytes since the last ack
}

// next returns the next message for the client, or nil if the received one is only for this package.
func (r *receiver) next(ctx context.Context, sub *nats.Subscription) (*client.Message, error) {
	waiting := ctx
	if !r.begun {
		var cancel context.CancelFunc
		waiting, cancel = context.WithDeadline(ctx, r.accept)
		defer cancel()
	}
	m, err := sub.NextMsgWithContext(waiting)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) && !r.begun:
		return nil, ErrNoServer
	case errors.Is(err, nats.ErrNoResponders):
		return nil, client.ErrBroken
	case errors.Is(err, nats.ErrSlowConsumer):
		return nil, ErrGap
	case err != nil:
		return nil, err
	}
	r.begun = true
	seq := m.Header.Get(headerSeq)
	switch {
	case m.Header.Get(headerUnknown) != "":
		return nil, client.ErrBroken // its last messages were lost
	case seq == "":
		r.accepted(ctx, m)
		return nil, nil
	}
	return r.take(m, seq)
}

// accepted records the control subject of the call, and begins to renew the lease.
func (r *receiver) accepted(ctx context.Context, m *nats.Msg) {
	lease, err := strconv.ParseInt(m.Header.Get(headerLease), 10, 64)
	control := m.Header.Get(headerControl)
	if err != nil || lease <= 0 || control == "" || r.stop != nil {
		return // not an acceptance
	}
	r.control = control
	every := max(time.Duration(min(lease, maxWait.Milliseconds()))*time.Millisecond/3, time.Millisecond)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ends with the call
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.mu.Lock()
				r.ack()
				r.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	}()
	r.stop = func() { cancel(); <-done }
}

// take adds a message to the payload, and returns the payload when it is complete.
func (r *receiver) take(m *nats.Msg, seq string) (*client.Message, error) {
	n, err := strconv.ParseUint(seq, 10, 64)
	r.mu.Lock()
	first, expected := r.received == 0, n == r.received+1
	if err == nil && expected {
		r.received = n
		r.unacked += int64(len(m.Data))
	}
	r.mu.Unlock()
	switch {
	case err != nil || !expected:
		return nil, ErrGap
	case int64(r.parts.Len()+len(m.Data)) > r.limit:
		return nil, client.ErrTooLarge
	}
	if first {
		r.header = httpHeader(m.Header)
		r.status, _ = strconv.Atoi(m.Header.Get(headerStatus))
	}
	if r.parts.Len() > 0 || m.Header.Get(headerMore) != "" {
		r.parts.Write(m.Data)
	}
	if m.Header.Get(headerMore) != "" {
		r.used()
		return nil, nil
	}
	out := &client.Message{Body: m.Data, Status: r.status, Header: r.header}
	if r.parts.Len() > 0 {
		out.Body = bytes.Clone(r.parts.Bytes())
		r.parts.Reset()
	}
	r.complete = m.Header.Get(headerLast) != ""
	return out, nil
}

// used records that all messages so far were used, and sends an ack if the server may be waiting for one.
func (r *receiver) used() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consumed = r.received
	if r.consumed-r.acked >= Window/2 || r.unacked >= WindowBytes/2 {
		r.ack()
	}
}

// ack sends an ack. The caller holds the lock.
func (r *receiver) ack() {
	if r.control == "" {
		return
	}
	r.acked = r.consumed
	if r.consumed == r.received { // else the bytes of a message that is not used yet would not be counted
		r.unacked = 0
	}
	// An error ends the lease.
	_ = r.t.nc.PublishRequest(r.control, r.inbox, []byte("ack "+strconv.FormatUint(r.consumed, 10)))
}

// close ends the call. If no server has accepted it yet, a goroutine waits for the acceptance and then ends the call there.
func (r *receiver) close(sub *nats.Subscription) {
	switch {
	case r.stop != nil:
		r.stop()
		if !r.complete {
			r.gone()
		}
	case !r.complete && !r.lost:
		r.t.leaving.Go(func() {
			defer func() { _ = sub.Unsubscribe() }()
			ctx, cancel := context.WithDeadline(context.Background(), r.accept)
			defer cancel()
			if m, err := sub.NextMsgWithContext(ctx); err == nil {
				if r.control = m.Header.Get(headerControl); r.control != "" {
					r.gone()
				}
			}
		})
		return
	}
	_ = sub.Unsubscribe()
}

// gone notifies the server that the client has left. If that fails, the lease ends the call.
func (r *receiver) gone() { _ = r.t.nc.Publish(r.control, []byte("gone")) }
