package local

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// repeatsValue reports whether what a line says after its label is in the question already, without what is in parentheses, and its label is not the requested
// type of thing: "21 July: Term ends" says when.
func (q *question) repeatsValue(c *sentence) bool {
	if !c.label || q.open || q.hasType() && q.typeFit(c, labelOf(c.text)) == 1 {
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
	for k, w := range words[:min(2, len(words))] {
		i, ok := q.index[q.stem(w.Text)]
		if !ok || !slices.Contains(q.numbers, i) {
			continue
		}
		if _, asked := q.index[q.stem(words[0].Text)]; k == 1 && !asked && text[words[0].End:w.Start] == "-" {
			continue // clause 12 is not E-12
		}
		return true
	}
	return false
}

// codeNameRE matches an option of a command, and an identifier with an underscore or with a capital within it.
var codeNameRE = regexp.MustCompile(`(?:^|[\s("'` + "`" + `])(--?[A-Za-z][\w-]*|[A-Za-z]\w*(?:_|[a-z][A-Z])\w*)`)

// codesIn returns the options and identifiers that a text names.
func codesIn(s string) (out []string) {
	for _, m := range codeNameRE.FindAllStringSubmatch(s, 8) {
		out = append(out, m[1])
	}
	return out
}

// minEntry is the least number of words of an entry that says something of its key.
const minEntry = 4

// namesCode reports whether a part begins with an option or identifier of the question, as an entry of a list of options does, or a setting sets it.
func (q *question) namesCode(c *sentence) bool {
	if len(q.codes) == 0 || len(c.words) < minEntry && !c.setting {
		return false
	}
	head, _, _ := strings.Cut(lang.Truncate(c.own, 100), ": ")
	if c.row {
		head = c.cells[0]
	}
	for i, f := range strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune(" \t,=[]<>()|", r) }) {
		if slices.Contains(q.codes, strings.Trim(f, "`*\"':")) {
			return true
		}
		if i > 0 && !strings.HasPrefix(f, "-") || i > 4 {
			break
		}
	}
	return false
}

// repeatsQuestion reports whether a sentence says hardly more than the question.
func (q *question) repeatsQuestion(c *sentence) bool {
	if q.open || c.code || c.row || q.subject != nil {
		return false
	}
	news, old := 0, 0
	for _, s := range c.stems {
		if s == "" {
			continue
		}
		if _, asked := q.index[s]; asked {
			old++
		} else {
			news++
		}
	}
	return old >= 2 && news == 0
}

// mayConfirm reports whether a sentence that says no more than a yes/no question can answer it: Cats are not allowed.
func (q *question) mayConfirm(c *sentence) bool {
	return q.whether && q.kind != reasonKind && !q.lang.AsksWhether(c.text)
}

// isNamed reports whether a part of the passages has an identifier that the question names, or a document has it as its name. If the question names none, it is true.
func (q *question) isNamed(passages []model.Passage, readings []*passageView) bool {
	return len(q.identifiers) == 0 ||
		slices.ContainsFunc(passages, func(p model.Passage) bool { return lang.HoldsIdentifier(p.Chunk.Title, q.identifiers) }) ||
		slices.ContainsFunc(readings, func(r *passageView) bool {
			return slices.ContainsFunc(r.cs, func(c *sentence) bool { return c.evid[literal] > 0 })
		})
}

// literalFit returns 1 if a part has an identifier of the question as it is written, and 0.5 if only what leads to it has.
func (q *question) literalFit(c *sentence) float64 {
	switch {
	case len(q.identifiers) == 0 || !q.coversRest(c):
		return 0
	case lang.HoldsIdentifier(c.text, q.identifiers) || lang.HoldsIdentifier(c.own, q.identifiers):
		return 1
	case lang.HoldsIdentifier(c.leadingText(), q.identifiers):
		return 0.5
	}
	return 0
}

// coversRest reports whether a part has a term of the question besides those of its identifiers, or the question has none.
func (q *question) coversRest(c *sentence) bool {
	named, rest := q.lang.TermSet(strings.Join(q.identifiers, " ")), false
	for i, t := range q.terms {
		if _, ok := named[t.Stem]; ok {
			continue
		}
		if rest = true; max(c.exact[i], c.over[i]) >= minAction {
			return true
		}
	}
	return !rest
}

// isAskedBy reports whether a heading asks what the question asks: it begins with a question word, asks for the same type of thing, and is about nothing else.
func (q *question) isAskedBy(heading string) bool {
	ws := lang.Words(lang.Truncate(heading, 200))
	return len(ws) > 1 && q.lang.Has(lang.QuestionWords, ws[0].Text) && q.kindOf(heading) == q.kindOf(q.text) && q.onlyAbout(heading)
}
