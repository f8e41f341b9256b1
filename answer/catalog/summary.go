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
		if what, ok := requested(l, lang.AsksSummary, q); ok {
			return &Summary{Names: thing(l, what)}
		}
		if what, ok := requested(l, lang.AsksNews, q); ok && thing(l, what) != "" {
			return &Summary{Names: thing(l, what)}
		}
	}
	return nil
}

// requested returns the thing that a question asks for with a phrase of a section at its start, or at its end if the phrase begins with an ellipsis.
func requested(l *lang.Language, phrases lang.Section, q string) (what string, ok bool) {
	q = withoutPoliteness(l, q)
	for _, phrase := range l.List(phrases) {
		if last, follows := strings.CutPrefix(phrase, "… "); follows {
			what, ok = cutSuffix(q, last)
		} else {
			what, ok = cutPrefix(q, phrase)
		}
		if ok {
			what = withoutPoliteness(l, strings.Trim(what, " :"))
			asks := slices.ContainsFunc(lang.Words(what), func(w lang.Token) bool { return l.Has(lang.QuestionWords, w.Text) })
			return what, !asks
		}
	}
	return "", false
}

// cutPrefix removes a phrase from the start of a text, whatever its case and punctuation.
func cutPrefix(s, phrase string) (rest string, ok bool) {
	said, want := lang.Words(s), lang.Words(phrase)
	if len(said) < len(want) || len(want) == 0 {
		return s, false
	}
	for i, w := range want {
		if said[i].Text != w.Text {
			return s, false
		}
	}
	return s[said[len(want)-1].End:], true
}

// cutSuffix removes a phrase from the end of a text.
func cutSuffix(s, phrase string) (rest string, ok bool) {
	said, want := lang.Words(s), lang.Words(phrase)
	n := len(said) - len(want)
	if n < 0 || len(want) == 0 {
		return s, false
	}
	for i, w := range want {
		if said[n+i].Text != w.Text {
			return s, false
		}
	}
	return s[:said[n].Start], true
}

// withoutPoliteness removes words such as please from both ends of a request.
func withoutPoliteness(l *lang.Language, s string) string { return without(l, s, lang.Politeness) }

// without removes the words of some sections from both ends of a text.
func without(l *lang.Language, s string, sections ...lang.Section) string {
	for again := true; again; {
		again = false
		for _, section := range sections {
			for _, w := range l.List(section) {
				first, begins := cutPrefix(s, w)
				last, ends := cutSuffix(first, w)
				s, again = strings.TrimSpace(last), again || begins || ends
			}
		}
	}
	return s
}

// thing returns the name or description of a document in a request, without an article and words such as file. It is empty if there are only such words.
func thing(l *lang.Language, s string) string {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, ".") && without(l, s, lang.Documents, lang.Politeness) == "" {
		return ""
	}
	for _, w := range lang.Words(s) {
		if file := strings.HasPrefix(s[w.End:], "."); file || !l.IsStopWord(w.Text) && !l.Has(lang.Documents, w.Text) {
			return s[w.Start:]
		}
	}
	return ""
}
