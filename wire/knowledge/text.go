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

// ellipsis ends a text that was shortened.
const ellipsis = "…"

// textBuffer is a text in the form that it has inside a JSON string, so that it is encoded only once.
type textBuffer struct {
	limit    int // maximum size in bytes; 0: none
	esc      []byte
	full     bool // some text was dropped
	nonBlank bool // the text is not only white space
	spaced   bool // the text is empty, or ends in white space or a marker
	cuts     []int
}

// Text is added in pieces of at most pieceBytes bytes. Beyond the size cutsFrom, the text may be cut off between most of
// the pieces.
const (
	pieceBytes = 256
	cutsFrom   = 4 << 10
)

// joiner is an invisible character. Between two brackets, it keeps them from being a marker.
const joiner = "\u2060"

// escapeMarkers returns s with joiners between opening brackets, so that s contains no marker. Before is the text that
// precedes s.
func escapeMarkers(before []byte, s string) string {
	s = strings.ReplaceAll(s, openMarker, "⟦"+joiner+"⟦")
	s = strings.ReplaceAll(s, openMarker, "⟦"+joiner+"⟦") // for three and more in a row
	if strings.HasPrefix(s, "⟦") && bytes.HasSuffix(before, []byte("⟦")) {
		s = joiner + s
	}
	return s
}

// add appends text. Brackets in the text are escaped, because text from documents must not look like markers.
func (g *textBuffer) add(s string) {
	s = escapeMarkers(g.esc, s)
	if s == "" {
		return
	}
	g.nonBlank = g.nonBlank || strings.TrimSpace(s) != ""
	for s != "" && !g.full {
		n := len(s)
		if n > pieceBytes {
			for n = pieceBytes; n > pieceBytes-utf8.UTFMax && !utf8.RuneStart(s[n]); n-- { //nolint:revive // it looks for a rune's start
			}
		}
		g.put(func(dst []byte) []byte { return event.AppendEscaped(dst, s[:n]) })
		g.spaced = strings.ContainsAny(s[n-1:n], " \n\t")
		s = s[n:]
	}
}

// mark appends the marker of annotation n.
func (g *textBuffer) mark(n int) {
	g.put(func(dst []byte) []byte {
		if !g.spaced && len(dst) > 0 {
			dst = append(dst, ' ')
		}
		return append(strconv.AppendInt(append(dst, openMarker...), int64(n), 10), closeMarker...)
	})
	g.spaced = true
}

// put appends bytes that must not be cut.
func (g *textBuffer) put(write func(dst []byte) []byte) {
	if g.full {
		return
	}
	n := len(g.esc)
	g.esc = write(g.esc)
	if g.limit > 0 && len(g.esc) > g.limit {
		g.esc, g.full = g.esc[:n], true
		return
	}
	if last := len(g.cuts) - 1; g.limit > 0 && n >= cutsFrom && (last < 0 || n >= g.cuts[last]+pieceBytes/2) {
		g.cuts = append(g.cuts, n)
	}
}

// prefix returns the text, cut off if it is longer than room bytes, and reports whether it is complete.
func (g *textBuffer) prefix(room int) ([]byte, bool) {
	if !g.full && len(g.esc) <= room {
		return g.esc, true
	}
	room -= len(ellipsis)
	if len(g.esc) <= room {
		return g.esc, false
	}
	n := len(g.cuts)
	for n > 0 && g.cuts[n-1] > room {
		n--
	}
	if n == 0 {
		return nil, false
	}
	return g.esc[:g.cuts[n-1]], false
}

// clip shortens s to at most limit characters. A shortened text ends with an ellipsis.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n, cut := 0, 0
	for i := range s {
		if n == limit-1 {
			cut = i
		}
		if n++; n > limit {
			return s[:cut] + ellipsis
		}
	}
	return s
}

// sentence converts a message to a sentence: it begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return strings.TrimRight(strings.ToUpper(string(r))+s[n:], ".") + "."
}
