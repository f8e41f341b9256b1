package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/internal/tools/terminal"
)

// TestMain runs the tests, or the program itself: the chat in a terminal of tmux, or the server.
func TestMain(m *testing.M) {
	os.Exit(program.Main(m, func(ctx context.Context, args []string) int {
		return cli.Main(ctx, args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}))
}

// environment returns the environment of the program, without settings of this machine.
func environment(args ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SLUICE_") && !strings.HasPrefix(kv, "NO_COLOR=") {
			env = append(env, kv)
		}
	}
	return append(env, program.Variable+"="+strings.Join(args, "\n"))
}

const cursors = `# Cursor

A cursor is a place in the stream of a run. A cursor is written in the field id of each event.

# Riffle

A riffle holds the gold back in a sluice.
`

// folder creates a folder of documents.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cursor.md"), []byte(cursors), 0o600))
	return dir
}

// serve starts a server with a data folder.
func serve(t *testing.T, addr, data string, args ...string) *program.Server {
	t.Helper()
	c := program.Command(t)
	c.Env = environment(append([]string{"serve", "--addr", addr, "--data", data}, args...)...)
	return program.Serve(t, c)
}

// provider is a model that writes a sentence, waits until it may continue or the client disconnects, and writes another sentence. If
// the request contains the first sentence as the beginning of the answer, the model only writes the second one.
type provider struct {
	url  string
	gone chan struct{} // receives an element for each client that disconnected before the end
	on   chan struct{} // lets one answer continue
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{gone: make(chan struct{}, 100), on: make(chan struct{}, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []any{map[string]any{"id": "slow", "object": "model"}}})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text string) {
			b, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "slow",
				"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": text}}}})
			fmt.Fprintf(w, "data: %s\n\n", b)
			w.(http.Flusher).Flush()
		}
		var request struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(request.Messages, func(m struct{ Role string }) bool { return m.Role == "assistant" }) {
			say("A cursor is a place in the stream of a run. [1]")
		}
		select {
		case <-p.on:
		case <-r.Context().Done():
			p.gone <- struct{}{}
			return
		}
		say(" A cursor is written in the field id of each event. [1]")
		fmt.Fprint(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"slow\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	p.url = s.URL + "/v1"
	return p
}

// chatTerminal is a terminal that runs `sluice chat`.
type chatTerminal struct {
	*terminal.Terminal
	t *testing.T
}

// blanks matches the spaces at line ends, such as the one below the cursor.
var blanks = regexp.MustCompile(` *\n`)

// all returns the screen and the scrollback.
func (tm *chatTerminal) all() string { return blanks.ReplaceAllString(tm.All(), "\n") }

// until waits until the terminal shows all texts.
func (tm *chatTerminal) until(wants ...string) string {
	tm.t.Helper()
	return tm.when(strings.Join(wants, " and "), func(s string) bool {
		for _, w := range wants {
			if !strings.Contains(s, w) {
				return false
			}
		}
		return true
	})
}

func (tm *chatTerminal) when(what string, ok func(all string) bool) string {
	tm.t.Helper()
	return tm.Until("shows "+what, tm.all, ok)
}

// keys presses keys by the names of tmux.
func (tm *chatTerminal) keys(names ...string) {
	tm.Tmux(append([]string{"send-keys", "-t", "s"}, names...)...)
}

// line types a line and presses enter.
func (tm *chatTerminal) line(text string) {
	tm.Tmux("send-keys", "-t", "s", "-l", text)
	tm.keys("Enter")
}

func startChat(t *testing.T, args ...string) *chatTerminal {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	script := filepath.Join(t.TempDir(), "run") // tmux accepts no line breaks in a variable
	env := ""
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SLUICE_") {
			env += "unset " + name + "\n"
		}
	}
	text := "#!/bin/sh\nunset NO_COLOR\n" + env + "TEST_OF_SLUICE='" + strings.Join(append([]string{"chat"}, args...), "\n") + "'\nexport TEST_OF_SLUICE\n'" + program +
		"'\necho \"left with $?\"\nstty -a | tr ';' '\\n' | grep -o -w -e '-*echo'\nexec cat\n"
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	return &chatTerminal{terminal.New(t, 100, 30, nil, script), t}
}

