package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"github.com/sluice-rag/sluice/client/display"
)

// frameRate is the maximum number of frames per second.
const frameRate = 20

// Bracketed paste mode (2004): the terminal marks the start and end of pasted text.
const beginPaste, endPaste = "\x1b[?2004h", "\x1b[?2004l"

// terminalUI implements ui by messages to the model.
type terminalUI struct{ send func(tea.Msg) }

func (f *terminalUI) print(text string) { f.send(printMsg(text)) }

func (f *terminalUI) progress(text string, share float64) { f.send(progressMsg{text, share}) }

func (f *terminalUI) ask(ctx context.Context, question string) bool {
	reply := make(chan bool, 1)
	f.send(questionMsg{question, reply})
	select {
	case yes := <-reply:
		return yes
	case <-ctx.Done():
		f.send(withdrawMsg{reply})
		return false
	}
}

// silent is a terminal of which Bubble Tea only reads the size. It discards all writes.
type silent struct{ *os.File }

// Write implements [io.Writer].
func (silent) Write(p []byte) (int, error) { return len(p), nil }

// newModel returns the model of a conversation that writes to out.
func newModel(ctx context.Context, s *conversation, h *history, out io.Writer, host string, send func(tea.Msg), spawn func(func())) *model {
	m := &model{ctx: ctx, s: s, host: host, send: send, spawn: spawn, paint: display.NewPainter(out), now: s.now, panel: display.NewPanel(),
		prompt: newPrompt(s, h)}
	m.resize(80, 24)
	return m
}

// runTerminal runs the chat on a terminal.
func runTerminal(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &terminalUI{}
	s, err := newConversation(o, f, interactiveRetries)
	if err != nil {
		return err
	}
	h, herr := openHistory(o.History)
	out := &colorprofile.Writer{Forward: o.Out, Profile: colorprofile.Env(o.Env)} // respects NO_COLOR
	var work sync.WaitGroup
	var p *tea.Program
	m := newModel(ctx, s, h, out, hostOf(o.Server), func(msg tea.Msg) { p.Send(msg) }, work.Go)
	f.send = m.send
	s.waiting = func() { m.send(tickMsg(o.Now())) }
	screen := o.Out.(*os.File) // checked by [Terminal]
	m.size = func() (int, int, error) { return term.GetSize(int(screen.Fd())) }
	if herr != nil {
		m.notice = reason(herr)
	}
	p = tea.NewProgram(m, tea.WithOutput(silent{screen}), tea.WithInput(o.In), tea.WithEnvironment(o.Env), tea.WithoutSignalHandler())
	if _, err := io.WriteString(o.Out, beginPaste); err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	defer context.AfterFunc(ctx, func() { p.Send(quitMsg{}) })()
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		t := time.NewTicker(time.Second / frameRate)
		defer t.Stop()
		for {
			select {
			case now := <-t.C:
				if m.animated.Load() {
					p.Send(tickMsg(now))
				}
			case <-stop:
				return
			}
		}
	})
	work.Go(func() {
		m.send(printMsg("sluice chat with " + hostOf(o.Server) + ": ask, or /help"))
		s.greet(ctx)
		if o.Session != "" {
			if err := s.resume(ctx, o.Session, false); err != nil && ctx.Err() == nil {
				m.send(printMsg("✗ the session cannot be shown: " + reason(err)))
			}
		}
		m.send(tickMsg(o.Now()))
	})
	_, err = p.Run()
	close(stop)
	ticking.Wait()
	m.abandon()
	cancel()
	work.Wait()
	_, werr := io.WriteString(o.Out, endPaste)
	if err = errors.Join(err, m.err, m.paint.Close(), werr); err == nil {
		fmt.Fprint(o.Err, s.farewell())
	}
	return err
}

// abandon requests the cancellation of the current run.
func (m *model) abandon() {
	if m.running == nil || m.running.stream == nil || m.running.stream.Run() == "" || m.running.cancelled {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), cancelTimeout)
	defer cancel()
	_ = m.running.stream.Cancel(ctx) // if the request fails, the run ends after its grace period
}

// greet loads the names of the collections.
func (s *conversation) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if _, _, err := s.list(ctx); err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			s.conn.set(reason(err), time.Time{})
		}
		return
	}
	s.named()
}

// named replaces the ids of the selected collections by their names.
func (s *conversation) named() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stores := make([]collection, len(s.stores))
	for i, c := range s.stores {
		for _, k := range s.known {
			if k.id == c.id {
				c = k
			}
		}
		stores[i] = c
	}
	s.stores = stores
}

// hostOf returns the host of a URL for display, without user name, password and path.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return display.Line(u.Host)
}
