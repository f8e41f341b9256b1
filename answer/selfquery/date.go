package selfquery

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// span is a range of days, both included.
type span struct{ first, last time.Time }

func day(t time.Time) string { return t.Format(time.DateOnly) }

const (
	month = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	year  = `[12][0-9]{3}`
	// anyDate matches a day, a month or a year with its month, a year, or a decade.
	anyDate = `(?:` + year + `[-/][0-9]{1,2}(?:[-/][0-9]{1,2})?|(?:[0-9]{1,2}(?:st|nd|rd|th)?\s+)?` + month + `\.?,?\s+(?:[0-9]{1,2}(?:st|nd|rd|th)?,?\s+)?` + year + `|(?:the\s+)?` + year + `s\b|(?:the\s+year\s+)?` + year + `)\b`
)

var (
	numericRE = regexp.MustCompile(`^(` + year + `)(?:[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?)?(?:$|[^0-9s])`)
	namedRE   = regexp.MustCompile(`(?i)(?:([0-9]{1,2})(?:st|nd|rd|th)?\s+)?\b(` + month + `)\.?,?\s+(?:([0-9]{1,2})(?:st|nd|rd|th)?,?\s+)?(` + year + `)\b`)
	decadeRE  = regexp.MustCompile(`\b(` + year + `)s\b`)
	yearRE    = regexp.MustCompile(`\b` + year + `\b`)
)

// parseDate returns the days of a date: a day, a month, a year or a decade, in one of the usual forms. Of other texts it takes the first
// year.
func parseDate(s string) (span, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 200 {
		s = s[:200]
	}
	if m := numericRE.FindStringSubmatch(s); m != nil {
		return days(atoi(m[1]), atoi(m[2]), atoi(m[3]))
	}
	if m := namedRE.FindStringSubmatch(s); m != nil {
		return days(atoi(m[4]), strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(m[2][:3]))/3+1, atoi(m[1]+m[3]))
	}
	if m := decadeRE.FindStringSubmatch(s); m != nil {
		first, ok := days(atoi(m[1]), 0, 0)
		first.last = first.first.AddDate(10, 0, -1)
		return first, ok
	}
	return days(atoi(yearRE.FindString(s)), 0, 0)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // "" is 0
	return n
}

// days returns a day, a month if day is 0, or a year if month is 0 too.
func days(year, month, day int) (span, bool) {
	if year == 0 || month > 12 || day > 31 {
		return span{}, false
	}
	first := time.Date(year, time.Month(max(month, 1)), max(day, 1), 0, 0, 0, 0, time.UTC)
	switch {
	case month == 0:
		return span{first, first.AddDate(1, 0, -1)}, true
	case day == 0:
		return span{first, first.AddDate(0, 1, -1)}, true
	}
	return span{first, first}, first.Day() == day // such as February 30
}
