package eval

import (
	"slices"
	"strings"
	"unicode"
)

// normal normalizes a text as SQuAD's script does, and returns its words: lower case, without ASCII punctuation and articles.
func normal(s string) []string {
	bare := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(s))
	var b strings.Builder
	for rest := bare; rest != ""; {
		word := strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) })
		if word < 0 {
			word = len(rest)
		}
		if w := rest[:word]; w != "a" && w != "an" && w != "the" {
			b.WriteString(w)
		} else {
			b.WriteByte(' ')
		}
		between := strings.IndexFunc(rest[word:], inWord)
		if between < 0 {
			between = len(rest) - word
		}
		b.WriteString(rest[word : word+between])
		rest = rest[word+between:]
	}
	return strings.Fields(b.String())
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// gold returns the normalized expected answers. Without any, it returns one empty answer.
func gold(answers []string) [][]string {
	var out [][]string
	for _, a := range answers {
		if words := normal(a); len(words) > 0 {
			out = append(out, words)
		}
	}
	if out == nil {
		out = append(out, nil)
	}
	return out
}

// ExactMatch returns 1 if the answer equals an expected one, ignoring case, punctuation, articles and space, and 0 otherwise
// (Rajpurkar et al. 2016, arXiv:1606.05250). If none is expected, an empty answer is correct (Rajpurkar, Jia and Liang 2018,
// arXiv:1806.03822).
func ExactMatch(answer string, expected []string) float64 {
	said := normal(answer)
	for _, want := range gold(expected) {
		if slices.Equal(said, want) {
			return 1
		}
	}
	return 0
}

// F1 returns the harmonic mean of precision and recall of the answer's words, the best over the expected answers, with the
// normalization and the sources of [ExactMatch].
func F1(answer string, expected []string) float64 {
	said := normal(answer)
	best := 0.0
	for _, want := range gold(expected) {
		best = max(best, f1(said, want))
	}
	return best
}

func f1(said, want []string) float64 {
	if len(said) == 0 || len(want) == 0 {
		if len(said) == len(want) {
			return 1
		}
		return 0
	}
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	same := 0
	for _, w := range said {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(said)+len(want))
}

// isIdeograph reports whether a character belongs to a script that is written without spaces between words.
func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// ContainsGold returns 1 if the answer contains an expected one, word by word after the normalization of [ExactMatch], and 0
// otherwise. It suits answers in whole sentences. Scripts without spaces between words are compared by characters.
func ContainsGold(answer string, expected []string) float64 {
	said := " " + strings.Join(normal(answer), " ") + " "
	for _, want := range gold(expected) {
		if joined := strings.Join(want, ""); strings.ContainsFunc(joined, isIdeograph) && strings.Contains(strings.ReplaceAll(said, " ", ""), joined) {
			return 1
		}
		if len(want) > 0 && strings.Contains(said, " "+strings.Join(want, " ")+" ") {
			return 1
		}
	}
	return 0
}
