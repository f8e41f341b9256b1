package analyze

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// comparedNames decomposes a comparison of two names, joined by and, or, or versus, into the same question about each of them. It
// returns nil for other questions.
func comparedNames(question string, joiners []string) []string {
	words := lang.Words(question)
	tried := 0
	for _, joiner := range joiners {
		for i := len(words) - 2; i > 0; i-- {
			if words[i].Text != joiner || tried == maxJoiners {
				continue
			}
			tried++
			from, to := nameBefore(question, words, i), nameAfter(question, words, i)
			if from == i || to == i+1 {
				continue
			}
			head, tail := question[:words[from].Start], question[withPunctuation(question, words[to-1].End):]
			left := question[words[from].Start:withPunctuation(question, words[i-1].End)]
			right := question[words[i+1].Start:withPunctuation(question, words[to-1].End)]
			return []string{nameQuestion(head, left, tail), nameQuestion(head, right, tail)}
		}
	}
	return nil
}

// maxJoiners is the maximum number of positions at which splitting a question is tried.
const maxJoiners = 16

// withPunctuation extends a name by the closing punctuation after its last word.
func withPunctuation(s string, at int) int {
	for at < len(s) && strings.IndexByte(")!\"'", s[at]) >= 0 {
		at++
	}
	return at
}

var bothRE = regexp.MustCompile(`(?i)\b(both|either|out of|between)\s+`)

func nameQuestion(head, name, tail string) string {
	head = strings.TrimSpace(head)
	if be, ok := singular[strings.ToLower(head)]; ok {
		head = be
	}
	if strings.HasSuffix(head, " the") && strings.HasPrefix(strings.ToLower(name), "the ") {
		name = name[len("the "):]
	}
	head += " "
	s := bothRE.ReplaceAllString(head, "") + name + bothRE.ReplaceAllString(tail, "")
	return strings.Join(strings.Fields(s), " ")
}

// singular maps verbs of the plural to those of the singular.
var singular = map[string]string{"are": "Is", "were": "Was", "do": "Does", "have": "Has"}

// questionStarts are words that start a question and not a name.
var questionStarts = wordSet("who what which when where why how is are was were do does did has have had can could will would should in on of for between compare " +
	"both either the that whose if")

// nameParticles are words that occur inside names.
var nameParticles = wordSet("of the and de la le du des von van der den a an in on at for to from with y al el da do di")

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// capital reports whether a word is capitalized like a word of a name.
func capital(s string, w lang.Token) bool {
	r, _ := utf8.DecodeRuneInString(s[w.Start:])
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// nameBefore returns the start of the name that ends before the word at i, or i if there is none.
func nameBefore(s string, words []lang.Token, i int) int {
	from := i
	for k := i - 1; k >= 0; k-- {
		gap := s[words[k].End:words[k+1].Start]
		if k < i-1 && endsName(gap, capital(s, words[k+1])) {
			break
		}
		switch {
		case k > 0 && s[words[k-1].End:words[k].Start] == "-": // the end of a name such as Eun-ji
		case k == 0 && questionStarts[words[k].Text]:
			return from
		case capital(s, words[k]):
			from = k
		case nameParticles[words[k].Text] && k > 0 && capital(s, words[k-1]) && !questionStarts[words[max(k-1, 0)].Text]:
		case inParens(s, words[k]):
			from = k
		default:
			return from
		}
	}
	return from
}

// nameAfter returns the end of the name that starts after the word at i, or i+1 if there is none.
func nameAfter(s string, words []lang.Token, i int) int {
	to := i + 1
	for k := i + 1; k < len(words); k++ {
		gap := s[words[k-1].End:words[k].Start]
		if k > i+1 && gap == "-" {
			to = k + 1
			continue
		}
		if k > i+1 && (endsName(gap, capital(s, words[k])) || strings.Contains(gap, ",") && !capital(s, words[k])) {
			break
		}
		switch {
		case capital(s, words[k]), inParens(s, words[k]):
			to = k + 1
		case nameParticles[words[k].Text]:
		default:
			return to
		}
	}
	return to
}

// endsName reports whether the gap between two words ends a name. capital says whether the second word is capitalized.
func endsName(gap string, capital bool) bool {
	return strings.ContainsAny(gap, "?;\n") || strings.Contains(gap, ":") && !capital
}

// inParens reports whether a word is in parentheses, as in the title Algiers (film).
func inParens(s string, w lang.Token) bool {
	open, closed := strings.LastIndexByte(s[:w.Start], '('), strings.LastIndexByte(s[:w.Start], ')')
	return open > closed && strings.IndexByte(s[w.End:], ')') >= 0
}
