package local

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// loneNumber is a number of a question that is a word of its own, as in 600 cartons.
type loneNumber struct {
	term  int // its index in terms
	value float64
	unit  string // the word after it, if that is no stop word; empty: it counts nothing, as in room 5
	after bool   // a content word is directly before it, which it may number: room 5 costs
}

// maxLoneNumbers is the maximum number of them.
const maxLoneNumbers = 8

// loneNumberRE matches a word that is a number, with groups of thousands or without.
var loneNumberRE = regexp.MustCompile(`^(?:[0-9]{1,3}(?:[,.’'][0-9]{3})+|[0-9]+)$`)

// loneNumbersIn returns the numbers of a question that are words of their own, and no part of a code such as CB-210, of a date or of a time of day.
func (q *question) loneNumbersIn() (out []loneNumber) {
	words := strings.Fields(q.text)
	isContent := func(i int) bool {
		return i >= 0 && i < len(words) && !q.lang.IsStopWord(strings.ToLower(strings.Trim(words[i], "¿?!.,;:"))) && strings.ContainsFunc(words[i], unicode.IsLetter)
	}
	for i, w := range words {
		word := strings.TrimRight(w, "?!.,;:")
		if len(out) == maxLoneNumbers || !loneNumberRE.MatchString(word) {
			continue
		}
		value, err := strconv.ParseFloat(withoutGroups.Replace(word), 64)
		term, ok := q.index[q.stem(strings.ToLower(word))]
		if err != nil || !ok || slices.ContainsFunc(out, func(n loneNumber) bool { return n.term == term }) ||
			slices.ContainsFunc(q.moments, func(m moment) bool { return slices.Contains(m.terms, term) || slices.Contains(m.year, term) }) {
			continue
		}
		n := loneNumber{term: term, value: value}
		if n.after = isContent(i - 1); w == word && isContent(i+1) {
			n.unit = strings.ToLower(strings.TrimRight(words[i+1], "?!.,;:"))
		}
		out = append(out, n)
	}
	return out
}

// withoutGroups removes the marks between groups of thousands.
var withoutGroups = strings.NewReplacer(",", "", ".", "", "’", "", "'", "")

// isPrice reports whether a text has a term of the question, a number, only in prices, and the question names no price: room 5 is not 5 €.
func (q *question) isPrice(term int, text string) bool {
	if q.namesPrice || !slices.ContainsFunc(q.loneNumbers, func(n loneNumber) bool { return n.term == term }) {
		return false
	}
	rest := priceOfRE.ReplaceAllString(text, " ")
	return rest != text && !slices.ContainsFunc(lang.Words(rest), func(w lang.Token) bool { return w.Text == q.terms[term].Word })
}

// priceOfRE matches a number with a currency.
var priceOfRE = regexp.MustCompile(`[€$£¥₺₽] ?[0-9][0-9.,]*|\b[0-9][0-9.,]* ?(?:[€$£¥₺₽]|(?:EUR|USD|GBP|CHF)\b)`)

// markColumn is mark for the name of a column, with what its ranges and abbreviations stand for.
func (q *question) markColumn(dst []float64, name string) {
	q.mark(dst, name)
	q.markMeaning(dst, name)
}

// markMeaning marks what the name of a column stands for: a range for the amounts of the question that are in it, as 500-999 for 600, and an abbreviation for the
// words that begin with it, as Ext. for extension.
func (q *question) markMeaning(dst []float64, name string) {
	for _, n := range q.loneNumbers {
		if n.unit == "" {
			continue
		}
		r := q.rangeOfColumn(name)
		if n.value >= r.from && n.value <= r.to && !(n.after && r.unit == "") && (strings.HasPrefix(n.unit, r.unit) || strings.HasPrefix(r.unit, n.unit)) {
			dst[n.term] = 1
		}
	}
	if !strings.Contains(name, ".") || q.lang.Weekdays(name) != nil {
		return
	}
	for word := range strings.FieldsSeq(strings.ToLower(name)) {
		short, ok := strings.CutSuffix(word, ".")
		if !ok || len(short) < minAbbreviation || len(q.lang.Dates("1 "+short)) > 0 { // a month
			continue
		}
		for i, t := range q.terms {
			if len(t.Word) > len(short)+1 && strings.HasPrefix(t.Word, short) {
				dst[i] = 1
			}
		}
	}
}

// minAbbreviation is the minimum length of an abbreviation in bytes.
const minAbbreviation = 3

// columnRange is the range of numbers in the name of a column: 100-499, 1,000+, 4-8 h, price from 50 boxes.
type columnRange struct {
	from, to float64
	unit     string // in lower case; empty: none
}

// noRange has no number.
var noRange = columnRange{from: 1, to: 0}

var (
	columnRangeRE = regexp.MustCompile(`^(?:(<|≤|>|≥) ?)?([0-9]+)(?: ?[-–—] ?([0-9]+)| ?(\+))? ?(\pL*)\.?$`)
	unitRE        = regexp.MustCompile(`[0-9] ?(\pL+)[^0-9]*$`)
	groupsRE      = regexp.MustCompile(`\b[0-9]{1,3}(?:[,.’'][0-9]{3})+\b`)
)

// rangeOfColumn returns the range in the name of a column, or noRange.
func (q *question) rangeOfColumn(name string) columnRange {
	r, ok := q.ranges[name]
	if !ok {
		if q.ranges == nil {
			q.ranges = map[string]columnRange{}
		}
		r = q.readColumnRange(name)
		q.ranges[name] = r
	}
	return r
}

func (q *question) readColumnRange(name string) columnRange {
	name = groupsRE.ReplaceAllStringFunc(name, withoutGroups.Replace)
	m := columnRangeRE.FindStringSubmatch(name)
	if m == nil {
		from, to, ok := rangeOf(q.lang, name)
		unit := unitRE.FindStringSubmatch(name)
		if !ok || unit == nil || len(lang.Clocks(name)) > 0 {
			return noRange
		}
		return columnRange{from, to, strings.ToLower(unit[1])}
	}
	first, err := strconv.ParseFloat(m[2], 64)
	r := columnRange{from: first, to: unbounded, unit: strings.ToLower(m[5])}
	switch {
	case err != nil:
		return noRange
	case m[1] == "<" || m[1] == "≤":
		r.from, r.to = 0, first
	case m[3] != "":
		r.to, err = strconv.ParseFloat(m[3], 64)
	case m[1] == "" && m[4] == "":
		return noRange // a number
	}
	if err != nil || r.to < r.from {
		return noRange
	}
	return r
}

// asksEmptyCell reports whether a question names columns of a row, of which all cells are empty: the mobile number of somebody without one.
func (q *question) asksEmptyCell(row *sentence) bool {
	if !row.row || row.met || row.counted || q.whether || q.listed || q.broad || q.kind == listKind {
		return false
	}
	all := make([]int, len(row.cells))
	for i := range all {
		all[i] = i
	}
	named := q.namedColumns(row, all[1:])
	return len(named) > 0 && !slices.ContainsFunc(named, func(c columnNamed) bool { return row.cells[c.column] != "" })
}
