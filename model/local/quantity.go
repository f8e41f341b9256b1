package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// quantity returns a measure of a quantity whose amounts nearly always have a unit. symbols, a regular expression, are units that all languages have. Those of
// short also mean other things (class A, PS, l'eau, il ha), so they need a number before them.
func quantity(phrases, units lang.Section, symbols, short string, also ...*measure) *measure {
	return &measure{phrases: phrases, units: units, also: also, hasUnit: true, amounts: regexp.MustCompile(`[0-9½¼¾] ?-?(?:` + symbols + `|` + short + `)(?:[^\pL\pN'’]|$)`),
		symbol: regexp.MustCompile(`(?:^|[^\pL\pN])(?:` + symbols + `)(?:[^\pL\pN-]|$)`)}
}

var (
	energy = quantity(lang.AsksEnergy, lang.EnergyUnits, `(?i:[kMGT]?Wh|kilowatt[ -]hours?|kcal|[kM]J)|кВт[·⋅*]?ч|ккал|кДж`, `(?i:cal)`)
	area   = quantity(lang.AsksArea, lang.AreaUnits, `[ckm]?m[²2]|(?i:sq\.? ?(?:ft|m|km|yd|in|mi)|ft[²2]|qm)|к?м[²2]|㎡`, `га`)
	volume = quantity(lang.AsksVolume, lang.VolumeUnits, `[cdm]?m[³3]|(?i:[cdmh]l|fl\.? ?oz|cu\.? ?ft)|мл|м[³3]`, `(?i:l|cc|gal)|л`)
	share  = &measure{phrases: lang.AsksShare, units: lang.ShareUnits, amounts: regexp.MustCompile(`[0-9] ?[%‰％]|(?:per ?cent|por cien|yüzde|百分之)`)}
	data   = quantity(lang.AsksData, lang.DataUnits, `(?i:[KMGTP]i?B)`, `[КМГТ]Б`)
)

// quantities are those that only a phrase or a unit of a question shows: "how loud", "in decibels".
var quantities = []*measure{
	quantity(lang.AsksLoudness, lang.LoudnessUnits, `(?i:dB)|дБ`, `дБА`),
	quantity(lang.AsksPower, lang.PowerUnits, `(?i:[kMG]Wp?|b?hp)|[кМ]Вт`, `(?i:Wp?|PS|CV|pk)|Вт`, energy), // in speech, power is often energy
	energy,
	quantity(lang.AsksVoltage, lang.VoltageUnits, `[km]V`, `M?V`),
	quantity(lang.AsksCurrent, lang.CurrentUnits, `mA`, `A`),
	area,
	volume,
	quantity(lang.AsksSpeed, lang.SpeedUnits, `(?i:km/?h|mph|kph|m/s)|км/ч|м/с`, `(?i:kts?|kn)`, duration), // how fast do they repair it?
	data,
	share,
	quantity(lang.AsksPressure, lang.PressureUnits, `(?i:mbar|psi|[hkM]Pa)`, `(?i:bar|Pa)|бар|атм`),
	{phrases: lang.AsksSize, amounts: length.amounts, also: []*measure{length, area, volume, data, share, money}},
}

// unitWords returns the words of a text. Both words of a unit of an area or a volume, such as square metre, are m² or m³, as the files of languages have them.
func unitWords(l *lang.Language, text string) []lang.Token {
	words := lang.Words(text)
	for k := range words[:max(0, len(words)-1)] {
		a, b := &words[k], &words[k+1]
		is := func(s lang.Section) bool {
			return l.Has(s, a.Text) && l.Has(lang.LengthUnits, b.Text) || l.Has(s, b.Text) && l.Has(lang.LengthUnits, a.Text)
		}
		if is(lang.Squares) {
			a.Text, b.Text = "m²", "m²"
		} else if is(lang.Cubes) {
			a.Text, b.Text = "m³", "m³"
		}
	}
	return words
}

// unitOf returns the quantity of the unit in which a question asks for a number: how many litres, in decibels. It returns nil if it names none. After a
// preposition, a unit counts with words for its quantity, asked, which may be nil: quanto costa in metro? asks for money. Without such words, only a symbol
// with a small first letter counts: most others are also abbreviations, as in GB.
func (q *question) unitOf(asked *measure) *measure {
	words := unitWords(q.lang, q.text)
	for k, w := range words {
		before, rest := strings.TrimRight(strings.ToLower(q.text[:w.Start]), " "), q.text[w.Start:]
		name := w.Text[strings.LastIndexAny(w.Text, "'’")+1:] // combien d'ampères
		counted := (q.endsWith(before, lang.AsksCount) || q.endsWith(before, lang.AsksNumber) || q.lang.Code == "ja" && strings.HasSuffix(before, "何")) && !q.isModifier(words[k:])
		if !counted && !q.endsWith(before, lang.InUnit) || q.lang.Has(lang.MoneyUnits, name) {
			continue
		}
		for _, m := range measures {
			isSymbol := m.hasUnit && beginsWith(m.symbol, rest)
			isUnit := isSymbol || m.hasUnit && (q.lang.Has(m.units, name) || !q.lang.Spaced() && q.beginsWithUnit(m, rest))
			fits := counted || asked != nil && (m == asked || slices.Contains(asked.also, m)) || asked == nil && isSymbol && startsLower(rest)
			if isUnit && fits {
				return m
			}
		}
	}
	return nil
}

// isModifier reports whether a unit, the first of the words, belongs to a noun after it: how many amp sockets. In other languages than English, a verb can be
// there: combien de kWh consomme la pompe.
func (q *question) isModifier(words []lang.Token) bool {
	next := slices.IndexFunc(words, func(w lang.Token) bool { return w.Text != words[0].Text }) // square metres are m² m²
	return q.lang.Code == "en" && next > 0 && q.text[words[next-1].End:words[next].Start] == " " && !q.lang.IsStopWord(words[next].Text)
}

// isNumber reports whether a word is a number, in figures or as a word.
func isNumber(l *lang.Language, word string) bool {
	_, count := l.Number(lang.Counts, word)
	return count || word[0] >= '0' && word[0] <= '9'
}

// endsWith reports whether the part of a question before a word ends with a phrase of a section.
func (q *question) endsWith(before string, s lang.Section) bool {
	return slices.ContainsFunc(q.lang.List(s), func(p string) bool {
		rest, ok := strings.CutSuffix(before, p)
		last, _ := utf8.DecodeLastRuneInString(rest)
		return ok && (!q.lang.Spaced() || !wordy(last))
	})
}

// beginsWithUnit reports whether a Chinese or Japanese text begins with a unit of several characters. Those of one are parts of many words.
func (q *question) beginsWithUnit(m *measure, text string) bool {
	return slices.ContainsFunc(q.lang.List(m.units), func(u string) bool { return len([]rune(u)) > 1 && strings.HasPrefix(text, u) })
}

// isAfterNumber reports whether a Chinese or Japanese text has a unit after a number.
func (m *measure) isAfterNumber(l *lang.Language, text string) bool {
	return slices.ContainsFunc(l.List(m.units), func(u string) bool {
		parts := strings.Split(text, u)
		return slices.ContainsFunc(parts[:len(parts)-1], func(before string) bool {
			last, size := utf8.DecodeLastRuneInString(strings.TrimRight(before, " "))
			return size > 0 && (unicode.IsDigit(last) || l.Has(lang.Counts, string(last)))
		})
	})
}

// beginsWith reports whether a text begins with a match of an expression.
func beginsWith(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	return at != nil && at[0] == 0
}
