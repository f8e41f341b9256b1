package local

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

const (
	maxItems     = 14   // of a list in an answer
	maxListBytes = 1500 // of such a list
	maxRows      = 8    // of a table in an answer
)

// compose completes the sentences of an answer: a list with all of its items, a row with the names of its columns, an item with what leads to it, and a
// sentence with the heading that says what it is about.
// Only the best sentence brings its list.
func (q *question) compose(chosen []*sentence, best *sentence, readings []*passageView) []*sentence {
	var out []*sentence
	groups := map[int]bool{}
	whole := q.wantsList(best)
	if whole == 0 && q.isHalfOfList(best, chosen, readings) {
		whole = best.group
	}
	said := map[*sentence]bool{} // after the best one, which they complete
	for _, c := range chosen {
		if said[c] {
			continue
		}
		cs := readings[c.passage].cs
		if whole > 0 && c != best && c.group == whole {
			continue // the list has it
		}
		list := q.wantsList(c)
		if c == best {
			list = whole
		}
		if list > 0 && (c == best || !c.listed || q.broad || q.open) {
			if !groups[list] {
				groups[list] = true
				out = append(out, q.list(readings, list)...)
			}
			continue
		}
		if c.row {
			if both := q.versions(c, readings); c == best && both != nil {
				return both
			}
			if !groups[c.group] {
				groups[c.group] = true
				out = append(out, q.rows(c, readings)...)
			}
			continue
		}
		leadIn := q.leadIn(c, cs)
		for _, before := range leadIn {
			if !slices.Contains(chosen, before) {
				out = append(out, before)
			}
		}
		if n := len(out); c.setting && n > 0 && strings.TrimRight(out[n-1].text, ".")+": " == c.intro() {
			out = append(out, c) // the comment is said already
		} else {
			out = append(out, q.withLead(c))
		}
		if c != best {
			continue
		}
		for _, next := range q.following(c, readings) {
			out, said[next] = append(out, next), true
		}
	}
	for i := len(out) - 1; i > 0; i-- {
		if c := out[i]; c.prefix != "" && c.prefix == out[i-1].prefix && c.passage == out[i-1].passage { // it is said once
			c.text = strings.TrimPrefix(c.text, c.prefix)
		}
	}
	return out
}

// isHalfOfList reports whether at least half of a list was chosen, of which the best sentence is an item, although the question names none of its items: then all
// of them are the answer.
func (q *question) isHalfOfList(best *sentence, chosen []*sentence, readings []*passageView) bool {
	if !best.listed || best.group == 0 {
		return false
	}
	items, n := 0, 0
	for _, r := range readings {
		for _, c := range r.cs {
			if c.listed && c.group == best.group {
				if items++; slices.Contains(chosen, c) {
					n++
				}
				if q.share(c.exact) >= minPrefix {
					return false
				}
			}
		}
	}
	return n > 1 && 2*n >= items
}

// maxFollowing is the maximum number of sentences that complete the best one.
const maxFollowing = 4

// minNamed is how well headings must name a task, so that the text under them is its answer.
const minNamed = 0.6

// following returns the sentences after the best one that complete it: the rest of a clause that the question names by its number, the rest of a section of
// instructions that is only about the question, or its continuation.
func (q *question) following(c *sentence, readings []*passageView) (out []*sentence) {
	cs := readings[c.passage].cs
	clause := c.evid[keyed] > 0 && !c.row && !c.code
	section := q.isSection(c)
	clause = clause || !c.row && !c.code && c.evid[acts] >= minNamed
	if clause || section {
		for _, next := range cs[min(len(cs), c.at+1):min(len(cs), c.at+1+maxFollowing)] {
			if next.row || next.heading != c.heading || !next.whole || !section && next.block != c.block || c.label && next.label {
				break
			}
			if section && next.listed && !c.listed {
				return append(out, q.list(readings, next.group)...)
			}
			if out = append(out, next); section && next.code {
				return out
			}
		}
	}
	if q.kind == definitionKind && len(out) == 0 && c.evid[defines] >= 0.7 && strings.Contains(c.text, entrySeparator) && c.at+1 < len(cs) && cs[c.at+1].block == c.block && cs[c.at+1].whole {
		return cs[c.at+1 : c.at+2] // the entry of a glossary goes on
	}
	if next := q.continuation(c, cs); len(out) == 0 && next != nil {
		return []*sentence{next}
	}
	if len(out) == 0 && c.at+1 < len(cs) && cs[c.at+1].block == c.block && !q.whether && !(q.hasType() && c.evid[fit] == 1) && q.saysLittle(c) && q.saysMore(c, cs) {
		return cs[c.at+1 : c.at+2]
	}
	return out
}

