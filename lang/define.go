package lang

import (
	"regexp"
	"strings"
)

var defineRE = regexp.MustCompile(`(?i)^\W*(?:(?:what|who)(?:'s|’s| is| are| was| were) (.+)|(?:define|what is meant by) (.+)|what (?:does|do) (.+?) mean(?: in .+)?)\W*$`)

// maxSubject is the maximum number of terms in the subject of a definition.
const maxSubject = 3

// DefinitionSubject returns the stems of the term that a question asks to define, such as cursor in "What is a cursor?". It returns
// nil for other questions.
func DefinitionSubject(question string) []string {
	if len(question) > 200 {
		return nil
	}
	m := defineRE.FindStringSubmatch(strings.TrimSpace(question))
	if m == nil {
		return nil
	}
	words := Words(m[1] + m[2] + m[3])
	var out []string
	for i, w := range words {
		if IsStopWord(w.Text) {
			if _, article := articles[w.Text]; !article || i > 0 {
				return nil // not a definition, such as "What is kept of a run?"
			}
			continue
		}
		out = append(out, Stem(w.Text))
	}
	if len(out) > maxSubject {
		return nil
	}
	return out
}

// Defines reports whether a sentence defines the subject: it begins with the subject and a verb of definition, as "A cursor is
// a place" does, or ends a clause with it, as "About a paragraph is a passage." does.
func Defines(sentence string, subject []string) bool {
	if len(sentence) > 160 {
		sentence = strings.ToValidUTF8(sentence[:160], "")
	}
	words := Words(sentence)
	return opensWith(words, subject) || endsWith(sentence, words, subject)
}

// labelRE matches what stands before the text of a row, or of a line with a label: "lease | ", "- Lease (of a server): ", "Lease – ".
var labelRE = regexp.MustCompile(`^[\s*•·-]*([^|:(]{1,80}?)(?: \([^)]{0,80}\))?(?: \| |: | [–—] )\S`)

// Labels reports whether a line begins with the subject as a label or as the first cell of a row, as in a glossary.
func Labels(line string, subject []string) bool {
	if len(subject) == 0 || !strings.Contains(line, " | ") && !strings.Contains(line, ": ") && !strings.Contains(line, " – ") && !strings.Contains(line, " — ") {
		return false // most lines; the expression takes much longer to say so
	}
	m := labelRE.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	words := Words(m[1])
	if len(words) > 0 {
		if _, article := articles[words[0].Text]; article {
			words = words[1:]
		}
	}
	return len(words) == len(subject) && startsWithStems(words, subject)
}

// endsWith reports whether the sentence defines the subject at the end of a clause: "… is a SUBJECT."
func endsWith(sentence string, words []Token, subject []string) bool {
	if len(words) == 0 || len(subject) == 0 {
		return false
	}
	if _, what := definers[words[0].Text]; IsStopWord(words[0].Text) && !what && words[0].Text != "about" {
		return false // such as "it is a passage"
	}
	for k := 1; k < min(len(words), 12)-len(subject)-1; k++ {
		if _, article := articles[words[k+1].Text]; !article || words[k].Text != "is" {
			continue
		}
		last := k + 1 + len(subject)
		if last >= len(words) || !startsWithStems(words[k+2:last+1], subject) {
			continue
		}
		rest := strings.TrimSpace(sentence[words[last].End:])
		return rest == "" || strings.ContainsAny(rest[:1], ",.:;")
	}
	return false
}

// startsWithStems reports whether the stems of the first words equal stems.
func startsWithStems(words []Token, stems []string) bool {
	for i, s := range stems {
		if Stem(words[i].Text) != s {
			return false
		}
	}
	return true
}

func opensWith(words []Token, subject []string) bool {
	if len(words) > 0 {
		if _, article := articles[words[0].Text]; article {
			words = words[1:]
		}
	}
	n := len(subject)
	if n == 0 || len(words) < n+2 {
		return false
	}
	if !startsWithStems(words, subject) {
		return false
	}
	switch _, kind := definers[words[n+1].Text]; words[n].Text {
	case "is", "are", "was", "were":
		return kind
	case "means", "mean", "denotes", "describes":
		return true
	case "refers", "stands":
		return words[n+1].Text == "to" || words[n+1].Text == "for"
	}
	return false
}

var (
	articles = WordSet("a an the")
	// definers follow "is" in a definition.
	definers = WordSet("a an the one any what how that where who when each something someone")
)
