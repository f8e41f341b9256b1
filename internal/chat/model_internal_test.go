package chat

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// rig runs a model without a terminal. The test passes on the messages that goroutines send to it.
type rig struct {
	t    *testing.T
	m    *model
	out  bytes.Buffer
	sent chan tea.Msg
	work sync.WaitGroup
	quit bool
}

// nowhere is an address where nobody listens.
const nowhere = "http://127.0.0.1:1"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, sent: make(chan tea.Msg, 1000)}
	f := &terminalUI{send: func(msg tea.Msg) { r.sent <- msg }}
	s, err := newConversation(Options{Server: nowhere, Now: time.Now}, f, interactiveRetries)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r.m = newModel(ctx, s, &history{}, &r.out, "host", f.send, r.work.Go)
	t.Cleanup(func() { cancel(); r.work.Wait() })
	r.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	return r
}

func (r *rig) send(msg tea.Msg) {
	_, cmd := r.m.Update(msg)
	if cmd != nil {
		_, ok := cmd().(tea.QuitMsg)
		r.quit = r.quit || ok
	}
}

// keys presses the keys with these names. It types other text.
func (r *rig) keys(names ...string) {
	for _, name := range names {
		switch name {
		case "enter":
			r.send(tea.KeyPressMsg{Code: tea.KeyEnter})
		case "tab":
			r.send(tea.KeyPressMsg{Code: tea.KeyTab})
		case "up":
			r.send(tea.KeyPressMsg{Code: tea.KeyUp})
		case "down":
			r.send(tea.KeyPressMsg{Code: tea.KeyDown})
		case "alt+enter":
			r.send(tea.KeyPressMsg{Code: tea.KeyEnter, Mod: tea.ModAlt})
		case "ctrl+c", "ctrl+d", "ctrl+j":
			r.send(tea.KeyPressMsg{Code: rune(name[5]), Mod: tea.ModCtrl})
		default:
			for _, c := range name {
				r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
			}
		}
	}
}

// view returns the text of the live panel.
func (r *rig) view() string { return xansi.Strip(strings.Join(r.m.lines(), "\n")) }

// all returns everything that was written, without control sequences.
func (r *rig) all() string { return xansi.Strip(r.out.String()) }

// until passes on messages of goroutines until ok returns true.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case msg := <-r.sent:
			r.send(msg)
		case <-time.After(10 * time.Millisecond):
			r.send(tickMsg(time.Now()))
		case <-deadline:
			r.t.Fatalf("never: %s:\n%s\n%s", what, r.all(), r.view())
		}
	}
}

func (r *rig) shows(wants ...string) {
	r.t.Helper()
	for _, want := range wants {
		if !strings.Contains(r.view(), want) {
			r.t.Errorf("%q is not shown:\n%s", want, r.view())
		}
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.shows("ask a question", "default · medium", "● host")
	r.keys("one", "ctrl+j", "two", "alt+enter", "three")
	r.shows("› one", "  two", "  three")
	if r.m.running != nil {
		t.Error("a new line asked")
	}
	r.keys("ctrl+c")
	r.shows("ask a question")
	r.keys("ctrl+c")
	r.shows("ctrl-D or /quit leaves")
	r.keys("x", "ctrl+d")
	if r.quit || strings.Contains(r.view(), "leaves") {
		t.Error("ctrl-D left a line, or a notice stayed")
	}
	r.send(tea.PasteMsg{Content: "pasted\r\nlines\x1b[2J\rof text"})
	r.shows("› xpasted", "  lines[2J", "  of text")
	r.keys("ctrl+c")
	r.send(tea.PasteMsg{Content: strings.Repeat("long ", 20_000)})
	r.shows("too long")
	if n := strings.Count(r.view(), "\n"); n > 14 {
		t.Errorf("a long text takes %d lines", n)
	}
	r.keys("ctrl+c", "ctrl+d")
	if !r.quit {
		t.Error("ctrl-D at an empty prompt does not leave")
	}
}

func TestCommandsWithoutAServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys("/uplaod x", "enter")
	if !strings.Contains(r.all(), "unknown command /uplaod; did you mean /upload?") {
		t.Errorf("it says:\n%s", r.all())
	}
	r.keys("/mode hi", "tab", "enter")
	r.until("changes the mode", func() bool { return strings.Contains(r.view(), "default · high") })
	r.keys("/model m", "enter")
	r.until("changes the model", func() bool { return strings.Contains(r.view(), "high · m") })
	r.keys("up", "up", "up")
	r.shows("› /uplaod x")
	r.keys("down", "down", "down")
	r.shows("ask a question")
	r.keys("/s", "tab")
	r.shows("/sources  /sessions  /session")
	r.keys("tab", "tab")
	r.shows("› /sessions")
	r.keys("ctrl+c", "/sources", "enter")
	r.until("has no sources", func() bool { return strings.Contains(r.all(), "no answer yet") })
	r.keys("/help", "enter")
	r.until("helps", func() bool {
		return strings.Contains(r.all(), "anything else is a question") || strings.Contains(r.all(), "Anything else")
	})
	r.keys("/quit", "enter")
	if !r.quit {
		t.Error("/quit does not leave")
	}
}

