package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// memory is a limit that a child of this test binary stays below: the race detector multiplies what it takes.
func memory() int64 {
	if race.Enabled {
		return 2 << 30
	}
	return 256 << 20
}

func newPool(t *testing.T, o Options) *Pool {
	t.Helper()
	if o.Memory == 0 {
		o.Memory = memory()
	}
	p := New(o)
	p.slow = time.Hour // on a busy machine, any child may be slow
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestSameAsInProcess checks that a child and the process itself return the same for each sample document.
func TestSameAsInProcess(t *testing.T) {
	p := newPool(t, Options{Workers: 1})
	samples, err := filepath.Glob("../parse/testdata/*.*")
	if err != nil || len(samples) < 5 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, path := range samples {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".src")
		want, wantErr := parse.Parse(t.Context(), name, data, parse.Limits{})
		got, err := p.Parse(t.Context(), name, data, parse.Limits{})
		if fmt.Sprint(fault.Public(err)) != fmt.Sprint(fault.Public(wantErr)) {
			t.Errorf("%s: error %v, want %v", name, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-in process, +in a child):\n%s", name, diff)
		}
	}
	if len(p.idle) != 1 || p.idle[0].files != len(samples) {
		t.Errorf("%d idle children; one was to parse all %d documents", len(p.idle), len(samples))
	}
}

func TestLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the clock is watched elsewhere")
	}
	for _, tt := range []struct {
		name  string
		limit Options
		bomb  string
		size  int // of the bomb's bytes that are used; 0: all
		want  string
	}{
		{"time", Options{Time: 300 * time.Millisecond}, "html-blocks.md", 0, "html-blocks.md: reading it took longer than 300ms"}, // or the overload
		{"other errors stay", Options{}, "xref-size-huge.pdf", 0, "xref-size-huge.pdf: not valid PDF: a table is larger than the file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, tt.limit)
			_, err := p.Parse(t.Context(), tt.bomb, parsetest.Bomb(tt.bomb), parse.Limits{Text: 32 << 20, Blocks: 200_000})
			if e := fault.Public(err); e == nil || strings.TrimSuffix(e.Message, overloadedHint) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			// Whether a time failure wraps ErrExhausted depends on the load of the machine.
			if tt.name != "time" && errors.Is(err, parse.ErrExhausted) {
				t.Errorf("%v is ErrExhausted", err)
			}
			name, data := parsetest.Ordinary()
			if _, err := newPool(t, Options{}).Parse(t.Context(), name, data, parse.Limits{}); err != nil {
				t.Errorf("an ordinary document afterwards: %v", err)
			}
		})
	}
}

// TestSizeLimit parses a document that needs more memory than a child may use.
func TestSizeLimit(t *testing.T) {
	race.Measure(t)
	if runtime.GOOS != "linux" {
		t.Skip("memory is only limited on Linux")
	}
	const bomb = "array-long.pdf"
	_, err := newPool(t, Options{Memory: memory() / 4}).Parse(t.Context(), bomb, parsetest.Bomb(bomb), parse.Limits{Text: 32 << 20, Blocks: 200_000})
	want := fmt.Sprintf("%s: needs more than %d MiB of memory to read", bomb, memory()>>22)
	if e := fault.Public(err); e == nil || e.Message != want || !errors.Is(err, parse.ErrExhausted) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestCancelledParseKillsTheChild cancels a parse whose child never replies.
func TestCancelledParseKillsTheChild(t *testing.T) {
	p := newPool(t, Options{Workers: 1, Time: time.Hour})
	w := idleWorkers(t, p, 1)[0]
	stop(t, w.cmd.Process)
	ctx, cancel := context.WithCancel(t.Context())
	name, data := parsetest.Ordinary()
	done := make(chan error, 1)
	go func() {
		_, err := p.Parse(ctx, name, data, parse.Limits{})
		done <- err
	}()
	for taken := false; !taken; <-time.After(time.Millisecond) {
		p.mu.Lock()
		taken = len(p.idle) == 0
		p.mu.Unlock()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !w.ended() {
		t.Fatal("the child still runs")
	}
	if state := w.cmd.ProcessState.String(); state != "signal: killed" {
		t.Errorf("the child ended with %q, want it killed", state)
	}
	if len(p.slots) != 0 {
		t.Error("its slot is still taken")
	}
}

// TestChildThatDied parses a document after the idle child was killed.
func TestChildThatDied(t *testing.T) {
	p := newPool(t, Options{Workers: 1})
	name, data := parsetest.Ordinary()
	for range 2 {
		if _, err := p.Parse(t.Context(), name, data, parse.Limits{}); err != nil {
			t.Fatal(err)
		}
		w := p.idle[0]
		require.NoError(t, w.cmd.Process.Kill())
		<-w.exited
	}
}

// idleWorkers starts children and makes them idle.
func idleWorkers(t *testing.T, p *Pool, n int) (out []*worker) {
	t.Helper()
	for range n {
		w, err := start(p.opts.Memory, p.groups)
		require.NoError(t, err)
		out = append(out, w)
	}
	for _, w := range out {
		p.put(w)
	}
	return out
}

// TestAllIdleChildrenDied parses an ordinary document after every idle child was killed.
func TestAllIdleChildrenDied(t *testing.T) {
	p := newPool(t, Options{Workers: 3})
	for _, w := range idleWorkers(t, p, 3) {
		require.NoError(t, w.cmd.Process.Kill())
		<-w.exited
	}
	name, data := parsetest.Ordinary()
	if _, err := p.Parse(t.Context(), name, data, parse.Limits{}); err != nil {
		t.Error(err)
	}
}

// TestSecondAttemptStartsAChild takes a worker for a second attempt while a living child is idle.
func TestSecondAttemptStartsAChild(t *testing.T) {
	p := newPool(t, Options{Workers: 2})
	idle := idleWorkers(t, p, 1)[0]
	w, err := p.take(true)
	require.NoError(t, err)
	defer w.stop()
	if w == idle || len(p.idle) > 0 {
		t.Errorf("the second attempt got an idle child: %v; %d children are idle, want none", w == idle, len(p.idle))
	}
}

// TestChildIgnoresStopSignals sends a child the signals that a terminal or systemd sends to all processes of a server.
func TestChildIgnoresStopSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no signals")
	}
	p := newPool(t, Options{Workers: 1})
	name, data := parsetest.Ordinary()
	var first *worker
	for _, s := range []os.Signal{nil, os.Interrupt, syscall.SIGTERM} {
		if s != nil {
			require.NoError(t, first.cmd.Process.Signal(s))
		}
		if _, err := p.Parse(t.Context(), name, data, parse.Limits{}); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = p.idle[0]
		}
		if p.idle[0] != first {
			t.Fatalf("%v ended the child", s)
		}
	}
	_ = first.in.Close()
	<-first.exited // the end of its input still ends it
}

