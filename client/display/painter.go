package display

import (
	"io"
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// Painter keeps some lines at the end of what a terminal shows up to date. It writes the lines that changed and nothing else, in one piece that
// terminals show at once if they can (mode 2026), and moves the cursor by lines only, so that it need not know where on the screen it is. It is
// not Bubble Tea's renderer since that draws everything anew when the number of lines changes, and leaves what it drew before behind in
// terminals that keep what is erased. It is for one goroutine.
type Painter struct {
	out    io.Writer
	lines  []string // as they are shown; the cursor stands in the last
	hidden bool     // the cursor is
	frames int      // written so far
	drawn  int      // lines written so far
}

// NewPainter makes a painter of a terminal, whose cursor stands at the beginning of a line.
func NewPainter(out io.Writer) *Painter { return &Painter{out: out} }

const (
	beginSync  = "\x1b[?2026h"
	endSync    = "\x1b[?2026l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseRight = "\x1b[K"
	eraseLine  = "\x1b[2K"
)

// up moves the cursor to the beginning of a line so many lines above.
func up(n int) string {
	if n <= 0 {
		return "\r"
	}
	return "\x1b[" + strconv.Itoa(n) + "A\r"
}

// Paint shows the lines, each at most as wide as the terminal.
func (p *Painter) Paint(lines []string) error {
	if len(lines) == 0 {
		lines = []string{""}
	}
	for len(lines) < len(p.lines) { // what is no longer there is blank, and the place is kept
		lines = append(lines, "")
	}
	var b strings.Builder
	at := max(len(p.lines)-1, 0) // the line that the cursor is in
	move := func(i int) {
		if i < at {
			b.WriteString(up(at - i))
		} else {
			b.WriteString("\r" + strings.Repeat("\n", i-at))
		}
		at = i
	}
	for i, line := range lines {
		if i < len(p.lines) && p.lines[i] == line {
			continue
		}
		move(i)
		b.WriteString(line + eraseRight)
		p.drawn++
	}
	if b.Len() == 0 {
		return nil
	}
	move(len(lines) - 1)
	p.lines = lines
	p.frames++
	return p.write(beginSync + b.String() + endSync)
}

func (p *Painter) write(s string) error {
	if !p.hidden {
		p.hidden = true
		s = hideCursor + s
	}
	_, err := io.WriteString(p.out, s)
	return err
}

// Print leaves a text above the lines, in the terminal's scrollback, and paints the lines anew beneath, all of it in one piece.
func (p *Painter) Print(text string, lines []string) error {
	out := p.out
	var b strings.Builder
	p.out = &b
	err := p.erase(len(p.lines))
	if err == nil {
		err = p.write(strings.ReplaceAll(text, "\n", "\r\n") + "\r\n") // in the mode that keys need, terminals add no return by themselves
	}
	if err == nil {
		err = p.Paint(lines)
	}
	p.out = out
	if err == nil {
		_, err = io.WriteString(out, beginSync+strings.NewReplacer(beginSync, "", endSync, "").Replace(b.String())+endSync)
	}
	return err
}

// Resized takes up that the terminal is so many columns wide now. Terminals break lines that no longer fit, so there may be more of them; what is
// shown is erased, and drawn anew by the next call of Paint.
func (p *Painter) Resized(width int) error {
	if len(p.lines) == 0 {
		return nil
	}
	rows := 0
	for _, line := range p.lines {
		rows += max((xansi.StringWidth(line)+width-1)/max(width, 1), 1)
	}
	return p.erase(rows)
}

// erase takes so many lines, up from the cursor's, off the screen, one by one: a screen that is erased as a whole goes into the
// scrollback of some terminals.
func (p *Painter) erase(rows int) error {
	if len(p.lines) == 0 {
		return nil
	}
	p.lines = nil
	return p.write(beginSync + strings.Repeat(eraseLine+"\x1b[A", rows-1) + eraseLine + "\r" + endSync)
}

// Close erases the lines and gives the cursor back.
func (p *Painter) Close() error {
	err := p.erase(len(p.lines))
	if p.hidden {
		p.hidden = false
		if _, werr := io.WriteString(p.out, showCursor); err == nil {
			err = werr
		}
	}
	return err
}
