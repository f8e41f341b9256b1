package local

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// measure is a quantity that a question asks for, and that an answer shows by its unit.
type measure struct {
	phrases    lang.Section   // phrases of questions; empty: a single word is enough
	words      lang.Section   // words of questions and of names of columns
	units      lang.Section   // words for units
	after      lang.Section   // further units, which only follow a number: old
	amounts    *regexp.Regexp // units that all languages have, mostly with the number before them: 5 kg
	symbol     *regexp.Regexp // such a unit, with a number or without one; nil: as amounts
	also       []*measure     // other quantities that the same question may ask for: "how long" asks for a duration or a length
	hasUnit    bool           // its amounts nearly always have a unit
	recognized bool           // each usual way to state it is recognized
	around     int            // words that may be between a number and its unit in either order: born on the 5th of May 1971; 0: the unit follows
}

var length = &measure{words: lang.Length, units: lang.LengthUnits, hasUnit: true,
	amounts: regexp.MustCompile(`(?:\b(?:mm|cm|km|ft|yd)|[0-9](?:mm|cm|km|ft|yd)|[0-9] ?m)(?:[^\pL\pN'’]|$)|[0-9] ?(?:metro\b|["″])|(?:^|[^0-9])(?:[0-9]{1,3}|[0-9]{5,}) ?in\b`), symbol: regexp.MustCompile(`\b(?:mm|cm|km)\b`)}

var money = &measure{words: lang.Money, units: lang.MoneyUnits, amounts: regexp.MustCompile(`[€$£¥₺₽元円]|\b(?:EUR|USD|GBP|CHF|TL)\b`)}

var duration = &measure{phrases: lang.AsksDuration, units: lang.TimeUnits, amounts: regexp.MustCompile(`[0-9] ?(?:h|min|ms|s|d)\b`), also: []*measure{length}}

// measures are the known quantities. The first one that a question has counts: "how long is the notice" asks for a duration.
var measures = slices.Concat([]*measure{
	{phrases: lang.AsksAge, recognized: true, units: lang.Age, after: lang.AgeAfter, around: 4, amounts: regexp.MustCompile(`\b[0-9]{1,3}-year-old|\pL ?\([0-9]{1,2}\)|[0-9]{1,3} ?[岁歳才]`)},
	duration,
	{phrases: lang.AsksClock, amounts: regexp.MustCompile(`\b[0-9]{1,2}[:.hH][0-9]{2}\b|\b[0-9]{1,2} ?(?:[ap]\.?m\b|h\b|Uhr|uur)|[0-9][点點时時]`)},
	{phrases: lang.AsksDay, units: lang.Days, amounts: regexp.MustCompile(`\b[0-9]{1,2}[./-][0-9]{1,2}\b|[0-9][日号]`)},
	{phrases: lang.AsksPhone, recognized: true, amounts: regexp.MustCompile(`(?:[0-9][ /()]{0,2}){6,}|(?:^|[^0-9-])0[0-9]+[–-][0-9]|\b[0-9]{3}-[0-9]{3,4}\b|\b[0-9]{2}(?:[.-][0-9]{2}){4}\b|\b[0-9]{3}[.-][0-9]{3}[.-][0-9]{4}\b`)},
	{phrases: lang.AsksEmail, recognized: true, amounts: regexp.MustCompile(`\S@\S`)},
	money,
}, quantities, []*measure{
	{words: lang.Weight, units: lang.WeightUnits, hasUnit: true, amounts: regexp.MustCompile(`(?:\b|[0-9])(?:kg|mg|lbs?|oz)\b|[0-9] ?(?:g|t)\b`), symbol: regexp.MustCompile(`\b(?:kg|mg|lbs?|oz)\b`)},
	length,
	{phrases: lang.AsksHot, words: lang.Temperature, units: lang.TemperatureUnits, amounts: regexp.MustCompile(`°`)},
})

// measureOf returns the quantity that a question asks for; nil if it asks for none.
func (q *question) measureOf() *measure {
	if q.kind != anyKind && q.kind != numberKind && q.kind != timeKind && (q.kind != definitionKind || q.subject != nil) {
		return nil
	}
	asked := q.namedMeasure()
	if m := q.unitOf(asked); m != nil {
		q.inUnit = true
		return m
	}
	return asked
}

