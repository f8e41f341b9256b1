package display

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
)

// PlainOptions are the options of a plain display.
type PlainOptions struct {
	ColourOut, ColourSteps bool // the output supports colours
}

// Plain prints steps as lines, and the answer while it is written.
type Plain struct {
	out, steps     io.Writer
	onOut, onSteps brush
	shown          map[int]bool // printed steps
	printed        string       // text of the answer that was printed
	tail           string       // end of the printed text, which combining marks can follow
	open           bool         // the last line of the answer is not terminated
	err            error
}

// NewPlain returns a display that prints the answer and its sources to out, and steps, warnings and the last line to steps. Both can be the
// same writer.
func NewPlain(out, steps io.Writer, o PlainOptions) *Plain {
	return &Plain{out: out, steps: steps, onOut: brush(o.ColourOut), onSteps: brush(o.ColourSteps), shown: map[int]bool{}}
}

// brush colours text if colours are enabled.
type brush bool

// The SGR codes of the colours (ECMA-48).
const (
	dim   = "2"
	bold  = "1"
	green = "32"
	amber = "33"
	red   = "31"
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

// line prints a step line. It terminates the last line of the answer first.
func (p *Plain) line(colour, word, text, more string) {
	if p.open {
		p.printf(p.steps, "\n")
	}
	p.printf(p.steps, "%s %s%s\n", p.onSteps.paint(colour, word), text, p.onSteps.paint(dim, more))
}

// Step implements [Display]. It prints a step at its end.
func (p *Plain) Step(s *client.Snapshot, i int) error {
	step := s.Steps[i]
	if p.shown[i] || !step.Status.Final() {
		return p.err
	}
	p.shown[i] = true
	if p.open && s.Answer.Final() {
		p.printf(p.out, "\n\n")
		p.open = false
	}
	colour, text := green, Line(step.Detail)
	if step.Status != client.Completed {
		colour, text = amber, text+": "+string(step.Status)
	}
	p.line(colour, "-", text, took(step))
	return p.err
}

func took(s client.Step) string {
	if !s.Timed {
		return ""
	}
	return fmt.Sprintf("  %d ms", s.Took)
}

// Reasoning implements [Display]. It prints nothing.
func (p *Plain) Reasoning(*client.Snapshot) error { return p.err }

// Answer implements [Display]. It prints new text.
func (p *Plain) Answer(s *client.Snapshot) error {
	p.write(settled(s.Text, s.Answer.Final()))
	return p.err
}

// settled returns the part of a text that more text cannot change: it excludes the start of a citation marker at the end.
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
	fresh, grown := strings.CutPrefix(text, p.printed)
	if !grown {
		if strings.HasPrefix(p.printed, text) {
			return
		}
		p.printf(p.out, "\n\n") // a new answer replaces the text
		fresh, p.tail = text, ""
	}
	if fresh == "" {
		return
	}
	if p.printed == "" {
		p.printf(p.steps, "\n")
	}
	p.printed, p.open = text, true
	// New text is cleaned together with the end of the printed text, so that the limit of combining marks holds across pieces.
	cleaned := Clean(p.tail + client.Plain(fresh))
	p.printf(p.out, "%s", strings.TrimPrefix(cleaned, p.tail))
	p.tail = lastMarks(cleaned)
}

// lastMarks returns the last base character with its combining marks.
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
	p.line(amber, "warning:", Line(w.Message)+" ("+Line(w.Code)+")", "")
	return p.err
}

// Close implements [Display]. It prints the sources and the last line.
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
		p.line(red, "failed:", Line(s.Failure.Message)+" ("+Line(string(s.Failure.Code))+")", "")
		if NothingIndexed(s) {
			p.printf(p.steps, "%s\n", addDocuments)
		}
	default:
		for _, w := range cautions(s) {
			p.line(amber, "warning:", w, "")
		}
		if s.Abstained {
			verdict, searched := abstention(s)
			p.printf(p.steps, "%s\n", strings.TrimSpace(p.onSteps.paint(amber, verdict)+" "+searched))
		}
		p.printf(p.steps, "%s\n", p.onSteps.paint(dim, footer(s)))
	}
	return p.err
}

// sources prints the cited sources by number.
func (p *Plain) sources(s *client.Snapshot) {
	for _, c := range s.Citations {
		p.printf(p.out, "%s %s%s\n", p.onOut.paint(bold, fmt.Sprintf("[%d]", c.N)), where(c), p.onOut.paint(dim, share(c)))
		if q := Quote(c, maxQuote); q != "" {
			p.printf(p.out, "    %s\n", q)
		}
	}
	if s.Uncited > 0 && !s.Abstained {
		p.printf(p.steps, "%s\n", p.onSteps.paint(dim, count(s.Uncited, "passage")+" read but not cited"))
	}
}

