package typescript_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// crashRounds is the variable that sets the number of rounds of [TestReadersGetTheEndAfterKills].
const crashRounds = "SLUICE_CRASH_ROUNDS"

// TestMain is also the program itself, which the test kills.
func TestMain(m *testing.M) {
	status := program.Main(m, func(ctx context.Context, args []string) int {
		return cli.Main(ctx, args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	})
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// start starts "sluice serve" without settings of this machine.
func start(t *testing.T, addr, data string, args ...string) *program.Server {
	t.Helper()
	c := program.Command(t, append([]string{"serve", "--addr", addr, "--data", data}, args...)...)
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "SLUICE_") })
	return program.Serve(t, c)
}

// talker is a model that writes words of which no two are equal, until it is told to finish.
type talker struct {
	words  atomic.Int64
	finish atomic.Bool
}

func (m *talker) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(m)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL + "/v1"
}

func (m *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"talker","object":"model"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for n := 0; n < 20 || !m.finish.Load(); n++ {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","model":"talker","choices":[{"index":0,"delta":{"content":" w%d"}}]}`+"\n\n", m.words.Add(1))
		w.(http.Flusher).Flush()
		select {
		case <-pace.C:
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"talker","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// sighting is an event that a reader got, or the end of its stream.
type sighting struct {
	Protocol, Run, ID, Name, Text, Error string
	Ended                                bool
}

// witness holds what all readers saw.
type witness struct {
	t    *testing.T
	stop context.CancelFunc // ends the other readers after a failure
	mu   sync.Mutex
	// seen has what each number of a run shows in a protocol. In forge a reader that lags gets several tokens under the number of the
	// last, so there the texts of a number end alike.
	seen   map[string]sighting
	texts  map[string]string // of each run and protocol, at the end
	events int
	until  int
	enough chan struct{} // closed when there were that many events
}

func (w *witness) take(reader string, s sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case s.Error != "":
		w.stop()
		w.t.Errorf("%s of %s: %s", reader, s.Run, s.Error)
		return
	case s.ID == "":
		return
	}
	key := strings.Join([]string{s.Protocol, s.Run, s.ID}, " ")
	before, known := w.seen[key]
	long, short := before.Text, s.Text
	if len(long) < len(short) {
		long, short = short, long
	}
	if known && (before.Name != s.Name || !strings.HasSuffix(long, short) || s.Protocol == knowledge.Name && long != short) {
		w.t.Errorf("%s: event %s of run %s is %s %q, and another reader got %s %q", reader, s.ID, s.Run, s.Name, s.Text, before.Name, before.Text)
	}
	w.seen[key] = s
	if w.events++; w.events == w.until {
		close(w.enough)
	}
}

// after gives a channel that is closed when the readers have got n more events.
func (w *witness) after(n int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.enough = w.events+n, make(chan struct{})
	return w.enough
}

// end notes that a reader has got the whole of a run, of which all readers have the same text.
func (w *witness) end(reader, protocol, run, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := protocol + " " + run
	text = strings.ReplaceAll(text, "\n", "") // the clients separate the messages of a response differently
	if before, known := w.texts[key]; known && before != text {
		w.t.Errorf("%s: run %s says %q, and another reader got %q", reader, run, text, before)
	}
	w.texts[key] = text
}

// follow reads a stream of the Go client to its end. Begun gets the run's id after the first event.
func (w *witness) follow(reader, protocol string, s *client.Stream, begun chan<- string) {
	told := false
	for ev, err := range s.Events() {
		if err != nil {
			w.take(reader, sighting{Run: s.Run(), Error: err.Error()})
			break
		}
		w.take(reader, w.read(protocol, ev))
		if !told {
			begun <- s.Run()
			told = true
		}
	}
	snap := s.Snapshot()
	if !told {
		begun <- ""
	}
	if !snap.Status.Final() {
		w.take(reader, sighting{Run: s.Run(), Error: "the stream ended without a terminal event"})
		return
	}
	w.end(reader, protocol, s.Run(), snap.Text)
}

func (w *witness) read(protocol string, ev client.Event) sighting {
	s := sighting{Protocol: protocol, Run: ev.Run, ID: ev.ID, Name: ev.Name}
	var data struct {
		Content string
		Output  []knowledge.Item
	}
	if json.Unmarshal(ev.Data, &data) != nil {
		return s
	}
	if ev.Name == "token" {
		s.Text = data.Content
	}
	for _, item := range data.Output {
		for _, part := range item.Content {
			s.Text += part.Text
		}
	}
	return s
}

// nodeReaders starts the TypeScript client's readers of the runs. Begun gets a run's id after the first event of each.
func (w *witness) nodeReaders(ctx context.Context, node, dir, url string, runs []string, begun chan<- string) (wait func()) {
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(dir, "build/clients/typescript/test/follow.js"), url}, runs...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(w.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		told := map[string]bool{}
		ended := 0
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			var s sighting
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				w.t.Errorf("%v: %.200s", err, lines.Text())
				continue
			}
			if s.Ended {
				ended++
				w.end("TypeScript", s.Protocol, s.Run, s.Text)
				continue
			}
			w.take("TypeScript", s)
			if key := s.Protocol + s.Run; !told[key] {
				begun <- s.Run
				told[key] = true
			}
		}
		if err := cmd.Wait(); err != nil || ended != 2*len(runs) {
			w.t.Errorf("the TypeScript readers: %d ends of %d, %v", ended, 2*len(runs), err)
		}
	}()
	return func() { <-done }
}