// namedMeasure returns the quantity for which a question has a phrase or a word; nil if it has none.
func (q *question) namedMeasure() *measure {
	text := q.text
	if q.lang.Code != "zh" && q.lang.Code != "ja" {
		var b strings.Builder
		for _, w := range q.words {
			b.WriteString(" " + w.Text)
		}
		text = b.String() + " "
	}
	what := text == q.text || slices.ContainsFunc(q.words, func(w lang.Token) bool { return q.lang.Has(lang.QuestionWords, w.Text) })
	for _, m := range measures {
		if m.units == "" && m.recognized && !what {
			continue // is an e-mail address required?
		}
		if m.phrases != "" {
			for _, p := range q.lang.List(m.phrases) {
				if text == q.text && strings.Contains(text, p) || strings.Contains(text, " "+p+" ") {
					if m.phrases == lang.AsksAge && q.hasWord(q.text, lang.Lasts) {
						break
					}
					return m
				}
			}
		}
		if m.words != "" && q.kind != timeKind && m.hasWord(q.lang, q.text) { // when is the bill due?
			return m
		}
	}
	return nil
}

// hasWord reports whether a text has a word for the quantity. Chinese and Japanese words are not separated.
func (m *measure) hasWord(l *lang.Language, text string) bool {
	if l.Code == "zh" || l.Code == "ja" {
		return slices.ContainsFunc(l.List(m.words), func(w string) bool { return strings.Contains(text, w) })
	}
	return slices.ContainsFunc(lang.Words(text), func(w lang.Token) bool { return l.Has(m.words, w.Text) })
}

// maxUnitGap is the number of words that may be between a number and its unit: three working days.
const maxUnitGap = 1

// joinedUnitRE matches a digit before a unit in Katakana, which belong to one word.
var joinedUnitRE = regexp.MustCompile(`([0-9])(\p{Katakana})`)

// asciiDigits returns a text with full-width digits and marks as ASCII characters.
func asciiDigits(s string) string {
	if !strings.ContainsFunc(s, isFullWidth) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isFullWidth(r) {
			return r - '！' + '!'
		}
		return r
	}, s)
}

func isFullWidth(r rune) bool { return r >= '！' && r <= '～' }

// in reports whether a text has an amount of the quantity.
func (m *measure) in(l *lang.Language, text string) bool {
	text = joinedUnitRE.ReplaceAllString(asciiDigits(text), "$1 $2")
	if m.amounts.MatchString(text) || slices.ContainsFunc(m.also, func(o *measure) bool { return o.in(l, text) }) {
		return true
	}
	if m.units == "" {
		return false
	}
	if m.hasUnit && !l.Spaced() && m.isAfterNumber(l, text) {
		return true
	}
	reach := 1 + max(maxUnitGap, m.around)
	last, unit := -1-reach, -1-reach // the last number, and the last unit
	for k, w := range unitWords(l, text) {
		if isNumber(l, w.Text) {
			last = k
		}
		if l.Has(m.units, w.Text) {
			unit = k
		}
		if m.after != "" && l.Has(m.after, w.Text) && k-last <= reach {
			return true
		}
		if unit == k && (m.phrases == lang.AsksDay || k-last <= reach) || m.around > 0 && last == k && k-unit <= reach {
			return true
		}
	}
	return false
}

// names reports whether the name of a column says that its numbers are amounts of the quantity.
func (m *measure) names(l *lang.Language, column string) bool {
	return m.hasUnitIn(l, column) || slices.ContainsFunc(m.also, func(o *measure) bool { return o.names(l, column) }) ||
		m.words != "" && m.hasWord(l, strings.ToLower(column)) || m.phrases != "" && m.phrases != lang.AsksAge && l.HasPhrase(m.phrases, column)
}

// hasUnitIn reports whether a text has a unit of the quantity, with a number or without one. Units of one letter need a number.
func (m *measure) hasUnitIn(l *lang.Language, text string) bool {
	return m.amounts.MatchString(text) || m.symbol != nil && m.symbol.MatchString(text) || m.units != "" && slices.ContainsFunc(unitWords(l, text), func(w lang.Token) bool { return utf8.RuneCountInString(w.Text) > 1 && l.Has(m.units, w.Text) })
}

// measuredColumn reports whether a column of a row holds the quantity that the question asks for.
func (q *question) measuredColumn(c *sentence, i int) bool {
	if q.measure == nil || c.cells[i] == "" {
		return false
	}
	if q.measure.in(q.lang, c.cells[i]) {
		return true
	}
	_, isNumber := number(c.cells[i])
	return isNumber && (q.measure.words == lang.Money && priceRE.MatchString(c.cells[i]) ||
		i < len(c.columns) && q.measure.names(q.lang, fileName.Replace(c.columns[i])))
}

// priceRE matches a number that is a price without its currency.
var priceRE = regexp.MustCompile(`^[0-9][0-9., ]*[.,][0-9]{2}$`)

// isMeasured reports whether a sentence holds the quantity that the question asks for.
func (q *question) isMeasured(c *sentence) bool {
	if q.measure == nil {
		return false
	}
	for i := range c.cells {
		if q.measuredColumn(c, i) {
			return true
		}
	}
	if name, value, ok := strings.Cut(c.own, ": "); ok && c.label {
		value = strings.TrimRight(value, ". ")
		if q.measure.words == lang.Money && priceRE.MatchString(value) || q.measure.hasUnit && figuresRE.FindString(value) == value && q.measure.names(q.lang, name) {
			return true // Soup of the day: 4.90
		}
	}
	return !c.row && q.measure.in(q.lang, numberingRE.ReplaceAllString(c.own, ""))
}

