package natspeers_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// node is a server of a group, with one tenant.
type node struct {
	*engine.Engine
	conn  *natsconn.Conn
	log   *natslog.Log
	peers natspeers.Peers
	runs  atomic.Int64 // that its answerer has begun
	open  chan struct{}
}

// Answer implements [answer.Answerer]. It waits until open is closed.
func (n *node) Answer(ctx context.Context, r *answer.Recorder) error {
	n.runs.Add(1)
	select {
	case <-n.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, b := range []event.Body{event.QueryAnalyzed{Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "yes"},
		event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{}} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// group starts servers that hear each other. Their answers wait until open is closed.
func group(t testing.TB, size int, options func(i int, n *node, o *engine.Options)) (nodes []*node, open chan struct{}) {
	t.Helper()
	s := natstest.New(t)
	open = make(chan struct{})
	for i := range size {
		n := &node{open: open}
		name := fmt.Sprintf("server%d", i)
		var err error
		if n.conn, err = natsconn.Connect(s.URL(), natsconn.Options{}); err != nil {
			t.Fatal(err)
		}
		servers, err := natspeers.Join(n.conn.NC, natspeers.Options{Server: name})
		require.NoError(t, err)
		if n.log, err = natslog.Open(t.Context(), n.conn, natslog.Options{Server: name}); err != nil {
			t.Fatal(err)
		}
		n.peers = servers.Tenant("default")
		o := engine.Options{Store: n.log, Peers: n.peers, SharedKeys: true, ShareKey: func(_ context.Context, q event.RunStarted) string { return q.Query }}
		if options != nil {
			options(i, n, &o)
		}
		n.Engine = engine.New(n, o)
		if _, err := n.Recover(t.Context(), engine.Recovery{}); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
		t.Cleanup(func() {
			gone, stop := context.WithCancel(context.Background())
			stop()
			_ = n.Close(gone)
			_, _, _ = n.log.Close(), servers.Close(), n.conn.Close()
		})
	}
	for _, n := range nodes {
		await(t, "the servers do not hear each other", func() bool {
			for i := range size {
				if !n.peers.Alive(fmt.Sprintf("server%d", i)) {
					return false
				}
			}
			return size == 1 || n.peers.Others()
		})
	}
	return nodes, open
}

func ask(t testing.TB, n *node, query string, c engine.Caller) event.RunID {
	t.Helper()
	id, err := n.Ask(t.Context(), event.Question{Query: query}, c)
	require.NoError(t, err)
	return id
}

// end reads a run to its end on a server and returns its last event.
func end(t testing.TB, n *node, id event.RunID) event.Body {
	t.Helper()
	var log []event.Event
	for batch, err := range n.Events(t.Context(), id, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	require.NoError(t, event.CheckLog(log, true))
	return log[len(log)-1].Body
}

func wantEnd[B event.Body](t *testing.T, n *node, id event.RunID) {
	t.Helper()
	if b, ok := end(t, n, id).(B); !ok {
		t.Errorf("run %s ends with %T, want %T", id, end(t, n, id), b)
	}
}

// wantNoReservation waits until no key is reserved.
func wantNoReservation(t *testing.T, n *node) {
	t.Helper()
	stream, err := n.conn.JS.Stream(t.Context(), "SLUICE-default-INDEX")
	require.NoError(t, err)
	await(t, "a key is still reserved", func() bool {
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("sluice.index.default.ask.>"))
		return err == nil && len(info.State.Subjects) == 0
	})
}

// TestJoin asks the same on two servers. The second question joins the first one's run, while it is live.
func TestJoin(t *testing.T) {
	t.Parallel()
	nodes, open := group(t, 2, nil)
	one, two := nodes[0], nodes[1]
	first := ask(t, one, "why?", engine.Caller{})
	for i, c := range []struct {
		n      *node
		q      event.Question
		by     engine.Caller
		joined bool
	}{
		{two, event.Question{Query: "why?"}, engine.Caller{}, true},
		{two, event.Question{Query: "why?"}, engine.Caller{Protocol: "forge"}, true}, // which it knows now
		{one, event.Question{Query: "why?"}, engine.Caller{}, true},
		{two, event.Question{Query: "how?"}, engine.Caller{}, false},
		{two, event.Question{Query: "why?"}, engine.Caller{Account: "alice"}, false},
		{two, event.Question{Query: "why?", NoCache: true}, engine.Caller{}, false},
		{two, event.Question{Query: "why?", Ephemeral: true}, engine.Caller{}, false},
		{two, event.Question{Query: "why?"}, engine.Caller{Run: "run_own"}, false},
	} {
		id, err := c.n.Ask(t.Context(), c.q, c.by)
		if err != nil || (id == first) != c.joined {
			t.Errorf("question %d: run %s, %v; the first is %s", i, id, err, first)
		}
	}
	close(open)
	wantEnd[event.RunFinished](t, two, first)
	wantEnd[event.RunFinished](t, one, first)
	wantNoReservation(t, one)
	if id := ask(t, two, "why?", engine.Caller{}); id == first {
		t.Error("a run that has ended was joined")
	}
}

// TestJoinAtOnce asks the same on all servers at once, many times. One run answers each question.
func TestJoinAtOnce(t *testing.T) {
	t.Parallel()
	nodes, open := group(t, 3, nil)
	const questions, askers = 20, 10
	var ids [questions]sync.Map
	var wg, asked sync.WaitGroup
	asked.Add(questions * len(nodes) * askers)
	for i := range questions {
		for _, n := range nodes {
			for range askers {
				wg.Go(func() {
					id, detach, err := n.AskAttached(t.Context(), event.Question{Query: fmt.Sprintf("%d?", i)}, engine.Caller{})
					asked.Done()
					if err != nil {
						t.Error(err)
						return
					}
					defer detach()
					ids[i].Store(id, true)
					<-open
				})
			}
		}
	}
	asked.Wait()
	close(open)
	wg.Wait()
	for i := range ids {
		n := 0
		ids[i].Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("question %d: %d runs", i, n)
		}
	}
	runs := int64(0)
	for _, n := range nodes {
		await(t, "a run has not ended", n.Idle)
		runs += n.runs.Load()
	}
	if runs != questions {
		t.Errorf("%d runs answer %d questions", runs, questions)
	}
	wantNoReservation(t, nodes[0])
}

// TestJoinedCancel withdraws the questions of a run on both servers. The run stops with the last one.
func TestJoinedCancel(t *testing.T) {
	t.Parallel()
	nodes, open := group(t, 2, nil)
	for i, order := range [][2]int{{0, 1}, {1, 0}} {
		query := fmt.Sprintf("%d?", i)
		id := ask(t, nodes[0], query, engine.Caller{ID: "0"})
		if joined := ask(t, nodes[1], query, engine.Caller{ID: "1"}); joined != id {
			t.Fatalf("run %s, want %s", joined, id)
		}
		for k, by := range order {
			require.NoError(t, nodes[by].Cancel(t.Context(), id, fmt.Sprint(by)))
			if k == 0 && ask(t, nodes[0], query, engine.Caller{ID: "0"}) != id { // a cancelled run cannot be joined
				t.Fatal("the run stopped with the first question")
			}
			if k == 0 {
				_ = nodes[0].Cancel(t.Context(), id, "0")
			}
		}
		if failed, ok := end(t, nodes[1], id).(event.RunFailed); !ok || failed.Code != fault.Cancelled {
			t.Errorf("the run ends with %v", failed)
		}
	}
	close(open)
	wantNoReservation(t, nodes[0])
}

// TestJoinedReaders lets the readers of a run leave, first those of the server that answers it. The run stops after the last one.
func TestJoinedReaders(t *testing.T) {
	t.Parallel()
	nodes, _ := group(t, 2, func(_ int, _ *node, o *engine.Options) { o.Grace = time.Millisecond })
	var detach [2]func()
	var ids [2]event.RunID
	for i, n := range nodes {
		var err error
		if ids[i], detach[i], err = n.AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{}); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] {
		t.Fatalf("runs %v", ids)
	}
	detach[0]()
	select {
	case <-time.After(4 * time.Second): // longer than a report of readers counts
	case <-t.Context().Done():
	}
	if !nodes[0].Answering(ids[0]) {
		t.Error("the run stopped while it was read on the other server")
	}
	detach[1]()
	wantEnd[event.RunFailed](t, nodes[0], ids[0])
}

