package local

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// counts reports whether a question asks how many rows of a table there are, or how many meet a condition: the first column, the heading or a whole cell names
// what is counted, and no number stands before it in a cell or under its name. A cell does so only in a table without quantities: how many hammers are there?
func (q *question) counts(rows []*sentence) bool {
	thing, ok := q.counted()
	if !ok || q.bound == nil && len(q.numbers) > 0 { // a number of the question may be in any cell
		return false
	}
	holds := func(texts ...string) bool {
		return slices.ContainsFunc(stemsIn(q.lang, strings.Join(texts, " ")), func(s string) bool {
			i, x := q.match(s)
			return i == thing && x > 0
		})
	}
	for _, i := range q.numericColumns(rows) {
		if i > 0 && i < len(rows[0].columns) && holds(rows[0].columns[i]) {
			return false
		}
	}
	named := holds(rows[0].heading, rows[0].lead) || len(rows[0].columns) > 0 && holds(rows[0].columns[0])
	hasQuantities := slices.ContainsFunc(rows[0].columns, q.isQuantity)
	for _, c := range rows {
		for _, cell := range c.cells {
			if !holds(cell) {
				continue
			}
			if strings.ContainsAny(cell, "0123456789") {
				return false
			}
			named = named || !hasQuantities && q.onlyAbout(cell)
		}
	}
	return named
}

// explained reports whether a row, with what stands over it, has all terms of the question that are not vague.
func (q *question) explained(c *sentence) bool {
	for i, t := range q.terms {
		if max(c.exact[i], c.over[i]) == 0 && !isVague(t.Word) {
			return false
		}
	}
	return true
}

// ofKind returns the selected rows that have each term of the question that any row of the table has: the sail boats among the boats that need a licence.
func (q *question) ofKind(met, rows []*sentence) []*sentence {
	met = slices.Clone(met)
	for i := range q.terms {
		if has := func(c *sentence) bool { return c.exact[i] > 0 }; slices.ContainsFunc(rows, has) && !slices.Contains(q.numbers, i) {
			met = slices.DeleteFunc(met, func(c *sentence) bool { return !has(c) })
		}
	}
	return met
}

// counted returns the term after how many.
func (q *question) counted() (term int, ok bool) {
	w, term := q.termAfter(lang.AsksCount)
	return term, w != "" && !q.isUnit(w)
}

// termAfter returns the first word after a phrase of a section that is a term, with its term, in a question for a number. Words that are vague do not count.
func (q *question) termAfter(section lang.Section) (word string, term int) {
	if q.kind != numberKind {
		return "", 0
	}
	text := strings.ToLower(q.text)
	for _, p := range q.lang.List(section) {
		at := strings.Index(text, p)
		if at < 0 {
			continue
		}
		for _, w := range q.words {
			if i, is := q.index[q.stem(w.Text)]; is && w.Start >= at+len(p) && q.plain[i] > 0 && !(q.lang == lang.English && isVague(w.Text)) {
				return w.Text, i
			}
		}
	}
	return "", 0
}

// inParenthesesRE matches what names of columns have in parentheses, such as a unit.
var inParenthesesRE = regexp.MustCompile(`\s*\([^)]*\)`)

// isQuantity reports whether the name of a column only says that it has quantities: Quantity (pcs), Stock.
func (q *question) isQuantity(column string) bool {
	name := strings.ToLower(strings.Trim(inParenthesesRE.ReplaceAllString(column, ""), " .:"))
	return q.lang.Has(lang.Quantities, name)
}

// amountOf returns the term of the thing whose amount the question asks for: how many eggs, how much butter. It returns -1 if it asks for none.
func (q *question) amountOf() int {
	if term, ok := q.counted(); ok {
		return term
	}
	if w, term := q.termAfter(lang.AsksAmount); w != "" && q.measure == nil {
		return term
	}
	return -1
}

// maxBeforeThing is the maximum number of words between a number and the thing of which it is the amount, with the last one: 200 g dark chocolate.
const maxBeforeThing = 3

// plainNumberRE matches a number without letters.
var plainNumberRE = regexp.MustCompile(`^[0-9]+(?:[.,][0-9]+)*$`)

