package natsrpc

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/forrst"
)

// Options are the settings of [Serve]. The zero value works.
type Options struct {
	// Queue is the queue group that the servers of the service share. Default: forrst.
	Queue string
	// Context authenticates a request by its message. It returns the context of the call, with values that
	// forrst.Options.Caller reads. An error is the reply: return a *forrst.CallError with the code Unauthorized or Forbidden.
	Context func(ctx context.Context, request *nats.Msg) (context.Context, error)
	// MaxCalls limits the calls at the same time. Further ones get UNAVAILABLE. Default: 1024.
	MaxCalls int
	// Lease is the time without an ack of a client after which its call ends. Default: 30 seconds.
	Lease time.Duration
	// Grace is how long calls may go on after the end of the context of Serve. Default: 10 seconds.
	Grace time.Duration
}

func withDefaults(o Options) Options {
	if o.Queue == "" {
		o.Queue = defaultQueue
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	if o.Lease <= 0 {
		o.Lease = defaultLease
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	return o
}

// Serve answers the calls on a subject until the context ends or the connection is closed. Then it takes no more requests,
// answers those that have arrived, and waits for the calls in progress: after Options.Grace they end as if their clients
// had left. It returns nil after the end of the context. Call Server.Wait afterwards. It does not close the connection,
// which should reconnect without a limit of attempts.
func Serve(ctx context.Context, nc *nats.Conn, subject string, s *forrst.Server, o Options) error {
	o = withDefaults(o)
	calls, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	srv := &server{nc: nc, s: s, o: o, ctx: calls, control: nc.NewInbox() + ".", slots: make(chan struct{}, o.MaxCalls), calls: map[string]*call{}}
	closed := nc.StatusChanged(nats.CLOSED)
	defer nc.RemoveStatusListener(closed)
	control, err := nc.Subscribe(srv.control+"*", srv.steer)
	if err != nil {
		return err
	}
	defer func() { _ = control.Unsubscribe() }()
	requests, err := nc.QueueSubscribe(subject, o.Queue, srv.receive)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-closed:
		abort()
		srv.running.Wait()
		return nats.ErrConnectionClosed
	}
	timer := time.AfterFunc(o.Grace, abort)
	defer timer.Stop()
	drained := make(chan struct{}, 1)
	requests.SetClosedHandler(func(string) { drained <- struct{}{} })
	if requests.Drain() == nil {
		select {
		case <-drained:
		case <-calls.Done():
		}
	}
	srv.running.Wait()
	_ = nc.FlushTimeout(o.Grace) // the last replies
	return nil
}

type server struct {
	nc      *nats.Conn
	s       *forrst.Server
	o       Options
	ctx     context.Context // of all calls
	control string          // prefix of the control subjects
	slots   chan struct{}
	running sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*call
}

// receive starts the call of a request. It is called for one request after the other.
func (s *server) receive(m *nats.Msg) {
	if m.Reply == "" {
		return // the sender expects no reply
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	c := &call{server: s, id: rand.Text(), reply: m.Reply, ctx: ctx, cancel: cancel, header: http.Header{}, acked: make(chan struct{}, 1)}
	select {
	case s.slots <- struct{}{}:
	default:
		// The server validates the request and answers it without its function.
		cancel(forrst.Errorf(forrst.Unavailable, "too many calls at the same time"))
		s.answer(ctx, c, m)
		return
	}
	c.lease = time.AfterFunc(s.o.Lease, c.gone)
	s.mu.Lock()
	s.calls[c.id] = c
	s.mu.Unlock()
	accept := nats.NewMsg(m.Reply)
	accept.Header.Set(headerControl, s.control+c.id)
	accept.Header.Set(headerLease, strconv.FormatInt(s.o.Lease.Milliseconds(), 10))
	_ = s.nc.PublishMsg(accept) // fails only with the connection
	s.running.Go(func() {
		defer func() { <-s.slots }()
		defer s.forget(c)
		s.answer(ctx, c, m)
	})
}

func (s *server) forget(c *call) {
	c.lease.Stop()
	c.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.id)
}

func (s *server) answer(ctx context.Context, c *call, m *nats.Msg) {
	in := forrst.Incoming{Body: m.Data, Headers: forrst.HeadersOf(httpHeader(m.Header)), Received: sentAt(m.Header.Get(headerSent), time.Now())}
	if s.o.Context != nil {
		authenticated, err := s.authenticate(ctx, m)
		if err != nil {
			s.s.Refuse(in, err, c)
			return
		}
		ctx = authenticated
	}
	s.s.Serve(ctx, in, c)
}

var errPanic = errors.New("natsrpc: the authentication has panicked")

// authenticate calls the hook of the options. A panic is logged.
func (s *server) authenticate(ctx context.Context, m *nats.Msg) (_ context.Context, err error) {
	defer func() {
		if recover() != nil {
			s.s.Logger().Error("panic", "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return s.o.Context(ctx, m)
}

// sentAt returns when a request was sent: at most maxWait ago, and not in the future.
func sentAt(header string, now time.Time) time.Time {
	us, err := strconv.ParseInt(header, 10, 64)
	if err != nil || us <= 0 || us > now.UnixMicro() {
		return now
	}
	return now.Add(-time.Duration(min(now.UnixMicro()-us, maxWait.Microseconds())) * time.Microsecond)
}

// steer handles a control message.
func (s *server) steer(m *nats.Msg) {
	s.mu.Lock()
	c := s.calls[strings.TrimPrefix(m.Subject, s.control)]
	s.mu.Unlock()
	text := string(m.Data)
	n, isAck := strings.CutPrefix(text, "ack ")
	switch {
	case c == nil:
		if isAck && m.Reply != "" {
			unknown := nats.NewMsg(m.Reply)
			unknown.Header.Set(headerUnknown, "true")
			_ = s.nc.PublishMsg(unknown)
		}
	case text == "gone":
		c.gone()
	case isAck:
		if seq, err := strconv.ParseUint(n, 10, 63); err == nil {
			c.ack(seq)
		}
	}
}
