package verify

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/internal/text"
)

// vetoes looks for what no overlap can outweigh: hard is a number that the passages lack, or a negation or an opposite that
// the sentences of the proof speak against; soft is a name that the passages lack.
func (s statement) vetoes(cited []*passage, proof []window) (hard, soft bool) {
	for _, n := range s.numbers {
		hard = hard || !slices.ContainsFunc(cited, func(p *passage) bool { _, ok := p.numbers[n]; return ok })
	}
	for _, n := range s.names {
		soft = soft || !slices.ContainsFunc(cited, func(p *passage) bool { _, ok := p.stems[n]; return ok })
	}
	if len(proof) == 0 {
		return hard, soft
	}
	against := 0
	for _, w := range proof {
		if words := text.Words(w.text); denies(words) != s.denied || s.opposed(words) {
			against++
		}
	}
	return hard || against == len(proof), soft
}

// opposed says whether the words hold the opposite of a term of the claim, and not the term.
func (s statement) opposed(words []text.Token) bool {
	held := map[string]struct{}{}
	for _, w := range words {
		held[text.Stem(w.Text)] = struct{}{}
	}
	for _, t := range s.terms {
		if _, ok := held[t.Stem]; ok {
			continue
		}
		side, ok := sides[t.Stem]
		if !ok {
			continue
		}
		for stem := range held {
			if other, ok := sides[stem]; ok && other == -side {
				return true
			}
		}
	}
	return false
}

// sides puts the stems of opposites on two sides of a number.
var sides = func() map[string]int {
	m := map[string]int{}
	for i, pair := range []string{
		"increase increased rise rose risen grew grow growth raise higher gain upregulate|decrease decreased fall fell fallen shrink shrank decline drop lower reduce reduction loss downregulate",
		"before earlier|after later",
		"majority|minority",
		"maximum highest largest biggest longest best|minimum lowest smallest shortest worst",
		"win won victory|lose lost defeat",
		"accept approve approved permit allow|reject refuse refused deny prohibit forbid ban",
		"cause promote activate activation enhance|prevent inhibit inhibition suppress block",
		"success succeed|failure fail",
		"positive|negative",
		"always|seldom rarely",
		"north northern|south southern", "east eastern|west western",
	} {
		left, right, _ := strings.Cut(pair, "|")
		for w := range strings.FieldsSeq(left) {
			m[text.Stem(w)] = i + 1
		}
		for w := range strings.FieldsSeq(right) {
			m[text.Stem(w)] = -(i + 1)
		}
	}
	return m
}()

var denials = map[string]struct{}{"not": {}, "no": {}, "never": {}, "without": {}, "cannot": {}, "neither": {}, "nor": {}, "none": {}, "nobody": {}, "nothing": {}}

// denies says whether a negation is among the words; two of them cancel out.
func denies(words []text.Token) bool {
	n := 0
	for _, w := range words {
		if _, ok := denials[w.Text]; ok || strings.HasSuffix(w.Text, "n't") {
			n++
		}
	}
	return n%2 == 1
}

// spelt are numbers in words; one and two are left out, for they are mostly no counts.
var spelt = map[string]string{"three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
	"eleven": "11", "twelve": "12", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000"}

// numbersIn gives the numbers among words in one form: no thousands separators, no zeros after the point, digits.
func numbersIn(words []text.Token) []string {
	var out []string
	for _, w := range words {
		s := w.Text
		if d, ok := spelt[s]; ok {
			out = append(out, d)
			continue
		}
		if s[0] < '0' || s[0] > '9' {
			continue
		}
		s = strings.ReplaceAll(s, ",", "")
		if strings.Count(s, ".") == 1 {
			s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		}
		out = append(out, strings.TrimRightFunc(s, unicode.IsLetter))
	}
	return out
}

// namesIn gives the stems of the words that are capitalised inside a claim.
func namesIn(claim string, words []text.Token) []string {
	var out []string
	for i, w := range words {
		r, _ := utf8.DecodeRuneInString(claim[w.Start:w.End])
		if i > 0 && unicode.IsUpper(r) && !text.Stop(w.Text) && w.End-w.Start > 1 && !opensSentence(claim[:w.Start]) {
			out = append(out, text.Stem(w.Text))
		}
	}
	return out
}

// opensSentence says whether what follows s begins a sentence or a quotation.
func opensSentence(s string) bool {
	s = strings.TrimRight(s, " \t\n")
	return strings.HasSuffix(s, ".") || strings.HasSuffix(s, ":") || strings.HasSuffix(s, "\"") || strings.HasSuffix(s, "“") ||
		strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?")
}