// TestConversation covers a question, a follow-up question, an uploaded file, the history, completion, terminal sizes and leaving, with
// a server that the command starts.
func TestConversation(t *testing.T) {
	t.Parallel()
	data, docs := t.TempDir(), folder(t)
	tm := startChat(t, "--data", data, "--docs", docs)
	tm.until("sluice chat with 127.0.0.1:", "ask a question, or /help", "default · medium")
	tm.line("What is a cursor?")
	tm.until("A cursor is a place in the stream of a run. [1]", "cursor.md", "confidence")
	tm.line("Where is it written?")
	tm.until("› Where is it written?", "about “Where is a cursor written?”", "is written in the field id of each event. [1]")
	tm.line("/create harbour")
	tm.until("created and selected: harbour")
	file := filepath.Join(t.TempDir(), "north lock.md")
	require.NoError(t, os.WriteFile(file, []byte("# Locks\n\nThe north lock was opened in 1932.\n"), 0o600))
	tm.Tmux("send-keys", "-t", "s", "-l", "/upload "+strings.TrimSuffix(file, " lock.md"))
	tm.keys("Tab")
	tm.until(`north\ lock.md`)
	tm.keys("Enter")
	tm.until("✓ north lock.md", "1 file in harbour")
	const wide = "a line that is wider than sixty columns, as is seen by where it is broken"
	tm.Tmux("send-keys", "-t", "s", "-l", wide)
	tm.Tmux("resize-window", "-t", "s", "-x", "60", "-y", "20")
	tm.until("as is seen by\n  where it is broken\n●")
	tm.keys("C-c")
	tm.line("When was the north lock opened?")
	tm.until("The north lock was opened in 1932. [1]", "north lock.md › Lo")
	tm.Tmux("send-keys", "-t", "s", "-l", wide)
	tm.Tmux("resize-window", "-t", "s", "-x", "120", "-y", "40")
	tm.until("› " + wide + "\n●")
	tm.keys("C-c")
	tm.line("/files")
	tm.until("north lock.md  processed")
	tm.line("/sources 1")
	tm.until("[1] north lock.md › Locks\n\n")
	tm.line("/use default")
	tm.until("collections: default")
	tm.line("/collections")
	tm.when("the counts", func(s string) bool { return regexp.MustCompile(`harbour +1 +1 +0 +vs_`).MatchString(s) })
	tm.keys("Up", "Up", "Up", "Up", "Up")
	tm.until("› When was the north lock opened?\n● 127.0.0.1")
	tm.keys("C-c")
	tm.until("› ask a question")
	tm.Tmux("set-buffer", "What is\na riffle?")
	tm.Tmux("paste-buffer", "-p", "-t", "s")
	tm.until("› What is\n  a riffle?\n●")
	tm.keys("Enter")
	tm.until("A riffle holds the gold back in a sluice. [1]", "cursor.md › Riffle\n    “A riffle holds the gold back in a sluice.”\n")
	saved := filepath.Join(t.TempDir(), "talk.md")
	tm.line("/title Cursors and locks")
	tm.until("title: Cursors and locks")
	tm.line("/bad It is about gold.")
	tm.until("rated as bad")
	tm.line("/export " + saved)
	tm.until("exported to ")
	tm.line("/sessions")
	tm.when("the session", func(s string) bool { return regexp.MustCompile(`› +Cursors and locks +4 +`).MatchString(s) })
	tm.keys("C-c")
	tm.until("ctrl-D or /quit leaves")
	tm.keys("C-d")
	all := tm.until("left with 0", "\necho\n")
	id := regexp.MustCompile(`Continue with: sluice chat --data \S+ --session (chat_\w+)`).FindStringSubmatch(all)
	if id == nil {
		t.Fatalf("it is not said how to continue:\n%s", all)
	}
	for _, once := range []string{"The north lock was opened in 1932. [1]", "A riffle holds the gold back in a sluice. [1]", "› Where is it written?"} {
		if n := strings.Count(all, once); n != 1 {
			t.Errorf("%q is shown %d times:\n%s", once, n, all)
		}
	}
	text, err := os.ReadFile(saved)
	if err != nil || !strings.Contains(string(text), "## Where is it written?") || !strings.HasPrefix(string(text), "# Cursors and locks\n") || !strings.Contains(string(text), "1. **Locks** (north lock.md)") {
		t.Errorf("saved is %v:\n%s", err, text)
	}
	info, err := os.Stat(filepath.Join(data, "chat_history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history: %v %v", info, err)
	}

	again := startChat(t, "--data", data, "--session", id[1])
	again.until("session Cursors and locks, 4 turns", "› When was the north lock opened?", "The north lock was opened in 1932. [1]", "A riffle holds the gold back in a sluice. [1]")
	again.line("/good")
	again.until("rated as good")
	again.line("What else does it do?")
	again.until("about “What else does a riffle do?”", "confidence")
	again.line("/new")
	again.until("started a new session")
	again.line("/session " + id[1])
	again.until("session Cursors and locks, 5 turns")
	again.line("/session none")
	again.until("✗ no such session")
	again.keys("C-d")
	again.until("left with 0")
}

