package display_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/internal/tools/terminal"
)

// written counts the writes, and the characters of text in them.
type written struct {
	bytes.Buffer
	writes int
}

func (w *written) Write(p []byte) (int, error) {
	w.writes++
	return w.Buffer.Write(p)
}

// tokens returns a run that sends a number of tokens at a rate per second, by the clock of the test.
func tokens(n, perSecond int) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		evs := []client.Event{forge("query_analysis", `{"query":"why?","complexity":"simple","estimated_mode":"direct"}`), forge("generation_start", `{"model":"m"}`)}
		for _, ev := range evs {
			if !yield(ev, nil) {
				return
			}
		}
		for i := range n {
			<-time.After(time.Second / time.Duration(perSecond))
			end := " "
			if i%40 == 39 {
				end = `.\n\n`
			}
			if !yield(forge("token", fmt.Sprintf(`{"content":"word%d%s"}`, i, end)), nil) {
				return
			}
		}
		yield(forge("done", `{"total_time_ms":1,"confidence":1}`), nil)
	}
}

// TestSteadyAtSixtyTokensASecond: the panel is drawn at most twenty times per second, and a frame writes only changed lines. The cursor
// never moves to the home position, and the screen is never cleared.
func TestSteadyAtSixtyTokensASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, perSecond = 1200, 60
		var out written
		r := display.NewRich(&out, display.RichOptions{Env: []string{"TERM=xterm"}, Width: 100, Height: 30})
		began := time.Now()
		s, err := display.Run(client.NewStream("why?", tokens(n, perSecond)), r)
		if err != nil || s.Status != client.Completed {
			t.Fatalf("%v %v", s.Status, err)
		}
		seconds := time.Since(began).Seconds()
		live, final, _ := strings.Cut(out.String(), "\x1b[?25h")
		frames := strings.Count(live, "\x1b[?2026h")
		if most := int(20*seconds) + 2; frames > most || frames < int(5*seconds) {
			t.Errorf("%d frames in %.0f s", frames, seconds)
		}
		if out.writes > frames+20 {
			t.Errorf("%d frames in %d writes", frames, out.writes)
		}
		for _, sequence := range []string{"\x1b[2J", "\x1b[J", "\x1b[0J", "\x1b[H", "\x1b[?1049h"} {
			if strings.Contains(out.String(), sequence) {
				t.Errorf("it wrote %q", sequence)
			}
		}
		if perFrame := float64(len(live)) / float64(frames); perFrame > 800 {
			t.Errorf("%.0f bytes a frame", perFrame)
		}
		t.Logf("%d tokens: %d frames in %.0f s, %.0f bytes each", n, frames, seconds, float64(len(live))/float64(frames))
		for i := range n {
			if !strings.Contains(final, fmt.Sprintf("word%d", i)) {
				t.Fatalf("word %d is missing", i)
			}
		}
	})
}

// TestMain runs the tests, or the program in a terminal of tmux.
func TestMain(m *testing.M) {
	if how := os.Getenv("SLUICE_TEST_RICH"); how != "" {
		shown(how)
		return
	}
	os.Exit(m.Run())
}

