package display

import (
	"io"
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// Painter updates some lines at the end of a terminal. It writes only changed lines, in one synchronized update (mode 2026), and moves the
// cursor relatively, so that it does not need to know its position. Bubble Tea's own renderer redraws everything when the number of lines
// changes, which leaves old lines behind in some terminals. A Painter is not safe for concurrent use.
type Painter struct {
	out    io.Writer
	lines  []string // shown lines; the cursor is in the last one
	hidden bool     // the cursor is hidden
	frames int      // written so far
	drawn  int      // lines written so far
}

// NewPainter returns a painter of a terminal whose cursor is at the start of a line.
func NewPainter(out io.Writer) *Painter { return &Painter{out: out} }

const (
	beginSync  = "\x1b[?2026h"
	endSync    = "\x1b[?2026l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseRight = "\x1b[K"
	eraseLine  = "\x1b[2K"
)

// up moves the cursor to the start of the line n lines above.
func up(n int) string {
	if n <= 0 {
		return "\r"
	}
	return "\x1b[" + strconv.Itoa(n) + "A\r"
}

// Paint shows lines, which must not be wider than the terminal.
func (p *Painter) Paint(lines []string) error {
	if len(lines) == 0 {
		lines = []string{""}
	}
	for len(lines) < len(p.lines) { // removed lines become blank, so that the height is kept
		lines = append(lines, "")
	}
	var b strings.Builder
	at := max(len(p.lines)-1, 0) // line of the cursor
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

// Print writes a text permanently above the lines, and paints the lines below it, in one update.
func (p *Painter) Print(text string, lines []string) error {
	out := p.out
	var b strings.Builder
	p.out = &b
	err := p.erase(len(p.lines))
	if err == nil {
		err = p.write(strings.ReplaceAll(text, "\n", "\r\n") + "\r\n") // in raw mode terminals add no carriage return
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

// Resized sets a new width of the terminal. It erases the lines, which the terminal can have wrapped. The next Paint draws them again.
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

// erase erases n lines above and including that of the cursor, one by one, because some terminals move a screen that is erased as a whole to
// the scrollback.
func (p *Painter) erase(rows int) error {
	if len(p.lines) == 0 {
		return nil
	}
	p.lines = nil
	return p.write(beginSync + strings.Repeat(eraseLine+"\x1b[A", rows-1) + eraseLine + "\r" + endSync)
}

// Close erases the lines and shows the cursor.
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