// TestInterruptStopsAnswer: ctrl-C stops the answer, also on the server, but not the program.
func TestInterruptStopsAnswer(t *testing.T) {
	t.Parallel()
	p, data := newProvider(t), t.TempDir()
	srv := serve(t, "127.0.0.1:0", data, "--docs", folder(t), "--model-url", p.url, "--judge", "none")
	tm := startChat(t, "--data", data) // the folder holds the address of the server
	tm.until("sluice chat with " + strings.TrimPrefix(srv.URL, "http://"))
	tm.line("What is a cursor?")
	tm.until("A cursor is a place", "answering", "ctrl-C stops")
	tm.line("What is a riffle?")
	tm.until("1 waiting")
	tm.keys("C-c")
	tm.until("cancelled", "1 line removed from the queue", "› ask a question")
	select {
	case <-p.gone:
	case <-time.After(20 * time.Second):
		t.Error("the model request was not cancelled")
	}
	c, err := client.New(srv.URL, client.Options{})
	require.NoError(t, err)
	l, err := c.Runs(t.Context(), 10, "")
	if err != nil || len(l.Runs) != 1 || l.Runs[0].Status == "running" || l.Runs[0].ErrorCode != "CANCELLED" {
		t.Errorf("the server has %+v, %v", l.Runs, err)
	}
	p.on <- struct{}{}
	tm.line("What is a cursor?")
	tm.until("A cursor is written in the field id of each event.", "confidence")
	p.on <- struct{}{}
	tm.line("Where is it written?")
	tm.until("about “Where is a cursor written?”", "› ask a question")
	tm.line("/quit")
	tm.until("left with 0")
}

// relay forwards connections to a server until it is cut.
type relay struct {
	t    *testing.T
	to   string
	addr string

	mu   sync.Mutex
	l    net.Listener
	open []net.Conn
	done sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	w := &relay{t: t, to: to, addr: "127.0.0.1:0"}
	w.restore()
	t.Cleanup(func() { w.cut(); w.done.Wait() })
	return w
}

// restore listens again at the same address.
func (w *relay) restore() {
	w.t.Helper()
	l, err := net.Listen("tcp", w.addr)
	require.NoError(w.t, err)
	w.mu.Lock()
	w.l, w.addr = l, l.Addr().String()
	w.mu.Unlock()
	w.done.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", w.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, from, to)
			w.mu.Unlock()
			for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
				w.done.Go(func() {
					_, _ = io.Copy(ends[0], ends[1])
					_ = ends[0].Close()
				})
			}
		}
	})
}

