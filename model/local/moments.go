package local

import (
	"slices"
	"strconv"

	"github.com/sluice-rag/sluice/lang"
)

// moment is a date or a time of day that a question names. A text can state it in another form: 5 June is 2025-06-05, and 8 p.m. is 20:00.
type moment struct {
	date   lang.Date
	minute int   // of a time of day; -1: it is a date
	terms  []int // terms of the question that state it, without the year
	year   []int // the term of the year
}

// momentsIn returns the dates, the years and the times of day that a question names.
func (q *question) momentsIn() (out []moment) {
	used := map[int]bool{}
	termsAt := func(x moment, start, end int) moment {
		for k, w := range q.words {
			if w.Start < start || w.End > end {
				continue
			}
			used[k] = true
			i, ok := q.index[q.stem(w.Text)]
			switch {
			case !ok:
			case w.Text == strconv.Itoa(x.date.Year):
				x.year = append(x.year, i)
			default:
				x.terms = append(x.terms, i)
			}
		}
		return x
	}
	for _, d := range q.lang.Dates(q.text) {
		out = append(out, termsAt(moment{date: d.Date, minute: -1}, d.Start, d.End))
	}
	for _, c := range lang.Clocks(q.text) {
		out = append(out, termsAt(moment{minute: c.Minute}, c.Start, c.End))
	}
	for k, w := range q.words {
		if i, ok := q.index[q.stem(w.Text)]; ok && !used[k] && len(w.Text) == 4 && yearRE.MatchString(w.Text) {
			year, _ := strconv.Atoi(w.Text)
			out = append(out, moment{date: lang.Date{Year: year}, minute: -1, year: []int{i}})
		}
	}
	return out
}

// markMoments raises dst to 1 for the terms of the dates and times of the question that a text states in any form.
func (q *question) markMoments(dst []float64, s string) {
	if len(q.moments) == 0 {
		return
	}
	dates, clocks := q.lang.Dates(s), lang.Clocks(s)
	for _, x := range q.moments {
		if x.minute >= 0 {
			if slices.ContainsFunc(clocks, func(c lang.ClockAt) bool { return c.Minute == x.minute }) {
				raiseTo1(dst, x.terms)
			}
			continue
		}
		for _, d := range dates {
			if x.date.Contains(d.Date) {
				raiseTo1(dst, x.terms)
				if d.Year == x.date.Year {
					raiseTo1(dst, x.year)
				}
			}
		}
	}
}

func raiseTo1(dst []float64, at []int) {
	for _, i := range at {
		dst[i] = 1
	}
}
