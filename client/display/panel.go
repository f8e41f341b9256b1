package display

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
)

// Panel renders snapshots as lines for a terminal, in its sixteen colours: the steps with their times, the answer as Markdown, a table of the
// citations, and the confidence. It caches the rendered part of an answer. A Panel is not safe for concurrent use. [Rich] shows it alone; other
// Bubble Tea programs can include it.
type Panel struct {
	md     markdown
	scroll int // number of lines that the answer is scrolled back; 0 follows the end
	most   int // maximum of scroll
	began  map[int]time.Time
	run    string
}

// NewPanel returns an empty panel.
func NewPanel() *Panel { return &Panel{began: map[int]time.Time{}} }

// The styles.
var (
	faint = lipgloss.NewStyle().Faint(true)
	good  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	wary  = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	busy  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Scroll scrolls the answer back by n lines, or forward if n is negative. At the end it follows new text.
func (p *Panel) Scroll(lines int) { p.scroll = min(max(p.scroll+lines, 0), p.most) }

// Live renders a snapshot of an active run in at most height lines of width columns. It shows the end of a longer answer, or the part that it is
// scrolled to. now sets the state of animations.
func (p *Panel) Live(s *client.Snapshot, width, height int, now time.Time) string {
	if s.Run != p.run {
		p.run, p.scroll = s.Run, 0
		clear(p.began)
	}
	width, height = max(width, 10), max(height, 3)
	steps := p.steps(s, width, now, true)
	answer := p.answer(s, width)
	if len(answer) > 0 {
		if most := max(height/3, 2); len(steps) > most { // show the newest steps
			hidden := len(steps) - most + 1
			steps = append([]string{faint.Render(xansi.Truncate(fmt.Sprintf("  %s before", count(hidden, "step")), width, "…"))}, steps[hidden:]...)
		}
		steps = append(steps, "")
	}
	room := max(height-len(steps)-1, 1)
	lines := append(steps, p.window(answer, room)...)
	lines = append(lines, p.status(s, width, now))
	if len(lines) > height {
		lines = lines[len(lines)-height:]
	}
	return strings.Join(lines, "\n")
}

// window returns the visible lines of the answer.
func (p *Panel) window(lines []string, room int) []string {
	most := max(len(lines)-room, 0)
	if p.scroll > 0 { // keep the visible text in place
		p.scroll += most - p.most
	}
	p.most = most
	p.scroll = min(max(p.scroll, 0), most)
	end := len(lines) - p.scroll
	return lines[max(end-room, 0):end]
}

// status renders the last line of a live panel.
func (p *Panel) status(s *client.Snapshot, width int, now time.Time) string {
	word := "asking"
	switch {
	case s.Status.Final():
		word = string(s.Status)
	case s.Answer == client.Running && s.Text != "":
		word = "answering"
	case s.Reasoning != "" && s.Text == "":
		word = "thinking: " + tail(Line(lastPart(s.Reasoning)), width)
	case s.Status == client.Running:
		word = "searching"
	}
	line := busy.Render(string(spin(now))) + " " + faint.Render(word)
	if p.scroll > 0 {
		line += faint.Render(fmt.Sprintf("  %d lines below", p.scroll))
	} else if p.most > 0 {
		line += faint.Render(fmt.Sprintf("  %d lines above", p.most))
	}
	return xansi.Truncate(line, width, "…")
}

func spin(now time.Time) rune {
	return spinner[int(now.UnixMilli()/100)%len(spinner)]
}

// lastPart returns the end of a text.
func lastPart(s string) string {
	if len(s) > 2000 {
		s = strings.ToValidUTF8(s[len(s)-2000:], "")
	}
	return s
}

// tail returns the end of a line that fits next to a word.
func tail(s string, width int) string {
	room := max(width-16, 1)
	if n := xansi.StringWidth(s); n > room {
		return "…" + xansi.TruncateLeft(s, n-room+1, "")
	}
	return s
}

// steps renders the steps, one per line. Live steps that are active show their time.
func (p *Panel) steps(s *client.Snapshot, width int, now time.Time, live bool) []string {
	var lines []string
	for i, step := range s.Steps {
		if step.Kind != client.Stage && step.Kind != client.Search && step.Kind != client.Tool {
			continue
		}
		mark, more := good.Render("✓"), ""
		switch step.Status {
		case client.Completed:
		case client.Running, client.Waiting:
			mark = faint.Render("·")
			if live {
				mark = busy.Render(string(spin(now)))
				if p.began[i].IsZero() {
					p.began[i] = now
				}
				more = fmt.Sprintf("  %.1f s", now.Sub(p.began[i]).Seconds())
			}
		case client.Failed:
			mark = bad.Render("✗")
		default:
			mark = wary.Render("!")
		}
		if step.Timed {
			more = fmt.Sprintf("  %d ms", step.Took)
		}
		room := max(width-len(more), 4)
		lines = append(lines, xansi.Truncate(mark+" "+fitted(Line(step.Detail), room-2), room, "…")+faint.Render(more))
	}
	for _, w := range s.Warnings {
		lines = append(lines, xansi.Truncate(wary.Render("! warning: ")+Line(w.Message)+" ("+Line(w.Code)+")", width, "…"))
	}
	return lines
}

// fitted shortens the quoted text of a step that is too wide, because the result of the step follows it.
func fitted(detail string, width int) string {
	at := strings.LastIndex(detail, "”: ")
	tail := detail[max(at, 0):]
	if at < 0 || xansi.StringWidth(detail) <= width || xansi.StringWidth(tail) > width/2 {
		return detail
	}
	return xansi.Truncate(detail[:at], width-xansi.StringWidth(tail), "…") + tail
}

// measure is the maximum width of an answer in columns, because longer lines are hard to read.
const measure = 100

// answer renders the text.
func (p *Panel) answer(s *client.Snapshot, width int) []string {
	if s.Text == "" {
		return nil
	}
	return p.md.lines(settled(s.Text, s.Answer.Final()), min(width, measure))
}

// Final renders a finished run, or a run whose stream ended with the error cause, without a limit of height.
func (p *Panel) Final(s *client.Snapshot, width int, cause error) string {
	width = max(width, 10)
	lines := p.steps(s, width, time.Time{}, false)
	if answer := p.answer(s, width); len(answer) > 0 {
		lines = append(append(lines, ""), answer...)
	}
	if len(s.Citations) > 0 {
		lines = append(append(lines, ""), citations(s, width)...)
	}
	lines = append(lines, "")
	for _, w := range cautions(s) {
		lines = append(lines, wary.Render(xansi.Truncate("! "+w, width, "…")))
	}
	switch {
	case errors.Is(cause, context.Canceled):
		lines = append(lines, wary.Render("! stopped"))
	case cause != nil:
		lines = append(lines, wary.Render("! the stream was interrupted"))
	case s.Failure != nil:
		for _, line := range wrapped("✗ "+Line(s.Failure.Message)+" ("+Line(string(s.Failure.Code))+")", width) {
			lines = append(lines, bad.Render(line))
		}
		if NothingIndexed(s) {
			for _, line := range wrapped(addDocuments, width-2) {
				lines = append(lines, "  "+line)
			}
		}
	case s.Abstained:
		verdict, searched := abstention(s)
		for _, line := range wrapped("∅ "+verdict, width) {
			lines = append(lines, wary.Render(line))
		}
		if searched != "" {
			lines = append(lines, faintly(searched, width)...)
		}
		lines = append(lines, faintly(footer(s), width)...)
	case len(s.Citations) == 0 && s.Verification.Checked == 0: // the answer makes no claims
		lines = append(lines, faintly(footer(s), width)...)
	default:
		first, indent := bar(s.Confidence)+" ", strings.Repeat(" ", 11)
		if width < 44 { // the id of a run would be wrapped
			first, indent = "", ""
		}
		for _, line := range wrapped(footer(s), width-len(indent)) {
			lines = append(lines, first+faint.Render(line))
			first = indent
		}
	}
	return strings.Join(lines, "\n")
}

// bar renders a confidence as ten cells.
func bar(confidence float64) string {
	n := int(min(max(confidence, 0), 1)*10 + 0.5)
	style := good
	switch {
	case confidence < 0.4:
		style = bad
	case confidence < 0.7:
		style = wary
	}
	return style.Render(strings.Repeat("█", n)) + faint.Render(strings.Repeat("░", 10-n))
}

// passage returns the text of a citation without the title and headings at its begin, which have their own column.
func passage(c client.Citation) string {
	text := Line(c.Snippet)
	for _, above := range slices.Compact([]string{Line(c.Title), Line(c.Heading)}) {
		if rest, ok := strings.CutPrefix(text, above+" "); ok && above != "" {
			text = rest
		}
	}
	return text
}

// faintly renders a text in lines of at most width columns.
func faintly(text string, width int) []string {
	lines := wrapped(text, width)
	for i := range lines {
		lines[i] = faint.Render(lines[i])
	}
	return lines
}

// maxRows is the maximum number of listed citations, quoteLines that of the lines of a quotation.
const (
	maxRows    = 100
	quoteLines = 2
)

// citations renders the list: number, file, section and weight, and below it the cited sentence.
func citations(s *client.Snapshot, width int) []string {
	var lines []string
	rows := s.Citations[:min(len(s.Citations), maxRows)]
	for _, c := range rows {
		number, weight := fmt.Sprintf("[%d] ", c.N), share(c)
		room := max(width-len(number)-xansi.StringWidth(weight), 8)
		lines = append(lines, xansi.Truncate(busy.Render(number)+xansi.Truncate(where(c), room, "…")+faint.Render(weight), width, ""))
		indent := "    "
		if width < 44 {
			indent = ""
		}
		quote := Quote(c, quoteLines*(min(width, measure)-len(indent)-8))
		if quote == "" {
			continue
		}
		for _, line := range wrapped(quote, min(width, measure)-len(indent)) {
			lines = append(lines, indent+faint.Render(line))
		}
	}
	if more := len(s.Citations) - len(rows); more > 0 {
		lines = append(lines, faint.Render(fmt.Sprintf("and %d more", more)))
	}
	if s.Uncited > 0 {
		lines = append(lines, faint.Render(count(s.Uncited, "passage")+" read but not cited"))
	}
	return lines
}
