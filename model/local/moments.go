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
	dates := q.lang.Dates(q.text)
	if len(dates) == 0 {
		dates = q.lang.NamedDates(q.text) // in February
	}
	for _, d := range dates {
		out = append(out, termsAt(moment{date: d.Date, minute: -1}, d.Start, d.End))
	}
	for _, c := range lang.Clocks(q.text) {
		out = append(out, termsAt(moment{minute: c.Minute}, c.Start, c.End))
	}
	for _, d := range q.lang.Weekdays(q.text) {
		x := termsAt(moment{days: d.Weekdays, minute: -1}, d.Start, d.End)
		if k := slices.IndexFunc(out, func(y moment) bool { return y.days == x.days }); k >= 0 {
			out[k].terms = append(out[k].terms, x.terms...)
		} else {
			out = append(out, x)
		}
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
	var days []lang.WeekdaysAt
	if q.namesDays {
		days = q.lang.Weekdays(s)
	}
	for _, x := range q.moments {
		if x.minute >= 0 {
			if slices.ContainsFunc(clocks, func(c lang.ClockAt) bool { return c.Minute == x.minute }) {
				raiseTo1(dst, x.terms)
			}
			continue
		}
		if x.days > 0 {
			for _, d := range days {
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
// A line without a number after the days is one of them only beside another. Code and lines within a sentence stay.
func labelDays(lines []string, l *lang.Language) {
	ends := make([]int, len(lines)) // of the days in each line; 0: none
	fenced := false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		fenced = fenced != strings.HasPrefix(bare, "```")
		if !fenced && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") && l.StartsWithDay(bare) && (i == 0 || ends[i-1] > 0 || !continues(lines[i-1], l)) {
			ends[i] = dayLabel(line, l)
		}
	}
	for i, end := range ends {
		if end == 0 {
			continue
		}
		rest := strings.TrimLeft(lines[i][end:], ". \t")
		if rest == "" || strings.ContainsAny(rest[:1], ":;,|") || slices.ContainsFunc(l.Dates(lines[i]), func(d lang.DateAt) bool { return d.Start <= len(lines[i])-len(rest) }) {
			continue // Sunday 20 October
		}
		beside := i > 0 && ends[i-1] > 0 || i+1 < len(ends) && ends[i+1] > 0
		if isDigit(rest[0]) || beside && !strings.ContainsAny(rest, ".!?") {
			lines[i] = lines[i][:end] + ": " + rest
		}
	}
}

// continues reports whether the sentence of a line goes on in the next one: it is no heading or label, and ends in a stop word, a comma or a word in lower case.
func continues(line string, l *lang.Language) bool {
	line = strings.TrimSpace(line)
	words := lang.Words(line)
	if len(words) < 3 || strings.HasPrefix(line, "#") || strings.ContainsAny(line[len(line)-1:], ".!?:") {
		return false
	}
	last := words[len(words)-1]
	return l.IsStopWord(last.Text) || len(words) > 4
}

// dayLabel returns where the days end that a line begins with; 0 if it begins with none, is long, or goes on in the next line.
func dayLabel(line string, l *lang.Language) (end int) {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > maxDayLine || l.IsStopWord(strings.ToLower(fields[len(fields)-1])) {
		return 0
	}
	from := len(line) - len(strings.TrimLeft(line, " "))
	for _, d := range l.Weekdays(line) {
		if d.Start < from || d.Start > from && !(end > 0 && betweenDaysRE.MatchString(line[end:d.Start])) {
			break
		}
		end, from = d.End, d.End
	}
	return end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
