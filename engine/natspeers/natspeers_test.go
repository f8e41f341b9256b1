package natspeers_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func join(t *testing.T, nc *nats.Conn, name string, lease time.Duration) (s *natspeers.Servers, lost chan string) {
	t.Helper()
	s, err := natspeers.Join(nc, natspeers.Options{Server: name, Lease: lease})
	require.NoError(t, err)
	lost = make(chan string, 10)
	s.OnLost(func(server string) { lost <- server })
	return s, lost
}

// await polls until a condition holds.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func wantLost(t *testing.T, lost chan string, want string) {
	t.Helper()
	select {
	case got := <-lost:
		if got != want {
			t.Errorf("lost %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s is not lost", want)
	}
}

// TestLeases lets one server vanish and another one leave. Each is lost once, on each server.
func TestLeases(t *testing.T) {
	s := natstest.New(t)
	vanishing := connect(t, s.URL())
	one, lostOne := join(t, connect(t, s.URL()), "one", time.Second)
	two, _ := join(t, connect(t, s.URL()), "two", time.Second)
	three, _ := join(t, vanishing, "three", time.Second)
	if !one.Alive("a stranger") {
		t.Error("a server is dead before the first lease could run out")
	}
	await(t, "the servers do not hear each other", func() bool { return one.Others() && two.Others() && three.Others() })
	await(t, "a stranger is alive", func() bool { return !one.Alive("a stranger") })
	if !one.Alive("one") || !one.Alive("two") || !one.Alive("three") {
		t.Error("a server that runs is dead")
	}
	vanishing.Close() // as if the process were killed
	_ = three.Close()
	wantLost(t, lostOne, "three")
	if one.Alive("three") || !one.Alive("two") {
		t.Error("the wrong server is dead")
	}
	require.NoError(t, two.Close())
	wantLost(t, lostOne, "two")
	if one.Others() {
		t.Error("a server is alive after all others have left")
	}
	require.NoError(t, one.Close())
	if len(lostOne) > 0 {
		t.Errorf("%s is lost again", <-lostOne)
	}
}

// TestNoLeaseRunsOutWithoutNATS stops NATS for longer than a lease. No server is lost.
func TestNoLeaseRunsOutWithoutNATS(t *testing.T) {
	s := natstest.New(t)
	one, lost := join(t, connect(t, s.URL()), "one", 200*time.Millisecond)
	_, _ = join(t, connect(t, s.URL()), "two", 200*time.Millisecond)
	await(t, "the servers do not hear each other", one.Others)
	await(t, "the first lease has not run out", func() bool { return !one.Alive("a stranger") })
	s.Stop()
	select {
	case server := <-lost:
		t.Errorf("%s is lost", server)
	case <-time.After(time.Second): // five leases
	}
	if !one.Alive("two") {
		t.Error("a lease has run out while no server could be heard")
	}
}

// TestNameTaken starts a server twice, as with a copy of its data folder. The second one is refused as long as the first one runs, and not because of one that is paused or
// was killed.
func TestNameTaken(t *testing.T) {
	s := natstest.New(t)
	first, _ := join(t, connect(t, s.URL()), "one", 200*time.Millisecond)
	_, _ = join(t, connect(t, s.URL()), "two", 200*time.Millisecond)
	again := func() (*natspeers.Servers, error) {
		return natspeers.Join(connect(t, s.URL()), natspeers.Options{Server: "one", Lease: 200 * time.Millisecond})
	}
	if _, err := again(); !errors.Is(err, natspeers.ErrNameTaken) {
		t.Errorf("join with the name of a server that runs: %v", err)
	}
	require.NoError(t, first.Close())
	if _, err := connect(t, s.URL()).SubscribeSync("sluice.name.one"); err != nil { // as a paused process, it does not reply
		t.Fatal(err)
	}
	second, err := again()
	require.NoError(t, err)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestTwins lets another process send heartbeats with the name of a server, as after a pause in which this server was started. Of the two, the one that was started later must stop.
// The leases of other servers must last as before, and the name must count as lost only when both processes have stopped.
func TestTwins(t *testing.T) {
	for _, c := range []struct {
		twin  string
		stops bool
	}{{"0", true}, {"Z", false}} {
		s := natstest.New(t)
		stop := make(chan bool, 10)
		one, err := natspeers.Join(connect(t, s.URL()), natspeers.Options{Server: "one", Lease: 200 * time.Millisecond, NameTaken: func(younger bool) { stop <- younger }})
		require.NoError(t, err)
		two, lost := join(t, connect(t, s.URL()), "two", 200*time.Millisecond)
		await(t, "the servers do not hear each other", func() bool { return one.Others() && two.Others() })
		nc := connect(t, s.URL())
		say := func(what string) {
			t.Helper()
			require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: "sluice.servers", Header: nats.Header{"Sluice-Process": {c.twin}}, Data: []byte(what + " one")}))
		}
		await(t, "the name does not count as taken", func() bool { say("alive"); return len(stop) > 0 })
		if got := <-stop; got != c.stops {
			t.Errorf("twin %s: stop %v, want %v", c.twin, got, c.stops)
		}
		if !one.Alive("two") || !two.Alive("one") {
			t.Error("a server that runs is dead")
		}
		say("alive")
		require.NoError(t, one.Close())
		require.NoError(t, nc.Flush())
		if len(lost) > 0 || !two.Alive("one") {
			t.Errorf("the name is lost although a process with it runs")
		}
		say("leaving")
		wantLost(t, lost, "one")
		if err := two.Close(); err != nil {
			t.Error(err)
		}
		if len(stop)+len(lost) > 0 {
			t.Errorf("twin %s: told %d more times, %d more times lost", c.twin, len(stop), len(lost))
		}
	}
}

