//go:build linux

package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
	"github.com/sluice-rag/sluice/wire/sse"
)

// counting is a model that counts: w1 w2 … up to n, slowly. When it is asked to continue a text, it counts on.
func counting(n int, every time.Duration) modeltest.Script {
	word := regexp.MustCompile(`w(\d+)`)
	return modeltest.Script{Next: func(_ int, request []byte) modeltest.Script {
		var r struct {
			Messages []struct{ Role, Content string }
		}
		_ = json.Unmarshal(request, &r) // without messages it counts from the beginning
		said := 0
		for _, m := range r.Messages {
			if found := word.FindAllStringSubmatch(m.Content, -1); m.Role == "assistant" && len(found) > 0 {
				said, _ = strconv.Atoi(found[len(found)-1][1])
			}
		}
		s := modeltest.Script{Every: every}
		for i := said + 1; i <= n; i++ {
			s.Tokens = append(s.Tokens, fmt.Sprintf(" w%d", i))
		}
		s.Tokens = append(s.Tokens, " ⟦1⟧.")
		return s
	}}
}

// group is several servers on one NATS and one PostgreSQL, each with a data folder of its own and the same documents.
type group struct {
	urls      []string
	processes []*program.Server
	args      [][]string
}

func startGroup(t *testing.T, n int, model string, more ...string) *group {
	t.Helper()
	_, nats := broker(t)
	store, docs := postgrestest.URL(t), docs(t)
	g := &group{}
	for range n {
		args := append([]string{"--docs=" + docs, "--data=" + t.TempDir(), "--judge=none", "--model-url=" + model, "--deadline=10m", "--no-cache",
			"--keep-runs-bytes=64MiB", "--log=" + nats, "--store=" + store}, more...)
		url, process := child(t, args...)
		g.urls, g.processes, g.args = append(g.urls, url), append(g.processes, process), append(g.args, args)
	}
	return g
}

// ask asks a question on a server and returns the run, without reading it to its end.
func (g *group) ask(t *testing.T, server int) string {
	t.Helper()
	run, _ := frames(t, http.MethodPost, g.urls[server]+"/api/query/stream", `{"query":"What does a ship pay for each metre?","mode":"direct"}`, nil, "w1")
	return run
}

// reader reads a run on a server in the events protocol.
type reader struct {
	run  string
	at   []time.Time // of each event
	log  []event.Event
	err  error
	mu   sync.Mutex
	done chan struct{}
}

func (g *group) read(t *testing.T, server int, run string) *reader {
	t.Helper()
	r := &reader{run: run, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = r.follow(t, g.urls[server]+"/runs/"+run+"/stream?protocol=events")
	}()
	return r
}

func (r *reader) follow(t *testing.T, url string) error {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for f, err := range sse.NewReader(res.Body, 1<<20).All() {
		if err != nil {
			return err
		}
		e, err := event.ParseJSON([]byte(f.Data))
		if err != nil {
			return fmt.Errorf("%s: %w", f.Data, err)
		}
		r.mu.Lock()
		r.log, r.at = append(r.log, e), append(r.at, time.Now())
		r.mu.Unlock()
	}
	return nil
}

// awaitTokens waits until the reader has some tokens.
func (r *reader) awaitTokens(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for r.tokens() < n {
		select {
		case <-r.done:
			t.Fatalf("run %s ended after %d tokens: %v", r.run, r.tokens(), r.err)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("run %s has %d tokens", r.run, r.tokens())
		}
	}
}

func (r *reader) tokens() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.log {
		if _, ok := e.Body.(event.Token); ok {
			n++
		}
	}
	return n
}

