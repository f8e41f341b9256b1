package local

import (
	"regexp"
	"slices"
	"strconv"
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
	groups := map[[2]int]bool{}
	whole := q.wantsList(best, readings[best.passage].cs)
	for _, c := range chosen {
		cs := readings[c.passage].cs
		if whole > 0 && c != best && c.passage == best.passage && c.group == whole {
			continue // the list has it
		}
		if list := q.wantsList(c, cs); list > 0 && (c == best || !c.listed || q.broad || q.open) {
			if key := [2]int{c.passage, list}; !groups[key] {
				groups[key] = true
				out = append(out, q.list(cs, list)...)
			}
			continue
		}
		if c.row {
			if both := q.versions(c, readings); c == best && both != nil {
				return both
			}
			if key := [2]int{c.passage, -c.group}; !groups[key] {
				groups[key] = true
				out = append(out, q.rows(c, cs)...)
			}
			continue
		}
		for _, before := range q.leadIn(c, cs) {
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
		for _, next := range q.following(c, cs) {
			if !slices.Contains(chosen, next) {
				out = append(out, next)
			}
		}
	}
	return out
}

// maxFollowing is the maximum number of sentences that complete the best one.
const maxFollowing = 4

// minNamed is how well headings must name a task, so that the text under them is its answer.
const minNamed = 0.6

// following returns the sentences after the best one that complete it: the rest of a clause that the question names by its number, the rest of a section of
// instructions that is only about the question, or its continuation.
func (q *question) following(c *sentence, cs []*sentence) (out []*sentence) {
	clause := c.evid[keyed] > 0 && !c.row && !c.code
	section := !c.code && (q.way || q.kind == instructionKind) && (c.evid[headed] > 0 || c.named >= minNamed)
	clause = clause || !c.row && !c.code && c.evid[acts] >= minNamed
	if clause || section {
		for _, next := range cs[min(len(cs), c.at+1):min(len(cs), c.at+1+maxFollowing)] {
			if next.row || next.heading != c.heading || !next.whole || !section && next.block != c.block {
				break
			}
			out = append(out, next)
		}
	}
	if next := q.continuation(c, cs); len(out) == 0 && next != nil {
		return []*sentence{next}
	}
	if len(out) == 0 && c.at+1 < len(cs) && cs[c.at+1].block == c.block && !(q.hasType() && c.evid[fit] == 1) && q.saysLittle(c) && q.saysMore(c, cs) {
		return cs[c.at+1 : c.at+2]
	}
	return out
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
		case q.measure != nil && c.evid[measured] == 0 && q.isMeasured(next):
			return next
		case c.evid[fit] <= 0.5 && (q.kind == reasonKind || q.hasType() && q.measure == nil && q.typeFit(next, next.own) == 1):
			return next
		}
	}
	return nil
}

// wantsList returns the group of the list that answers the question, if it asks for a list or for steps, and 0 otherwise.
func (q *question) wantsList(c *sentence, cs []*sentence) int {
	asksList := q.kind == listKind || q.kind == instructionKind || q.listed || q.way || q.broad || q.open
	switch {
	case c.at+1 < len(cs) && c.leads(cs[c.at+1], asksList):
		return cs[c.at+1].group
	case !c.listed || c.group == 0:
		return 0
	case asksList && (c.ordered || c.lead != "" || c.evid[headed] > 0 || q.kind == listKind || q.listed || q.broad || q.open):
		return c.group
	case !q.hasType() && (c.evid[near] >= 1.5*c.evid[own] || q.asksLead(c)): // the question is about the text that introduces the list
		return c.group
	}
	return 0
}

// asksLead reports whether the question is about the text that introduces the list of an item, and not about the item itself.
func (q *question) asksLead(c *sentence) bool {
	lead := make([]float64, len(q.terms))
	q.mark(lead, c.lead)
	share := q.share(lead)
	return share >= minLead && q.share(lead, c.exact)-share < minPrefix
}

// minLead is the least share of the question's terms that the text before a list must have, so that its items answer the question.
const minLead = 0.3

// leads reports whether a sentence leads to the list that begins with the next one: it ends with a colon or without punctuation, or the question asks for
// a list.
func (c *sentence) leads(next *sentence, asksList bool) bool {
	if !next.listed || c.listed && next.lead != c.text {
		return false
	}
	return strings.HasSuffix(c.text, ":") || next.lead != "" && (c.text == next.lead+"." || asksList && c.text == next.lead)
}

