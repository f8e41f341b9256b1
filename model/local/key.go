package local

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// repeatsValue reports whether what a line says after its label is in the question already, without what is in parentheses.
func (q *question) repeatsValue(c *sentence) bool {
	if !c.label || q.open {
		return false
	}
	at := strings.IndexAny(c.text, ":：")
	if at < 0 {
		return false
	}
	said := stemsIn(q.lang, parenthesesRE.ReplaceAllString(c.text[at:], ""))
	for _, s := range said {
		if i, x := q.match(s); x < 1 && (i < 0 || x == 0) {
			return false
		}
	}
	return len(said) > 0
}

var parenthesesRE = regexp.MustCompile(`\([^)]*\)`)

// isKey reports whether one of the first two words of a text is a number or a code of the question, as in 4.2 Keys, § 7 Notice or E2 Door.
func (q *question) isKey(text string) bool {
	if len(q.numbers) == 0 {
		return false
	}
	words := lang.Words(lang.Truncate(text, 80))
	for _, w := range words[:min(2, len(words))] {
		if i, ok := q.index[q.stem(w.Text)]; ok && slices.Contains(q.numbers, i) {
			return true
		}
	}
	return false
}
