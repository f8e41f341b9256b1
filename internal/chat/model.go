package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
)

// The styles use the sixteen colours of the terminal.
var (
	faint = lipgloss.NewStyle().Faint(true)
	bold  = lipgloss.NewStyle().Bold(true)
	good  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warn  = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	busy  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// Messages to the model besides those of Bubble Tea.
type (
	printMsg    string // text to print
	progressMsg struct {
		text  string
		share float64
	}
	questionMsg struct {
		text  string
		reply chan bool // receives one answer
	}
	withdrawMsg struct{ reply chan bool } // the question was withdrawn
	streamMsg   struct{ stream *client.Stream }
	// doneMsg is sent at the end of a question or command.
	doneMsg struct {
		answer *client.Snapshot // nil for a command
		err    error
		turn   bool // it was in the queue
	}
	tickMsg time.Time
	quitMsg struct{}
)

// maxWaiting is the maximum number of waiting questions and commands.
const maxWaiting = 20

// activity is the current question or command.
type activity struct {
	cancel     context.CancelFunc
	stream     *client.Stream // stream of the answer, nil before the request
	interrupts int            // number of times that ctrl-C was pressed
	cancelled  bool           // cancellation was requested
}

// model is the Bubble Tea model of the terminal. Only the program's goroutine uses it. Slow operations run in goroutines that spawn
// starts, which report by send.
type model struct {
	ctx   context.Context
	s     *conversation
	host  string // of the server, for display
	send  func(tea.Msg)
	spawn func(func()) // runs a function in a goroutine
	paint *display.Painter
	now   func() time.Time

	prompt        *prompt
	panel         *display.Panel
	size          func() (width, height int, err error) // of the terminal; nil uses the size of messages
	width, height int
	running       *activity
	waiting       []string
	questions     []questionMsg
	progress      progressMsg
	notice        string // shown until the next key
	lastFrame     time.Time
	outdated      bool        // the input has changed since the last frame
	animated      atomic.Bool // a tick must draw a frame
	err           error       // first write error
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return nil }

// View implements [tea.Model]. The view is empty because painter draws.
func (m *model) View() tea.View { return tea.NewView("") }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if size, ok := msg.(tea.WindowSizeMsg); ok && m.size == nil {
		m.resize(size.Width, size.Height)
	}
	m.fit()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
	case tea.KeyPressMsg:
		m.prompt.drawn = nil
		cmd = m.key(msg)
	case tea.PasteMsg:
		m.prompt.drawn = nil
		if len(m.questions) == 0 && m.prompt.paste(msg.Content) {
			m.notice = "the pasted text is too long and was cut"
		}
	case printMsg:
		m.print(xansi.Wrap(display.Clean(string(msg)), m.width, ""))
	case progressMsg:
		m.progress = progressMsg{display.Line(msg.text), msg.share}
	case questionMsg:
		m.questions = append(m.questions, msg)
	case withdrawMsg:
		for i, q := range m.questions {
			if q.reply == msg.reply {
				m.questions = append(m.questions[:i:i], m.questions[i+1:]...)
				break
			}
		}
	case streamMsg:
		if m.running != nil {
			m.running.stream = msg.stream
		}
	case doneMsg:
		cmd = m.done(msg)
	case tickMsg:
		m.halt()
	case quitMsg:
		cmd = tea.Quit
	default:
		return m, nil
	}
	_, next := m.s.conn.get()
	m.outdated = m.deferDraw(msg)
	m.animated.Store(m.running != nil || !next.IsZero() || m.outdated)
	if !m.outdated {
		m.draw()
	}
	if m.err != nil {
		return m, tea.Quit
	}
	return m, cmd
}

// deferDraw reports whether a key came so soon after the last frame that drawing can wait for the next tick. A pasted text can arrive as
// many keys.
func (m *model) deferDraw(msg tea.Msg) bool {
	key, ok := msg.(tea.KeyPressMsg)
	return ok && key.Text != "" && m.now().Sub(m.lastFrame) < time.Second/frameRate/2
}

// fail records the first write error.
func (m *model) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *model) draw() {
	m.fail(m.paint.Paint(m.lines()))
	m.lastFrame = m.now()
}

// print writes text permanently, above the live panel.
func (m *model) print(text string) { m.fail(m.paint.Print(text, m.lines())) }

// fit reads the size of the terminal. It is called before each frame, because the message about a new size comes late, and the terminal
// would wrap the lines of the old size.
func (m *model) fit() {
	if m.size == nil {
		return
	}
	if width, height, err := m.size(); err == nil && (width != m.width || height != m.height) {
		m.resize(width, height)
	}
}