// list returns the items of a list, with what leads to it.
func (q *question) list(cs []*sentence, group int) []*sentence {
	var items []*sentence
	size := 0
	for _, c := range cs {
		if c.group == group && !c.row && len(items) < maxItems && size+len(c.text) < maxListBytes {
			items = append(items, c)
			size += len(c.text)
		}
	}
	if len(items) == 0 {
		return nil
	}
	one := *items[0]
	var parts []string
	closed := true // each item is a sentence, or one has several
	for _, c := range items {
		if c.code {
			return items // steps with code stay apart
		}
		closed = closed && c.closed
	}
	for _, c := range items {
		if c.listed || len(parts) == 0 {
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
	one.text = q.prefix(&one) + one.text
	return []*sentence{&one}
}

// rows returns a row of a table, and the other rows of the table that match the question as well.
func (q *question) rows(best *sentence, cs []*sentence) []*sentence {
	most := 3
	if q.kind == listKind || q.listed {
		most = maxRows
	}
	only := q.columnsOf(best)
	if c := q.extreme(best, cs); c != nil {
		best, most = c, 1
	}
	named := q.cellPrecision(best)
	var out []*sentence
	for _, c := range cs {
		if !c.row || c.group != best.group || c != best && !sameCover(c.exact, best.exact) {
			continue
		}
		if c != best && (best.evid[rowKey] == 0 || best.evid[inRange] > 0 || len(out) >= most || q.cellPrecision(c) < named) {
			continue
		}
		one := *c
		if text, ok := rowText(c.columns, c.cells, only); ok {
			one.text = text
		}
		if len(out) == 0 {
			one.text = q.prefix(&one) + one.text
		}
		out = append(out, &one)
	}
	return out
}

// yearRE matches a year.
var yearRE = regexp.MustCompile(`\b(?:19|20)[0-9]{2}\b`)

// versions returns the same row of several versions of a table, each with the title of its document, for a question that names the years of two or more:
// what did the tariff cost in 2024, and what in 2025? It returns nil for other questions.
func (q *question) versions(best *sentence, readings []*passageView) []*sentence {
	years := yearRE.FindAllString(q.text, 4)
	if len(years) < 2 {
		return nil
	}
	var out []*sentence
	titles := map[string]bool{}
	for _, year := range years {
		for _, r := range readings {
			if titles[r.written] || !strings.Contains(r.written, year) {
				continue
			}
			if c := sameRow(best, r.cs); c != nil {
				titles[r.written] = true
				one := *c
				if text, ok := rowText(c.columns, c.cells, q.columnsOf(c)); ok {
					one.text = text
				}
				one.text = r.written + ": " + one.text
				out = append(out, &one)
				break
			}
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// sameRow returns the row with the highest score that has the same first cell as another one, or covers the same terms; nil if there is none.
func sameRow(row *sentence, cs []*sentence) *sentence {
	var found *sentence
	for _, c := range cs {
		if c.row && (c.cells[0] == row.cells[0] || sameCover(c.exact, row.exact)) && (found == nil || c.score > found.score) {
			found = c
		}
	}
	return found
}

// sameCover reports whether two sentences cover the same terms.
func sameCover(a, b []float64) bool {
	for i := range a {
		if (a[i] == 1) != (b[i] == 1) {
			return false
		}
	}
	return true
}

// cellPrecision returns how exactly a cell names what the question is about, 0..1: the greatest share of the terms of a cell that the question has. For a
// question about adults, it is 1 for the cell Adult and 0.5 for Young adult.
func (q *question) cellPrecision(c *sentence) float64 {
	most := 0.0
	columns := map[int]bool{} // terms in names of columns: they do not select a row, except in its first cell
	for _, name := range c.columns {
		for _, t := range stemsIn(q.lang, name) {
			if i, ok := q.index[t]; ok {
				columns[i] = true
			}
		}
	}
	for k, cell := range c.cells {
		terms, found := 0, 0
		for _, t := range stemsIn(q.lang, cell) {
			terms++
			if i, ok := q.index[t]; ok && (k == 0 || !columns[i]) {
				found++
			}
		}
		if terms > 0 {
			most = max(most, float64(found)/float64(terms))
		}
	}
	return most
}

// columnsOf returns the columns of a row that answer the question, and those with terms of it. These are the columns whose names have a term, or the
// thing that is asked for, but whose cells have none. It returns nil for all columns, if there is no such column.
func (q *question) columnsOf(c *sentence) []int {
	var only []int
	answers := false
	for i := 1; i < len(c.cells); i++ {
		name, cell := make([]float64, len(q.terms)), make([]float64, len(q.terms))
		if i < len(c.columns) {
			q.mark(name, c.columns[i])
		}
		q.mark(cell, c.cells[i])
		switch {
		case q.share(cell) > 0:
			only = append(only, i)
		case (q.share(name) > 0 || q.measuredColumn(c, i)) && c.cells[i] != "":
			answers = true
			only = append(only, i)
		}
	}
	if !answers {
		return nil
	}
	if i := nameColumn(c.cells); i > 0 && !slices.Contains(only, i) {
		only = append(only, i)
	}
	return only
}

// nameColumn returns the column of a row that names it, if the first cell is only a code such as M5 or 10-2318: the first one with a word.
func nameColumn(cells []string) int {
	for i, cell := range cells {
		if wordRE.MatchString(cell) {
			return i
		}
	}
	return 0
}

// wordRE matches a word that is not an abbreviation.
var wordRE = regexp.MustCompile(`\p{Ll}{2}|\p{Lo}`)

// withLead returns a sentence with what leads to it, or with its heading, if the question is about that.
func (q *question) withLead(c *sentence) *sentence {
	if c.code {
		return c
	}
	one := *c
	one.text = q.prefix(&one) + one.text
	return &one
}

// minPrefix is the share of the question's terms that a heading must add to an item, a row or a labelled line.
const minPrefix = 0.12

// prefix returns what is said before a sentence: what leads to it, or the heading over it. A heading is said if it has the thing that the question
// asks for, or, before an item, a row or a labelled line, terms of the question that these do not have.
func (q *question) prefix(c *sentence) string {
	if q.broad || q.open || c.dangles {
		return ""
	}
	if c.setting {
		return c.intro()
	}
	headings := append([]string{c.heading}, c.outer...)
	lead := strings.TrimSpace(strings.TrimSuffix(c.lead, "."))
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
	if q.hasType() && c.evid[fit] == 0 {
		for _, h := range headings {
			if q.typeFit(c, h) > 0 {
				return headingPrefix(h, c)
			}
		}
	}
	if !c.listed && !c.row && !c.label {
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

// maxKeyLoss is the share of the question's terms that a row may have less than the best row, and still be compared with it.
const maxKeyLoss = 0.15

// extreme returns the row with the greatest or the smallest value, if the question asks for it: the last boat, the cheapest room. The value is in the
// column that the question names, or in the only column of numbers. Rows count that cover the same terms as the best one. It returns nil otherwise.
func (q *question) extreme(best *sentence, cs []*sentence) *sentence {
	sign := q.wantsExtreme()
	if sign == 0 {
		return nil
	}
	var rows []*sentence
	for _, c := range cs {
		if c.row && c.group == best.group && c.evid[rowKey] >= best.evid[rowKey]-maxKeyLoss {
			rows = append(rows, c)
		}
	}
	column := q.valueColumn(best, rows)
	if column < 0 || len(rows) < 2 {
		return nil
	}
	var top *sentence
	most := 0.0
	for _, c := range rows {
		if column >= len(c.cells) {
			continue
		}
		if v, ok := number(c.cells[column]); ok && (top == nil || sign*v > most) {
			top, most = c, sign*v
		}
	}
	return top
}

// wantsExtreme returns 1 if the question asks for the greatest of several, -1 for the smallest, and 0 otherwise.
func (q *question) wantsExtreme() float64 {
	for _, w := range q.words {
		switch {
		case q.lang.Has(lang.Least, w.Text):
			return -1
		case q.lang.Has(lang.Most, w.Text):
			return 1
		}
	}
	return 0
}

// valueColumn returns the column of numbers that the question names, or the only one; -1 if there is none or there are several.
func (q *question) valueColumn(best *sentence, rows []*sentence) int {
	found, named, most := -1, -1, 0.0
	several := false
	for i := range best.cells {
		n := 0
		for _, c := range rows {
			if i < len(c.cells) {
				if _, ok := number(c.cells[i]); ok {
					n++
				}
			}
		}
		if 2*n <= len(rows) {
			continue
		}
		several = several || found >= 0
		if i > 0 || found < 0 {
			found = i
		}
		covers := make([]float64, len(q.terms))
		if i < len(best.columns) {
			q.mark(covers, best.columns[i])
		}
		x := q.share(covers)
		if q.measuredColumn(best, i) {
			x = max(x, 0.5)
		}
		if x > most {
			named, most = i, x
		}
	}
	if named >= 0 || several {
		return named
	}
	return found
}

// numberIn matches the first number or time of day of a cell.
var numberIn = regexp.MustCompile(`^[^0-9]{0,12}([0-9][0-9.,:h\x{00a0} ]*)`)

// number returns the value of a cell that begins with a number, after a currency at most. A time of day is in minutes.
func number(cell string) (float64, bool) {
	m := numberIn.FindStringSubmatch(cell)
	if m == nil {
		return 0, false
	}
	s := strings.TrimRight(strings.NewReplacer("\u00a0", "", " ", "").Replace(m[1]), ".,:h")
	if hours, minutes, ok := strings.Cut(strings.ReplaceAll(s, "h", ":"), ":"); ok {
		h, err := strconv.Atoi(hours)
		min, err2 := strconv.Atoi(minutes)
		return float64(60*h + min), err == nil && err2 == nil
	}
	if i := strings.LastIndexAny(s, ".,"); i >= 0 { // one or two digits after the last mark are decimals
		whole := strings.NewReplacer(".", "", ",", "").Replace(s[:i])
		if digits := s[i+1:]; len(digits) <= 2 {
			s = whole + "." + digits
		} else {
			s = whole + digits
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
