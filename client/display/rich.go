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

// frames is how many times a second a rich display draws at most.
const frames = 20

// RichOptions tune a rich display. The zero value works.
type RichOptions struct {
	In  io.Reader // the keyboard; nil: there is none, and nothing can be scrolled
	Env []string  // in the form of [os.Environ]; nil: the process's own
	// Interrupt is called, once, when ctrl-C is pressed: with a keyboard the terminal makes no signal of it.
	Interrupt func()
	// Width and Height are those of an output that is no terminal; 0: 80 and 24.
	Width, Height int
}

// Capable tells whether a rich display can be shown on an output: a terminal that can move its cursor.
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

// Rich shows a live panel while the run goes on, and leaves the whole answer in the terminal's scrollback when it has ended.
type Rich struct {
	out     io.Writer
	o       RichOptions
	program *tea.Program
	model   *live
	stop    chan struct{}
	ticking sync.WaitGroup
	done    chan struct{}
	failure error // of the program; read behind done
}

// NewRich shows a panel on out until [Rich.Close], which has to be called.
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
	r := &Rich{o: o, stop: make(chan struct{}), done: make(chan struct{})}
	// The colours are those that the terminal has; with NO_COLOR there are none.
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

// silent is a terminal that Bubble Tea can ask for its size and does not write to: without a renderer of its own it would do neither.
type silent struct{ *os.File }

// Write implements [io.Writer].
func (silent) Write(p []byte) (int, error) { return len(p), nil }

// tick has the program look for something new. Bubble Tea's own ticks would outlive it by one.
func (r *Rich) tick() {
	t := time.NewTicker(time.Second / frames)
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

// state takes up the newest snapshot, which is drawn when it is time to.
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

// Close implements [Display]: the panel goes, and the whole of the run takes its place.
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

// finished ends the program; tick is when it looks for something new.
type (
	finished struct{}
	tick     time.Time
)

// live is the program's model. Bubble Tea reads the keyboard for it.
type live struct {
	panel         *Panel
	paint         *Painter
	size          func() (width, height int, err error) // of the terminal; nil: it is no terminal
	width, height int
	interrupt     func()

	mu   sync.Mutex
	next *client.Snapshot // the newest; set by the display
	err  error            // the first of writing
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

// fit takes up the terminal's size. It is asked before each frame: a frame for the size before would be broken into other lines than are counted
// with, and the news of a new one comes late.
func (m *live) fit() {
	if m.size == nil {
		return
	}
	width, height, err := m.size()
	if err != nil || width <= 0 || height <= 0 {
		return // a terminal that nobody told its size
	}
	if width != m.width {
		m.fail(m.paint.Resized(width))
	}
	m.width, m.height = width, height
}

// draw makes the next frame.
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

// fail keeps the first error of writing.
func (m *live) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// View implements [tea.Model]; what is to be seen is not drawn by Bubble Tea.
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
