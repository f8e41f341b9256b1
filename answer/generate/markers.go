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
	maxMark  = 24  // maximum bytes of a marker after its opening bracket
	maxBlank = 128 // maximum bytes of consecutive white space; more means that the model is stuck
)

// markers parses the reply of a model, which arrives in pieces, and yields text and citations. The joined deltas do not
// depend on how the reply is cut into pieces.
//
// A citation is ⟦1⟧, ⟦1, 3⟧ or ⟦1-3⟧; outside of code also 【1】, [1] and [1, 3] with numbers of one to three digits that do
// not start with 0, because small models write them: [0], [1999] and [1-3] are text. Markers with unknown numbers are
// dropped, and so is the white space before a marker; a line break there replaces a space after it. A citation before any
// text, and repeated citations of the same text, are dropped too.
//
// Text that cannot be classified yet is held back: white space (until text follows), a possible marker (at most [maxMark]
// bytes), and at the start the possible label "Answer:". Everything else is yielded at once, without a copy if nothing was
// removed from the piece. Brackets of a document that were escaped for the model are restored; see [unmarked]. Never
// yielded are other ⟦ and ⟧, control characters except tab and newline, invisible characters that hide or reorder words,
// and white space at the start or the end.
type markers struct {
	numbers []int // of the passages
	yield   func(model.Delta, error) bool
	yielded bool // some text was yielded
	stopped bool // the consumer wants no more

	// Held back, in order: out, piece[from:to], space, and piece[to:] up to the current character. Space is empty unless
	// piece[from:to] is.
	piece    string
	from, to int
	out      []byte
	space    []byte

	mark      marker
	uncertain bool   // the marker was begun by one model and continued by another: it is text or dropped
	breaks    []byte // white space with a line break before the last marker
	spliced   bool   // splice point: another model continues, and may repeat the held white space
	cited     []int  // since the last text
	started   bool   // the start of the answer was parsed
	label     []byte // start of a possible label
	code      code
}

// kind is the class of a character.
type kind uint8

const (
	plain kind = iota
	blank
	hidden // never yielded
	opener
	other // multi-byte
)

// kinds returns the kind of each byte.
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

// invisible reports whether a character hides or reorders words: bidirectional controls, zero-width spaces, tags. Joiners
// that Indic scripts, Persian and emoji need are not included.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff,
		r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// write processes the next piece, and reports whether the consumer wants more.
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
		if text && m.code.inPlainText() { // fast path
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

// step processes the character of n bytes at i, and reports whether it stays in place as text.
func (m *markers) step(i, n int, k kind) bool {
	if m.mark.open() {
		switch m.mark.add(m.piece[i : i+n]) {
		case pending:
			m.from, m.to = i+n, i+n
			return false
		case complete:
			m.from, m.to = i+n, i+n
			m.cite()
			return false
		}
		if m.uncertain {
			m.mark.end()
		} else {
			m.release()
		}
	}
	switch {
	case k == opener && (!m.code.in() || m.piece[i:i+n] == "⟦"):
		m.flushLabel()
		m.cut(i, n)
		m.uncertain = false
		m.mark.start(m.piece[i : i+n])
	case k == hidden:
		m.cut(i, n)
	case k == blank:
		m.blank(i, n)
	default:
		m.code.next(m.piece[i])
		return m.text(i, n)
	}
	return false
}

// cut removes the n bytes at i.
func (m *markers) cut(i, n int) {
	m.out = append(m.out, m.piece[m.from:m.to]...)
	m.space = append(m.space, m.piece[m.to:i]...)
	m.from, m.to = i+n, i+n
}

// blank processes white space, which is held back until text follows.
func (m *markers) blank(i, n int) {
	m.flushLabel()
	m.code.next(m.piece[i])
	switch {
	case !m.started:
		m.from, m.to = i+n, i+n
	case m.spliced && len(m.space) > 0:
		m.space = m.space[:0]
	case len(m.space)+i-m.to >= maxBlank:
		m.cut(i, n)
	}
	m.spliced = false
}

// text processes the n bytes at i as text, with the white space before them. It reports whether they stay in place.
func (m *markers) text(i, n int) bool {
	m.spliced = false
	if !m.started {
		m.from, m.to = i+n, i+n
		m.parseLabel(m.piece[i : i+n])
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

// put appends text that is not in the current piece.
func (m *markers) put(s []byte) {
	m.putSpace()
	m.out = append(m.out, s...)
	m.cited = m.cited[:0]
}

// putSpace appends the held white space; piece[from:] is not read yet.
func (m *markers) putSpace() {
	if len(m.space) > 0 && len(m.breaks) > 0 && bytes.IndexByte(m.space, '\n') < 0 {
		m.space = append(m.space[:0], m.breaks...)
	}
	m.out = append(m.out, m.space...)
	m.space, m.breaks = m.space[:0], m.breaks[:0]
}

// labels are starts of an answer without content. None is a prefix of another.
var labels = [...]string{"answer:", "**answer:**", "**answer**:"}

// parseLabel processes a character at the start of the answer, where a label may be.
func (m *markers) parseLabel(c string) {
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
	m.flushLabel()
}

// flushLabel converts a possible label to text.
func (m *markers) flushLabel() {
	if len(m.label) > 0 {
		m.started = true
		m.put(m.label)
		m.label = m.label[:0]
	}
}

// cite yields the citations of the current marker after the text before it.
func (m *markers) cite() {
	if m.started && len(m.breaks) == 0 && bytes.IndexByte(m.space, '\n') >= 0 {
		m.breaks = append(m.breaks, m.space...)
	}
	m.space = m.space[:0]
	defer m.mark.end()
	for first, last := range m.mark.spans() {
		for _, n := range m.numbers {
			if n < first || n > last || !m.started || slices.Contains(m.cited, n) {
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

// release converts an invalid marker to text, without a ⟦.
func (m *markers) release() {
	raw := bytes.TrimPrefix(m.mark.raw[:m.mark.n], []byte("⟦"))
	m.mark.end()
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch k := kindOf(r, n); {
		case k == hidden:
		case k == blank && !m.started:
		case k == blank:
			m.space = append(m.space, raw[:n]...)
		default:
			m.code.next(raw[0])
			m.started = true
			m.put(raw[:n])
		}
		raw = raw[n:]
	}
}

// flush yields the text that need not be held back.
func (m *markers) flush() {
	s := m.piece[m.from:m.to]
	if len(m.out) > 0 {
		m.out = append(m.out, s...)
		s = string(m.out)
		m.out = m.out[:0]
	}
	m.from = m.to
	if s != "" && !m.stopped {
		m.yielded = true
		m.stopped = !m.yield(model.Delta{Text: restored.Replace(s)}, nil)
	}
}

// continueFrom processes text that was yielded before a restart, without yielding it again.
func (m *markers) continueFrom(text string) {
	if text == "" {
		return
	}
	yield := m.yield
	m.yield = func(model.Delta, error) bool { return true }
	m.write(text)
	m.resume()
	m.yield, m.yielded = yield, true
}

// resume starts a continuation by another model. An open ⟦ is dropped; another open bracket is passed on, and the model
// may close it.
func (m *markers) resume() {
	if bytes.HasPrefix(m.mark.raw[:m.mark.n], []byte("⟦")) {
		m.mark.end()
	}
	m.uncertain = m.mark.open()
	m.spliced = true
}

// end yields the held text, and reports whether the consumer wants more.
func (m *markers) end() bool {
	m.mark.end()
	m.flushLabel()
	m.flush()
	m.space = m.space[:0]
	return !m.stopped
}