// check waits for the end of the stream. The events are numbered without gaps, the last one alone is terminal, and the words are those from w1 to wn, each once.
func (r *reader) check(t *testing.T, n int) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(60 * time.Second):
		t.Errorf("run %s has no end after %d events", r.run, len(r.log))
		return
	}
	if r.err != nil {
		t.Errorf("run %s: %v", r.run, r.err)
	}
	var text, want strings.Builder
	for i, e := range r.log {
		if e.Seq != event.Seq(i+1) || event.Terminal(e.Body) != (i == len(r.log)-1) {
			t.Errorf("run %s: event %d of %d has the number %d and is %s", r.run, i+1, len(r.log), e.Seq, e.Body.Kind())
		}
		if token, ok := e.Body.(event.Token); ok {
			text.WriteString(token.Text)
		}
	}
	for i := range n {
		fmt.Fprintf(&want, " w%d", i+1)
	}
	if got := " " + strings.TrimSpace(text.String()); !strings.HasPrefix(got, want.String()) || len(got) > want.Len()+8 {
		t.Errorf("run %s: the answer is %q", r.run, got)
	}
	if _, ok := r.log[len(r.log)-1].Body.(event.RunFinished); !ok {
		t.Errorf("run %s: the end is %+v", r.run, r.log[len(r.log)-1].Body)
	}
}

// gap returns the time from an instant to the next token.
func (r *reader) gap(from time.Time) time.Duration {
	for i, e := range r.log {
		if _, ok := e.Body.(event.Token); ok && r.at[i].After(from) {
			return r.at[i].Sub(from)
		}
	}
	return 0
}

// quantile returns a quantile of durations.
func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// TestServerDies kills a server in the middle of its answers. Readers on the other servers get each answer once, and soon. Then the server is started
// again and reads the same, and the next server is killed.
func TestServerDies(t *testing.T) {
	const runs, words = 12, 60
	s := modeltest.NewOpenAI(t, counting(words, 50*time.Millisecond))
	g := startGroup(t, 3, s.URL)
	var gaps []time.Duration
	for round := range 2 {
		dies := round
		var readers []*reader
		for range runs {
			run := g.ask(t, dies)
			for other := range g.urls {
				if other != dies {
					readers = append(readers, g.read(t, other, run))
				}
			}
		}
		for _, r := range readers {
			r.awaitTokens(t, 3)
		}
		at := time.Now()
		g.processes[dies].Kill()
		for _, r := range readers {
			r.check(t, words)
			if gap := r.gap(at.Add(100 * time.Millisecond)); gap > 0 { // what was on its way arrives before
				gaps = append(gaps, gap)
			}
		}
		g.urls[dies], g.processes[dies] = child(t, g.args[dies]...)
		for _, r := range readers[:2] {
			again := g.read(t, dies, r.run)
			again.check(t, words)
		}
	}
	t.Logf("%d streams: from death to the next token p50 %s, p99 %s", len(gaps), quantile(gaps, 0.5), quantile(gaps, 0.99))
	if race.Enabled {
		return
	}
	if p99 := quantile(gaps, 0.99); p99 > 5*time.Second {
		t.Errorf("from death to the next token: p99 %s", p99)
	}
}

// TestServerPauses stops a server for longer than its lease. Others continue its answers. When it runs again, it writes nothing to them, and its own readers
// get the rest from the others.
func TestServerPauses(t *testing.T) {
	const runs, words = 6, 80
	s := modeltest.NewOpenAI(t, counting(words, 50*time.Millisecond))
	g := startGroup(t, 2, s.URL, "--lease=1s")
	var readers []*reader
	for range runs {
		run := g.ask(t, 0)
		readers = append(readers, g.read(t, 0, run), g.read(t, 1, run))
	}
	for _, r := range readers {
		r.awaitTokens(t, 3)
	}
	signal := func(s syscall.Signal) {
		require.NoError(t, g.processes[0].Process.Signal(s))
	}
	signal(syscall.SIGSTOP)
	paused := readers[1].tokens()
	readers[1].awaitTokens(t, paused+10) // the other server continues
	signal(syscall.SIGCONT)
	for _, r := range readers {
		r.check(t, words)
	}
	run := g.ask(t, 0) // it answers again
	g.read(t, 1, run).check(t, words)
}

