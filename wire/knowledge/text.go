package knowledge

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
)

// The marker of a citation in a text: ⟦⟦n⟧⟧.
const (
	openMarker  = "⟦⟦"
	closeMarker = "⟧⟧"
)

// ellipsis ends a text that is cut off.
const ellipsis = "…"

// growing is a text in the form that it has inside a JSON string, to be appended to and never encoded again.
type growing struct {
	most  int // bytes at most; 0: any number
	esc   []byte
	full  bool // something was left out
	words bool // it is more than white space
	gap   bool // the text ends in white space or a marker, or is empty
	safe  []int
}

// A text is added in pieces of at most so many bytes, and may be cut off before most of them once it is as long as safeFrom.
const (
	pieceBytes = 256
	safeFrom   = 4 << 10
)

// joiner is an invisible character that keeps brackets of a text from being a marker.
const joiner = "\u2060"

// unmistakable gives a text in which nothing is a marker: between two opening brackets stands a joiner. Before is what precedes
// the text.
func unmistakable(before []byte, s string) string {
	s = strings.ReplaceAll(s, openMarker, "⟦"+joiner+"⟦")
	s = strings.ReplaceAll(s, openMarker, "⟦"+joiner+"⟦") // of three and more in a row
	if strings.HasPrefix(s, "⟦") && bytes.HasSuffix(before, []byte("⟦")) {
		s = joiner + s
	}
	return s
}

// add appends a text, which must not forge markers: documents may hold any brackets.
func (g *growing) add(s string) {
	s = unmistakable(g.esc, s)
	if s == "" {
		return
	}
	g.words = g.words || strings.TrimSpace(s) != ""
	for s != "" && !g.full {
		n := len(s)
		if n > pieceBytes {
			for n = pieceBytes; n > pieceBytes-utf8.UTFMax && !utf8.RuneStart(s[n]); n-- { //nolint:revive // it looks for a rune's start
			}
		}
		g.put(func(dst []byte) []byte { return event.AppendEscaped(dst, s[:n]) })
		g.gap = strings.ContainsAny(s[n-1:n], " \n\t")
		s = s[n:]
	}
}

// mark appends the marker of an annotation, counted from 1.
func (g *growing) mark(n int) {
	g.put(func(dst []byte) []byte {
		if !g.gap && len(dst) > 0 {
			dst = append(dst, ' ')
		}
		return append(strconv.AppendInt(append(dst, openMarker...), int64(n), 10), closeMarker...)
	})
	g.gap = true
}

// put appends what must not be cut.
func (g *growing) put(write func(dst []byte) []byte) {
	if g.full {
		return
	}
	n := len(g.esc)
	g.esc = write(g.esc)
	if g.most > 0 && len(g.esc) > g.most {
		g.esc, g.full = g.esc[:n], true
		return
	}
	if last := len(g.safe) - 1; g.most > 0 && n >= safeFrom && (last < 0 || n >= g.safe[last]+pieceBytes/2) {
		g.safe = append(g.safe, n)
	}
}

// within gives as much of the text as fits into so many bytes, and whether that is all of it.
func (g *growing) within(room int) ([]byte, bool) {
	if !g.full && len(g.esc) <= room {
		return g.esc, true
	}
	room -= len(ellipsis)
	if len(g.esc) <= room {
		return g.esc, false
	}
	n := len(g.safe)
	for n > 0 && g.safe[n-1] > room {
		n--
	}
	if n == 0 {
		return nil, false
	}
	return g.esc[:g.safe[n-1]], false
}

// clip cuts a text to so many characters, with an ellipsis as the last.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n, cut := 0, 0
	for i := range s {
		if n == most-1 {
			cut = i
		}
		if n++; n > most {
			return s[:cut] + ellipsis
		}
	}
	return s
}

// short cuts a text to so many bytes at a character, with an ellipsis as the last.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most - len(ellipsis)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

// sentence makes a message one that can be read by itself.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return strings.TrimRight(strings.ToUpper(string(r))+s[n:], ".") + "."
}
