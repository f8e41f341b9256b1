package sqlstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// standstill stops one server at one of the moments before and after its writes, until it is resumed.
type standstill struct {
	n, at   atomic.Int64 // moments so far, and that at which it stops
	stopped chan struct{}
	resume  chan struct{}
}

func (s *standstill) moment() {
	if s.n.Add(1) == s.at.Load() {
		s.stopped <- struct{}{}
		<-s.resume
	}
}

// slowLog and slowBilling are the stores of that server.
type slowLog struct {
	*natslog.Log
	*standstill
}

func (l slowLog) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	l.moment()
	defer l.moment()
	return l.Log.Append(ctx, run, es...)
}

func (l slowLog) Sync(ctx context.Context, run event.RunID) error {
	defer l.moment()
	return l.Log.Sync(ctx, run)
}

type slowBilling struct {
	*ledger.Billing
	*standstill
}

func (b slowBilling) Authorize(ctx context.Context, start event.RunStarted) error {
	defer b.moment()
	return b.Billing.Authorize(ctx, start)
}

func (b slowBilling) Settle(ctx context.Context, s event.State, durable func(context.Context) error) (*event.Settled, error) {
	b.moment()
	defer b.moment()
	return b.Billing.Settle(ctx, s, durable)
}

func (b slowBilling) Refund(ctx context.Context, id event.RunID) error {
	b.moment()
	defer b.moment()
	return b.Billing.Refund(ctx, id)
}

// others are the peers of an engine whose lease seems to have run out.
type others struct{}

func (others) Alive(string) bool                                          { return false }
func (others) Others() bool                                               { return true }
func (others) Serve(engine.Handlers) (func(), error)                      { return func() {}, nil }
func (others) Cancel(context.Context, engine.Cancellation) (bool, error)  { return false, nil }
func (others) Join(context.Context, string, engine.Joining) (bool, error) { return false, nil }
func (others) Read([]event.RunID)                                         {}

// TestServerStandsStill lets a server stand still at each moment of a run, while another one takes the run over. Then it goes on. The run ends once, and the
// account pays once, or nothing if the run has failed.
func TestServerStandsStill(t *testing.T) {
	t.Parallel()
	nats := natstest.New(t)
	store := openIn(t, t.TempDir())
	credit(t, store, "1", "ann", 1000*fee)
	open := func(name string) *natslog.Log {
		c, err := natsconn.Connect(nats.URL(), natsconn.Options{})
		require.NoError(t, err)
		log, err := natslog.Open(t.Context(), c, natslog.Options{Server: name})
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = log.Close(), c.Close() })
		return log
	}
	one, two := open("one"), open("two")
	for _, fails := range [][2]bool{{false, false}, {true, true}, {true, false}} { // on each server
		for at, last := int64(0), int64(0); at <= last; at++ {
			s := &standstill{stopped: make(chan struct{}), resume: make(chan struct{})}
			s.at.Store(at) // 0: it does not stop, and the moments are counted
			var ended atomic.Int64
			count := func(event.State) { ended.Add(1) }
			slow := engine.New(script{fails[0]}, engine.Options{Store: slowLog{one, s}, Billing: slowBilling{billing(store), s}, Peers: others{}, Ended: count})
			other := engine.New(script{fails[1]}, engine.Options{Store: two, Billing: billing(store), Peers: others{}, Ended: count})
			what := fmt.Sprintf("fails %v, moment %d", fails, at)
			asked := make(chan error, 1)
			go func() {
				_, err := slow.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{Account: "ann"})
				asked <- err
			}()
			if at > 0 {
				<-s.stopped
				if _, err := other.TakeOver(t.Context(), "one"); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				_ = other.Close(t.Context()) // waits for the run
				close(s.resume)
			}
			if err := <-asked; err != nil {
				t.Errorf("%s: %v", what, err)
			}
			_ = slow.Close(t.Context())
			if last == 0 {
				last = s.n.Load()
			}
			if ended.Load() != 1 {
				t.Errorf("%s: %d servers have ended the run", what, ended.Load())
			}
			agree(t, two, store, what)
			if t.Failed() {
				return
			}
		}
	}
	runs, err := two.Runs(t.Context(), "", 1000)
	if err != nil || len(runs) < 50 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestTakeOverOfARunThatBegins takes over a server that lives, when it has marked a run as its own and has not written the first event yet. The mark stays,
// so that others continue the run if that server dies later. A mark without a run is removed after some time.
func TestTakeOverOfARunThatBegins(t *testing.T) {
	t.Parallel()
	c, err := natsconn.Connect(natstest.New(t).URL(), natsconn.Options{})
	require.NoError(t, err)
	defer c.Close()
	log, err := natslog.Open(t.Context(), c, natslog.Options{Server: "two"})
	require.NoError(t, err)
	defer log.Close()
	if _, err := c.JS.Publish(t.Context(), "sluice.index.default.own.one.a.=.=", nil); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	e := engine.New(script{}, engine.Options{Store: log, Peers: others{}, Now: func() time.Time { return now }})
	defer e.Close(t.Context())
	for _, step := range []struct {
		later time.Duration
		want  int
	}{{0, 1}, {time.Minute, 1}, {time.Minute, 0}} {
		now = now.Add(step.later)
		if _, err := e.TakeOver(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		owned, err := log.Owned(t.Context())
		if n := len(owned["one"]); err != nil || n != step.want {
			t.Errorf("%v later: %d marks, want %d; %v", step.later, n, step.want, err)
		}
	}
}
