package verify

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// value is a number, a part of a date or a fraction in a text.
type value struct {
	kind    kind
	x       float64
	figures int  // number of significant digits
	rounded bool // marked as approximate: about, nearly
	at, n   int  // position and number of its words
}

// kind distinguishes values that are not comparable.
type kind uint8

const (
	count kind = iota
	year
	percent
	month
	weekday
	day      // of a month
	spellOut // a small number in letters, which texts may express without a number
)

// named reports whether values of the kind are names rather than numbers.
func (k kind) named() bool { return k == month || k == weekday || k == day }

var (
	// units are English letters after a number that multiply it, also across a space.
	units     = map[string]float64{"bn": 1e9, "m": 1e6, "k": 1e3}
	roundings = lang.WordSet("about around approximately approx roughly nearly almost some circa ca over under more less than least most up close")
)

// scale returns the factor of a word such as thousand, or 0.
func scale(l *lang.Language, w string) float64 {
	if x, _ := l.Number(lang.Counts, w); x >= 100 {
		return x
	}
	if l == lang.English {
		return units[w]
	}
	return 0
}

// valuesIn returns the values among the words of s.
func valuesIn(l *lang.Language, s string, ws []word) []value {
	var out []value
	for i := 0; i < len(ws); i++ {
		v, n, ok := valueAt(l, s, ws[i:])
		if ok && i > 0 && ws[i].start == ws[i-1].end+1 && s[ws[i-1].end] == '-' && ws[i-1].text[0] > '9' {
			continue // part of a name: PD-1
		}
		if !ok {
			if n := monthAt(l, s, ws, i); n > 0 {
				out = append(out, value{kind: month, x: n, at: i, n: 1})
			} else if n, ok := l.Number(lang.Days, ws[i].text); ok {
				out = append(out, value{kind: weekday, x: n, at: i, n: 1})
			}
			continue
		}
		v.at, v.n = i, n
		if v.kind == count && n == 1 && v.x <= 31 && (monthAt(l, s, ws, i-1)+monthAt(l, s, ws, i+1) > 0 || i+2 < len(ws) && l.IsStopWord(ws[i+1].text) && monthAt(l, s, ws, i+2) > 0) {
			v.kind = day
		}
		for k := max(0, i-2); k < i; k++ {
			v.rounded = v.rounded || in(roundings, ws[k].text)
		}
		if v.kind == year && len(ws[i].text) == len("2024-01-02") {
			m, _ := strconv.Atoi(ws[i].text[5:7])
			d, _ := strconv.Atoi(ws[i].text[8:])
			out = append(out, value{kind: month, x: float64(m), at: i, n: 1}, value{kind: day, x: float64(d), at: i, n: 1})
		}
		out = append(out, v)
		i += n - 1
	}
	return out
}

// monthAt returns the number of the month that the word at i names, or 0. In English, it has a capital letter.
func monthAt(l *lang.Language, s string, ws []word, i int) float64 {
	if i < 0 || i >= len(ws) || l == lang.English && s[ws[i].start] >= 'a' {
		return 0
	}
	n, _ := l.Number(lang.Months, ws[i].text)
	return n
}

// valueAt parses the value at the start of words, and returns the number of words it takes.
func valueAt(l *lang.Language, s string, ws []word) (v value, n int, ok bool) {
	w := ws[0].text
	x, spelt := l.Number(lang.Counts, w)
	if spelt && x < 1 {
		return value{kind: percent, x: 100 * x, figures: 2, rounded: true}, 1, x == 0.5 || len(ws) > 1 && ws[1].text == "of"
	}
	scaled := len(ws) > 1 && scale(l, ws[1].text) != 0
	if w == "one" || w == "a" {
		x, spelt = 1, scaled
	}
	v = value{x: x, kind: spellOut, figures: 2}
	if ok = spelt && x < 100 && (x > 2 || scaled); !ok {
		if v, ok = digits(l, w); !ok {
			return value{}, 0, false
		}
	}
	n = 1
	for ; n < len(ws) && n < 4; n++ {
		x := scale(l, ws[n].text)
		if x == 0 || v.kind != spellOut && n == 1 && x < 1e3 || ws[n].start-ws[n-1].end > 1 {
			break
		}
		v.x, v.kind = v.x*x, count
	}
	if rest := s[ws[n-1].end:]; strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, " %") ||
		n < len(ws) && (ws[n].text == "percent" || ws[n].text == "per" && n+1 < len(ws) && ws[n+1].text == "cent") {
		v.kind = percent
	}
	return v, n, true
}

var thousandsRE = regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{3})+$`)

// digits parses a number in digits and letters that follow it in the same word.
func digits(l *lang.Language, w string) (value, bool) {
	if w[0] < '0' || w[0] > '9' {
		return value{}, false
	}
	if len(w) == len("2024-01-02") && w[4] == '-' && w[7] == '-' {
		w = w[:4]
	}
	number := strings.TrimRightFunc(w, func(r rune) bool { return !unicode.IsDigit(r) })
	unit := w[len(number):]
	if l.DecimalComma && (strings.Contains(number, ",") || thousandsRE.MatchString(number)) {
		number = strings.ReplaceAll(strings.ReplaceAll(number, ".", ""), ",", ".")
	}
	number = strings.ReplaceAll(number, ",", "")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(x, 0) {
		return value{}, false // a version, an address or a date with points
	}
	v := value{x: x, figures: len(strings.Trim(strings.Replace(number, ".", "", 1), "0"))}
	if v.figures == 0 {
		v.figures = 1
	}
	switch k := scale(l, unit); {
	case len(number) == 4 && x >= 1000 && x < 2200 && (unit == "" || unit == "s") && !strings.Contains(w, ","):
		v.kind = year
	case k != 0:
		v.x *= k
	}
	return v, true
}

// same reports whether the value p of a source supports v: they are equal, equal as fractions, or v is p rounded.
func (v value) same(p value) bool {
	if v.kind.named() || p.kind.named() {
		return v.kind == p.kind && v.x == p.x
	}
	if v.near(p.x, p) {
		return true
	}
	return v.kind == percent && p.kind == count && p.x < 1 && v.near(100*p.x, p) || p.kind == percent && v.kind == count && v.x < 1 && p.near(100*v.x, v)
}

// near compares numbers. A number marked as approximate may differ by a twentieth; otherwise all its digits, at least two,
// must be right.
func (v value) near(x float64, p value) bool {
	off := math.Abs(v.x - x)
	switch scale := math.Abs(x); {
	case off <= 1e-9*scale:
		return true
	case v.kind == year || p.kind == year:
		return false
	case v.rounded && off <= 0.05*scale:
		return true
	default:
		return v.figures >= 2 && p.figures > v.figures && off <= 0.5*math.Pow(10, math.Floor(math.Log10(math.Abs(v.x)))-float64(v.figures-1))
	}
}
