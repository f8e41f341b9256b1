package local

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// moment is a date, days of the week or a time of day that a question names. A text can state it in another form: 5 June is 2025-06-05, Saturday is in Fri–Sun, and
// 8 p.m. is 20:00.
type moment struct {
	date   lang.Date
	days   lang.Weekdays
	minute int   // of a time of day; -1: it is another moment
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
	for _, d := range q.lang.Weekdays(q.text) {
		out = append(out, termsAt(moment{days: d.Weekdays, minute: -1}, d.Start, d.End))
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
		if x.days > 0 {
			for _, d := range q.lang.Weekdays(s) {
				if d.Weekdays&x.days == x.days {
					raiseTo(dst, x.terms, d.Weekdays == x.days)
				}
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

// inSeveral is how well a range of days covers one of them: a part about that day alone is better.
const inSeveral = 0.9

func raiseTo1(dst []float64, at []int) { raiseTo(dst, at, true) }

// raiseTo raises terms to 1 or, if a part names them among others, to inSeveral.
func raiseTo(dst []float64, at []int, alone bool) {
	x := inSeveral
	if alone {
		x = 1
	}
	for _, i := range at {
		dst[i] = max(dst[i], x)
	}
}

// betweenDaysRE matches what stands between the days of one line: Mon, Wed and Fri.
var betweenDaysRE = regexp.MustCompile(`^[ .,&+/]*(?:and|und|et|y|e|en|и|ve|ed)?[ .]*$`)

// maxDayLine is the maximum number of words of a line that says something of days of the week.
const maxDayLine = 12

// labelDays puts a colon after the days of the week that lines of hours begin with, so that they are read as labels: "Mon–Thu 9–17" becomes "Mon–Thu: 9–17".
// A line without a number after the days is one of them only beside another.
func labelDays(lines []string, l *lang.Language) {
	ends := make([]int, len(lines)) // of the days in each line; 0: none
	for i, line := range lines {
		if fields := strings.Fields(line); len(fields) < 2 || len(fields) > maxDayLine {
			continue
		}
		end := 0
		from := len(line) - len(strings.TrimLeft(line, " \t"))
		days := l.Weekdays(line)
		slices.SortFunc(days, func(a, b lang.WeekdaysAt) int { return a.Start - b.Start })
		for _, d := range days {
			if d.Start < from || d.Start > from && !(end > 0 && betweenDaysRE.MatchString(line[end:d.Start])) {
				break
			}
			end, from = d.End, d.End
		}
		ends[i] = end
	}
	for i, end := range ends {
		if end == 0 {
			continue
		}
		rest := strings.TrimLeft(lines[i][end:], ". \t")
		if rest == "" || strings.ContainsAny(rest[:1], ":;,|") {
			continue
		}
		beside := i > 0 && ends[i-1] > 0 || i+1 < len(ends) && ends[i+1] > 0
		if slices.ContainsFunc(l.Dates(lines[i]), func(d lang.DateAt) bool { return d.Start <= len(lines[i])-len(rest) }) {
			continue // Sunday 20 October
		}
		if isDigit(rest[0]) || beside && !strings.ContainsAny(rest, ".!?") {
			lines[i] = lines[i][:end] + ": " + rest
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
