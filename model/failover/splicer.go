package failover

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
)

// splice is the state of a [splicer].
type splice int

const (
	undecided splice = iota // the splice point is not known yet
	spliced                 // all text that follows is new
	diverged                // the continuation repeats a part of the prefix and then differs
)

const (
	maxRepeat             = 32  // characters that may match the middle of the prefix by chance
	maxRestart            = 20  // characters that may match its beginning; at most half of a short prefix, but at least 3
	maxRestartMidSentence = 6   // the same if the prefix ends within a sentence, where a continuation does not begin like an answer
	minPrefix             = 4   // letters of the last word from which on a longer word counts as its completion
	maxWord               = 64  // bytes that are buffered until a word ends
	maxStarts             = 512 // possible starts, counted from the end of the prefix; bounds the work
)

// splicer finds the splice point: where the text of a continuing model becomes new. A model that is told to continue may repeat
// the last word or sentence, or start again. White space is ignored in the comparison. The splicer buffers text until it has
// decided.
//
// It removes the longest suffix of the prefix with which the continuation begins, if that suffix starts at a word. A
// continuation that repeats another part of the prefix and then differs from it has diverged.
type splicer struct {
	prefix string
	runes  []rune                 // of prefix, without white space
	starts []int                  // indexes of runes where the continuation may have started
	known  func(word string) bool // reports whether a word occurs in the conversation

	held       strings.Builder
	n          int // characters of the continuation
	overlap    int // how many of them repeat the end of the prefix
	overlapEnd int // their end in held
	repeated   int // how many repeat another part of it, if too many for chance
}

func newSplicer(said string, known func(word string) bool) *splicer {
	s := &splicer{prefix: said, known: known}
	before := ' '
	for _, r := range said {
		if !unicode.IsSpace(r) {
			if !inWord(before) || !inWord(r) {
				s.starts = append(s.starts, len(s.runes))
			}
			s.runes = append(s.runes, r)
		}
		before = r
	}
	if far := len(s.starts) - maxStarts; far > 1 {
		s.starts = slices.Delete(s.starts, 1, far)
	}
	return s
}

// add takes more of the continuation and returns the new part of the buffered text.
func (s *splicer) add(text string) (string, splice) {
	for _, r := range text {
		s.held.WriteRune(r)
		if !unicode.IsSpace(r) {
			s.match(r)
		}
	}
	return s.decide(false)
}

// end returns the rest after the continuation has ended.
func (s *splicer) end() (string, splice) {
	for _, start := range s.starts {
		s.discard(start)
	}
	s.starts = nil
	return s.decide(true)
}

// match compares the next character with each place of the prefix where the continuation may have started.
func (s *splicer) match(r rune) {
	left := s.starts[:0]
	for _, start := range s.starts {
		switch i := start + s.n; {
		case s.runes[i] != r:
			s.discard(start)
		case i+1 < len(s.runes):
			left = append(left, start)
		case s.significant(start):
			s.overlap, s.overlapEnd = s.n+1, s.held.Len()
		}
	}
	s.starts = left
	s.n++
}

// discard removes a possible start. A match that is too long for chance is a repetition.
func (s *splicer) discard(start int) {
	limit := maxRepeat
	if start == 0 {
		if text := s.held.String(); strings.TrimSpace(s.prefix) == lastWord(s.prefix) && text != strings.TrimLeftFunc(text, unicode.IsSpace) {
			return // after one word, a space and a word that begins alike: this goes on
		}
		limit = max(3, min(maxRestart, len(s.runes)/2))
		if last := s.runes[len(s.runes)-1]; unicode.IsLetter(last) || unicode.IsDigit(last) || last == ',' {
			limit = min(limit, maxRestartMidSentence)
		}
	}
	if s.n >= limit {
		s.repeated = max(s.repeated, s.n)
	}
}

// significant reports whether the overlap from start on is more than punctuation or a single character of a script without
// spaces, which may occur twice by chance.
func (s *splicer) significant(start int) bool {
	tail := s.runes[start:]
	whole := func(r rune) bool { return inWord(r) || unicode.Is(unicode.So, r) }
	return slices.ContainsFunc(tail, whole) || len(tail) > 1 && slices.ContainsFunc(tail, unicode.IsLetter)
}

// decide returns the new text, if the splice point is known.
func (s *splicer) decide(ended bool) (string, splice) {
	if len(s.starts) > 0 || s.n == s.overlap && !ended {
		return "", undecided
	}
	if s.repeated > s.overlap {
		return "", diverged
	}
	text := s.held.String()
	if s.overlap > 0 {
		rest := text[s.overlapEnd:]
		if next, _ := utf8.DecodeRuneInString(rest); !inWord(next) || !s.isOtherWord() {
			return s.trimSpace(rest), spliced
		}
	}
	word, last := wordAt(text), lastWord(s.prefix)
	if word == "" || last == "" {
		return s.trimSpace(text), spliced
	}
	if len(word) == len(text) && len(word) < maxWord && !ended {
		return "", undecided
	}
	if s.known(last) && !s.known(last+word) {
		return " " + text, spliced // the last word was complete; the space after it is missing
	}
	return text, spliced
}

// isOtherWord reports whether the first word of the continuation only begins like the last word of the prefix, which was
// complete and too short to tell.
func (s *splicer) isOtherWord() bool {
	last := lastWord(s.prefix)
	n := utf8.RuneCountInString(last)
	return n == s.overlap && n < minPrefix && s.known(last)
}

// trimSpace removes white space that the prefix already ends with.
func (s *splicer) trimSpace(text string) string {
	said := s.prefix[len(strings.TrimRightFunc(s.prefix, unicode.IsSpace)):]
	if rest, ok := strings.CutPrefix(text, said); ok && s.overlap > 0 {
		return rest
	}
	if strings.HasSuffix(said, " ") || strings.HasSuffix(said, "\t") {
		return strings.TrimLeft(text, " \t")
	}
	return text
}

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// inWord reports whether a character is part of a word of a script with spaces.
func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unicode.In(r, unspaced...)
}

// wordAt returns the first word of a text if the text begins with one.
func wordAt(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) }); i >= 0 {
		return text[:i]
	}
	return text
}

// lastWord returns the word with which a text ends.
func lastWord(text string) string {
	return text[len(strings.TrimRightFunc(text, inWord)):]
}

// mentions reports whether the request, or the prefix before its last word, contains a word.
func mentions(r model.Request, said, word string) bool {
	if containsWord(said[:len(said)-len(lastWord(said))], word) {
		return true
	}
	return slices.ContainsFunc(r.Messages, func(m model.Message) bool { return containsWord(m.Text, word) })
}

// containsWord reports whether a text contains a word that is not part of a longer one.
func containsWord(text, word string) bool {
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

// maxMarker is the maximum length of an incomplete citation marker in bytes.
const maxMarker = 24

// withoutOpenMarker removes an incomplete citation marker from the end.
func withoutOpenMarker(said []byte) []byte {
	tail := said[max(0, len(said)-maxMarker):]
	if i := bytes.LastIndex(tail, []byte("⟦")); i >= 0 && !bytes.Contains(tail[i:], []byte("⟧")) {
		return said[:len(said)-len(tail)+i]
	}
	return said
}
