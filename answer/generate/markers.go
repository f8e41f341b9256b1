package generate

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
)

const (
	maxMark  = 24  // bytes that a marker may have after its opening bracket
	maxBlank = 128 // bytes of white space in a row; more is a model that is stuck
)

// markers reads what a model says, in pieces cut anywhere between two characters, and yields text and citations. However
// the text is cut, the deltas are the same once texts that follow each other are joined.
//
// A citation is ⟦1⟧, or ⟦1, 3⟧, or ⟦1-3⟧; and outside of code, since small models write those, also 【1】, [1] and [1, 3] of
// one to three digits that begin with no 0: [0], [1999] and [1-3] are text. Numbers that no passage has are dropped with
// their marker. So is the white space before a marker, but a line break there takes the place of a space behind it. A
// citation before any text, and one that the text since the last one has already, are dropped too.
//
// What is not known to be text yet waits: white space (for text behind it), what may be a marker (for at most [maxMark]
// bytes), and at the very beginning what may be the label "Answer:". Everything else goes through at once, and without a
// copy where nothing in its piece had to be taken out. Brackets of a document that were escaped for the model are given as the document has them; see
// [unmarked]. Never given: other ⟦ and ⟧, control characters but tab and newline,
// invisible characters that hide or reorder words, and white space at the beginning or the end.
type markers struct {
	numbers []int // of the passages
	yield   func(model.Delta, error) bool
	told    bool // some text was yielded
	stopped bool // nobody listens any more

	// What waits, in order: out, piece[from:to], space, and piece[to:] up to the character at hand. Space is empty unless
	// piece[from:to] is.
	piece    string
	from, to int
	out      []byte
	space    []byte

	mark   mark
	doubt  bool   // one model began the marker and another went on: it is none or it is dropped
	breaks []byte // white space with a line break that stood before the last marker
	seam   bool   // another model goes on here: the white space held may come again
	cited  []int  // since the last text
	begun  bool   // what follows is no label
	label  []byte // the beginning of what may be one
	code   code
}

// kind is what a character is to the scanner.
type kind uint8

const (
	plain kind = iota
	blank
	hidden // never given
	opener
	other // of several bytes
)

// kinds gives the kind of each byte.
var kinds = func() (k [256]kind) {
	for c := range k {
		switch {
		case c == ' ', c == '\t', c == '\n':
			k[c] = blank
		case c < ' ', c == 0x7f:
			k[c] = hidden
		case c == '[':
			k[c] = opener
		case c >= utf8.RuneSelf:
			k[c] = other
		}
	}
	return k
}()

func kindOf(r rune, n int) kind {
	switch {
	case r == '⟦', r == '【':
		return opener
	case r == '⟧', r == utf8.RuneError && n == 1, unicode.IsControl(r), invisible(r):
		return hidden
	case unicode.IsSpace(r):
		return blank
	}
	return plain
}

// invisible tells the characters that hide or reorder words: bidirectional controls, zero-width spaces, tags. Joiners that
// Indic scripts, Persian and emoji need are not among them.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff,
		r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// write takes the next piece, and says whether anybody listens still.
func (m *markers) write(piece string) bool {
	m.piece, m.from, m.to = piece, 0, 0
	for i := 0; i < len(piece) && !m.stopped; {
		k, n := kinds[piece[i]], 1
		if k == other {
			r, size := utf8.DecodeRuneInString(piece[i:])
			k, n = kindOf(r, size), size
		}
		text := m.step(i, n, k)
		i += n
		if text && m.code.quiet() { // the common case, at once
			for i < len(piece) && kinds[piece[i]] == plain && piece[i] != '`' {
				i++
			}
			m.to = i
		}
	}
	m.flush()
	m.space = append(m.space, piece[m.to:]...)
	m.piece, m.from, m.to = "", 0, 0
	return !m.stopped
}

// step takes the character of n bytes at i, and says whether it was taken as text where it stands.
func (m *markers) step(i, n int, k kind) bool {
	if m.mark.open() {
		switch m.mark.add(m.piece[i : i+n]) {
		case waits:
			m.from, m.to = i+n, i+n
			return false
		case whole:
			m.from, m.to = i+n, i+n
			m.cite()
			return false
		}
		if m.doubt {
			m.mark.end()
		} else {
			m.release()
		}
	}
	switch {
	case k == opener && (!m.code.in() || m.piece[i:i+n] == "⟦"):
		m.settle()
		m.cut(i, n)
		m.doubt = false
		m.mark.begin(m.piece[i : i+n])
	case k == hidden:
		m.cut(i, n)
	case k == blank:
		m.blank(i, n)
	default:
		m.code.see(m.piece[i])
		return m.text(i, n)
	}
	return false
}

// cut leaves the n bytes at i out.
func (m *markers) cut(i, n int) {
	m.out = append(m.out, m.piece[m.from:m.to]...)
	m.space = append(m.space, m.piece[m.to:i]...)
	m.from, m.to = i+n, i+n
}

