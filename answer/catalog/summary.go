package catalog

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// summary recognizes a request for a summary, and the question what is new in something.
func summary(q string) *Summary {
	if m := accountRE.FindStringSubmatch(q); m != nil {
		return &Summary{Names: thing(lang.English, m[1]+m[2]+m[3])}
	}
	known := []*lang.Language{lang.Detect(q)}
	if known[0] == nil {
		known = known[:0]
		for _, l := range lang.Languages() {
			known = append(known, l)
		}
		slices.SortFunc(known, func(a, b *lang.Language) int { return strings.Compare(a.Code, b.Code) })
	}
	for _, l := range known {
		if what, ok := l.Requested(lang.AsksSummary, q); ok {
			return &Summary{Names: thing(l, what)}
		}
		if what, ok := l.Requested(lang.AsksNews, q); ok && thing(l, what) != "" {
			return &Summary{Names: thing(l, what)}
		}
	}
	return nil
}

// thing returns the name or description of a document in a request, without an article and words such as file. It is empty if there are only such words.
func thing(l *lang.Language, s string) string {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, ".") && l.TrimWords(s, lang.Documents, lang.Politeness) == "" {
		return ""
	}
	for _, w := range lang.Words(s) {
		if file := strings.HasPrefix(s[w.End:], "."); file || !l.IsStopWord(w.Text) && !l.Has(lang.Documents, w.Text) {
			return s[w.Start:]
		}
	}
	return ""
}
