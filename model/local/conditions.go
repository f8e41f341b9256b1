package local

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// selectRows marks the rows of each table that meet a condition of the question on their cells, and those that do not.
func (q *question) selectRows(passages []model.Passage, byPassage [][]*sentence) {
	if q.open || q.broad {
		return
	}
	for _, rows := range tablesOf(passages, byPassage) {
		whole := !slices.ContainsFunc(rows, func(c *sentence) bool { return passages[c.passage].Cut })
		met := q.selected(rows, whole)
		if met == nil {
			continue
		}
		counted := whole && q.counts(rows)
		if of := q.ofKind(met, rows); counted && len(of) > 0 {
			met = of
		} else {
			counted = false
		}
		for _, c := range met {
			c.met, c.counted = true, counted
		}
		for _, c := range rows {
			c.evid[inRange], c.evid[outOfRange] = value(c.met), value(!c.met)
		}
	}
}

// tablesOf returns the rows of each table. A long table goes on in the next passage of the document, if that begins with a row with the same columns.
func tablesOf(passages []model.Passage, byPassage [][]*sentence) (tables [][]*sentence) {
	var last *sentence
	for i, follows := range inOrder(passages) {
		if !follows {
			last = nil
		}
		for _, c := range byPassage[i] {
			if c.row {
				goesOn := last != nil && last.row && (last.passage == c.passage && last.group == c.group ||
					last.passage != c.passage && c.at == 0 && last.heading == c.heading && c.columns != nil && slices.Equal(last.columns, c.columns))
				if !goesOn {
					tables = append(tables, nil)
				}
				c.table = len(tables)
				tables[len(tables)-1] = append(tables[len(tables)-1], c)
			}
			last = c
		}
	}
	return tables
}

// maxKeyLoss is the maximum difference in [question.keyShare] between the best row and a row that is compared with it.
const maxKeyLoss = 0.15

// selected returns the rows that meet a condition of the question: less in one column than in another, a cell that says yes or no, or the greatest or
// smallest value, which only a whole table shows. It returns nil if the question states no such condition, or all or no rows meet it.
func (q *question) selected(rows []*sentence, whole bool) []*sentence {
	if len(rows) < 2 {
		return nil
	}
	if met := q.sameTrip(rows); met != nil {
		return met
	}
	if named := q.namedRows(rows); named != nil && len(named) < len(rows) {
		return named
	}
	counts := whole && q.counts(rows)
	most := 0.0
	for _, c := range rows {
		most = max(most, q.keyShare(c))
	}
	of := slices.DeleteFunc(slices.Clone(rows), func(c *sentence) bool { return q.isTotal(c) || q.keyShare(c) < most-maxKeyLoss })
	if len(of) == 0 {
		return nil
	}
	conditions := []func([]*sentence) []*sentence{q.comparedColumns}
	if q.listed || q.kind == listKind || counts {
		conditions = append(conditions, q.comparedValue, q.onDays)
	}
	if whole {
		conditions = append(conditions, q.extremes)
	}
	conditions = append(conditions, func(rows []*sentence) []*sentence { return q.answeredCells(rows, counts) })
	for _, condition := range conditions {
		if met := condition(of); 0 < len(met) && len(met) < len(rows) {
			return met
		}
	}
	if counts && !slices.ContainsFunc(of, func(c *sentence) bool { return !q.explained(c) }) {
		return of // those of the kind that is counted
	}
	return nil
}

// keyShare returns the share of the question's terms that are in the cells of a row, and not in the title, the headings or the names of the columns, which
// all rows have. The adjective of a superlative is no key: the hut Grand Berc is not the one with le plus grand dénivelé.
func (q *question) keyShare(c *sentence) float64 {
	sum := 0.0
	for i, w := range q.plain {
		if c.over[i] == 0 && !q.superlative[i] && !(q.bound != nil && slices.Contains(q.numbers, i)) {
			sum += w * c.exact[i]
		}
	}
	return sum / max(q.plainTotal, 1e-9)
}

