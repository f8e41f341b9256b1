package lang

import (
	"cmp"
	"regexp"
	"slices"
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

// dayPhrase is a phrase for several days, such as weekends, or in Chinese and Japanese the name of one.
type dayPhrase struct {
	text  string
	words []string
	days  Weekdays
}

// readDays prepares the phrases for days, the longest first.
func (l *Language) readDays() {
	l.dayStarts = map[string]bool{}
	for section, days := range map[Section]Weekdays{Workdays: daysFrom(1, 5), Weekends: daysFrom(6, 7), EachDay: AllWeekdays} {
		for p := range l.sections[section] {
			words := strings.Fields(p)
			l.dayPhrases, l.dayStarts[words[0]] = append(l.dayPhrases, dayPhrase{p, words, days}), true
		}
	}
	if !l.Spaced() {
		for p, day := range l.sections[ShortDays] {
			l.dayPhrases = append(l.dayPhrases, dayPhrase{p, nil, daysFrom(int(day), int(day))})
		}
	}
	slices.SortFunc(l.dayPhrases, func(a, b dayPhrase) int { return cmp.Or(len(b.text)-len(a.text), cmp.Compare(a.text, b.text)) })
}

// feira is the second part of the names of days in Portuguese, which is often left out.
var feira = strings.NewReplacer("-feiras", "       ", "-feira", "      ")

// Weekdays returns the days of the week that a text names, each by its name, as a range such as Mon–Fri or Monday to Friday, or by a word for several, such as
// weekends. An abbreviation counts in a range, beside another day, before a time, and at the end of the text.
func (l *Language) Weekdays(s string) (out []WeekdaysAt) {
	if !l.Spaced() {
		return l.joinedWeekdays(s)
	}
	named := s // without the second parts
	if l.Code == "pt" {
		named = feira.Replace(s)
	}
	ws := Words(named)
	for i := 0; i < len(ws); i++ {
		day, full := l.weekday(ws[i].Text)
		if day == 0 {
			if l.dayStarts[ws[i].Text] {
				if p := l.severalDays(ws, i); p != nil {
					last := i + len(p.words) - 1
					out = append(out, WeekdaysAt{p.days, ws[i].Start, ws[last].End})
					i = last
				}
			}
			continue
		}
		to, end := l.rangeEnd(named, ws, i)
		switch {
		case end > i:
			out = append(out, WeekdaysAt{daysFrom(day, to), ws[i].Start, ws[end].End})
			i = end
		case full || strings.HasPrefix(s[ws[i].End:], "-feira") || l.isAbbreviated(named, ws, i):
			out = append(out, WeekdaysAt{daysFrom(day, day), ws[i].Start, ws[i].End})
		}
	}
	return out
}

// StartsWithDay reports whether the first word of a text may name days of the week.
func (l *Language) StartsWithDay(s string) bool {
	if !l.Spaced() {
		return slices.ContainsFunc(l.dayPhrases, func(p dayPhrase) bool { return strings.HasPrefix(s, p.text) })
	}
	ws := Words(Truncate(s, 40))
	if len(ws) == 0 {
		return false
	}
	day, _ := l.weekday(ws[0].Text)
	return day > 0 || l.dayStarts[ws[0].Text]
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
		day, _ := l.weekday(ws[k].Text)
		if day == 0 {
			continue
		}
		between := strings.ToLower(strings.TrimFunc(s[ws[i].End:ws[k].Start], func(r rune) bool { return r == '.' || unicode.IsSpace(r) }))
		if between != "" && strings.Trim(between, "-–—~") == "" || l.Has(DayJoiners, between) {
			return day, k
		}
		break
	}
	return 0, i
}

var (
	// timeRE matches a time or a range of hours after a day.
	timeRE = regexp.MustCompile(`^[.:,;|]*\s*[0-9]{1,2}(?:[:.hH][0-9]{2}|\s*(?:[–—-]|to |bis |à |a |até |tot |h\b|Uhr|[ap]\.?m\b))`)
	// andRE matches what stands between days that are listed: Mon, Wed and Fri.
	andRE = regexp.MustCompile(`^[\s.,&+/]*(?:and|und|et|y|e|ed|en|и|ve)?[\s.]*$`)
)

// isAbbreviated reports whether what stands beside an abbreviation shows that it is a day: a time after it, another day, or nothing. In English and German it has
// a capital, since sat, sun and so are words.
func (l *Language) isAbbreviated(s string, ws []Token, i int) bool {
	if r, _ := utf8.DecodeRuneInString(s[ws[i].Start:]); !unicode.IsUpper(r) && (l == English || l.Code == "de") {
		return false
	}
	beside := func(k int) bool { // the two days at k and after it, with at most a word between them
		for m := k + 1; m < min(len(ws), k+3); m++ {
			a, _ := l.weekday(ws[k].Text)
			b, _ := l.weekday(ws[m].Text)
			if a > 0 && b > 0 && andRE.MatchString(s[ws[k].End:ws[m].Start]) && (m >= i && k <= i) {
				return true
			}
		}
		return false
	}
	rest := s[ws[i].End:]
	r, _ := utf8.DecodeRuneInString(s[ws[i].Start:])
	ends := strings.Trim(rest, " .?!") == "" && (len(ws) == 1 || unicode.IsUpper(r))
	return ends || timeRE.MatchString(rest) || beside(i) || i > 0 && beside(i-1) || i > 1 && beside(i-2)
}

// severalDays returns the phrase for several days at i; nil if there is none. After a number, working days are a duration.
func (l *Language) severalDays(ws []Token, i int) *dayPhrase {
	if i > 0 {
		if _, count := l.Number(Counts, ws[i-1].Text); count || ws[i-1].Text[0] >= '0' && ws[i-1].Text[0] <= '9' {
			return nil
		}
	}
	for k, p := range l.dayPhrases {
		if i+len(p.words) <= len(ws) && slices.EqualFunc(p.words, ws[i:i+len(p.words)], func(want string, w Token) bool { return want == w.Text }) {
			return &l.dayPhrases[k]
		}
	}
	return nil
}

// joinedWeekdays is Weekdays for Chinese and Japanese, whose words are not separated: 周一至周五.
func (l *Language) joinedWeekdays(s string) (out []WeekdaysAt) {
	at := func(s string) (Weekdays, string) {
		for _, p := range l.dayPhrases {
			if rest, ok := strings.CutPrefix(s, p.text); ok {
				return p.days, rest
			}
		}
		return 0, s
	}
	last := ' '
	for from := 0; from < len(s); {
		r, n := utf8.DecodeRuneInString(s[from:])
		days, rest := at(s[from:])
		if days == 0 || last == '每' || last == '一' || strings.HasPrefix(rest, "次") || strings.HasPrefix(rest, "天") || strings.HasPrefix(rest, "个") { // 每周一次 is once a week
			from, last = from+n, r
			continue
		}
		for joiner := range l.sections[DayJoiners] {
			joined, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), joiner)
			if !ok {
				joined, ok = strings.CutPrefix(rest, "-")
			}
			if to, after := at(strings.TrimLeft(joined, " ")); ok && days&(days-1) == 0 && to > 0 && to&(to-1) == 0 {
				days, rest = daysFrom(number(days), number(to)), after
				break
			}
		}
		out = append(out, WeekdaysAt{days, from, len(s) - len(rest)})
		from, last = len(s)-len(rest), ' '
	}
	return out
}

// number returns the number of a single day, from 1 for Monday.
func number(day Weekdays) (n int) {
	for ; day > 0; day >>= 1 {
		n++
	}
	return n
}
