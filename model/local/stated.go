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

var (
	asksDefaultRE = regexp.MustCompile(`(?i)\bdefaults?\b`)
	// defaultRE matches what says a default.
	defaultRE = regexp.MustCompile(`(?i)\bdefaults? (?:value |setting |limit )?(?:is|are|to|of)\b|\bdefaults?(?: value)?[:=] ?\S|\bby default\b`)
)

// fact is what a question asks for that sentences of documents state in few ways.
type fact int

const (
	noFact      fact = iota
	authorFact       // who made something
	defaultFact      // what is used if nothing is set
)

// factOf returns the fact that an English question asks for.
func (q *question) factOf() fact {
	switch {
	case q.lang != lang.English:
	case asksAuthorRE.MatchString(q.text):
		return authorFact
	case asksDefaultRE.MatchString(q.text) && !q.way && q.kind != instructionKind:
		return defaultFact
	}
	return noFact
}

// states reports whether a part states the fact that the question asks for.
func (q *question) states(c *sentence) bool {
	if q.fact == authorFact {
		return nameRE.MatchString(c.own) && (authorRE.MatchString(c.own) || authorHeadRE.MatchString(c.heading) && c.under < 3 ||
			authorHeadRE.MatchString(strings.TrimRight(c.lead, ": ")))
	}
	for i, name := range c.columns {
		if i > 0 && i < len(c.cells) && c.cells[i] != "" && asksDefaultRE.MatchString(name) {
			return true
		}
	}
	return c.setting || defaultRE.MatchString(c.own)
}

// weighFact computes the features of whether a part states the fact that the question asks for.
func (q *question) weighFact(c *sentence) {
	if q.fact == noFact {
		return
	}
	e := &c.evid
	e[measured] = value(q.states(c))
	e[unmeasured], e[keyed] = 1-e[measured], e[measured]
	if c.row && c.columns == nil && q.namesCode(c) {
		e[unmeasured] = 0 // one of its cells may be it
	}
}
