package lang

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Weekdays is a set of days of the week. Bit 0 is Monday.
type Weekdays uint8

// AllWeekdays has the seven days of a week.
const AllWeekdays Weekdays = 1<<7 - 1

// WeekdaysAt are the days that a text names at s[Start:End] in bytes.
type WeekdaysAt struct {
	Weekdays
	Start, End int
}

// Weekdays returns the days of the week that a text names, each by its name, as a range such as Mon–Fri or Monday to Friday, or by a word for several, such as
// weekends. An abbreviation counts in a range, beside a number or another day, before a colon, and alone.
func (l *Language) Weekdays(s string) (out []WeekdaysAt) {
	if !l.spaced() {
		return l.joinedWeekdays(s)
	}
	ws := Words(s)
	out = l.sevenDays(s, ws)
	for i := 0; i < len(ws); i++ {
		day, full := l.weekday(ws[i].Text)
		if day == 0 {
			continue
		}
		to, end := l.rangeEnd(s, ws, i)
		switch {
		case end > i:
			out = append(out, WeekdaysAt{daysFrom(day, to), ws[i].Start, ws[end].End})
			i = end
		case full || l.isAbbreviated(s, ws, i):
			out = append(out, WeekdaysAt{daysFrom(day, day), ws[i].Start, ws[i].End})
		}
	}
	return out
}

// weekday returns the number of a day of the week, from 1 for Monday, by its name, or by its abbreviation; 0 for other words.
func (l *Language) weekday(word string) (day int, full bool) {
	if n, ok := l.Number(Days, word); ok {
		return int(n), true
	}
	n, _ := l.Number(ShortDays, word)
	return int(n), false
}

// daysFrom returns the days from one to another, which may be in the next week: from Friday to Monday.
func daysFrom(from, to int) (out Weekdays) {
	for day := from; ; day = day%7 + 1 {
		if out |= 1 << (day - 1); day == to {
			return out
		}
	}
}

// rangeEnd returns the last day of the range that begins with the day at i, and its position; i if it begins no range.
func (l *Language) rangeEnd(s string, ws []Token, i int) (day, at int) {
	for k := i + 1; k < min(len(ws), i+4); k++ {
		between := strings.ToLower(strings.Trim(s[ws[i].End:ws[k].Start], " ."))
		if day, _ := l.weekday(ws[k].Text); day > 0 && (strings.Trim(between, "-–—~/") == "" && strings.Trim(between, "/") != "" || l.Has(DayJoiners, between)) {
			return day, k
		}
	}
	return 0, i
}

// besideRE matches what shows that the abbreviation before it is a day: a number, a colon, the end.
var besideRE = regexp.MustCompile(`^[ .,/&+]*(?:[0-9:;|]|$)`)

// isAbbreviated reports whether what stands beside an abbreviation shows that it is a day: a number or a colon after it, another day, or nothing.
func (l *Language) isAbbreviated(s string, ws []Token, i int) bool {
	isDay := func(k int) bool {
		day, _ := l.weekday(ws[k].Text)
		return day > 0
	}
	parted := func(k int) bool { return strings.Trim(s[ws[k].End:ws[k+1].Start], " .,/&+") == "" }
	return besideRE.MatchString(s[ws[i].End:]) && (len(ws) == 1 || i+1 < len(ws)) || i+1 < len(ws) && parted(i) && isDay(i+1) || i > 0 && parted(i-1) && isDay(i-1) ||
		i+1 < len(ws) && isCapital(s[ws[i].Start:]) && i > 0 && strings.Contains(s[ws[i-1].End:ws[i].Start], ",")
}

func isCapital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// severalDays are the days that a phrase of a section means.
var severalDays = map[Section]Weekdays{Workdays: daysFrom(1, 5), Weekends: daysFrom(6, 7), EachDay: AllWeekdays}

// sevenDays returns where a text has a phrase for several days of the week.
func (l *Language) sevenDays(s string, ws []Token) (out []WeekdaysAt) {
	for section, days := range severalDays {
		for _, phrase := range l.List(section) {
			want := strings.Fields(phrase)
			for i := 0; i+len(want) <= len(ws); i++ {
				same := true
				for k, w := range want {
					same = same && ws[i+k].Text == w
				}
				if same {
					out = append(out, WeekdaysAt{days, ws[i].Start, ws[i+len(want)-1].End})
				}
			}
		}
	}
	return out
}

// joinedWeekdays is Weekdays for Chinese and Japanese, whose words are not separated: 周一至周五.
func (l *Language) joinedWeekdays(s string) (out []WeekdaysAt) {
	dayAt := func(at int) (day, end int) {
		for _, w := range l.List(ShortDays) {
			if n, _ := l.Number(ShortDays, w); strings.HasPrefix(s[at:], w) && len(w) > end-at {
				day, end = int(n), at+len(w)
			}
		}
		return day, end
	}
	for at := 0; at < len(s); {
		day, end := dayAt(at)
		if day == 0 {
			at++
			continue
		}
		to, start := day, at
		for _, joiner := range append(l.List(DayJoiners), "-", "–", "—", "~", "～", "〜") {
			rest, ok := strings.CutPrefix(s[end:], joiner)
			if !ok {
				continue
			}
			if n, last := dayAt(len(s) - len(rest)); n > 0 {
				to, end = n, last
				break
			}
		}
		out = append(out, WeekdaysAt{daysFrom(day, to), start, end})
		at = end
	}
	for section, days := range severalDays {
		for _, phrase := range l.List(section) {
			if at := strings.Index(s, phrase); at >= 0 {
				out = append(out, WeekdaysAt{days, at, at + len(phrase)})
			}
		}
	}
	return out
}
