//go:build linux

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
)

// TestLeaderLoss measures how long a stream cannot be written when its leader is killed or stopped: by a client of NATS that tries again at once, which is
// the time of the election, and by the log.
func TestLeaderLoss(t *testing.T) {
	if *length == 0 {
		t.Skip("make chaos runs it")
	}
	g := startNATS(t)
	connect := func() *natsconn.Conn {
		c, err := natsconn.Connect(g.nodes, natsconn.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	l, err := natslog.Open(t.Context(), connect(), natslog.Options{Replicas: 3})
	require.NoError(t, err)
	defer l.Close()
	raw := connect()
	stream, err := raw.JS.Stream(t.Context(), "SLUICE-default-RUNS")
	require.NoError(t, err)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		var elections, recoveries []time.Duration
		for i := range 5 {
			run := event.RunID(fmt.Sprintf("run-%d-%d", signal, i))
			require.NoError(t, l.Append(t.Context(), run, event.Event{Seq: 1, At: time.Now(), Body: event.RunStarted{Run: run, Question: event.Question{Query: "why?", Mode: event.Direct}}}))
			p := g.leader(t, stream)
			begun := time.Now()
			p.signal(signal)
			recovered := make(chan error, 1)
			var took time.Duration
			go func() {
				err := l.Append(t.Context(), run, event.Event{Seq: 2, At: time.Now(), Body: event.Token{Text: "x"}})
				err = errors.Join(err, l.Sync(t.Context(), run))
				took = time.Since(begun)
				recovered <- err
			}()
			for written := false; !written; {
				m, err := raw.NC.Request("sluice.runs.default.raw.=.=", nil, 100*time.Millisecond)
				written = err == nil && len(m.Data) > 0
				<-time.After(10 * time.Millisecond)
			}
			elections = append(elections, time.Since(begun).Round(10*time.Millisecond))
			require.NoError(t, <-recovered)
			recoveries = append(recoveries, took.Round(10*time.Millisecond))
			require.NoError(t, p.heal(signal))
			whole(t, stream)
		}
		t.Logf("%v: NATS can be written again after %v, the log after %v", signal, elections, recoveries)
	}
}

// heal undoes a signal.
func (p *process) heal(s syscall.Signal) error {
	if s == syscall.SIGSTOP {
		p.signal(syscall.SIGCONT)
		return nil
	}
	_ = p.end(s)
	return p.start()
}

// leader returns the NATS server that leads a stream.
func (g *group) leader(t *testing.T, s jetstream.Stream) *process {
	t.Helper()
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	for _, p := range g.nats {
		if p.name == info.Cluster.Leader {
			return p
		}
	}
	t.Fatalf("%q leads the stream", info.Cluster.Leader)
	return nil
}

// whole waits until all servers of a stream have all of its messages.
func whole(t *testing.T, s jetstream.Stream) {
	t.Helper()
	current := func(ctx context.Context) bool {
		info, err := s.Info(ctx)
		if err != nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
			return false
		}
		return info.Cluster.Replicas[0].Current && info.Cluster.Replicas[1].Current
	}
	for begun := time.Now(); !current(t.Context()); <-time.After(100 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("a NATS server lacks messages")
		}
	}
}