// shown displays a run that pauses until the test creates files.
func shown(dir string) {
	wait := func(name string) {
		for {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	stop := make(chan struct{})
	interrupt := sync.OnceFunc(func() { close(stop) })
	r := display.NewRich(os.Stdout, display.RichOptions{In: os.Stdin, Interrupt: interrupt})
	s := client.NewStream("why?", func(yield func(client.Event, error) bool) {
		say := func(ev client.Event) bool { return yield(ev, nil) }
		if !say(forge("query_analysis", `{"query":"why?","complexity":"simple","estimated_mode":"direct"}`)) ||
			!say(forge("retrieval_start", `{"tool":"hybrid_search","query":"why?","iteration":1}`)) {
			return
		}
		wait("found")
		if !say(forge("retrieval_result", `{"tool":"hybrid_search","chunks_found":3,"top_score":0.9,"duration_ms":12}`)) {
			return
		}
		for i := range 60 {
			if !say(forge("token", fmt.Sprintf(`{"content":"- line%d 漢字 **bold**\n"}`, i))) {
				return
			}
		}
		select {
		case <-stop:
			yield(client.Event{}, fmt.Errorf("interrupted"))
			return
		case <-func() chan struct{} { c := make(chan struct{}); go func() { wait("done"); close(c) }(); return c }():
		}
		_ = say(forge("token", `{"content":"\n\u001b[2JThe **end**."}`)) &&
			say(forge("sources", `{"sources":[{"chunk_id":"c","title":"Tides","text":"The tide rises.","score":0.9,"weight":1,"cited":true}]}`)) &&
			say(forge("done", `{"total_time_ms":1234,"confidence":0.9}`))
	})
	_, err := display.Run(s, r)
	fmt.Println("ended:", err)
}

// shownRun is a terminal that runs this test's program.
type shownRun struct {
	*terminal.Terminal
	t   *testing.T
	dir string
}

// until waits until the screen satisfies a condition.
func (tm *shownRun) until(what string, ok func(screen string) bool) string {
	tm.t.Helper()
	return tm.Until(what, tm.Screen, ok)
}

func (tm *shownRun) allow(name string) {
	tm.t.Helper()
	require.NoError(tm.t, os.WriteFile(filepath.Join(tm.dir, name), nil, 0o600))
}

func newTerminal(t *testing.T, environment ...string) *shownRun {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	return &shownRun{terminal.New(t, 60, 16, append(environment, "SLUICE_TEST_RICH="+dir),
		"sh", "-c", "echo before; '"+program+"'; stty -a | tr ';' '\\n' | grep -w -e '-*echo' | grep -o -w -e '-*echo'; cat"), t, dir}
}

// TestOnATerminal: the panel follows the run, scrolls, fits each size of the terminal, and leaves the whole answer once in the scrollback.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	tm := newTerminal(t)
	tm.until("shows the search", func(s string) bool {
		return strings.Contains(s, "before") && strings.Contains(s, "Looking for passages about") && strings.Contains(s, " s\n") && strings.Contains(s, "searching")
	})
	tm.allow("found")
	s := tm.until("shows the end of the answer", func(s string) bool { return strings.Contains(s, "line59") && strings.Contains(s, "lines above") })
	if strings.Contains(s, "line10 ") || !strings.Contains(s, "12 ms") || !strings.Contains(s, "• line59 漢字 bold") {
		t.Errorf("the answer does not fit, and yet:\n%s", s)
	}
	tm.Tmux("send-keys", "-t", "s", "Home")
	tm.until("is scrolled to the answer's beginning", func(s string) bool { return strings.Contains(s, "line0 ") && strings.Contains(s, "lines below") })
	tm.Tmux("send-keys", "-t", "s", "End")
	tm.until("is back at its end", func(s string) bool { return strings.Contains(s, "line59") })
	tm.Tmux("resize-window", "-t", "s", "-x", "40", "-y", "10")
	tm.until("is fitted to fewer lines", func(s string) bool {
		return strings.Contains(s, "line59") && !strings.Contains(s, "line52 ") && strings.Contains(s, "answering")
	})
	tm.Tmux("resize-window", "-t", "s", "-x", "80", "-y", "24")
	tm.until("is fitted to more lines", func(s string) bool { return strings.Contains(s, "line59") && strings.Contains(s, "line45 ") })
	tm.allow("done")
	tm.until("shows how it ended", func(s string) bool { return strings.Contains(s, "ended: <nil>") && strings.Contains(s, "echo") })
	all := tm.All()
	whole := all[strings.LastIndex(all, "Reading the question"):]
	for i := range 60 {
		if n := strings.Count(whole, fmt.Sprintf("line%d ", i)); n != 1 {
			t.Errorf("line %d is there %d times", i, n)
		}
	}
	for _, want := range []string{"[2JThe end.", "[1]", "Tides", "The tide rises.", "confidence 0.90 · 1234 ms"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(whole, "answering") || strings.Contains(whole, "-echo") {
		t.Errorf("the panel, or the keyboard's mode, stayed:\n%s", whole)
	}
	if t.Failed() {
		t.Logf("all of it:\n%s", all)
	}
}

// TestOnATerminalOfOneSize: only the answer remains on the screen.
func TestOnATerminalOfOneSize(t *testing.T) {
	t.Parallel()
	tm := newTerminal(t, "NO_COLOR=1")
	tm.allow("found")
	tm.until("shows the end of the answer", func(s string) bool { return strings.Contains(s, "line59") })
	tm.allow("done")
	tm.until("shows how it ended", func(s string) bool { return strings.Contains(s, "ended: <nil>") })
	all := tm.All()
	if strings.Count(all, "Reading the question") != 1 || strings.Count(all, "line30 ") != 1 || !strings.Contains(all, "before") {
		t.Errorf("more than the answer is left:\n%s", all)
	}
	if coloured := tm.Tmux("capture-pane", "-p", "-e", "-S", "-", "-t", "s"); regexp.MustCompile("\x1b\\[[0-9;]*[34][0-8]").MatchString(coloured) {
		t.Errorf("there are colours:\n%q", coloured)
	}
}

// TestInterrupted: ctrl-C ends the answer and shows its incomplete text.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	tm := newTerminal(t)
	tm.allow("found")
	tm.until("shows the answer", func(s string) bool { return strings.Contains(s, "line59") })
	tm.Tmux("send-keys", "-t", "s", "C-c")
	tm.until("says so", func(s string) bool {
		return strings.Contains(s, "ended: interrupted") && strings.Contains(s, "the stream was interrupted") && strings.Contains(s, "echo")
	})
	if all := tm.All(); strings.Count(all, "line30 ") != 1 {
		t.Errorf("remaining output:\n%s", all)
	}
}
