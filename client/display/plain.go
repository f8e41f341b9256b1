package display

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/client"
)

// PlainOptions tune a plain display. The zero value works.
type PlainOptions struct {
	ColourOut, ColourSteps bool // the output is a terminal that shows colours
}

// Plain prints lines, and the answer as it is written: what a pipe can read, and a person in a log.
type Plain struct {
	out, steps     io.Writer
	onOut, onSteps brush
	shown          map[int]bool // steps that were printed
	told           string       // of the answer's text
	kept           string       // the end of the text that was printed, where more marks may follow
	open           bool         // the answer's line is not ended
	err            error
}

// NewPlain prints the answer and its sources to out, and the steps, warnings and the last line to steps, which may be the same.
func NewPlain(out, steps io.Writer, o PlainOptions) *Plain {
	return &Plain{out: out, steps: steps, onOut: brush(o.ColourOut), onSteps: brush(o.ColourSteps), shown: map[int]bool{}}
}

// brush wraps text in a colour, if colours are wanted.
type brush bool

// The colours used, by their numbers in ECMA-48.
const (
	dim   = "2"
	bold  = "1"
	green = "32"
	amber = "33"
	red   = "31"
	cyan  = "36"
)

func (p brush) paint(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *Plain) printf(w io.Writer, format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(w, format, args...)
	}
}

// line prints a line of the steps, under whatever the answer's last line is.
func (p *Plain) line(colour, word, text, more string) {
	if p.open {
		p.printf(p.steps, "\n")
	}
	p.printf(p.steps, "%s %s%s\n", p.onSteps.paint(colour, fmt.Sprintf("%9s", word)), text, p.onSteps.paint(dim, more))
}

// Step implements [Display]: a step is printed when it has ended.
func (p *Plain) Step(s *client.Snapshot, i int) error {
	step := s.Steps[i]
	if p.shown[i] || !step.Status.Final() {
		return p.err
	}
	p.shown[i] = true
	colour, text := green, Line(step.Detail)
	if step.Status != client.Completed {
		colour, text = amber, text+": "+string(step.Status)
	}
	p.line(colour, Line(step.Name), text, took(step))
	return p.err
}

func took(s client.Step) string {
	if !s.Timed {
		return ""
	}
	return fmt.Sprintf("  %d ms", s.Took)
}

// Reasoning implements [Display]: it is not printed, since it is no part of the answer.
func (p *Plain) Reasoning(*client.Snapshot) error { return p.err }

// Answer implements [Display]: what is new of the text is printed.
func (p *Plain) Answer(s *client.Snapshot) error {
	p.write(settled(s.Text, s.Answer.Final()))
	return p.err
}

// settled gives as much of a text as more of it cannot change: the beginning of a marker may be one.
func settled(text string, whole bool) string {
	if whole {
		return text
	}
	if i := strings.LastIndex(text, "⟦⟦"); i >= 0 && !strings.Contains(text[i:], "⟧⟧") && len(text)-i < 20 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "⟦")
}

func (p *Plain) write(text string) {
	fresh, grown := strings.CutPrefix(text, p.told)
	if !grown {
		if strings.HasPrefix(p.told, text) {
			return
		}
		p.printf(p.out, "\n\n") // another answer takes its place
		fresh, p.kept = text, ""
	}
	if fresh == "" {
		return
	}
	if p.told == "" {
		p.printf(p.steps, "\n")
	}
	p.told, p.open = text, true
	// What is new is cleaned with the end of what was printed, so that marks do not pile up piece by piece.
	cleaned := Clean(p.kept + client.Plain(fresh))
	p.printf(p.out, "%s", strings.TrimPrefix(cleaned, p.kept))
	p.kept = lastMarks(cleaned)
}

// lastMarks gives the last character that others may stand on, with those that do.
func lastMarks(s string) string {
	at := len(s)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:at])
		at -= n
		if !joins(r) {
			break
		}
	}
	return s[at:]
}

// Warning implements [Display].
func (p *Plain) Warning(s *client.Snapshot, i int) error {
	w := s.Warnings[i]
	p.line(amber, "warning", Line(w.Message)+" ("+Line(w.Code)+")", "")
	return p.err
}

// Close implements [Display]: the sources, what the run cost, and how it ended.
func (p *Plain) Close(s *client.Snapshot, cause error) error {
	p.write(settled(s.Text, true))
	if p.open {
		p.printf(p.out, "\n\n")
		p.open = false
	}
	p.sources(s)
	switch {
	case cause != nil:
	case s.Failure != nil:
		p.line(red, "failed", Line(s.Failure.Message)+" ("+Line(string(s.Failure.Code))+")", "")
		if s.Failure.Code == "NO_DOCUMENTS" {
			p.printf(p.steps, "          add some with: sluice ingest PATH\n")
		}
	default:
		for _, w := range cautions(s) {
			p.line(amber, "warning", w, "")
		}
		p.printf(p.steps, "%s\n", p.onSteps.paint(dim, footer(s)))
	}
	return p.err
}

// sources prints the sources that are cited, by their numbers.
func (p *Plain) sources(s *client.Snapshot) {
	for _, c := range s.Citations {
		p.printf(p.out, "%s %s  %s\n", p.onOut.paint(bold, fmt.Sprintf("[%d]", c.N)), where(c), p.onOut.paint(dim, worth(c)))
	}
	if s.Uncited > 0 {
		p.printf(p.steps, "%s\n", p.onSteps.paint(dim, count(s.Uncited, "passage")+" read and not cited"))
	}
}

// where tells a citation's document and place in it.
func where(c client.Citation) string {
	w := Line(c.Title)
	if h := Line(c.Heading); h != "" && h != w {
		w += " › " + h
	}
	if len(c.Pages) > 0 {
		w += ", " + c.PageList()
	}
	return w
}

// worth tells a citation's passage and how much it carries.
func worth(c client.Citation) string {
	parts := []string{}
	if c.Chunk != "" {
		parts = append(parts, Line(c.Chunk))
	}
	if c.Score > 0 {
		parts = append(parts, fmt.Sprintf("score %.2f", c.Score))
	}
	if c.Weight > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the answer", 100*c.Weight))
	}
	return strings.Join(parts, ", ")
}

// cautions tells what is to be known of an answer before it is believed.
func cautions(s *client.Snapshot) (all []string) {
	if s.Status == client.Incomplete {
		all = append(all, "the answer is incomplete")
	}
	if s.Verification.Flagged {
		all = append(all, "the sources do not carry this answer")
	}
	return all
}

// footer tells in a line how sure the answer is and what it cost.
func footer(s *client.Snapshot) string {
	f := fmt.Sprintf("confidence %.2f", s.Confidence)
	if v := s.Verification; v.Checked > 0 {
		f += fmt.Sprintf(", %d of %d claims supported", v.Supported, v.Checked)
	}
	if u := usage(s); u != "" {
		f += " · " + u
	}
	if s.Elapsed > 0 || s.Status.Final() {
		f += fmt.Sprintf(" · %d ms", s.Elapsed)
	}
	return f + " · " + Line(s.Run)
}

func usage(s *client.Snapshot) string {
	u := s.Usage
	if u.Input+u.Output == 0 {
		return ""
	}
	text := fmt.Sprintf("%d tokens read, %d written", u.Input, u.Output)
	if len(u.Models) > 0 {
		text = Line(strings.Join(u.Models, ", ")) + ": " + text
	}
	if u.Calls > 0 {
		text += " in " + count(u.Calls, "call")
	}
	return text
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
