package failover

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
)

// joint is what a [seam] knows.
type joint int

const (
	pending joint = iota // it is not seen yet where the continuation sets in
	joined               // all that follows is new
	astray               // it repeats what was said and goes on differently
)

const (
	repeats  = 32  // characters that a continuation may share with the middle of what was said by chance
	restarts = 20  // and with its beginning; of short texts half, but no fewer than 3
	midway   = 6   // the same where what was said ends within a sentence: what begins like an answer is then no continuation
	fragment = 4   // letters from which on a word that begins like the last one is taken for the last one, whole
	longWord = 64  // bytes of a word that are waited for
	farBack  = 512 // words before the end at which a continuation may set in, besides the beginning: this bounds the work
)

// seam finds where a continuation leaves what was said: a model that is told to go on may repeat the last word or sentence, or
// begin again. White space does not count in the comparison. A seam holds back what it was given until it is sure.
//
// The longest end of what was said with which the continuation begins is taken away, if it begins with a word. A continuation that
// tells a part of what was said again, and then something else than was said, is astray.
type seam struct {
	said  string
	runes []rune                 // of said, without white space
	alive []int                  // where in runes the continuation, so far, may have begun
	known func(word string) bool // is it a word of the conversation?

	held    strings.Builder
	n       int // characters of the continuation
	overlap int // how many of them repeat the end of what was said
	at      int // and where in held they end
	lost    int // how many repeat something else of it, where that is too much for chance
}

func newSeam(said string, known func(word string) bool) *seam {
	s := &seam{said: said, known: known}
	before := ' '
	for _, r := range said {
		if !unicode.IsSpace(r) {
			if !inWord(before) || !inWord(r) {
				s.alive = append(s.alive, len(s.runes))
			}
			s.runes = append(s.runes, r)
		}
		before = r
	}
	if far := len(s.alive) - farBack; far > 1 {
		s.alive = slices.Delete(s.alive, 1, far)
	}
	return s
}

// add takes more of the continuation and gives what of all that was held is new.
func (s *seam) add(text string) (string, joint) {
	for _, r := range text {
		s.held.WriteRune(r)
		if !unicode.IsSpace(r) {
			s.match(r)
		}
	}
	return s.judge(false)
}

// end gives what is left when the continuation has ended.
func (s *seam) end() (string, joint) {
	for _, start := range s.alive {
		s.drop(start)
	}
	s.alive = nil
	return s.judge(true)
}

// match compares the next character with what follows each place where the continuation may have begun.
func (s *seam) match(r rune) {
	left := s.alive[:0]
	for _, start := range s.alive {
		switch i := start + s.n; {
		case s.runes[i] != r:
			s.drop(start)
		case i+1 < len(s.runes):
			left = append(left, start)
		case s.counts(start):
			s.overlap, s.at = s.n+1, s.held.Len()
		}
	}
	s.alive = left
	s.n++
}

// drop gives up a place where the continuation might have begun. If too much was the same for chance, it is a repetition.
func (s *seam) drop(start int) {
	limit := repeats
	if start == 0 {
		limit = max(3, min(restarts, len(s.runes)/2))
		if last := s.runes[len(s.runes)-1]; unicode.IsLetter(last) || unicode.IsDigit(last) || last == ',' {
			limit = min(limit, midway)
		}
	}
	if s.n >= limit {
		s.lost = max(s.lost, s.n)
	}
}

// counts tells whether an overlap that begins there is one: punctuation may well come twice, and so may one character of a script
// whose words are not set apart.
func (s *seam) counts(start int) bool {
	tail := s.runes[start:]
	whole := func(r rune) bool { return inWord(r) || unicode.Is(unicode.So, r) }
	return slices.ContainsFunc(tail, whole) || len(tail) > 1 && slices.ContainsFunc(tail, unicode.IsLetter)
}

// judge tells what is known by now.
func (s *seam) judge(ended bool) (string, joint) {
	if len(s.alive) > 0 || s.n == s.overlap && !ended {
		return "", pending
	}
	if s.lost > s.overlap {
		return "", astray
	}
	text := s.held.String()
	if s.overlap > 0 {
		rest := text[s.at:]
		if next, _ := utf8.DecodeRuneInString(rest); !inWord(next) || !s.otherWord() {
			return s.trim(rest), joined
		}
	}
	word, last := wordAt(text), lastWord(s.said)
	if word == "" || last == "" {
		return s.trim(text), joined
	}
	if len(word) == len(text) && len(word) < longWord && !ended {
		return "", pending
	}
	if s.known(last) && !s.known(last+word) {
		return " " + text, joined // the last word was whole, and the space after it is missing
	}
	return text, joined
}

// otherWord tells that the word with which the continuation begins only looks like the last one: that one was whole, and
// is so short that many begin with it.
func (s *seam) otherWord() bool {
	last := lastWord(s.said)
	n := utf8.RuneCountInString(last)
	return n == s.overlap && n < fragment && s.known(last)
}

// trim takes the white space away that was said already.
func (s *seam) trim(text string) string {
	said := s.said[len(strings.TrimRightFunc(s.said, unicode.IsSpace)):]
	if rest, ok := strings.CutPrefix(text, said); ok && s.overlap > 0 {
		return rest
	}
	if strings.HasSuffix(said, " ") || strings.HasSuffix(said, "\t") {
		return strings.TrimLeft(text, " \t")
	}
	return text
}

// apart are the scripts that do not set words apart.
var apart = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// inWord tells whether a character is part of a word that is set apart from others.
func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unicode.In(r, apart...)
}

// wordAt gives the word with which a text begins.
func wordAt(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) }); i >= 0 {
		return text[:i]
	}
	return text
}

// lastWord gives the word with which a text ends.
func lastWord(text string) string {
	return text[len(strings.TrimRightFunc(text, inWord)):]
}

// mentions tells whether a word stands, set apart, in the request or in what was said before its last word.
func mentions(r model.Request, said, word string) bool {
	if stands(said[:len(said)-len(lastWord(said))], word) {
		return true
	}
	return slices.ContainsFunc(r.Messages, func(m model.Message) bool { return stands(m.Text, word) })
}

// stands tells whether a word stands in a text as a whole word.
func stands(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = i + len(word)
	}
}

// maxMarker is the most that a citation marker which may still be finished has had, in bytes.
const maxMarker = 24

// whole cuts off a citation that was begun and not finished.
func whole(said []byte) []byte {
	tail := said[max(0, len(said)-maxMarker):]
	if i := bytes.LastIndex(tail, []byte("⟦")); i >= 0 && !bytes.Contains(tail[i:], []byte("⟧")) {
		return said[:len(said)-len(tail)+i]
	}
	return said
}
