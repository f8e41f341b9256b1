package turns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Grammar checks the form of a stream and splits it into its parts. The stream may arrive in pieces of any size. The zero value is the state
// before the first byte.
//
//	stream  = line* 0x1d text 0x1e trailer
//	line    = (search | review) "\n"
//
// Lines and trailer are JSON objects. Searches may interleave; each that completed or failed has started before, with the same tool, query and
// iteration. A review follows at least one such search.
type Grammar struct {
	Lines   []string // of the first phase, without line breaks
	Text    []byte   // of the second phase
	Trailer []byte   // the third phase

	phase   phase
	part    []byte         // of a line
	started map[string]int // searches that have not ended
	ended   int            // searches that have
}

// Write implements [io.Writer]. It returns an error if the stream does not have the form.
func (g *Grammar) Write(b []byte) (int, error) {
	for i, c := range b {
		if err := g.next(c); err != nil {
			return i, fmt.Errorf("check turns stream: %w", err)
		}
	}
	return len(b), nil
}

// Answering reports whether the text of the answer has begun.
func (g *Grammar) Answering() bool { return g.phase >= answering }

// End returns an error if the stream is not complete.
func (g *Grammar) End() error {
	switch {
	case g.phase != closing:
		return errors.New("check turns stream: it has no trailer")
	case !utf8.Valid(g.Text):
		return errors.New("check turns stream: the text is not valid UTF-8")
	case !json.Valid(g.Trailer) || bytes.IndexByte(g.Trailer, '{') != 0:
		return fmt.Errorf("check turns stream: the trailer is not a JSON object: %.80q", g.Trailer)
	}
	return nil
}

func (g *Grammar) next(c byte) error {
	switch {
	case c == AnswerMark && g.phase == searching && len(g.part) == 0:
		g.phase = answering
	case c == TrailerMark && g.phase == answering:
		g.phase = closing
	case c == AnswerMark || c == TrailerMark:
		return fmt.Errorf("the byte 0x%02x is not allowed here (phase %d)", c, g.phase)
	case g.phase == searching && c == '\n':
		return g.line()
	case g.phase == searching:
		g.part = append(g.part, c)
	case g.phase == answering:
		g.Text = append(g.Text, c)
	default:
		g.Trailer = append(g.Trailer, c)
	}
	return nil
}

// line checks a line of the first phase.
func (g *Grammar) line() error {
	text := string(g.part)
	g.part = g.part[:0]
	g.Lines = append(g.Lines, text)
	var l struct {
		Type, Tool, Query, Error string
		Status                   Status
		Iteration                int
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil || !strings.HasPrefix(text, `{"type":"`) {
		return fmt.Errorf("a line is not an object with a type: %.80q", text)
	}
	if g.started == nil {
		g.started = map[string]int{}
	}
	search := fmt.Sprintf("%q %q %d", l.Tool, l.Query, l.Iteration)
	switch {
	case l.Type == "search" && l.Status == Started:
		g.started[search]++
		return nil
	case l.Type == "search" && g.started[search] > 0 && (l.Status == Completed || l.Status == Failed) && (l.Status == Failed) == (l.Error != ""):
		g.started[search]--
		g.ended++
		return nil
	case l.Type == "review" && l.Status == Completed && g.ended > 0:
		return nil
	}
	return fmt.Errorf("a line is not allowed here: %.200q", text)
}