// maxQuote is the maximum length of a quotation in characters.
const maxQuote = 300

// where returns the file or document of a citation, with heading and pages, and the documents that have about the same passage.
func where(c client.Citation) string {
	w := Line(cmp.Or(c.File, c.Title))
	if h := Line(c.Heading); h != "" && h != Line(c.Title) {
		w += " › " + h
	}
	if len(c.Pages) > 0 {
		w += ", " + c.PageList()
	}
	if n := len(c.AlsoIn); n > 0 {
		w += ", also in " + Line(strings.Join(c.AlsoIn[:min(n, maxAlso)], ", "))
		if n > maxAlso {
			w += fmt.Sprintf(" and %d more", n-maxAlso)
		}
	}
	return w
}

// maxAlso is the number of documents with about the same passage that are named.
const maxAlso = 3

// share returns the weight of a citation as text.
func share(c client.Citation) string {
	if c.Weight <= 0 {
		return ""
	}
	return fmt.Sprintf("  %.0f %% of the answer", 100*c.Weight)
}

// Quote returns the cited sentence of a citation in quotation marks, or the start of its passage, with at most limit characters, cut
// between words.
func Quote(c client.Citation, limit int) string {
	text := Line(c.Quote)
	if text == "" {
		text = strings.TrimPrefix(passage(c), "…")
	}
	return quoted(text, limit)
}

// quoted returns a line in quotation marks, with at most limit characters, cut between words; empty: there is none.
func quoted(text string, limit int) string {
	if text == "" {
		return ""
	}
	if xansi.StringWidth(text) > limit-2 {
		text = xansi.Truncate(text, max(limit-3, 1), "")
		if i := strings.LastIndexByte(text, ' '); i > len(text)/2 {
			text = text[:i]
		}
		text += "…"
	}
	return "“" + text + "”"
}

// addDocuments tells how documents are added if none are indexed.
const addDocuments = "Nothing is indexed yet. Add your documents with: sluice ingest FOLDER, or give the question or the server --docs FOLDER"

// NothingIndexed reports whether a run failed because there are no documents, also in other collections: documents must be added. It is false for a condition that no document meets.
func NothingIndexed(s *client.Snapshot) bool {
	return s.Failure != nil && s.Failure.Code == "NO_DOCUMENTS" && strings.HasPrefix(s.Failure.Message, "no documents are in ") && !strings.Contains(s.Failure.Message, "; there are documents in ")
}

// cautions returns warnings about the reliability of an answer.
func cautions(s *client.Snapshot) (all []string) {
	if s.Status == client.Incomplete {
		all = append(all, "the answer is incomplete")
	}
	if s.Verification.Flagged {
		all = append(all, "the sources do not support this answer")
	}
	return all
}

// footer returns one line with confidence, duration and run id.
func footer(s *client.Snapshot) string {
	var parts []string
	switch v := s.Verification; {
	case s.Abstained:
	case v.Checked > 0:
		parts = append(parts, fmt.Sprintf("confidence %.2f, %d of %s supported", s.Confidence, v.Supported, count(v.Checked, "statement")))
	case len(s.Citations) > 0:
		parts = append(parts, fmt.Sprintf("confidence %.2f", s.Confidence))
	}
	if s.Cached {
		parts = append(parts, "from the cache")
	}
	if u := usage(s); u != "" {
		parts = append(parts, u)
	}
	if s.Elapsed > 0 || s.Status.Final() {
		parts = append(parts, fmt.Sprintf("%d ms", s.Elapsed))
	}
	return strings.Join(append(parts, Line(s.Run)), " · ")
}

// maxQueryShown is the number of characters of a query that an abstention names.
const maxQueryShown = 100

// abstention returns lines that say that the documents contain no answer, and list the searches.
func abstention(s *client.Snapshot) (verdict, searched string) {
	var queries []string
	for _, step := range s.Steps {
		q := quoted(Line(step.Query), maxQueryShown)
		if step.Kind == client.Search && step.Query != "" && step.Tool != event.ToolHydeSearch && !slices.Contains(queries, q) {
			queries = append(queries, q)
		}
	}
	if len(queries) > 0 {
		searched = "Searched for " + strings.Join(queries, ", ") + "."
	}
	return "No answer in these documents.", searched
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