func (m *model) resize(width, height int) {
	if width <= 0 || height <= 0 {
		return // the terminal does not know its size
	}
	if width != m.width && m.width > 0 {
		m.fail(m.paint.Resized(width))
	}
	m.width, m.height = width, height
	m.prompt.area.MaxHeight = min(max(m.height/3, 1), maxRows)
	m.prompt.resize(m.width)
	m.prompt.drawn = nil
}

// key handles a key press.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	m.notice = ""
	key := msg.String()
	if len(m.questions) > 0 {
		m.reply(key)
		return nil
	}
	switch key {
	case "ctrl+c":
		m.interrupt()
	case "ctrl+d":
		if m.prompt.empty() {
			return tea.Quit
		}
		m.prompt.key(msg)
	case "enter":
		line, err := m.prompt.take()
		if err != nil {
			m.notice = reason(err)
		}
		return m.submit(line)
	case "tab":
		m.prompt.tab()
	case "esc":
		m.prompt.candidates = nil
	case "pgup":
		m.panel.Scroll(max(m.height/2, 1))
	case "pgdown":
		m.panel.Scroll(-max(m.height/2, 1))
	default:
		m.prompt.key(msg)
	}
	return nil
}

// reply answers the first open question.
func (m *model) reply(key string) {
	yes := false
	switch key {
	case "y", "Y":
		yes = true
	case "n", "N", "enter", "esc", "ctrl+c", "ctrl+d":
	default:
		return
	}
	m.questions[0].reply <- yes
	m.questions = m.questions[1:]
}

// interrupt stops the current activity. Without one it clears the input, and if that is empty it shows how to leave.
func (m *model) interrupt() {
	switch {
	case m.running != nil:
		m.running.interrupts++
		if n := len(m.waiting); n > 0 {
			m.notice, m.waiting = count(n, "line")+" removed from the queue", nil
		}
		m.halt()
	case !m.prompt.empty():
		m.prompt.set("")
	default:
		m.notice = "ctrl-D or /quit leaves"
	}
}

// cancelTimeout is the timeout of a request to cancel a run.
const cancelTimeout = 2 * time.Second

// halt stops the current activity. It requests cancellation of a run, whose stream then ends. Commands, and runs of a server that does not
// answer, are stopped by their context.
func (m *model) halt() {
	a := m.running
	if a == nil || a.interrupts == 0 {
		return
	}
	fault, _ := m.s.conn.get()
	switch {
	case a.stream == nil, a.interrupts > 1, fault != "":
		a.cancel()
	case !a.cancelled && a.stream.Run() != "":
		a.cancelled = true
		ctx, stream, cut := m.ctx, a.stream, a.cancel
		m.spawn(func() {
			ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
			defer cancel()
			if stream.Cancel(ctx) != nil {
				cut()
			}
		})
	}
}

// submit handles an input line.
func (m *model) submit(line string) tea.Cmd {
	if line == "" {
		return nil
	}
	if isCommand(line) {
		c, args, err := find(line)
		switch {
		case err != nil:
			m.print("\n" + m.echo(line, faint) + "\n" + bad.Render("✗ "+reason(err)))
			return nil
		case c.name == "quit":
			return tea.Quit
		case !c.turn:
			m.print("\n" + m.echo(line, faint))
			ctx := m.ctx
			m.spawn(func() { m.send(doneMsg{err: c.run(ctx, m.s, args)}) })
			return nil
		}
	}
	if m.running == nil {
		m.start(line)
		return nil
	}
	if len(m.waiting) == maxWaiting {
		m.notice = "the queue is full; ctrl-C stops the current answer"
		m.prompt.set(line)
		return nil
	}
	m.waiting = append(m.waiting, line)
	m.notice = "waiting for the current answer; ctrl-C stops it"
	return nil
}

// start starts a question or command.
func (m *model) start(line string) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.running = &activity{cancel: cancel}
	m.progress = progressMsg{}
	if isCommand(line) {
		m.print("\n" + m.echo(line, faint))
		c, args, _ := find(line) // submit has checked it
		m.spawn(func() {
			defer cancel()
			m.send(doneMsg{err: c.run(ctx, m.s, args), turn: true})
		})
		return
	}
	m.print("\n" + m.echo(line, bold))
	m.spawn(func() {
		defer cancel()
		answer, err := m.s.respond(ctx, line, func(stream *client.Stream) (client.Snapshot, error) {
			m.send(streamMsg{stream})
			return m.s.follow(stream)
		})
		m.send(doneMsg{answer: &answer, err: err, turn: true})
	})
}