// TestFailuresOfTheMachine checks that failures that the document did not cause do not wrap ErrExhausted.
func TestFailuresOfTheMachine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no signals")
	}
	name, data := parsetest.Ordinary()
	t.Run("killed by the system", func(t *testing.T) {
		err := New(Options{}).explain(name, fmt.Errorf("%w: signal: killed", errCrashed), time.Second)
		if errors.Is(err, parse.ErrExhausted) || !strings.HasPrefix(fault.Public(err).Message, name+": the parser crashed or was killed both times") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no processor time", func(t *testing.T) {
		p := newPool(t, Options{Workers: 1, Time: time.Second})
		if _, err := p.Parse(t.Context(), name, data, parse.Limits{}); err != nil {
			t.Fatal(err)
		}
		stop(t, p.idle[0].cmd.Process)
		_, err := p.Parse(t.Context(), name, data, parse.Limits{})
		if errors.Is(err, parse.ErrExhausted) || !strings.HasSuffix(fault.Public(err).Message, overloadedHint) {
			t.Errorf("got %v", err)
		}
	})
}

// TestReplacedProgram uses a child of another version, as after the executable was replaced.
func TestReplacedProgram(t *testing.T) {
	name, data := parsetest.Ordinary()
	own := version
	defer func() { version = own }()
	version++
	_, err := newPool(t, Options{Workers: 1}).Parse(t.Context(), name, data, parse.Limits{})
	want := name + ": the program was replaced: restart the server"
	if e := fault.Public(err); e == nil || e.Message != want || errors.Is(err, parse.ErrExhausted) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestTimeFailure checks that a time failure only wraps ErrExhausted if the document used enough processor time.
func TestTimeFailure(t *testing.T) {
	for _, tt := range []struct {
		used      time.Duration
		exhausted bool
	}{{0, false}, {5 * time.Second, false}, {7 * time.Second, false}, {8 * time.Second, true}, {11 * time.Second, true}} {
		err := New(Options{}).explain("a.md", timeFailure(tt.used, 10*time.Second), 10*time.Second)
		if errors.Is(err, parse.ErrExhausted) != tt.exhausted || !strings.HasPrefix(fault.Public(err).Message, "a.md: reading it took longer than 10s") {
			t.Errorf("%s of processor time: got %v", tt.used, err)
		}
	}
}

// TestProcessorTime measures the processor time of a document, without that of the child's earlier documents.
func TestProcessorTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere it is that of the child")
	}
	w, err := start(memory(), nil)
	require.NoError(t, err)
	defer w.stop()
	name, data := parsetest.Ordinary()
	limits := parse.Limits{Time: time.Hour}.WithDefaults()
	for range 2 {
		if _, err := w.parse(t.Context(), name, data, limits); err != nil {
			t.Fatal(err)
		}
	}
	before := w.used
	w.stop()
	<-w.exited
	if total := w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime(); before <= 0 || w.sinceReply() >= total {
		t.Errorf("%s at the last reply, %s since then, %s in all", before, w.sinceReply(), total)
	}
}

func TestChildHasNoSecrets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	t.Setenv("OPENAI_API_KEY", "secret")
	p := newPool(t, Options{Workers: 1})
	name, data := parsetest.Ordinary()
	if _, err := p.Parse(t.Context(), name, data, parse.Limits{}); err != nil {
		t.Fatal(err)
	}
	pid := p.idle[0].cmd.Process.Pid
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || strings.Contains(string(env), "secret") {
		t.Errorf("environment %q, %v", env, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("the child may gain privileges: %v", err)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(limits), "\n") {
		f := strings.Fields(line)
		if (strings.HasPrefix(line, "Max core file size") || strings.HasPrefix(line, "Max file size")) && f[len(f)-3] != "0" ||
			(strings.HasPrefix(line, "Max data size") || strings.HasPrefix(line, "Max cpu time")) && f[len(f)-3] == "unlimited" {
			t.Errorf("limit: %s", line)
		}
	}
}

func FuzzDecode(f *testing.F) {
	name, data := parsetest.Ordinary()
	p, err := parse.Parse(f.Context(), name, data, parse.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encode(p))
	f.Add([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	limits := parse.Limits{Text: 1 << 20, Blocks: 1000}.WithDefaults()
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b, limits)
		if err != nil {
			return
		}
		if len(p.Blocks) > limits.Blocks {
			t.Fatalf("%d blocks", len(p.Blocks))
		}
		again, err := decode(encode(p), limits)
		require.NoError(t, err)
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
