package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// quantity returns a measure of a quantity whose amounts nearly always have a unit. symbols are those that all languages have, as a regular expression.
func quantity(phrases, units lang.Section, symbols string, also ...*measure) *measure {
	return &measure{phrases: phrases, units: units, also: also, hasUnit: true, symbols: regexp.MustCompile(`[0-9½¼¾] ?-?(?:` + symbols + `)(?:[^\pL\pN]|$)`),
		symbol: regexp.MustCompile(`(?:^|[^\pL\pN])(?:` + symbols + `)(?:[^\pL\pN]|$)`)}
}

var (
	energy = quantity(lang.AsksEnergy, lang.EnergyUnits, `(?i:[kMGT]?Wh|kilowatt[ -]hours?|k?cal|[kM]J)|кВт[·⋅*]?ч|ккал|кДж`)
	area   = quantity(lang.AsksArea, lang.AreaUnits, `(?i:[ckm]?m[²2]|ha|sq\.? ?(?:ft|m|km|yd|in|mi)|ft[²2]|qm)|к?м[²2]|га|㎡`)
	volume = quantity(lang.AsksVolume, lang.VolumeUnits, `(?i:[cdmh]?l|fl\.? ?oz|gal|[cdm]?m[³3]|cc|cu\.? ?ft)|мл|л|м[³3]`)
	share  = &measure{phrases: lang.AsksShare, units: lang.ShareUnits, symbols: regexp.MustCompile(`[0-9] ?[%‰％]|(?:per ?cent|por cien|yüzde|百分之)`)}
	data   = quantity(lang.AsksData, lang.DataUnits, `(?i:[KMGTP]i?B)|[КМГТ]Б`)
)

// quantities are those that only a phrase or a unit of a question shows: "how loud", "in decibels".
var quantities = []*measure{
	quantity(lang.AsksLoudness, lang.LoudnessUnits, `(?i:dB)|дБ`),
	quantity(lang.AsksPower, lang.PowerUnits, `(?i:[kMG]?Wp?|hp|bhp|PS|CV|pk)|[кМ]?Вт`, energy), // in speech, power is often energy
	energy,
	quantity(lang.AsksVoltage, lang.VoltageUnits, `[kmM]?V`),
	quantity(lang.AsksCurrent, lang.CurrentUnits, `m?A`),
	area,
	volume,
	quantity(lang.AsksSpeed, lang.SpeedUnits, `(?i:km/?h|mph|kph|m/s|kts?|kn)|км/ч|м/с`, duration), // how fast do they repair it?
	data,
	share,
	quantity(lang.AsksPressure, lang.PressureUnits, `(?i:m?bar|psi|[hkM]?Pa)|бар|атм`),
	{phrases: lang.AsksSize, symbols: length.symbols, also: []*measure{length, area, volume, data, share, money}},
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

// unitOf returns the quantity of the unit in which a question asks for a number: how many litres, in decibels. It returns nil if it names none.
func (q *question) unitOf() *measure {
	for _, w := range unitWords(q.lang, q.text) {
		before, rest := strings.TrimRight(strings.ToLower(q.text[:w.Start]), " "), q.text[w.Start:]
		name := w.Text[strings.LastIndexAny(w.Text, "'’")+1:] // combien d'ampères
		counted := q.endsWith(before, lang.AsksCount) || q.endsWith(before, lang.AsksNumber) || q.lang.Code == "ja" && strings.HasSuffix(before, "何")
		if !counted && !q.endsWith(before, lang.InUnit) || q.lang.Has(lang.MoneyUnits, name) {
			continue
		}
		// After a preposition, other words are often written as a unit is: in ons dorp, en pie.
		isWord := counted || len(name) > 3 && !strings.ContainsFunc(q.text[w.End:], wordy)
		for _, m := range measures {
			if m.hasUnit && (isWord && q.lang.Has(m.units, name) || !q.lang.Spaced() && q.beginsWithUnit(m, rest) || len(w.Text) > 1 && beginsWith(m.symbol, rest)) {
				return m
			}
		}
	}
	return nil
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