// isTotal reports whether a row has the sums of the others.
func (q *question) isTotal(c *sentence) bool {
	words := lang.Words(lang.Truncate(c.cells[0], 80))
	return len(words) > 0 && q.lang.Has(lang.Totals, words[0].Text)
}

// columnNamed is a column whose name has terms of the question.
type columnNamed struct {
	column int
	at     int // position in the question of its first term that no other such column has
}

// comparedColumns returns the rows whose number in one column is less than that in another, or greater: which items are below their minimum stock,
// which fees are higher in 2025 than in 2024?
func (q *question) comparedColumns(rows []*sentence) (met []*sentence) {
	sign, at, than := 0.0, 0, false
	for k, w := range q.words {
		switch {
		case q.lang.Has(lang.Smaller, w.Text):
			sign, at = -1, k
		case q.lang.Has(lang.Greater, w.Text):
			sign, at = 1, k
		case sign != 0 && q.lang.Has(lang.Than, w.Text):
			at, than = k, true
		}
	}
	numeric := q.numericColumns(rows)
	if sign == 0 || len(numeric) < 2 {
		return nil
	}
	named := q.namedColumns(rows[0], numeric)
	b := slices.IndexFunc(named, func(c columnNamed) bool { return c.at > at })
	if b < 0 || than && len(named) < 2 {
		return nil
	}
	var a int
	switch others := slices.Delete(slices.Clone(named), b, b+1); {
	case len(others) > 0:
		a = others[0].column
	case slices.Contains(numeric, named[b].column-1):
		a = named[b].column - 1
	case slices.Contains(numeric, named[b].column+1):
		a = named[b].column + 1
	default:
		return nil
	}
	for _, c := range rows {
		x, okX := q.valueOf(c, a)
		y, okY := q.valueOf(c, named[b].column)
		if okX && okY && sign*(x-y) > 0 {
			met = append(met, c)
		}
	}
	return met
}