// holdsAmount reports whether a sentence has a number directly before the thing whose amount the question asks for, or as the value of its row or label.
func (q *question) holdsAmount(c *sentence) bool {
	if q.amountTerm < 0 {
		return false
	}
	isThing := func(word string) bool { i, x := q.match(q.stem(word)); return x == 1 && i == q.amountTerm }
	name, value, _ := strings.Cut(c.own, ": ")
	if c.row {
		name, value = c.cells[0], strings.Join(c.cells[1:], " ")
	}
	if c.row || c.label {
		named := slices.ContainsFunc(lang.Words(name), func(w lang.Token) bool { return isThing(w.Text) })
		return named && strings.ContainsAny(value, "0123456789")
	}
	text := numberingRE.ReplaceAllString(c.own, "")
	words := lang.Words(text)
	for k, w := range words {
		if _, counts := q.lang.Number(lang.Counts, w.Text); !counts && (!plainNumberRE.MatchString(w.Text) || yearRE.MatchString(w.Text)) {
			continue
		}
		if k > 1 && startsUpper(text[words[k-1].Start:]) {
			continue // chapter 3, May 4
		}
		for n, next := range words[k+1 : min(len(words), k+1+maxBeforeThing)] {
			if isThing(next.Text) {
				return true
			}
			if n > 0 && q.lang.IsStopWord(next.Text) {
				break // 3 eggs for the cake
			}
		}
	}
	return false
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

func isVague(word string) bool {
	_, ok := vague[lang.Stem(word)]
	return ok
}

// figuresRE matches a number with its separators.
var figuresRE = regexp.MustCompile(`[0-9][0-9.,]*`)

// bound is a range of numbers that a question names, such as less than 50.
type bound struct {
	from, to float64
	open     bool     // its ends do not belong to it
	measure  *measure // the quantity of its unit; nil: none
}

// boundOf returns the first range of numbers that a question names, or nil.
func (q *question) boundOf() *bound {
	for window, b := range rangesIn(q.lang, q.text, q.words) {
		if i := slices.IndexFunc(measures, func(m *measure) bool { return m.in(q.lang, window) }); i >= 0 {
			b.measure = measures[i]
		}
		return &b
	}
	return nil
}

// rangesIn returns the ranges of numbers that a text names, each with the words around its number. words are those of the text.
func rangesIn(l *lang.Language, text string, words []lang.Token) iter.Seq2[string, bound] {
	return func(yield func(string, bound) bool) {
		for _, at := range figuresRE.FindAllStringIndex(text, 4) {
			first, last := at[0], at[1]
			for k, w := range words {
				if w.Start <= at[0] && at[0] < w.End {
					near := words[max(0, k-3):min(len(words), k+4)]
					first, last = min(first, near[0].Start), max(last, near[len(near)-1].End)
				}
			}
			window := text[first:last]
			x, isNumber := number(text[at[0]:at[1]])
			from, to, ok := rangeOf(l, window)
			if !ok || !isNumber {
				continue
			}
			switch {
			case from == 0:
				to = x
			case to >= unbounded:
				from = x
			}
			if !yield(window, bound{from: from, to: to, open: l.HasPhrase(lang.Smaller, window) || l.HasPhrase(lang.Greater, window)}) {
				return
			}
		}
	}
}

// unbounded is the end of a range without one.
const unbounded = 1e12

// comparedValue returns the rows whose number is in the range that the question names: which rooms cost less than 50 euros?
func (q *question) comparedValue(rows []*sentence) (met []*sentence) {
	if q.bound == nil {
		return nil
	}
	column := q.valueColumn(rows)
	if column < 0 && q.bound.measure != nil {
		column = slices.IndexFunc(rows[0].cells, func(cell string) bool { return q.bound.measure.in(q.lang, cell) })
	}
	for _, c := range rows {
		x, isNumber := q.valueOf(c, column)
		if isNumber && (x > q.bound.from && x < q.bound.to || !q.bound.open && (x == q.bound.from || x == q.bound.to)) {
			met = append(met, c)
		}
	}
	return met
}

// namedRows returns the rows whose names the question has, if there are several: which is dearer, the canoe or the tent? A row whose name is a part of
// another one that is named does not count.
func (q *question) namedRows(rows []*sentence) (met []*sentence) {
	var names [][]string
	for _, c := range rows {
		name := c.cells[nameColumn(c.cells)]
		if q.onlyAbout(name) && q.before.saysNow(stemsIn(q.lang, name)) {
			met, names = append(met, c), append(names, stemsIn(q.lang, name))
		}
	}
	for i := range names {
		for k := range names {
			if i != k && !slices.ContainsFunc(names[i], func(s string) bool { return !slices.Contains(names[k], s) }) {
				return nil
			}
		}
	}
	if len(met) == 0 || len(met) == 1 && !q.isMentioned(met[0], rows) {
		return nil
	}
	return met
}

// isMentioned reports whether other rows have the first cell of a row in another cell, and the question asks for a cell of its own: the number of Jan Wirtz is in
// his row, and not in that of the colleague for whom he stands in.
func (q *question) isMentioned(row *sentence, rows []*sentence) bool {
	if q.kind == personKind {
		return false // who stands in for him, or for whom he does
	}
	asked := false
	for i := 1; i < len(row.cells); i++ {
		asked = asked || row.cells[i] != "" && (i < len(row.columns) && q.shareOf(row.columns[i]) > 0 || q.measuredColumn(row, i))
	}
	return asked && slices.ContainsFunc(rows, func(c *sentence) bool {
		return c != row && slices.ContainsFunc(c.cells[1:], func(cell string) bool { return cell == row.cells[0] })
	})
}

// count returns the number of rows with their names: 3: Orchard; Hilltop; Yard. The rows of each passage are one sentence, and the first has the number.
func count(rows []*sentence) (out []*sentence) {
	firsts := map[string]bool{}
	for _, c := range rows {
		firsts[c.cells[0]] = true
	}
	for k, c := range rows {
		column := 0
		if len(firsts) < len(rows) {
			column = nameColumn(c.cells)
		}
		name := strings.TrimSpace(c.cells[column])
		if k > 0 && rows[k-1].passage == c.passage {
			last := out[len(out)-1]
			last.text = strings.TrimSuffix(last.text, ".") + "; " + name + "."
			continue
		}
		one := *c
		one.text = name + "."
		if k == 0 {
			one.text = strconv.Itoa(len(rows)) + ": " + one.text
		}
		out = append(out, &one)
	}
	return out[:min(len(out), maxRows)]
}