// declining is a billing that waits before it refuses its first run.
type declining struct {
	engine.Billing
	wait    chan struct{}
	decline atomic.Bool
}

func (d *declining) Authorize(_ context.Context, _ event.RunStarted) error {
	if !d.decline.CompareAndSwap(true, false) {
		return nil
	}
	d.wait <- struct{}{}
	<-d.wait
	return fault.New(fault.Payment, "no credits")
}

func (d *declining) Void(context.Context, event.RunID) error { return nil }
func (d *declining) Settle(context.Context, event.State, func(context.Context) error) (*event.Settled, error) {
	return nil, nil //nolint:nilnil // nobody pays
}

func (d *declining) Payment(context.Context, event.RunID) (event.Payment, error) {
	return event.Unpaid, nil
}
func (d *declining) Refund(context.Context, event.RunID) error    { return nil }
func (d *declining) Holds(context.Context) ([]event.RunID, error) { return nil, nil }

// TestJoinRunThatDoesNotStart lets a question on another server wait for a run that is refused. It then starts its own.
func TestJoinRunThatDoesNotStart(t *testing.T) {
	t.Parallel()
	pays := &declining{wait: make(chan struct{})}
	pays.decline.Store(true)
	nodes, open := group(t, 2, func(i int, _ *node, o *engine.Options) { o.Billing = pays })
	refused := make(chan error)
	go func() {
		_, _, err := nodes[0].AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
		refused <- err
	}()
	<-pays.wait
	joined := make(chan event.RunID)
	go func() {
		id, _ := nodes[1].Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
		joined <- id
	}()
	await(t, "the question does not wait for the other server's", func() bool { return nodes[1].Live() == 1 })
	pays.wait <- struct{}{}
	if err := <-refused; fault.Public(err).Code != fault.Payment {
		t.Errorf("the first question: %v", err)
	}
	close(open)
	wantEnd[event.RunFinished](t, nodes[1], <-joined)
	wantNoReservation(t, nodes[0])
}