// isUnstated reports whether no part of the passages, and nothing that leads to one, holds the quantity or the fact that the question asks for. An age, and a
// quantity whose unit the question names, count if the part or its headings name something of the question: most documents have some of another thing.
func (q *question) isUnstated(readings []*passageView) bool {
	if q.measure == nil && q.fact == noFact || q.measure != nil && !q.measure.recognized && !q.inUnit {
		return false // other quantities can be stated in words: at noon, free of charge
	}
	isAge := q.measure != nil && q.measure.phrases == lang.AsksAge
	var subject []int // indexes of terms
	for i, t := range q.terms {
		if (isAge || q.inUnit) && !q.measure.names(q.lang, t.Word) && !q.lang.Has(q.measure.after, t.Word) {
			subject = append(subject, i)
		}
	}
	isAbout := func(c *sentence) bool {
		return q.open || q.inUnit && len(subject) == 0 || slices.ContainsFunc(subject, func(i int) bool {
			return max(c.exact[i], c.over[i]) >= minAction || q.inUnit && c.covers[i] >= minAction
		})
	}
	return !slices.ContainsFunc(readings, func(r *passageView) bool {
		return slices.ContainsFunc(r.cs, func(c *sentence) bool {
			switch holds := c.evid[measured] > 0 || c.evid[unmeasured] == 0; {
			case isAge:
				return isAbout(c) && (c.evid[measured] > 0 || q.measure.in(q.lang, c.leadingText()))
			case q.inUnit:
				return isAbout(c) && (holds || q.measure.hasUnitIn(q.lang, c.own)) // also without a number: a litre
			default:
				return holds
			}
		})
	})
}

// priceOrShareRE matches a share of a price, or a price without its currency.
var priceOrShareRE = regexp.MustCompile(`[0-9] ?[%％]|\b[0-9]+[.,][0-9]{2}\b`)

// lacksPrice reports whether a question asks for a price, and neither the best sentence, nor what leads to it, nor the rest of the answer has an amount of money, a
// share, or a phrase such as "no charge".
func (q *question) lacksPrice(best *sentence, answer []*sentence) bool {
	if q.measure != money || q.listed || q.open || q.broad || q.whether || q.amountTerm >= 0 || best.evid[unmeasured] == 0 {
		return false
	}
	for i, t := range q.terms {
		if money.hasWord(q.lang, t.Word) && max(best.exact[i], best.over[i]) == 1 {
			return false // "Paid: no", or the tariff of a list of tariffs
		}
	}
	return !slices.ContainsFunc(answer, func(c *sentence) bool {
		_, value, labelled := strings.Cut(c.own, ": ")
		value = strings.TrimRight(value, ". ")
		return labelled && value != "" && figuresRE.FindString(value) == value || money.in(q.lang, c.text) || q.isMeasured(c) || priceOrShareRE.MatchString(c.text) || q.lang.HasPhrase(lang.Free, strings.ToLower(c.text))
	})
}

// amountRE matches a number with the word after it, which may be joined to it: 8-year-old.
var amountRE = regexp.MustCompile(`\b([0-9]{1,6})[ -]?(\pL+)`)

// amountsIn returns the numbers of a question that have a unit: seven years.
func (q *question) amountsIn() (out []float64) {
	for k, w := range q.words[:max(0, len(q.words)-1)] {
		if x, ok := q.lang.Number(lang.Counts, w.Text); ok && q.isUnit(q.words[k+1].Text) {
			out = append(out, x)
		}
	}
	for _, m := range amountRE.FindAllStringSubmatch(strings.ToLower(q.text), 4) {
		if x, err := strconv.ParseFloat(m[1], 64); err == nil && q.isUnit(m[2]) {
			out = append(out, x)
		}
	}
	return out
}

func (q *question) isUnit(word string) bool {
	for _, m := range measures {
		if m.units != "" && m.units != lang.MoneyUnits && m.units != lang.Days && q.lang.Has(m.units, word) {
			return true
		}
	}
	return false
}