// isSection reports whether a sentence is of a section of instructions that is only about the question.
func (q *question) isSection(c *sentence) bool {
	return !c.code && (q.way || q.kind == instructionKind) && (c.evid[headed] > 0 || c.named >= minNamed)
}

// maxLittle is the maximum number of words of a sentence that says little.
const maxLittle = 6

// saysLittle reports whether a sentence is short, has no number, and has at most two words that the question does not have.
func (q *question) saysLittle(c *sentence) bool {
	news := 0
	for _, s := range c.stems {
		if _, asked := q.index[s]; s != "" && !asked {
			news++
		}
	}
	return news <= 2 && len(c.words) <= maxLittle && !strings.ContainsAny(c.text, "0123456789") && !numberRE.MatchString(c.text) && !q.hasWord(c.text, lang.Counts)
}

// continuation returns what follows a sentence that says what was asked about, but not the answer: the code of an instruction, or the next sentence, if
// that has the requested type of thing. A reason often has no word for it.
func (q *question) continuation(c *sentence, cs []*sentence) *sentence {
	instruct := q.way || q.code || q.kind == instructionKind
	for _, next := range cs[min(len(cs), c.at+1):min(len(cs), c.at+3)] {
		switch {
		case next.setting && !c.setting:
			return next
		case next.heading != c.heading || next.row || next.listed:
			return nil
		case next.code:
			if instruct && next.whole {
				return next
			}
			return nil
		case instruct || !next.whole:
		case q.measure != nil && c.evid[measured] == 0 && q.isMeasured(next) && (!q.measure.recognized || next.dangles || !slices.ContainsFunc(q.named, func(i int) bool { return next.exact[i] < 0.6 && next.over[i] < 1 })):
			return next // an age or an address is that of the one who is named beside it
		case c.evid[fit] <= 0.5 && (q.kind == reasonKind && q.canGiveReason(c, next) || q.hasType() && q.measure == nil && q.typeFit(next, next.own) == 1):
			return next
		}
	}
	return nil
}

// canGiveReason reports whether a sentence can give the reason for what the one before it says: both are prose, and the first one is what the question is about.
func (q *question) canGiveReason(c, next *sentence) bool {
	return !c.label && !c.row && !next.label && q.share(c.covers) >= q.share(next.covers)
}

// wantsList returns the group of the list that answers the question, if it asks for a list or for steps, and 0 otherwise.
func (q *question) wantsList(c *sentence) int {
	asksList := q.kind == listKind || q.kind == instructionKind || q.listed || q.way || q.broad || q.open
	switch {
	case c.label && !c.listed && c.evid[isListed] == 1:
		return c.group
	case !c.listed || c.group == 0:
		return 0
	case asksList && (c.ordered || c.lead != "" || c.evid[headed] > 0 || q.kind == listKind || q.listed || q.broad || q.open):
		return c.group
	case !q.hasType() && c.evid[near] >= 1.5*c.evid[own]: // the question is about the text that introduces the list
		return c.group
	}
	return 0
}

// list returns the items of a list, with what leads to it. The items of each passage are one sentence.
func (q *question) list(readings []*passageView, group int) (out []*sentence) {
	var items []*sentence
	size, first := 0, 0
	for _, r := range readings {
		for _, c := range r.cs {
			if c.group == group && !c.row {
				items = append(items, c)
			}
		}
	}
	slices.SortStableFunc(items, func(a, b *sentence) int { return a.under - b.under })
	for k, c := range items {
		if size += len(c.text); k >= maxItems || size > maxListBytes {
			items = items[:k]
			break
		}
	}
	if slices.ContainsFunc(items, func(c *sentence) bool { return c.code }) {
		return items // steps with code stay apart
	}
	for k, c := range items {
		if k+1 == len(items) || items[k+1].passage != c.passage {
			out = append(out, q.itemsOf(items[first:k+1], first == 0))
			first = k + 1
		}
	}
	return out
}