// TestJoinUnavailable asks a question whose key is reserved for a run that cannot be joined. It is answered nevertheless, and others join that.
func TestJoinUnavailable(t *testing.T) {
	t.Parallel()
	nodes, open := group(t, 2, nil)
	close(open)
	for _, c := range []struct {
		name, server string
		reply        func(func(bool))
	}{
		{"a server that does not exist", "server9", nil},
		{"a server that has stopped", "stopped", nil},
		{"a server that refuses", "refuses", func(reply func(bool)) { reply(false) }},
		{"a server that is paused", "paused", func(func(bool)) {}},
		{"an earlier process of this server", "server0", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := natslog.Open(t.Context(), nodes[0].conn, natslog.Options{Server: c.server})
			require.NoError(t, err)
			defer func() { _ = log.Close() }()
			if c.reply != nil {
				servers, err := natspeers.Join(nodes[0].conn.NC, natspeers.Options{Server: c.server})
				require.NoError(t, err)
				defer func() { _ = servers.Close() }()
				stop, err := servers.Tenant("default").Serve(engine.Handlers{Cancel: func(engine.Cancellation) bool { return false },
					Read: func([]event.RunID) {}, Join: func(_ engine.Joining, reply func(bool)) { c.reply(reply) }})
				require.NoError(t, err)
				defer stop()
				await(t, "the server is not heard", func() bool { return nodes[0].peers.Alive(c.server) })
			}
			key := sha256.Sum256([]byte("\x00why?")) // of no account
			if _, err := log.Reserve(t.Context(), hex.EncodeToString(key[:]), "run_old", eventlog.Reservation{}); err != nil {
				t.Fatal(err)
			}
			id := ask(t, nodes[0], "why?", engine.Caller{})
			if id == "run_old" {
				t.Error("a run that does not exist was joined")
			}
			wantEnd[event.RunFinished](t, nodes[1], id)
			wantNoReservation(t, nodes[0])
		})
	}
}

// deafLog is a store whose reservations fail or hang.
type deafLog struct {
	*natslog.Log
	hangs bool
}

func (d deafLog) Reserve(ctx context.Context, _ string, _ event.RunID, _ eventlog.Reservation) (eventlog.Reservation, error) {
	if d.hangs {
		<-ctx.Done()
		return eventlog.Reservation{}, ctx.Err()
	}
	return eventlog.Reservation{}, errors.New("no reply")
}

// TestJoinWithoutStore asks while keys cannot be reserved. Each server answers its own questions.
func TestJoinWithoutStore(t *testing.T) {
	t.Parallel()
	nodes, open := group(t, 2, func(i int, n *node, o *engine.Options) { o.Store = deafLog{n.log, i == 0} })
	first, second := ask(t, nodes[0], "why?", engine.Caller{}), ask(t, nodes[1], "why?", engine.Caller{})
	if first == second {
		t.Error("the questions share a run")
	}
	close(open)
	wantEnd[event.RunFinished](t, nodes[0], first)
	wantEnd[event.RunFinished](t, nodes[0], second)
}
