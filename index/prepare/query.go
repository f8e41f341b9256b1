package prepare

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// MaxQuery is how many bytes of a question are read; the rest is ignored.
const MaxQuery = 64 << 10

// QueryWords returns the words of a question with their terms, including repetitions. Stop words of the language are left out, unless they are
// written in capitals as a code is, or there are no other words; nil: the language is not known.
func QueryWords(s string, l *lang.Language) (out []lang.Term) {
	var stops []lang.Term
	s = lang.Truncate(s, MaxQuery)
	for _, w := range lang.Words(s) {
		t, written := lang.Term{Word: w.Text, Stem: lang.Stem(w.Text)}, s[w.Start:w.End]
		switch {
		case lang.IsStopWord(w.Text):
		case l != nil && l.IsStopWord(w.Text) && (len(written) < 2 || strings.ToUpper(written) != written):
			stops = append(stops, t)
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return stops
	}
	return out
}