// itemsOf returns items of one passage as one sentence, with what leads to the list before the first one.
func (q *question) itemsOf(items []*sentence, isFirst bool) *sentence {
	one := *items[0]
	var parts []string
	closed := true // each item is a sentence, or one has several
	for _, c := range items {
		closed = closed && c.closed
	}
	for _, c := range items {
		if c.listed || c.label || len(parts) == 0 {
			parts = append(parts, c.text)
		} else { // a further sentence of an item
			parts[len(parts)-1] += " " + c.text
			closed = true
		}
	}
	one.text = strings.Join(parts, " ")
	if !closed {
		for i, part := range parts {
			parts[i] = strings.TrimRight(part, ".; ")
		}
		one.text = strings.Join(parts, "; ") + "."
	}
	one.whole = true
	if isFirst {
		q.addPrefix(&one)
	}
	return &one
}

// withLead returns a sentence with what leads to it, or with its heading, if the question is about that.
func (q *question) withLead(c *sentence) *sentence {
	if c.code {
		return c
	}
	one := *c
	q.addPrefix(&one)
	return &one
}

// addPrefix puts before a sentence what leads to it.
func (q *question) addPrefix(c *sentence) {
	c.prefix = q.prefixOf(c)
	c.text = c.prefix + c.text
}

// minPrefix is the share of the question's terms that a heading must add to an item, a row or a labelled line.
const minPrefix = 0.12

// prefixOf returns what is said before a sentence: what leads to it, or the heading over it. A heading is said if it has the thing that the question
// asks for, or, before an item, a row or a labelled line, terms of the question that these do not have. In an account of a subject, it is said before
// each of these.
func (q *question) prefixOf(c *sentence) string {
	isFragment := c.listed || c.row || c.label
	lead := strings.TrimSpace(strings.TrimSuffix(c.lead, "."))
	switch {
	case c.dangles:
		return ""
	case q.broad || q.open:
		if !isFragment {
			return ""
		}
		if strings.HasSuffix(lead, ":") {
			return lead + " "
		}
		return headingPrefix(c.heading, c)
	case c.setting:
		return c.intro()
	}
	headings := append([]string{c.heading}, c.outer...)
	if q.kind == timeKind && !q.hasDay(c.text) && !q.hasDay(lead) {
		for _, h := range headings {
			if q.hasDay(h) {
				return headingPrefix(h, c)
			}
		}
	}
	if lead != "" && strings.HasSuffix(lead, ":") {
		return lead + " "
	}
	if q.measure != nil && c.evid[measured] == 0 {
		for _, h := range headings {
			if q.measure.in(q.lang, h) {
				return headingPrefix(h, c)
			}
		}
	}
	if q.hasType() && c.evid[fit] == 0 {
		for _, h := range headings {
			if q.typeFit(c, h) > 0 {
				return headingPrefix(h, c)
			}
		}
	}
	if !isFragment {
		return ""
	}
	if c.listed && strings.ContainsAny(c.heading, "0123456789") {
		return headingPrefix(c.heading, c) // a date or a version
	}
	for _, h := range headings {
		covers := make([]float64, len(q.terms))
		q.mark(covers, h)
		if q.share(c.covers, covers)-q.share(c.covers) >= minPrefix {
			return headingPrefix(h, c)
		}
	}
	return ""
}

// dayRE matches a date in figures, also without a year.
var dayRE = regexp.MustCompile(`\b(?:1[0-9]{3}|20[0-9]{2})\b|\b[0-9]{1,2}(?:\.[0-9]{1,2}\.|/[0-9]{1,2}\b)|[0-9]+ ?[月日号號]`)

// hasDay reports whether a text has a date or the name of a day of the week.
func (q *question) hasDay(s string) bool {
	s = numberingRE.ReplaceAllString(s, "")
	if dayRE.MatchString(s) {
		return true
	}
	dated := strings.ContainsAny(s, "0123456789")
	for _, w := range lang.Words(s) {
		if q.lang.Has(lang.Days, w.Text) || dated && q.lang.Has(lang.Months, w.Text) {
			return true
		}
	}
	return false
}

// headingPrefix returns a heading with a colon, unless the sentence has it already.
func headingPrefix(heading string, c *sentence) string {
	heading = strings.TrimRight(heading, ".: ")
	if heading == "" || strings.Contains(c.text, heading) {
		return ""
	}
	return heading + ": "
}
