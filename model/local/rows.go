package local

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// weighRow computes the features of a row.
func (q *question) weighRow(c *sentence) {
	e := &c.evid
	e[isRow], e[figure] = 1, value(q.kind == numberKind || q.kind == timeKind)
	if q.kind != definitionKind || q.isSubject(c.cells[0]) {
		e[rowKey], e[rowExact] = e[own], q.cellPrecision(c)
	}
	columns := make([]float64, len(q.terms))
	for _, name := range c.columns {
		q.mark(columns, name)
	}
	e[rowColumn] = q.share(columns)
	if x := q.task.In(c.cells[0]); x >= minCommand {
		e[isRequested] = x
	}
}

// maxCells is the maximum number of cells of a row that is quoted in whole because it meets a condition of the question.
const maxCells = 5

// rows returns a row of a table, and the other rows of the table that match the question as well.
func (q *question) rows(best *sentence, readings []*passageView) []*sentence {
	most := 3
	if q.kind == listKind || q.listed || best.met {
		most = maxRows
	}
	if best.counted {
		return count(q.alike(best, readings))
	}
	only := q.columnsOf(best)
	if best.met && len(best.cells) <= maxCells && !q.onlyAbout(best.cells[0]) {
		only = nil // any of them can be the thing that is asked for
	}
	var out []*sentence
	for _, c := range q.alike(best, readings) {
		if len(out) >= most && c != best {
			continue
		}
		one := *c
		if text, ok := rowText(c.columns, c.cells, only); ok {
			one.text = text
		}
		if len(out) == 0 {
			q.addPrefix(&one)
		}
		out = append(out, &one)
	}
	return out
}

// alike returns a row with the others of its table that meet the same condition or, if the question states none, that match it as well in the same passage.
func (q *question) alike(best *sentence, readings []*passageView) (out []*sentence) {
	if best.met {
		for _, r := range readings {
			for _, c := range r.cs {
				if c.met && c.table == best.table {
					out = append(out, c)
				}
			}
		}
		return out
	}
	named := q.cellPrecision(best)
	for _, c := range readings[best.passage].cs {
		if c == best || c.row && c.group == best.group && c.score > best.score-maxBehind && sameCover(c.exact, best.exact) && c.evid[rowKey] >= best.evid[rowKey]/2 &&
			best.evid[rowKey] > 0 && best.evid[inRange] == 0 && q.cellPrecision(c) >= named {
			out = append(out, c)
		}
	}
	return out
}

// maxBehind is by how much the score of a row may be lower than that of the best one, to be said with it.
const maxBehind = 1.5

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
		isNamed := func(t string) bool {
			i, ok := q.index[t]
			return ok && (k == 0 || !columns[i])
		}
		most = max(most, shareThat(isNamed, stemsIn(q.lang, cell)), withDetails*shareThat(isNamed, stemsIn(q.lang, nameOf(cell))))
	}
	return most
}

// withDetails is how exactly a cell names something whose name it begins with: LED panel 62x62, 36 W.
const withDetails = 0.8

// shareThat returns the share of the words that pass a test; 0 if there are none.
func shareThat(pass func(string) bool, words []string) float64 {
	n := 0
	for _, w := range words {
		if pass(w) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}

// detailRE matches what may follow the name in a cell.
var detailRE = regexp.MustCompile(`,? [0-9].*$|[,(].*$`)

// nameOf returns a cell without what follows the name in it.
func nameOf(cell string) string {
	name := detailRE.ReplaceAllString(cell, "")
	if wordRE.MatchString(name) {
		return name
	}
	return cell
}

// columnsOf returns the columns of a row that answer the question, and those with terms of it. These are the columns whose names have a term, or the
// thing that is asked for, but whose cells have none. It returns nil for all columns, if there is no such column.
func (q *question) columnsOf(c *sentence) []int {
	if i := q.momentColumn(c); i > 0 {
		return []int{i}
	}
	var only, named []int
	answers := false
	_, counts := q.counted()
	for i := 1; i < len(c.cells); i++ {
		name, cell := make([]float64, len(q.terms)), make([]float64, len(q.terms))
		if i < len(c.columns) {
			q.mark(name, c.columns[i])
		}
		q.mark(cell, c.cells[i])
		switch {
		case q.share(cell) > 0:
			only = append(only, i)
		case (q.share(name) > 0 || q.measuredColumn(c, i) || i < len(c.columns) && (q.asksFor(c.columns[i]) || counts && q.isQuantity(c.columns[i]))) && c.cells[i] != "":
			answers = true
			named = append(named, i)
		}
	}
	if !answers {
		return nil
	}
	only = append(only, q.mostNumbers(c, named)...)
	if i := nameColumn(c.cells); i > 0 && !slices.Contains(only, i) {
		only = append(only, i)
	}
	return only
}

// asksFor reports whether the name of a column is a question word of the question, or the preposition before one: who, by (when).
func (q *question) asksFor(column string) bool {
	column = strings.ToLower(column)
	for i, w := range q.words {
		if w.Text == column && (q.lang.Has(lang.QuestionWords, column) || i+1 < len(q.words) && q.lang.Has(lang.QuestionWords, q.words[i+1].Text)) {
			return true
		}
	}
	return false
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