// TestReadersGetTheEndAfterKills kills a server while tokens flow, after a random number of events, and starts it again in its data
// folder. The readers of both clients go on by themselves in both protocols: all get the end, the same text, and one event under
// each number.
func TestReadersGetTheEndAfterKills(t *testing.T) {
	t.Parallel()
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv(crashRounds)); err == nil {
		rounds = n
	}
	node, dir := "", ""
	if path, err := exec.LookPath("node"); err == nil {
		if _, err := os.Stat("node_modules/.package-lock.json"); err == nil {
			node, dir = path, compile(t, path)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+rounds/4)*time.Minute) // a reader that waits for ever is to fail
	defer cancel()
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(docs, "cursor.md"), []byte("# Cursor\n\nA cursor is a place in the stream of a run.\n"), 0o600))
	model := &talker{}
	data := t.TempDir()
	flags := []string{"--docs", docs, "--model-url", model.serve(t), "--judge", "none"}
	p := start(t, "127.0.0.1:0", data, flags...)
	addr := strings.TrimPrefix(p.URL, "http://")
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range rounds {
		model.finish.Store(false)
		w := &witness{t: t, stop: cancel, seen: map[string]sighting{}, texts: map[string]string{}}
		c, err := client.New(p.URL, client.Options{Retries: 1000, Backoff: 10 * time.Millisecond})
		require.NoError(t, err)
		var readers sync.WaitGroup
		begun := make(chan string)
		follow := func(reader, protocol string, s *client.Stream) {
			readers.Go(func() { w.follow(reader, protocol, s, begun) })
		}
		question := fmt.Sprintf("What is a cursor in a stream, number %d?", round)
		follow("asked forge", forge.Name, c.Ask(ctx, forge.Request{Query: question, Mode: event.Direct, NoCache: true}))
		asked := client.Question(question)
		asked.StreamOptions = &knowledge.StreamOptions{SnapshotsPerSecond: 50}
		follow("asked knowledge", knowledge.Name, c.Respond(ctx, asked))
		runs := []string{<-begun, <-begun}
		waiting := 0
		for _, run := range runs {
			follow("reader of forge", forge.Name, c.Stream(ctx, run, ""))
			follow("reader of knowledge", knowledge.Name, c.StreamResponse(ctx, run, "", nil))
			waiting += 2
		}
		if node != "" {
			readers.Go(w.nodeReaders(ctx, node, dir, p.URL, runs, begun))
			waiting += 2 * len(runs)
		}
		for range waiting {
			<-begun
		}
		ended := make(chan struct{})
		go func() { readers.Wait(); close(ended) }()
		for range 1 + rng.IntN(2) {
			select {
			case <-w.after(1 + rng.IntN(300)):
			case <-ended:
			}
			p.Kill()
			p = start(t, addr, data, flags...)
		}
		model.finish.Store(true)
		<-ended
		for _, run := range runs { // what is stored is what was seen
			w.follow("replay of forge", forge.Name, c.Stream(ctx, run, ""), make(chan string, 1))
			w.follow("replay of knowledge", knowledge.Name, c.StreamResponse(ctx, run, "", nil), make(chan string, 1))
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}
