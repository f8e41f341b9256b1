package condense

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// shift completes a question with a phrase for a time before or after another one ("the week after") by the date, the year or the day of the week of the last
// question, earlier or later. If the question has no subject of its own ("What was it the year before?"), the last question is asked again about that time.
// Without such a phrase or time, it returns the question as it is.
func (c *rewriter) shift(q string) (done string, again bool) {
	m := c.shifts.FindStringSubmatchIndex(q)
	if m == nil {
		return q, false
	}
	days, _ := c.Number(lang.Shifts, strings.ToLower(q[m[2]:m[3]]))
	prev := c.last.question
	from, to, when := c.shifted(prev, int(days))
	if when == "" && !c.namesTime(prev) && len(c.content(q[:m[0]])) == 0 && c.asksAlike(q[:m[0]]) { // an earlier question named the time
		dated := c.last.dated
		if from, _, when = c.shifted(dated, int(days)); when != "" {
			return strings.TrimRight(prev, " ?.!") + " " + c.prepositionBefore(dated, from) + when + "?", true
		}
	}
	switch {
	case when == "":
		return q, false
	case len(c.content(q[:m[0]])) == 0 && c.asksAlike(q[:m[0]]):
		return c.put(prev, from, to, when), true
	}
	return strings.TrimSpace(q[:m[0]] + " " + c.prepositionBefore(prev, from) + when + q[m[3]:]), false
}

// namesTime reports whether a question names a date, a year or a day of the week.
func (g *grammar) namesTime(s string) bool {
	return len(g.Dates(s)) > 0 || yearRE.MatchString(s) ||
		slices.ContainsFunc(lang.Words(s), func(w lang.Token) bool { _, ok := g.Number(lang.Days, w.Text); return ok })
}

// asksAlike reports whether a question can ask for the same as the last one.
func (c *rewriter) asksAlike(q string) bool {
	vague := func(s lang.Section) bool { return s == "" || s == lang.AsksNumber || s == lang.AsksDefinition }
	now, before := c.Asks(q), c.Asks(c.last.question)
	return now == before || now == "" || vague(now) && vague(before)
}

// repeat asks the last question again with the number, the time or the group of people that a question without other words names: "How much was it in 2024?" It
// returns "" for other questions.
func (c *rewriter) repeat(q string) string {
	q = strings.TrimRight(q, " ?.!")
	m := c.asks.FindStringSubmatchIndex(q)
	if m == nil || !c.onlyQuestionWords(q[m[2]:m[3]]) || !c.asksAlike(q) {
		return ""
	}
	rest := q[m[4]:]
	content := c.content(rest)
	refers := slices.ContainsFunc(lang.Words(rest), func(w lang.Token) bool { return c.pronouns[w.Text].form == thing })
	if !refers || len(content) == 0 || slices.ContainsFunc(content, func(w lang.Token) bool { return c.kindOf(rest, w) == "" }) {
		return ""
	}
	at := content[0].Start
	if done := c.replaceKind(strings.TrimRight(c.last.question, " ?.!"), c.prepositionBefore(rest, at)+rest[at:]); done != "" {
		return done + "?"
	}
	return ""
}

// shifted returns the only date, year or day of the week of a text, some days earlier or later, and the position of the original. It returns "" if there is none,
// or if it is less precise than the shift: the day after a year.
func (c *rewriter) shifted(s string, days int) (from, to int, when string) {
	dates := c.Dates(s)
	if all := yearRE.FindAllStringIndex(s, 2); len(dates) == 0 && len(all) == 1 {
		year, _ := strconv.Atoi(s[all[0][0]:all[0][1]])
		dates = []lang.DateAt{{Date: lang.Date{Year: year}, Start: all[0][0], End: all[0][1]}}
	}
	if len(dates) == 0 {
		return c.shiftedDay(s, days)
	}
	d := dates[0]
	if len(dates) > 1 || d.Day == 0 && abs(days) < 30 || d.Month == 0 && abs(days) < 365 || d.Year == 0 && (d.Day == 0 || abs(days) == 365) {
		return 0, 0, ""
	}
	year := d.Year
	if year == 0 {
		year = 2001 // any that is not a leap year
	}
	t := time.Date(year, time.Month(max(1, d.Month)), max(1, d.Day), 0, 0, 0, 0, time.UTC)
	switch abs(days) {
	case 365:
		t = addMonths(t, days/365*12)
	case 30:
		t = addMonths(t, days/30)
	default:
		t = t.AddDate(0, 0, days)
	}
	return d.Start, d.End, c.written(t, s[d.Start:d.End])
}

// written returns a date in the form of another one: 5 June for 4 June, 2025-06-05 for another date in figures.
func (c *rewriter) written(t time.Time, as string) string {
	if !strings.ContainsFunc(as, unicode.IsLetter) && len(as) > len("2006") {
		return t.Format(time.DateOnly)
	}
	months := c.List(lang.Months)
	var out strings.Builder
	done := 0
	for _, w := range lang.Words(as) {
		by := as[w.Start:w.End]
		switch _, month := c.Number(lang.Months, w.Text); {
		case month:
			i := slices.IndexFunc(months, func(m string) bool { n, _ := c.Number(lang.Months, m); return int(n) == int(t.Month()) })
			switch {
			case i < 0:
			case isCapitalized(by):
				by = capitalize(months[i])
			default:
				by = months[i]
			}
		case len(by) == 4 && yearRE.MatchString(by):
			by = t.Format("2006")
		case by[0] <= '9':
			by = strconv.Itoa(t.Day())
		}
		out.WriteString(as[done:w.Start] + by)
		done = w.End
	}
	return out.String() + as[done:]
}

// shiftedDay returns the only day of the week that a text names, a day earlier or later, and the position of the original; otherwise "".
func (c *rewriter) shiftedDay(s string, days int) (from, to int, when string) {
	for _, w := range lang.Words(s) {
		n, ok := c.Number(lang.Days, w.Text)
		if !ok {
			continue
		}
		if when != "" || abs(days) != 1 {
			return 0, 0, ""
		}
		for _, day := range c.List(lang.Days) { // the last one is the shortest
			if x, _ := c.Number(lang.Days, day); int(x) == (int(n)+days+6)%7+1 {
				from, to, when = w.Start, w.End, capitalize(day)
			}
		}
	}
	return from, to, when
}

// prepositionBefore returns the preposition before a position, with a space, or "".
func (c *rewriter) prepositionBefore(s string, at int) string {
	if ws := lang.Words(s[:at]); len(ws) > 0 && c.isPreposition(ws[len(ws)-1].Text) {
		return s[ws[len(ws)-1].Start:ws[len(ws)-1].End] + " "
	}
	return ""
}

// addMonths adds months to a date. The day is at most the last one of the month: a month after 31 January is 28 February.
func addMonths(t time.Time, n int) time.Time {
	out := t.AddDate(0, n, 0)
	if out.Day() != t.Day() {
		out = out.AddDate(0, 0, -out.Day())
	}
	return out
}

func abs(n int) int { return max(n, -n) }
