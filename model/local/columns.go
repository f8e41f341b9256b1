package local

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// loneNumber is a number of a question that stands alone, as in 600 cartons.
type loneNumber struct {
	term  int // its index in terms
	value float64
}

// loneNumberRE matches a word that is a number, with groups of thousands or without.
var loneNumberRE = regexp.MustCompile(`^(?:[0-9]{1,3}(?:[,.’'][0-9]{3})+|[0-9]+)[?!.,;:]*$`)

// loneNumbersIn returns the numbers of a question that are words of their own, and no part of a code such as CB-210.
func (q *question) loneNumbersIn() (out []loneNumber) {
	for _, word := range strings.Fields(q.text) {
		if !loneNumberRE.MatchString(word) {
			continue
		}
		value, err := strconv.ParseFloat(onlyDigits.Replace(word), 64)
		if err != nil {
			continue
		}
		if i, ok := q.index[q.stem(strings.ToLower(strings.TrimRight(word, "?!.,;:")))]; ok {
			out = append(out, loneNumber{i, value})
		}
	}
	return out
}

// priceOfRE matches a number with a currency.
var priceOfRE = regexp.MustCompile(`[€$£¥₺₽] ?([0-9]+)\b|\b([0-9]+) ?(?:[€$£¥₺₽]|(?:EUR|USD|GBP|CHF)\b)`)

// isPrice reports whether a text has a term of the question, a number, only in prices, and the question names no price: room 5 is not 5 €.
func (q *question) isPrice(term int, text string) bool {
	if len(q.loneNumbers) == 0 || !slices.ContainsFunc(q.loneNumbers, func(n loneNumber) bool { return n.term == term }) || priceOfRE.MatchString(q.text) {
		return false
	}
	rest := priceOfRE.ReplaceAllString(text, " ")
	return rest != text && !slices.ContainsFunc(lang.Words(rest), func(w lang.Token) bool { return w.Text == q.terms[term].Word })
}

var onlyDigits = strings.NewReplacer(",", "", ".", "", "’", "", "'", "", "?", "", "!", "", ";", "", ":", "")

// markColumn is mark for the name of a column. A range has the numbers of the question that are in it, as 500-999 has 600, and an abbreviation the words that
// begin with it, as Ext. has extension.
func (q *question) markColumn(dst []float64, name string) {
	q.mark(dst, name)
	if len(q.loneNumbers) > 0 {
		if from, to, ok := columnRange(q.lang, name); ok {
			for _, c := range q.loneNumbers {
				if c.value >= from && c.value <= to {
					dst[c.term] = 1
				}
			}
		}
	}
	for word := range strings.FieldsSeq(strings.ToLower(name)) {
		short, ok := strings.CutSuffix(word, ".")
		if !ok || len(short) < minAbbreviation {
			continue
		}
		for i, t := range q.terms {
			if len(t.Word) > len(short)+1 && strings.HasPrefix(t.Word, short) {
				dst[i] = 1
			}
		}
	}
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

// minAbbreviation is the minimum length of an abbreviation in bytes.
const minAbbreviation = 3

// plusRE matches a range without an upper bound: 1000+.
var plusRE = regexp.MustCompile(`^([0-9][0-9.,’']*) ?\+`)

// columnRange returns the range of numbers in the name of a column: 100-499, 1,000+, up to 5.
func columnRange(l *lang.Language, name string) (from, to float64, ok bool) {
	if m := plusRE.FindStringSubmatch(name); m != nil {
		from, err := strconv.ParseFloat(onlyDigits.Replace(m[1]), 64)
		return from, unbounded, err == nil
	}
	return rangeOf(l, name)
}
