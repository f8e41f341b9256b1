package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// word is a word of a sentence.
type word struct {
	text, stem   string
	start, end   int  // byte offsets in the sentence
	stop         bool // a stop word
	inName       bool // capitalized, but not at the start of a sentence: part of a name
	allCaps      bool // all capitals: an abbreviation
	startsClause bool // a clause starts with it
}

// wordsOf tokenizes a sentence in a language.
func wordsOf(l *lang.Language, s string) []word {
	tokens := lang.Words(s)
	out := make([]word, len(tokens))
	last := 0
	for i, t := range tokens {
		between := s[last:t.Start]
		last = t.End
		r, _ := utf8.DecodeRuneInString(s[t.Start:t.End])
		parts := in(conjunctions, t.Text) || l != lang.English && l.Has(lang.Connectives, t.Text)
		out[i] = word{text: t.Text, stem: l.Stem(t.Text), start: t.Start, end: t.End, stop: l.IsStopWord(t.Text),
			startsClause: i > 0 && (parts || strings.ContainsAny(between, ",;:()[]—–"))}
		if written := strings.TrimSuffix(s[t.Start:t.End], "s"); len(written) > 1 {
			out[i].allCaps = strings.ToUpper(written) == written
		}
		named := unicode.IsUpper(r) && (!l.CapitalNouns || out[i].allCaps)
		out[i].inName = i > 0 && named && t.End-t.Start > 1 && !out[i].stop && !opensSentence(between)
	}
	return out
}

// conjunctions start a clause.
var conjunctions = lang.WordSet("but whereas while although though however unless because despite instead")

// opensSentence reports whether a sentence or a quotation starts after the text between two words.
func opensSentence(between string) bool {
	return strings.ContainsAny(between, ".:\"“!?")
}

func in(set map[string]struct{}, w string) bool {
	_, ok := set[w]
	return ok
}

// related reports whether two stems are forms of one word, such as glycolyt and glycolysi: they share a prefix of at least
// five letters and seven tenths of the longer one.
func related(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= 5 && 10*n >= 7*max(len(a), len(b))
}
