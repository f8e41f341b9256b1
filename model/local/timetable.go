package local

import (
	"math"
	"slices"

	"github.com/sluice-rag/sluice/lang"
)

// timeIn returns the time of day of a cell, in minutes; ok is false if it has none, or several.
func timeIn(c *sentence, column int) (minute int, ok bool) {
	if column >= len(c.cells) {
		return 0, false
	}
	clocks := lang.Clocks(c.cells[column])
	if len(clocks) != 1 {
		return 0, false
	}
	return clocks[0].Minute, true
}

// isTrip reports whether a row of a timetable has the times of a place: two or more, in all cells but the first that are not blank.
func isTrip(c *sentence) bool {
	n := 0
	for i := 1; i < len(c.cells); i++ {
		if _, ok := timeIn(c, i); ok {
			n++
		} else if !blankRE.MatchString(c.cells[i]) && c.cells[i] != "|" {
			return false
		}
	}
	return n > 1
}

// maxNamedTrips limits the rows with the time of day of a question that are compared with all others. Few rows of a timetable have the same time.
const maxNamedTrips = 16

// sameTrip returns the row of a timetable with the place that the question asks about, if another row has the time of day that it names: when does the 12:30 bus
// get to the hospital? It sets the column of that time. It returns nil for other questions and tables.
func (q *question) sameTrip(rows []*sentence) []*sentence {
	if q.kind != timeKind && q.kind != anyKind || !q.namesTime() {
		return nil
	}
	var trips []*sentence
	var places [][]float64 // coverage of the terms by the first cell of each trip
	for _, c := range rows {
		if isTrip(c) {
			covers := make([]float64, len(q.terms))
			q.mark(covers, c.cells[0])
			trips, places = append(trips, c), append(places, covers)
		}
	}
	var best *sentence
	most, column, named := 0.0, 0, 0
	for k, c := range trips {
		at := q.momentIn(c)
		if at == 0 {
			continue
		}
		if named++; named > maxNamedTrips {
			break
		}
		from := q.share(places[k])
		for n, o := range trips {
			if n == k || at >= len(o.cells) {
				continue
			}
			if gain := q.share(places[k], places[n]) - from; gain > most {
				best, most, column = o, gain, at
			}
		}
	}
	if best == nil {
		return nil
	}
	best.moment = column
	return []*sentence{best}
}

// namesTime reports whether the question names a time of day.
func (q *question) namesTime() bool {
	return slices.ContainsFunc(q.moments, func(x moment) bool { return x.minute >= 0 })
}

// momentIn returns the column of a row with a time of day that the question names; 0 if there is none.
func (q *question) momentIn(c *sentence) int {
	for i := 1; i < len(c.cells); i++ {
		if minute, ok := timeIn(c, i); ok && slices.ContainsFunc(q.moments, func(x moment) bool { return x.minute == minute }) {
			return i
		}
	}
	return 0
}

// momentColumn returns the column of a row of a timetable that answers the question: that of the trip that it names, or the first or the last one, of those on the
// days that the question names. It returns 0 if there is none.
func (q *question) momentColumn(c *sentence) int {
	if c.moment > 0 {
		return c.moment
	}
	sign := q.extreme()
	if sign == 0 || q.kind != timeKind || !isTrip(c) {
		return 0
	}
	column, most := 0, math.Inf(-1)
	byDay := len(c.columns) > 1 && slices.ContainsFunc(c.columns[1:], q.statesDays)
	for i := 1; i < len(c.cells); i++ {
		minute, ok := timeIn(c, i)
		if ok && sign*float64(minute) > most && (!byDay || i < len(c.columns) && q.statesDays(c.columns[i])) {
			column, most = i, sign*float64(minute)
		}
	}
	return column
}

// onDays returns the rows about one of the days of the week that the question names, of a table with a column of days: which classes are on Wednesday? It
// returns nil for a question that names a time of day too, or is negated.
func (q *question) onDays(rows []*sentence) (met []*sentence) {
	if !q.namesDays || q.namesTime() || q.negated {
		return nil
	}
	var asked lang.Weekdays
	for _, x := range q.moments {
		asked |= x.days
	}
	for i, name := range rows[0].columns {
		if !slices.ContainsFunc(lang.Words(name), func(w lang.Token) bool { return q.lang.Has(lang.TimeUnits, w.Text) }) {
			continue // of shops, it can be the days on which they are closed
		}
		met = nil
		for _, c := range rows {
			var days lang.Weekdays
			if i < len(c.cells) {
				for _, d := range q.lang.Weekdays(c.cells[i]) {
					days |= d.Weekdays
				}
			}
			if days&asked != 0 {
				met = append(met, c)
			}
		}
		if met != nil {
			return met
		}
	}
	return nil
}

// statesDays reports whether a text names all days of the week of a phrase of the question, alone or among others.
func (q *question) statesDays(s string) bool {
	named := q.lang.Weekdays(s)
	return slices.ContainsFunc(q.moments, func(x moment) bool {
		return x.days > 0 && slices.ContainsFunc(named, func(d lang.WeekdaysAt) bool { return d.Weekdays&x.days == x.days })
	})
}

// mostNumbers returns those of the columns whose names have the most numbers of the question: the train 5803, and not each train. It returns all for a number
// that is the bound of a range: the price of less than 50 is not that of 50 and more.
func (q *question) mostNumbers(c *sentence, columns []int) []int {
	if len(q.numbers) == 0 || q.bound != nil || q.lang.HasPhrase(lang.Below, q.text) || q.lang.HasPhrase(lang.Above, q.text) {
		return columns
	}
	most := 0
	count := func(i int) (n int) {
		if i >= len(c.columns) {
			return 0
		}
		covers := make([]float64, len(q.terms))
		q.mark(covers, c.columns[i])
		for _, k := range q.numbers {
			if covers[k] == 1 {
				n++
			}
		}
		return n
	}
	for _, i := range columns {
		most = max(most, count(i))
	}
	if most == 0 {
		return columns
	}
	return slices.DeleteFunc(slices.Clone(columns), func(i int) bool { return count(i) < most })
}
