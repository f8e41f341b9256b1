package filter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Span is a range of days, both included.
type Span struct{ First, Last time.Time }

func (s Span) overlaps(t Span) bool { return !s.First.After(t.Last) && !s.Last.Before(t.First) }

// test compares the span of a document's date with a date. A date of less precision, such as a year, meets a condition if one of its days can.
func (s Span) test(kind string, w any) bool {
	text, _ := w.(string)
	date, ok := ParseDate(text)
	switch kind {
	case Greater:
		return ok && s.Last.After(date.Last)
	case GreaterOrEqual:
		return ok && !s.Last.Before(date.First)
	case Less:
		return ok && s.First.Before(date.First)
	}
	return ok && !s.First.After(date.Last)
}

const (
	month = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	// Year is a regular expression that matches a year.
	Year = `[12][0-9]{3}`
	// AnyDate is a regular expression that matches a day, a month or a year with its month, a year, or a decade.
	AnyDate = `(?:` + Year + `[-/][0-9]{1,2}(?:[-/][0-9]{1,2})?|(?:[0-9]{1,2}(?:st|nd|rd|th)?\s+)?` + month + `\.?,?\s+(?:[0-9]{1,2}(?:st|nd|rd|th)?,?\s+)?` + Year + `|(?:the\s+)?` + Year + `s\b|(?:the\s+year\s+)?` + Year + `)\b`
)

var (
	numericRE = regexp.MustCompile(`^(` + Year + `)(?:[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?)?(?:$|[^0-9s])`)
	namedRE   = regexp.MustCompile(`(?i)(?:([0-9]{1,2})(?:st|nd|rd|th)?\s+)?\b(` + month + `)\.?,?\s+(?:([0-9]{1,2})(?:st|nd|rd|th)?,?\s+)?(` + Year + `)\b`)
	decadeRE  = regexp.MustCompile(`\b(` + Year + `)s\b`)
	yearRE    = regexp.MustCompile(`\b` + Year + `\b`)
)

// ParseDate returns the days of a date: a day, a month, a year or a decade, in one of the usual forms. Of other texts it takes the first
// year.
func ParseDate(s string) (Span, bool) {
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
		first.Last = first.First.AddDate(10, 0, -1)
		return first, ok
	}
	return days(atoi(yearRE.FindString(s)), 0, 0)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // "" is 0
	return n
}

// days returns a day, a month if day is 0, or a year if month is 0 too.
func days(year, month, day int) (Span, bool) {
	if year == 0 || month > 12 || day > 31 {
		return Span{}, false
	}
	first := time.Date(year, time.Month(max(month, 1)), max(day, 1), 0, 0, 0, 0, time.UTC)
	switch {
	case month == 0:
		return Span{first, first.AddDate(1, 0, -1)}, true
	case day == 0:
		return Span{first, first.AddDate(0, 1, -1)}, true
	}
	return Span{first, first}, first.Day() == day // such as February 30
}