// TestCancelElsewhere cancels runs of another server: one that is alive, and one that was paused and so does not reply.
func TestCancelElsewhere(t *testing.T) {
	s := modeltest.NewOpenAI(t, counting(2000, 50*time.Millisecond))
	g := startGroup(t, 2, s.URL, "--lease=1m") // it does not run out in this test
	alive, deaf := g.read(t, 1, g.ask(t, 0)), g.read(t, 1, g.ask(t, 0))
	cancel := func(r *reader) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.urls[1]+"/runs/"+r.run+"/cancel", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		if res.StatusCode >= 300 {
			t.Fatalf("cancel: %s", res.Status)
		}
		select {
		case <-r.done:
		case <-time.After(30 * time.Second):
			t.Fatal("the cancelled run has no end")
		}
		if end, ok := r.log[len(r.log)-1].Body.(event.RunFailed); !ok || end.Code != fault.Cancelled {
			t.Errorf("the end is %+v", r.log[len(r.log)-1].Body)
		}
	}
	alive.awaitTokens(t, 2)
	deaf.awaitTokens(t, 2)
	cancel(alive)
	require.NoError(t, g.processes[0].Process.Signal(syscall.SIGSTOP))
	cancel(deaf)
	require.NoError(t, g.processes[0].Process.Signal(syscall.SIGCONT))
	again := g.read(t, 0, deaf.run)
	<-again.done
	if len(again.log) != len(deaf.log) {
		t.Errorf("the run has %d events on its first server, %d on the other", len(again.log), len(deaf.log))
	}
}

// TestTurnOfDeadServer kills a server that answers a question in a session. The session has the answer once, and the next turn can begin.
func TestTurnOfDeadServer(t *testing.T) {
	const words = 40
	s := modeltest.NewOpenAI(t, counting(words, 50*time.Millisecond))
	g := startGroup(t, 2, s.URL)
	const question = `{"query":"What does a ship pay for each metre?","mode":"direct","session_id":"s1"}`
	run, _ := frames(t, http.MethodPost, g.urls[0]+"/api/query/stream", question, nil, "w1")
	r := g.read(t, 1, run)
	r.awaitTokens(t, 3)
	g.processes[0].Kill()
	r.check(t, words)
	res, err := http.Post(g.urls[1]+"/api/query", "application/json", strings.NewReader(question))
	require.NoError(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the next turn: %s", res.Status)
	}
	res, err = http.Get(g.urls[1] + "/v1/rag/sessions/s1/messages")
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || strings.Count(string(text), `"status":"completed"`) != 4 || strings.Count(string(text), `"run_id":"`+run) != 1 {
		t.Errorf("the session: %s, %v", text, err)
	}
}

// TestServerStops stops a server in the middle of its answers. It leaves them to the other one when the time to wait for them is over.
func TestServerStops(t *testing.T) {
	const runs, words = 4, 60
	s := modeltest.NewOpenAI(t, counting(words, 50*time.Millisecond))
	g := startGroup(t, 2, s.URL, "--drain-timeout=100ms")
	var readers []*reader
	for range runs {
		readers = append(readers, g.read(t, 1, g.ask(t, 0)))
	}
	for _, r := range readers {
		r.awaitTokens(t, 3)
	}
	require.NoError(t, g.processes[0].Process.Signal(syscall.SIGTERM))
	for _, r := range readers {
		r.check(t, words)
	}
}

// TestTwinStops lets another process with the name of a server come back that was started before and was paused. The server stops, and says why.
func TestTwinStops(t *testing.T) {
	_, broker := broker(t)
	data := t.TempDir()
	_, process := child(t, "--docs="+docs(t), "--data="+data, "--judge=none", "--log="+broker, "--keep-runs-bytes=64MiB", "--store="+postgrestest.URL(t), "--lease=500ms", "--drain-timeout=1s")
	id, err := os.ReadFile(filepath.Join(data, "server.id"))
	require.NoError(t, err)
	nc, err := nats.Connect(broker)
	require.NoError(t, err)
	defer nc.Close()
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	for begun := time.Now(); ; {
		m := &nats.Msg{Subject: "sluice.servers", Header: nats.Header{"Sluice-Process": {"0"}}, Data: []byte("alive " + strings.TrimSpace(string(id)))}
		require.NoError(t, nc.PublishMsg(m))
		select {
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
				t.Errorf("the server stopped with %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the server with the name of another one does not stop")
		}
	}
}