var (
	betweenRE = regexp.MustCompile(`([0-9]+(?:[.,][0-9]+)?) ?(?:[–—-]|to|bis|à|a|al|até|до|tot|ile|至|到|から|~|〜) ?([0-9]+(?:[.,][0-9]+)?)`)
	boundRE   = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)?`)
)

// rangeOf returns the range of numbers that a text names, such as 5 to 10 years, over 70 or up to 5 kg. ok is false if it names none.
func rangeOf(l *lang.Language, text string) (from, to float64, ok bool) {
	text = strings.ToLower(text)
	value := func(s string) float64 {
		x, _ := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
		return x
	}
	if m := betweenRE.FindStringSubmatch(text); m != nil {
		from, to = value(m[1]), value(m[2])
		return from, to, from < to
	}
	at := boundRE.FindString(text)
	if at == "" || len(text) > 60 {
		return 0, 0, false
	}
	text = " " + text + " "
	for _, bound := range []lang.Section{lang.Above, lang.Below} {
		for _, p := range l.List(bound) {
			if !strings.Contains(text, p) || l.Code != "zh" && l.Code != "ja" && !strings.Contains(text, " "+p+" ") {
				continue
			}
			if bound == lang.Above {
				return value(at), unbounded, true
			}
			return 0, value(at), true
		}
	}
	return 0, 0, false
}

// rangeFit returns 1 if an amount or a day of the week of the question is in the range that a row or an item names, or if a sentence has the condition of the
// question; below 0 if it is in none of its ranges, and 0 if it names none.
func (q *question) rangeFit(c *sentence) float64 {
	if len(q.amounts) == 0 && q.weekday == 0 {
		return 0
	}
	texts := c.cells
	if !c.row {
		if !c.listed && !c.label {
			return q.otherDays(c) + value(q.hasCondition(c))
		}
		text := c.own
		if i := strings.IndexAny(text, ":："); i > 0 {
			text = text[:i]
		}
		texts = []string{text}
	}
	fit := 0.0
	for k, text := range texts {
		if x := q.dayFit(text, k == 0 || !c.row); x > 0 {
			return x
		} else if x < 0 {
			fit = x
		}
		if len(q.amounts) == 0 {
			continue
		}
		from, to, ok := rangeOf(q.lang, text)
		if !ok {
			continue
		}
		fit = -1
		if q.amountIn(from, to) {
			return 1
		}
	}
	return fit
}

// amountIn reports whether an amount of the question is in a range. "Above 5" is not in "up to 5".
func (q *question) amountIn(from, to float64) bool {
	return slices.ContainsFunc(q.amounts, func(x float64) bool {
		switch b := q.bound; {
		case b == nil:
		case x == b.from && b.to >= unbounded:
			x = math.Nextafter(x, unbounded)
		case x == b.to && b.from == 0:
			x = math.Nextafter(x, 0)
		}
		return x >= from && x <= to
	})
}

// hasCondition reports whether a sentence limits an amount as the question does: if the lag is above 5 seconds.
func (q *question) hasCondition(c *sentence) bool {
	if q.bound == nil {
		return false
	}
	for _, b := range rangesIn(q.lang, c.own, c.words) {
		if b.from == q.bound.from && b.to == q.bound.to {
			return true
		}
	}
	return false
}

// otherDaysInProse counts against a sentence that names only other days of the week than the question. It is low, since "open on Monday and Thursday" does answer
// whether that is open on Wednesday.
const otherDaysInProse = 0.25

// otherDays returns -otherDaysInProse if a sentence is about other days of the week than the question, and otherwise 0: a sentence with an exception or a
// negation can say something of the days that it does not name.
func (q *question) otherDays(c *sentence) float64 {
	if q.weekday == 0 || hasNegation(q.lang, c.words) || slices.ContainsFunc(c.words, func(w lang.Token) bool { return q.lang.Has(lang.Exceptions, w.Text) }) {
		return 0
	}
	var all lang.Weekdays
	for _, d := range q.lang.Weekdays(c.own) {
		all |= d.Weekdays
	}
	if all == 0 || all&q.weekday > 0 {
		return 0
	}
	return -otherDaysInProse
}

// maxDays is the maximum length in bytes of a cell or a label that says for which days of the week a row or an item is.
const maxDays = 60

// dayFit returns 1 if a cell or a label has only days of the week, and one that the question names, -1 if it has only others and is the key of its row, and
// otherwise 0.
func (q *question) dayFit(text string, isKey bool) float64 {
	if q.weekday == 0 || len(text) > maxDays {
		return 0
	}
	var all lang.Weekdays
	rest, from := "", 0
	for _, d := range q.lang.Weekdays(text) {
		all |= d.Weekdays
		rest += text[min(from, d.Start):d.Start]
		from = d.End
	}
	rest += text[min(from, len(text)):]
	other := slices.ContainsFunc(lang.Words(rest), func(w lang.Token) bool { return !q.lang.IsStopWord(w.Text) || q.lang.Has(lang.Exceptions, w.Text) })
	switch {
	case all == 0 || other:
		return 0
	case all&q.weekday == q.weekday || all&q.weekday > 0 && q.weekday&(q.weekday-1) > 0:
		return 1
	case isKey && all&q.weekday == 0:
		return -1
	}
	return 0
}
