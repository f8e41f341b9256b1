package lang

import (
	"regexp"
	"strconv"
	"strings"
)

// Date is a day, a month or a year. What a text does not state is 0.
type Date struct{ Year, Month, Day int }

// DateAt is a date in a text, at s[Start:End] in bytes.
type DateAt struct {
	Date
	Start, End int
}

// Contains reports whether e is the day d, or is in the month or the year d. A date without a year is in each year.
func (d Date) Contains(e Date) bool {
	return (d.Day == 0 || d.Day == e.Day) && (d.Month == 0 || d.Month == e.Month) &&
		(d.Year == 0 || d.Year == e.Year || d.Month > 0 && e.Year == 0)
}

var (
	isoDateRE  = regexp.MustCompile(`\b((?:19|20)[0-9]{2})([-/.])([0-9]{1,2})([-/.])([0-9]{1,2})\b`)
	fullDateRE = regexp.MustCompile(`\b([0-9]{1,2})([./])([0-9]{1,2})([./])((?:19|20)?[0-9]{2})\b`)
	dayMonthRE = regexp.MustCompile(`\b([0-9]{1,2})\. ?([0-9]{1,2})\.(?:$|[^0-9.])`)
	hanDateRE  = regexp.MustCompile(`(?:([0-9]{4})年 ?)?([0-9]{1,2})月(?: ?([0-9]{1,2})[日号號])?`)
	ordinalRE  = regexp.MustCompile(`^([0-9]{1,2})(?:st|nd|rd|th|er|e|º)?$`)
)

// Dates returns the dates that a text states, in figures or with the name of a month in the language: 2025-06-05, 5.6.2025, June 5, 2025, 5 de junio,
// 2025年6月5日, June 2025. Of a date such as 5/6/2025, both readings are returned.
func (l *Language) Dates(s string) []DateAt {
	if !strings.ContainsAny(s, "0123456789") {
		return nil
	}
	var out []DateAt
	add := func(year, month, day string, start, end int) {
		d := Date{yearOf(year), atoi(month), atoi(day)}
		if d.Month >= 1 && d.Month <= 12 && d.Day <= 31 && (d.Day > 0 || day == "") {
			out = append(out, DateAt{d, start, end})
		}
	}
	for _, m := range isoDateRE.FindAllStringSubmatchIndex(s, maxDates) {
		if at := submatch(s, m); at(2) == at(4) {
			add(at(1), at(3), at(5), m[0], m[1])
		}
	}
	for _, m := range fullDateRE.FindAllStringSubmatchIndex(s, maxDates) {
		if at := submatch(s, m); at(2) == at(4) {
			add(at(5), at(3), at(1), m[0], m[1])
			if at(2) == "/" && at(1) != at(3) {
				add(at(5), at(1), at(3), m[0], m[1])
			}
		}
	}
	for _, m := range dayMonthRE.FindAllStringSubmatchIndex(s, maxDates) {
		at := submatch(s, m)
		add("", at(2), at(1), m[0], m[5]+1)
	}
	for _, m := range hanDateRE.FindAllStringSubmatchIndex(s, maxDates) {
		at := submatch(s, m)
		add(at(1), at(2), at(3), m[0], m[1])
	}
	return append(out, l.NamedDates(s)...)
}

// maxDates is the maximum number of dates of one form in a text.
const maxDates = 64

// submatch returns a function for the submatches of a match.
func submatch(s string, m []int) func(int) string {
	return func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return s[m[2*i]:m[2*i+1]]
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// yearOf returns the year that two or four digits stand for.
func yearOf(s string) int {
	n := atoi(s)
	if len(s) == 2 {
		n += 2000
	}
	return n
}

// NamedDates returns the dates with the name of a month, also without a day or a year, or with the abbreviation of one beside these.
func (l *Language) NamedDates(s string) (out []DateAt) {
	if !l.HasAny(Months) {
		return nil
	}
	words := Words(s)
	day := func(k int) int {
		if k < 0 || k >= len(words) {
			return 0
		}
		if m := ordinalRE.FindStringSubmatch(words[k].Text); m != nil && atoi(m[1]) <= 31 {
			return atoi(m[1])
		}
		return 0
	}
	year := func(k int) int {
		if k < len(words) && len(words[k].Text) == 4 && isNumber(words[k].Text) {
			if n := atoi(words[k].Text); n >= 1900 && n < 2100 {
				return n
			}
		}
		return 0
	}
	joins := func(k int) bool { return k >= 0 && k < len(words) && l.IsStopWord(words[k].Text) } // 5 de junio de 2025, 5th of June
	for k, w := range words {
		month, named := l.Number(Months, w.Text)
		if !named {
			month, _ = l.Number(ShortMonths, w.Text)
		}
		if month == 0 {
			continue
		}
		d := DateAt{Date: Date{Month: int(month), Day: day(k - 1)}, Start: w.Start, End: w.End}
		next := k + 1
		switch {
		case d.Day > 0:
			d.Start = words[k-1].Start
		case joins(k-1) && day(k-2) > 0:
			d.Day, d.Start = day(k-2), words[k-2].Start
		case day(k+1) > 0:
			d.Day, d.End = day(k+1), words[k+1].End
			next = k + 2
		}
		if joins(next) && year(next+1) > 0 {
			next++
		}
		if d.Year = year(next); d.Year > 0 {
			d.End = words[next].End
		}
		if d.Day > 0 || d.Year > 0 || named && !l.IsStopWord(w.Text) { // may
			out = append(out, d)
		}
	}
	return out
}

// clockRE matches a time of day in figures.
var clockRE = regexp.MustCompile(`(?i)\b(2[0-4]|[01]?[0-9])(?:(?:([:h])|(\.))([0-5][0-9]))?(?: ?(a\.?m\b|p\.?m\b|Uhr\b|uur\b|heures?\b|h\b|o['’]clock\b|[点點時时]))?`)

// ClockAt is a time of day in a text, in minutes, at s[Start:End] in bytes.
type ClockAt struct{ Minute, Start, End int }

// Clocks returns the times of day that a text states in figures: 20:00, 8 p.m., 20 Uhr, 20h30.
func Clocks(s string) (out []ClockAt) {
	for _, m := range clockRE.FindAllStringSubmatchIndex(s, maxDates) {
		at := submatch(s, m)
		hour, unit := atoi(at(1)), strings.ToLower(at(5))
		if unit == "" && at(2) == "" {
			continue
		}
		switch {
		case strings.HasPrefix(unit, "p") && hour < 12:
			hour += 12
		case strings.HasPrefix(unit, "a") && hour == 12:
			hour = 0
		}
		out = append(out, ClockAt{60*hour + atoi(at(4)), m[0], m[1]})
	}
	return out
}