// namedColumns returns the columns whose names have terms of the question, in the order in which it names them.
func (q *question) namedColumns(row *sentence, columns []int) (out []columnNamed) {
	holders, most := make([]int, len(q.terms)), make([]float64, len(q.terms))
	names := map[int][]float64{}
	for _, i := range columns {
		if i >= len(row.columns) {
			continue
		}
		names[i] = make([]float64, len(q.terms))
		q.mark(names[i], row.columns[i])
		for k, x := range names[i] {
			most[k] = max(most[k], x)
		}
	}
	isNamed := func(i, term int) bool { return names[i][term] > 0 && names[i][term] == most[term] } // the minimum stock, and not the stock
	for i := range names {
		for k := range holders {
			if isNamed(i, k) {
				holders[k]++
			}
		}
	}
	for _, i := range columns {
		for k, w := range q.words {
			if t, ok := q.index[q.stem(w.Text)]; ok && names[i] != nil && isNamed(i, t) && holders[t] == 1 {
				out = append(out, columnNamed{i, k})
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b columnNamed) int { return a.at - b.at })
	return out
}

// numericColumns returns the columns that hold numbers or dates in more than half of the rows.
func (q *question) numericColumns(rows []*sentence) (out []int) {
	for i := range rows[0].cells {
		n := 0
		for _, c := range rows {
			if _, ok := q.valueOf(c, i); ok {
				n++
			}
		}
		if 2*n > len(rows) {
			out = append(out, i)
		}
	}
	return out
}

// valueOf returns the number in a cell; that of a date grows with time.
func (q *question) valueOf(c *sentence, column int) (float64, bool) {
	if column < 0 || column >= len(c.cells) {
		return 0, false
	}
	if dates := q.lang.Dates(c.cells[column]); len(dates) > 0 && dates[0].Day > 0 {
		return float64((dates[0].Year*12+dates[0].Month)*31 + dates[0].Day), true
	}
	if !figureRE.MatchString(c.cells[column]) {
		return 0, false
	}
	return number(c.cells[column])
}

// figureRE matches a cell with a number, and not a code such as A-03.
var figureRE = regexp.MustCompile(`^[^\pL0-9]{0,4}(?:EUR|USD|GBP|CHF)?[^\pL0-9]{0,4}[0-9]`)

// answeredCells returns the rows whose cell in a column of the question says no, for a question with a negation, or else yes: which parts are out of
// stock, which rooms have a balcony? A cell without a value says no.
func (q *question) answeredCells(rows []*sentence, counts bool) (met []*sentence) {
	absent := q.negated || q.lang.HasPhrase(lang.Absent, q.text)
	column, most := -1, 0.0
	for i := 1; i < len(rows[0].cells); i++ {
		no, yes, asked := 0, 0, make([]float64, len(q.terms))
		if i < len(rows[0].columns) {
			q.mark(asked, rows[0].columns[i])
		}
		for _, c := range rows {
			if i >= len(c.cells) {
				continue
			}
			switch cell := strings.ToLower(c.cells[i]); {
			case q.saysNo(cell):
				no++
			case q.lang.Has(lang.Yes, cell):
				yes++
			}
		}
		if x := q.share(asked); x > most && no > 0 && no < len(rows) && (absent || no+yes == len(rows)) {
			column, most = i, x
		}
	}
	if column < 0 || !absent && !counts && (q.measure != nil || q.kind == numberKind || q.kind == timeKind) {
		return nil
	}
	for _, c := range rows {
		cell := ""
		if column < len(c.cells) {
			cell = strings.ToLower(c.cells[column])
		}
		if absent == q.saysNo(cell) {
			met = append(met, c)
		}
	}
	return met
}

// saysNo reports whether a lower-cased cell says that something is not there.
func (q *question) saysNo(cell string) bool {
	return q.lang.Has(lang.No, cell) || blankRE.MatchString(cell)
}

// blankRE matches a cell without a value, and one with the number 0 or a mark for no.
var blankRE = regexp.MustCompile(`^[\s–—−-]*$|^0$|^[✗✘×]$`)

// extremes returns the rows with the greatest or the smallest value, if the question asks for it: the last boat, the cheapest room. The value is in the
// column that the question names, in the only one with years or dates for the oldest or the newest, or in the only column of numbers.
func (q *question) extremes(rows []*sentence) (met []*sentence) {
	sign := q.extreme()
	if sign == 0 || len(rows) < 2 {
		return nil
	}
	if of := q.answeredCells(rows, true); len(of) > 0 { // the cheapest one with a balcony
		rows = of
	}
	column := q.valueColumn(rows)
	if age := q.signOf(lang.Old, lang.New); age != 0 { // the oldest has the earliest year
		if i := q.yearColumn(rows); i >= 0 {
			column, sign = i, age
		}
	}
	most := math.Inf(-1)
	for _, c := range rows {
		v, ok := q.valueOf(c, column)
		if !ok || sign*v < most {
			continue
		}
		if sign*v > most {
			met, most = nil, sign*v
		}
		met = append(met, c)
	}
	return met
}

// extreme returns 1 if the question asks for the greatest or the last, -1 if it asks for the smallest or the first, and 0 if it asks for neither. The adjective
// after a word that only makes a superlative decides: le plus court, самая дешёвая.
func (q *question) extreme() float64 {
	for i, w := range q.words {
		switch least := q.lang.Has(lang.Least, w.Text); {
		case !least && !q.lang.Has(lang.Most, w.Text):
		case least || q.isSuperlative(i+1) && (q.lang.Has(lang.Least, q.words[i+1].Text) || q.lang.Has(lang.Little, q.words[i+1].Text)):
			return -1
		default:
			return 1
		}
	}
	return 0
}

// isSuperlative reports whether the word of the question at an index follows one that makes a superlative of it.
func (q *question) isSuperlative(i int) bool {
	return 0 < i && i < len(q.words) && q.lang.Has(lang.Superlative, q.words[i-1].Text)
}

// signOf returns -1 or 1 for the first word of the question that one of two sections has, and 0 if there is none.
func (q *question) signOf(negative, positive lang.Section) float64 {
	for _, w := range q.words {
		switch {
		case q.lang.Has(negative, w.Text):
			return -1
		case q.lang.Has(positive, w.Text):
			return 1
		}
	}
	return 0
}

// measureOfExtreme returns the quantity that a superlative of the question is about, such as that of cheapest or of what takes longest; nil if there is none.
func (q *question) measureOfExtreme() *measure {
	for i, w := range q.words {
		if !q.lang.Has(lang.Least, w.Text) && !q.lang.Has(lang.Most, w.Text) && !q.isSuperlative(i) {
			continue
		}
		for _, m := range measures {
			if m.words != "" && q.lang.Has(m.words, w.Text) {
				return m
			}
		}
	}
	if q.hasWord(q.text, lang.Lasts) {
		return duration
	}
	return nil
}

// yearColumn returns the only column with years or dates in more than half of the rows; -1 if there is none or there are several.
func (q *question) yearColumn(rows []*sentence) int {
	found := -1
	for i := range rows[0].cells {
		n := 0
		for _, c := range rows {
			if i < len(c.cells) && (wholeYearRE.MatchString(c.cells[i]) || len(q.lang.Dates(c.cells[i])) > 0) {
				n++
			}
		}
		if 2*n <= len(rows) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// wholeYearRE matches a cell that is a year.
var wholeYearRE = regexp.MustCompile(`^(?:1[0-9]{3}|20[0-9]{2})$`)

// valueColumn returns the column of numbers that the question names, or the only one; -1 if there is none or there are several.
func (q *question) valueColumn(rows []*sentence) int {
	columns, ofExtreme := q.numericColumns(rows), q.measureOfExtreme()
	if len(columns) > 1 && columns[0] == 0 {
		columns = columns[1:] // numbers of the rows
	}
	named, most := -1, 0.0
	for _, i := range columns {
		covers := make([]float64, len(q.terms))
		if i < len(rows[0].columns) {
			q.mark(covers, rows[0].columns[i])
		}
		x := q.share(covers)
		if q.measuredColumn(rows[0], i) {
			x += 0.5
		}
		if ofExtreme != nil && i < len(rows[0].columns) && ofExtreme.names(q.lang, fileName.Replace(rows[0].columns[i])) {
			x++
		}
		if x > most {
			named, most = i, x
		}
	}
	if named < 0 && len(columns) == 1 {
		return columns[0]
	}
	return named
}

// numberIn matches the first number or time of day of a cell.
var numberIn = regexp.MustCompile(`^([^0-9]{0,12})([0-9][0-9.,:h\x{00a0} ]*)`)

// negativeRE matches what is before a number below zero: a minus, or the parenthesis of accounts, and a currency.
var negativeRE = regexp.MustCompile(`^\s*(?:\p{Sc}|[A-Z]{3})?\s?(?:[-−–]|\()\s?(?:\p{Sc}|[A-Z]{3})?\s?$`)

// number returns the value of a cell that begins with a number, after a currency at most. A time of day is in minutes.
func number(cell string) (float64, bool) {
	m := numberIn.FindStringSubmatch(cell)
	if m == nil {
		return 0, false
	}
	s := strings.TrimRight(strings.NewReplacer("\u00a0", "", " ", "").Replace(m[2]), ".,:")
	if hours, whole := strings.CutSuffix(s, "h"); whole && !strings.ContainsAny(hours, ".,:h") {
		s = hours + ":00" // 8 h
	}
	s = strings.TrimRight(s, "h")
	if hours, minutes, ok := strings.Cut(strings.ReplaceAll(s, "h", ":"), ":"); ok {
		h, err := strconv.Atoi(hours)
		min, err2 := strconv.Atoi(minutes)
		return float64(60*h + min), err == nil && err2 == nil
	}
	if i := strings.LastIndexAny(s, ".,"); i >= 0 { // one or two digits after the last mark are decimals, and all after a zero
		whole := strings.NewReplacer(".", "", ",", "").Replace(s[:i])
		if digits := s[i+1:]; len(digits) <= 2 || whole == "0" {
			s = whole + "." + digits
		} else {
			s = whole + digits
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if negativeRE.MatchString(m[1]) {
		v = -v
	}
	return v, err == nil
}