// cut closes the listener and all connections.
func (w *relay) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.l.Close()
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// TestReconnect: after a lost connection, the client reconnects, and the answer continues after the part that was received. Meanwhile the
// prompt stays usable. If the server was killed, the chat shows the state of the answer, and answers the next question.
func TestReconnect(t *testing.T) {
	t.Parallel()
	p, data, docs := newProvider(t), t.TempDir(), folder(t)
	flags := []string{"--docs", docs, "--model-url", p.url, "--judge", "none"}
	srv := serve(t, "127.0.0.1:0", data, flags...)
	addr := strings.TrimPrefix(srv.URL, "http://")
	w := newRelay(t, addr)
	tm := startChat(t, "--data", data, "--server", "http://"+w.addr)
	tm.until("sluice chat with "+w.addr, "ask a question")
	tm.line("What is a cursor?")
	tm.until("A cursor is a place", "answering")
	w.cut()
	tm.until("reconnecting")
	p.on <- struct{}{}
	w.restore()
	all := tm.until("is written in the field id of each event.", "2 of 2 statements supported", "● "+w.addr)
	if n := strings.Count(all, "place in the stream of a run. [1]"); n != 1 || strings.Contains(all, "✗") || strings.Contains(all, "!") {
		t.Errorf("the answer is there %d times, or something is said of the cut:\n%s", n, all)
	}

	tm.line("What is a riffle?")
	tm.until("› What is a riffle?", "answering")
	srv.Kill()
	<-p.gone
	tm.until("reconnecting")
	tm.line("/help")
	tm.until("write the session with its sources as Markdown")
	tm.line("Where is a cursor written?")
	tm.until("1 waiting")
	tm.Tmux("send-keys", "-t", "s", "-l", "typing goes on")
	tm.until("› typing goes on", "reconnecting")
	for range cap(p.on) { // the rest of the second answer, the third, and what else the server asks
		p.on <- struct{}{}
	}
	serve(t, addr, data, flags...)
	all = tm.until("› Where is a cursor written?", "● "+w.addr+" · default", "› typing goes on\n● ")
	second := all[strings.LastIndex(all, "› What is a riffle?"):strings.LastIndex(all, "› Where is a cursor written?")]
	if !strings.Contains(second, "is written in the field id of each event.") || strings.Contains(second, "✗") {
		t.Errorf("the second answer was not continued after the restart:\n%s", all)
	}
	tm.when("the third answer", func(s string) bool {
		_, third, _ := strings.Cut(s, "› Where is a cursor written?")
		return strings.Contains(third, "is written in the field id of each event.") && strings.Contains(third, "confidence")
	})
	tm.keys("C-c", "C-d")
	tm.until("left with 0")
}

// TestLines: in a pipe, the chat reads and prints lines without control sequences. Its exit status reports failures.
func TestLines(t *testing.T) {
	t.Parallel()
	data, docs := t.TempDir(), folder(t)
	program, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "lock.md")
	require.NoError(t, os.WriteFile(file, []byte("The north lock was opened in 1932.\n"), 0o600))
	say := func(lines ...string) (out, errs string, failed bool) {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = environment("chat", "--data", data, "--docs", docs)
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		var o, e strings.Builder
		cmd.Stdout, cmd.Stderr = &o, &e
		failed = cmd.Run() != nil
		if strings.ContainsAny(o.String()+e.String(), "\x1b\r") {
			t.Errorf("there are control sequences:\n%q\n%q", o.String(), e.String())
		}
		return o.String(), e.String(), failed
	}
	out, errs, failed := say("What is a cursor?", "Where is it written?", "/create harbour", "/upload "+file, "When was the north lock opened?", "/sources", "/quit", "What is a riffle?")
	if failed || strings.Contains(out, "riffle") {
		t.Errorf("failed is %v", failed)
	}
	if !strings.Contains(errs, "about “Where is a cursor written?”") {
		t.Errorf("the second question does not follow the first:\n%s", errs)
	}
	for _, want := range []string{"A cursor is a place in the stream of a run. [1]", "is written in the field id", "1 file in harbour", "opened in 1932. [1]", "[1] lock.md\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s\n%s", want, out, errs)
		}
	}
	if out, errs, failed := say("/use nowhere", "/helq"); !failed || !strings.Contains(errs, "collection nowhere does not exist") || !strings.Contains(errs, "did you mean /help?") {
		t.Errorf("failed is %v:\n%s\n%s", failed, out, errs)
	}
}