// echo renders an input line.
func (m *model) echo(line string, style lipgloss.Style) string {
	lines := strings.Split(display.Clean(line), "\n")
	for i := range lines {
		mark := "  "
		if i == 0 {
			mark = busy.Render("› ")
		}
		lines[i] = mark + style.Render(lines[i])
	}
	return strings.Join(lines, "\n")
}

// done prints the result of a question or command, and starts the next one.
func (m *model) done(e doneMsg) tea.Cmd {
	if errors.Is(e.err, errLeave) {
		return tea.Quit
	}
	stopped := e.turn && m.running != nil && m.running.interrupts > 0
	switch {
	case e.answer != nil:
		m.print(m.final(e.answer, e.err, stopped))
	case stopped && errors.Is(e.err, context.Canceled):
		m.print(warn.Render("! stopped"))
	case e.err != nil && m.ctx.Err() == nil:
		m.print(bad.Render("✗ " + reason(e.err)))
	}
	if fault, _ := m.s.conn.get(); fault != "" && e.err != nil && (e.turn || m.running == nil) {
		m.s.conn.set(fault, time.Time{}) // no retry is pending
	}
	if !e.turn {
		return nil
	}
	m.running, m.progress = nil, progressMsg{}
	if len(m.waiting) > 0 {
		line := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.start(line)
	}
	return nil
}

// final renders a finished turn.
func (m *model) final(answer *client.Snapshot, err error, stopped bool) string {
	if stopped && errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil && answer.Run == "" {
		return bad.Render("✗ " + reason(err))
	}
	text := m.panel.Final(answer, m.width, err)
	switch {
	case err != nil:
		text += "\n" + warn.Render("! "+reason(err))
	case stopped && answer.Failure == nil && answer.Status != client.Completed:
		text += "\n" + warn.Render("! stopped")
	case display.NothingIndexed(answer):
		text += "\n  or with: /upload PATH"
	}
	return text
}

// lines renders the live part: the current answer, the prompt and the status line.
func (m *model) lines() []string {
	width, height := m.width, max(m.height-1, 4)
	var below []string
	if m.progress.text != "" {
		below = append(below, m.bar(width))
	}
	if m.notice != "" {
		below = append(below, warn.Render(display.Line(m.notice)))
	}
	if len(m.questions) > 0 {
		for line := range strings.SplitSeq(xansi.Wrap(display.Line(m.questions[0].text)+" [y/N]", width, ""), "\n") {
			below = append(below, bold.Render(line))
		}
	} else {
		below = append(below, m.prompt.lines()...)
		if offer := m.prompt.offer(width); offer != "" {
			below = append(below, faint.Render(offer))
		}
	}
	below = append(below, m.status(width))
	var all []string
	if m.running != nil && m.running.stream != nil {
		snapshot := m.running.stream.Snapshot()
		if room := height - len(below) - 2; room >= 3 {
			all = append(strings.Split(m.panel.Live(&snapshot, width, room, m.now()), "\n"), "")
		}
	}
	all = append(append([]string{""}, all...), below...)
	all = all[max(len(all)-height, 0):]
	for i := range all {
		all[i] = xansi.Truncate(all[i], width, "…")
	}
	return all
}

// bar renders the progress.
func (m *model) bar(width int) string {
	if m.progress.share < 0 || width < 40 {
		return busy.Render("… ") + m.progress.text
	}
	share := min(m.progress.share, 1)
	n := int(share * 20)
	return busy.Render(strings.Repeat("█", n)) + faint.Render(strings.Repeat("░", 20-n)) + fmt.Sprintf(" %3.0f %%  ", 100*share) + m.progress.text
}

// status renders the status line.
func (m *model) status(width int) string {
	now := m.s.settings()
	var parts []string
	if m.running != nil {
		word := "ctrl-C stops"
		if m.running.interrupts > 0 {
			word = "stopping"
		}
		parts = append(parts, word)
	}
	if n := len(m.waiting); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	parts = append(parts, display.Shorten(label(now.stores), max(width/3, 8)), now.effort)
	if now.model != "" {
		parts = append(parts, display.Shorten(now.model, 30))
	}
	rest := faint.Render(" · " + strings.Join(parts, " · "))
	fault, next := m.s.conn.get()
	if fault == "" {
		return good.Render("●") + " " + faint.Render(m.host) + rest
	}
	text := "○ " + m.host
	if !next.IsZero() {
		text = "◌ reconnecting"
		if wait := next.Sub(m.now()); wait > 0 {
			text += fmt.Sprintf(" in %.0f s", wait.Seconds()+0.5)
		}
	}
	return warn.Render(text+": "+display.Shorten(fault, 40)) + rest
}