// TestWaitingForTheServer: while no server answers, users can type, show the help and stop waiting. New questions are queued.
func TestWaitingForTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys("why?", "enter")
	r.until("says that it tries again", func() bool { return strings.Contains(r.view(), "reconnecting") })
	r.shows("the server does not answer", "ctrl-C stops")
	r.keys("/help", "enter")
	r.until("helps", func() bool {
		return strings.Contains(r.all(), "lists the commands") || strings.Contains(r.all(), "/upload PATH")
	})
	r.keys("and then?", "enter")
	r.shows("1 waiting", "waiting for the current answer")
	r.keys("typing goes on")
	r.shows("› typing goes on")
	r.keys("ctrl+c")
	r.until("stops", func() bool { return r.m.running == nil })
	r.shows("○ host: the server does not answer", "› typing goes on", "1 line removed from the queue")
	if strings.Contains(r.all(), "and then?\n") {
		t.Errorf("a waiting line was sent:\n%s", r.all())
	}
}

// TestConfirmations: y means yes; every other reply to a question means no.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(key string) bool {
		answer := make(chan bool, 1)
		r.work.Go(func() { answer <- r.m.s.ui.ask(t.Context(), "Overwrite\x1b[2J it?") })
		r.until("asks", func() bool { return strings.Contains(r.view(), "Overwrite[2J it? [y/N]") })
		r.keys("x") // not a reply
		r.keys(key)
		got := <-answer
		r.shows("ask a question")
		return got
	}
	if !ask("y") || ask("n") || ask("enter") || ask("ctrl+c") {
		t.Error("the answers are wrong")
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.work.Go(func() { r.m.s.ui.ask(ctx, "Still there?") })
	r.until("asks", func() bool { return strings.Contains(r.view(), "Still there?") })
	cancel()
	r.until("asks no more", func() bool { return strings.Contains(r.view(), "ask a question") })
}

// TestHostileTexts: no control sequence in texts of a server, a file or a user reaches the terminal.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const evil = "x\x1b]0;title\x07\x1b[2J\u009b2J\u202ey\x1b[8mz"
	r.send(printMsg(evil))
	r.send(progressMsg{evil, 0.5})
	r.m.notice = evil
	r.m.s.choose(collection{"id", evil})
	r.m.s.conn.set(reason(os.ErrNotExist), time.Time{})
	r.draw()
	s := client.Snapshot{Run: evil, Status: client.Failed, Text: evil + "\n\n```" + evil + "\n", Failure: &client.Failure{Code: "X", Message: evil},
		Citations: []client.Citation{{N: 1, Title: evil, Heading: evil, Snippet: evil}}}
	r.send(doneMsg{answer: &s, turn: true})
	r.m.s.add(turn{evil, s})
	r.keys("/sources", "enter")
	r.until("shows the sources", func() bool { return strings.Contains(r.all(), "› ") && strings.Contains(r.all(), "[1] x") })
	out := r.out.String()
	for _, bad := range []string{"\x1b]", "\x07", "\x1b[2J", "\u009b", "\u202e", "\x1b[8m"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("%q gets to the terminal: %q", bad, out[max(i-60, 0):min(i+60, len(out))])
		}
	}
}

func (r *rig) draw() { r.m.draw() }

// TestFitsEverySize: at every size, the panel is not wider than the terminal, and less high.
func TestFitsEverySize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys("a question of some length that goes over more than one line of a terminal that is narrow", "ctrl+j", "漢字漢字漢字漢字漢字")
	s := client.NewStream("why?", nil)
	r.m.running = &activity{cancel: func() {}, stream: s}
	r.m.notice, r.m.progress = strings.Repeat("notice ", 30), progressMsg{strings.Repeat("name ", 40), 0.5}
	for width := 1; width < 130; width += 4 {
		for _, height := range []int{1, 5, 8, 12, 40} {
			r.send(tea.WindowSizeMsg{Width: width, Height: height})
			lines := r.m.lines()
			if len(lines) > max(height-1, 4) {
				t.Fatalf("%d×%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if xansi.StringWidth(l) > max(width, 1) {
					t.Fatalf("%d×%d: a line of %d columns: %q", width, height, xansi.StringWidth(l), l)
				}
			}
		}
	}
}

// TestExportAsksFirst: an existing file is only replaced after a confirmation, and then completely.
func TestExportAsksFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/v1/rag/sessions/s 1/export" {
			_, _ = io.WriteString(w, "# Session\n")
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	require.NoError(t, err)
	r.m.s.c = c
	file := filepath.Join(t.TempDir(), "a file.md")
	r.keys(`/export "`+file+`"`, "enter")
	r.until("has nothing", func() bool { return strings.Contains(r.all(), "the session is empty") && r.m.running == nil })
	r.m.s.useSession("s 1", true)
	export := func(answer string) string {
		require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
		r.keys(`/export "`+file+`"`, "enter")
		r.until("asks", func() bool { return strings.Contains(r.view(), "[y/N]") })
		r.keys(answer)
		r.until("is done", func() bool { return r.m.running == nil })
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(raw)
	}
	if got := export("n"); got != "precious" {
		t.Errorf("it was overwritten: %q", got)
	}
	if got := export("y"); got != "# Session\n" {
		t.Errorf("exported is: %q", got)
	}
	r.m.s.flags = []string{"--data", "my data"}
	if got, want := r.m.s.farewell(), "Continue with: sluice chat --data 'my data' --session 's 1'\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
