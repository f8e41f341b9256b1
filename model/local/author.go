package local

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

var (
	// asksAuthorRE matches an English question for those who made something.
	asksAuthorRE = regexp.MustCompile(`(?i)\bwho (?:\pL+ )?(?:wrote|created|made|developed|maintains|invented|designed|conceived)\b|\b(?:authors?|maintainers?|creators?|developers?) of\b|\bwho is the (?:author|maintainer|creator)\b`)
	// authorRE matches what says who made something: a sentence, a notice of copyright, or the label of a line.
	authorRE = regexp.MustCompile(`(?i)\b(?:written|created|developed|maintained|designed|invented|conceived|implemented|contributed)\b[^.;]{0,40}\bby\b|\b(?:copyright|\(c\)|©)[^.;]{0,40}[0-9]{4}|^(?:upstream[ -](?:contact|authors?)|authors?|maintainers?|creators?)\b[^:]{0,20}:`)
	// authorHeadRE matches a heading or a label over the names of those who made something.
	authorHeadRE = regexp.MustCompile(`(?i)^(?:authors?|credits|(?:created|written|maintained|developed) by|(?:current |original )?(?:authors?|maintainers?))\b[^.]{0,30}$`)
	copyrightRE  = regexp.MustCompile(`(?i)^(?:copyright\b|\(c\)|©)`)
)

// asksAuthor reports whether the question asks for those who made something.
func (q *question) asksAuthor() bool {
	return q.lang == lang.English && asksAuthorRE.MatchString(q.text)
}

// namesAuthor reports whether a part says who made something, and names them.
func (c *sentence) namesAuthor() bool {
	if !nameRE.MatchString(c.own) {
		return false
	}
	return authorRE.MatchString(c.own) || authorHeadRE.MatchString(c.heading) && c.under < 3 || authorHeadRE.MatchString(strings.TrimRight(c.lead, ": "))
}