// blank takes white space, which waits for text.
func (m *markers) blank(i, n int) {
	m.settle()
	m.code.see(m.piece[i])
	switch {
	case !m.begun:
		m.from, m.to = i+n, i+n
	case m.seam && len(m.space) > 0:
		m.space = m.space[:0]
	case len(m.space)+i-m.to >= maxBlank:
		m.cut(i, n)
	}
	m.seam = false
}

// text takes the n bytes at i as text, and the white space before them. It says whether they could stay where they stand.
func (m *markers) text(i, n int) bool {
	m.seam = false
	if !m.begun {
		m.from, m.to = i+n, i+n
		m.begin(m.piece[i : i+n])
		return false
	}
	if len(m.space) > 0 || len(m.breaks) > 0 {
		m.cut(i, 0)
		m.putSpace()
	}
	m.to = i + n
	m.cited = m.cited[:0]
	return true
}

// put takes text that does not stand in the piece at hand.
func (m *markers) put(s []byte) {
	m.putSpace()
	m.out = append(m.out, s...)
	m.cited = m.cited[:0]
}

// putSpace gives up the white space that was held; piece[from:] is still to be read.
func (m *markers) putSpace() {
	if len(m.space) > 0 && len(m.breaks) > 0 && bytes.IndexByte(m.space, '\n') < 0 {
		m.space = append(m.space[:0], m.breaks...)
	}
	m.out = append(m.out, m.space...)
	m.space, m.breaks = m.space[:0], m.breaks[:0]
}

// labels are the beginnings of an answer that say nothing. None is the beginning of another.
var labels = [...]string{"answer:", "**answer:**", "**answer**:"}

// begin takes a character at the beginning of the answer, where a label may stand.
func (m *markers) begin(c string) {
	m.label = append(m.label, c...)
	for _, l := range labels {
		if len(m.label) > len(l) || !strings.EqualFold(l[:len(m.label)], string(m.label)) {
			continue
		}
		if len(m.label) == len(l) {
			m.label, m.code = m.label[:0], code{}
		}
		return
	}
	m.settle()
}

// settle makes text of what might have become a label.
func (m *markers) settle() {
	if len(m.label) > 0 {
		m.begun = true
		m.put(m.label)
		m.label = m.label[:0]
	}
}

// cite yields the citations of the marker at hand, behind the text before it.
func (m *markers) cite() {
	if m.begun && len(m.breaks) == 0 && bytes.IndexByte(m.space, '\n') >= 0 {
		m.breaks = append(m.breaks, m.space...)
	}
	m.space = m.space[:0]
	defer m.mark.end()
	for first, last := range m.mark.spans() {
		for _, n := range m.numbers {
			if n < first || n > last || !m.begun || slices.Contains(m.cited, n) {
				continue
			}
			if m.flush(); m.stopped {
				return
			}
			m.cited = append(m.cited, n)
			m.stopped = !m.yield(model.Delta{Cite: n}, nil)
		}
	}
}

// release makes text of what turned out to be no marker, without a ⟦.
func (m *markers) release() {
	raw := bytes.TrimPrefix(m.mark.raw[:m.mark.n], []byte("⟦"))
	m.mark.end()
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch k := kindOf(r, n); {
		case k == hidden:
		case k == blank && !m.begun:
		case k == blank:
			m.space = append(m.space, raw[:n]...)
		default:
			m.code.see(raw[0])
			m.begun = true
			m.put(raw[:n])
		}
		raw = raw[n:]
	}
}

// flush yields the text that waits for nothing.
func (m *markers) flush() {
	s := m.piece[m.from:m.to]
	if len(m.out) > 0 {
		m.out = append(m.out, s...)
		s = string(m.out)
		m.out = m.out[:0]
	}
	m.from = m.to
	if s != "" && !m.stopped {
		m.told = true
		m.stopped = !m.yield(model.Delta{Text: restored.Replace(s)}, nil)
	}
}

// continueFrom reads what was yielded before a restart, and yields nothing of it again.
func (m *markers) continueFrom(said string) {
	if said == "" {
		return
	}
	yield := m.yield
	m.yield = func(model.Delta, error) bool { return true }
	m.write(said)
	m.resume()
	m.yield, m.told = yield, true
}

// resume says that another model goes on. It is not told of a ⟦ that was begun, which counts for nothing; of another
// bracket it is, and may close it.
func (m *markers) resume() {
	if bytes.HasPrefix(m.mark.raw[:m.mark.n], []byte("⟦")) {
		m.mark.end()
	}
	m.doubt = m.mark.open()
	m.seam = true
}

// end yields what still waits and is text, and says whether anybody listens still.
func (m *markers) end() bool {
	m.mark.end()
	m.settle()
	m.flush()
	m.space = m.space[:0]
	return !m.stopped
}
