package display

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"github.com/sluice-rag/sluice/client"
)

// frameRate is the maximum number of frames per second.
const frameRate = 20

// RichOptions are the options of a rich display.
type RichOptions struct {
	In  io.Reader // keyboard; nil disables scrolling
	Env []string  // as [os.Environ]; nil is the environment of the process
	// Interrupt is called once when ctrl-C is pressed. With a keyboard, the terminal sends no signal for it.
	Interrupt func()
	// Width and Height are the size of an output that is not a terminal. The default is 80 by 24.
	Width, Height int
}

// Capable reports whether out is a terminal with cursor control, as a rich display needs.
func Capable(out io.Writer, env []string) bool {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	name := lookup(env, "TERM")
	return name != "" && name != "dumb"
}

func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// Rich shows a live panel during a run, and writes the whole answer to the scrollback at its end.
type Rich struct {
	out     io.Writer
	program *tea.Program
	model   *live
	stop    chan struct{}
	ticking sync.WaitGroup
	done    chan struct{}
	failure error // of the program; read after done is closed
}

// NewRich returns a display that shows a panel on out. The caller must call [Rich.Close].
func NewRich(out io.Writer, o RichOptions) *Rich {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Height <= 0 {
		o.Height = 24
	}
	r := &Rich{stop: make(chan struct{}), done: make(chan struct{})}
	// Colours are reduced to those of the terminal, and removed with NO_COLOR.
	r.out = &colorprofile.Writer{Forward: out, Profile: colorprofile.Env(o.Env)}
	r.model = &live{panel: NewPanel(), paint: NewPainter(r.out), width: o.Width, height: o.Height, interrupt: sync.OnceFunc(func() {
		if o.Interrupt != nil {
			o.Interrupt()
		}
	})}
	var screen io.Writer = io.Discard
	if f, ok := out.(*os.File); ok {
		screen = silent{f}
		r.model.size = func() (int, int, error) { return term.GetSize(int(f.Fd())) }
		r.model.fit()
	}
	r.program = tea.NewProgram(r.model, tea.WithOutput(screen), tea.WithInput(o.In), tea.WithEnvironment(o.Env), tea.WithoutSignalHandler(),
		tea.WithWindowSize(o.Width, o.Height))
	go func() {
		defer close(r.done)
		_, r.failure = r.program.Run()
	}()
	r.ticking.Go(r.tick)
	return r
}

// silent is a terminal of which Bubble Tea only reads the size. It discards all writes.
type silent struct{ *os.File }

// Write implements [io.Writer].
func (silent) Write(p []byte) (int, error) { return len(p), nil }

// tick makes the program check for a new snapshot. It is used instead of tea.Tick, whose last tick would outlive the program.
func (r *Rich) tick() {
	t := time.NewTicker(time.Second / frameRate)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			r.program.Send(tick(now))
		case <-r.stop:
			return
		}
	}
}

// state stores the newest snapshot for the next frame.
func (r *Rich) state(s *client.Snapshot) error {
	r.model.mu.Lock()
	r.model.next = s
	err := r.model.err
	r.model.mu.Unlock()
	select {
	case <-r.done:
		return errors.Join(errors.New("draw panel: it has ended"), r.failure)
	default:
		return err
	}
}

// Step implements [Display].
func (r *Rich) Step(s *client.Snapshot, _ int) error { return r.state(s) }

// Reasoning implements [Display].
func (r *Rich) Reasoning(s *client.Snapshot) error { return r.state(s) }

// Answer implements [Display].
func (r *Rich) Answer(s *client.Snapshot) error { return r.state(s) }

// Warning implements [Display].
func (r *Rich) Warning(s *client.Snapshot, _ int) error { return r.state(s) }

// Close implements [Display]. It replaces the panel by the whole run.
func (r *Rich) Close(s *client.Snapshot, cause error) error {
	close(r.stop)
	r.ticking.Wait()
	r.program.Send(finished{})
	<-r.done
	err := r.model.paint.Close()
	if err == nil {
		_, err = fmt.Fprintln(r.out, r.model.panel.Final(s, r.model.width, cause))
	}
	if r.failure != nil && err == nil {
		err = fmt.Errorf("draw panel: %w", r.failure)
	}
	return err
}

// finished ends the program. tick makes it check for a new snapshot.
type (
	finished struct{}
	tick     time.Time
)

// live is the Bubble Tea model.
type live struct {
	panel         *Panel
	paint         *Painter
	size          func() (width, height int, err error) // of the terminal; nil if out is not a terminal
	width, height int
	interrupt     func()

	mu   sync.Mutex
	next *client.Snapshot // newest snapshot, set by the display
	err  error            // first write error
}

// Init implements [tea.Model].
func (m *live) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (m *live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case finished:
		return m, tea.Quit
	case tick:
		m.fit()
		m.draw(time.Time(msg))
	case tea.KeyPressMsg:
		m.key(msg.String())
	}
	return m, nil
}

// fit reads the size of the terminal. It is called before each frame, because the message about a new size comes late, and the terminal would
// wrap the lines of the old size.
func (m *live) fit() {
	if m.size == nil {
		return
	}
	width, height, err := m.size()
	if err != nil || width <= 0 || height <= 0 {
		return // the terminal does not know its size
	}
	if width != m.width {
		m.fail(m.paint.Resized(width))
	}
	m.width, m.height = width, height
}

// draw draws a frame.
func (m *live) draw(now time.Time) {
	m.mu.Lock()
	s, err := m.next, m.err
	m.mu.Unlock()
	if s == nil {
		s = new(client.Snapshot)
	}
	if err == nil {
		m.fail(m.paint.Paint(strings.Split(m.panel.Live(s, m.width, max(m.height-1, 3), now), "\n")))
	}
}

// fail records the first write error.
func (m *live) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// View implements [tea.Model]. The view is empty because Painter draws.
func (m *live) View() tea.View { return tea.NewView("") }

func (m *live) key(key string) {
	switch key {
	case "ctrl+c":
		m.interrupt()
	case "up", "k":
		m.panel.Scroll(1)
	case "down", "j":
		m.panel.Scroll(-1)
	case "pgup", "b":
		m.panel.Scroll(max(m.height/2, 1))
	case "pgdown", "space":
		m.panel.Scroll(-max(m.height/2, 1))
	case "home", "g":
		m.panel.Scroll(1 << 30)
	case "end", "G":
		m.panel.Scroll(-1 << 30)
	}
}