// TestRequests sends the requests of one engine to the others of its tenant.
func TestRequests(t *testing.T) {
	s := natstest.New(t)
	one, _ := join(t, connect(t, s.URL()), "one", time.Minute)
	two, _ := join(t, connect(t, s.URL()), "two", time.Minute)
	cancelled := make(chan engine.Cancellation, 10)
	joined := make(chan engine.Joining, 10)
	read := make(chan []event.RunID, 10)
	serve := func(p natspeers.Peers, answers bool) {
		t.Helper()
		stop, err := p.Serve(engine.Handlers{
			Cancel: func(c engine.Cancellation) bool {
				if answers {
					cancelled <- c
				}
				return answers && c.Run == "a"
			},
			Join: func(j engine.Joining, reply func(bool)) {
				joined <- j
				reply(answers && j.Run == "a")
			},
			Read: func(runs []event.RunID) { read <- runs },
		})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	serve(one.Tenant("t"), false)
	serve(two.Tenant("t"), true)
	serve(two.Tenant("other"), false)
	await(t, "the servers do not hear each other", func() bool { return one.Others() && two.Others() })
	want := engine.Cancellation{Run: "a", Caller: "c", All: true}
	if done, err := one.Tenant("t").Cancel(t.Context(), want); !done || err != nil {
		t.Fatalf("cancel: %v, %v", done, err)
	}
	if got := <-cancelled; got != want {
		t.Errorf("%+v was cancelled, want %+v", got, want)
	}
	if done, err := one.Tenant("t").Cancel(t.Context(), engine.Cancellation{Run: "b"}); done || err != nil {
		t.Errorf("cancel a run that nobody answers: %v, %v", done, err)
	}
	<-cancelled
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := one.Tenant("t").Cancel(ctx, want); err == nil {
		t.Error("cancel with a context that has ended: no error")
	}
	for _, c := range []struct {
		server string
		j      engine.Joining
		done   bool
	}{{"two", engine.Joining{Run: "a", Caller: "c", Attached: true}, true}, {"two", engine.Joining{Run: "b"}, false}, {"one", engine.Joining{Run: "a"}, false}} {
		if done, err := one.Tenant("t").Join(t.Context(), c.server, c.j); done != c.done || err != nil {
			t.Errorf("join %+v: %v, %v", c.j, done, err)
		}
		if got := <-joined; got != c.j {
			t.Errorf("%+v was joined, want %+v", got, c.j)
		}
	}
	if done, err := one.Tenant("t").Join(t.Context(), "three", engine.Joining{Run: "a"}); done || err != nil {
		t.Errorf("join a run of a server that does not exist: %v, %v", done, err)
	}
	one.Tenant("t").Read([]event.RunID{"a", "b"})
	if got := <-read; !slices.Equal(got, []event.RunID{"a", "b"}) {
		t.Errorf("read: %v", got)
	}
	if len(read) > 0 {
		t.Errorf("the runs %v are read on this server or in another tenant", <-read)
	}
}
