package verify

import (
	"math"
	"strconv"
	"strings"
	"unicode"
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
	spelt = map[string]float64{"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
		"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
		"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12}
	ones      = map[string]float64{"one": 1, "two": 2, "a": 1}
	scales    = map[string]float64{"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "m": 1e6, "k": 1e3}
	fractions = map[string]float64{"half": 50, "third": 100.0 / 3, "thirds": 200.0 / 3, "quarter": 25, "quarters": 75}
	roundings = wordSet("about around approximately approx roughly nearly almost some circa ca over under more less than least most up close")
	months    = numbered("january february march april may june july august september october november december")
	weekdays  = numbered("monday tuesday wednesday thursday friday saturday sunday")
)

func numbered(words string) map[string]float64 {
	m := map[string]float64{}
	for i, w := range strings.Fields(words) {
		m[w] = float64(i + 1)
	}
	return m
}

// valuesIn returns the values among the words of s.
func valuesIn(s string, ws []word) []value {
	var out []value
	for i := 0; i < len(ws); i++ {
		v, n, ok := valueAt(s, ws[i:])
		if ok && i > 0 && ws[i].start == ws[i-1].end+1 && s[ws[i-1].end] == '-' && ws[i-1].text[0] > '9' {
			continue // part of a name: PD-1
		}
		if !ok {
			if n, ok := months[ws[i].text]; ok && s[ws[i].start] < 'a' {
				out = append(out, value{kind: month, x: n, at: i, n: 1})
			} else if n, ok := weekdays[ws[i].text]; ok {
				out = append(out, value{kind: weekday, x: n, at: i, n: 1})
			}
			continue
		}
		v.at, v.n = i, n
		if v.kind == count && n == 1 && v.x <= 31 && (monthAt(s, ws, i-1) || monthAt(s, ws, i+1) || i+2 < len(ws) && ws[i+1].text == "of" && monthAt(s, ws, i+2)) {
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
		if v.kind == count && n == 1 && i+2 < len(ws) && ws[i+1].text == "in" { // as in "1 in 5"
			if of, m, ok := valueAt(s, ws[i+2:]); ok && of.kind == count && of.x > v.x {
				out = append(out, value{kind: percent, x: 100 * v.x / of.x, figures: 2, rounded: v.rounded, at: i, n: 1}, v, of)
				i += 1 + m
				continue
			}
		}
		out = append(out, v)
		i += n - 1
	}
	return out
}

// monthAt reports whether the word at i names a month.
func monthAt(s string, ws []word, i int) bool {
	if i < 0 || i >= len(ws) {
		return false
	}
	_, ok := months[ws[i].text]
	return ok && s[ws[i].start] < 'a'
}

// valueAt parses the value at the start of words, and returns the number of words it takes.
func valueAt(s string, ws []word) (v value, n int, ok bool) {
	w := ws[0].text
	share, isShare := fractions[w]
	if isShare {
		return value{kind: percent, x: share, figures: 2, rounded: true}, 1, ws[0].text == "half" || len(ws) > 1 && ws[1].text == "of"
	}
	letters := true
	v.x, ok = spelt[w]
	if _, one := ones[w]; one && len(ws) > 1 && scales[ws[1].text] != 0 {
		v.x, ok = ones[w], true
	}
	v.kind, v.figures = spellOut, 2
	if !ok {
		letters = false
		if v, ok = digits(w); !ok {
			return value{}, 0, false
		}
	}
	n = 1
	for ; n < len(ws) && n < 4; n++ {
		x, isScale := scales[ws[n].text]
		if !isScale || !letters && x < 1e3 || ws[n].start-ws[n-1].end > 1 {
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

// digits parses a number in digits and letters that follow it in the same word.
func digits(w string) (value, bool) {
	if w[0] < '0' || w[0] > '9' {
		return value{}, false
	}
	if len(w) == len("2024-01-02") && w[4] == '-' && w[7] == '-' {
		w = w[:4]
	}
	number := strings.TrimRightFunc(w, func(r rune) bool { return !unicode.IsDigit(r) })
	unit := w[len(number):]
	number = strings.ReplaceAll(number, ",", "")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(x, 0) {
		return value{}, false // a version, an address or a date with points
	}
	v := value{x: x, figures: len(strings.Trim(strings.Replace(number, ".", "", 1), "0"))}
	if v.figures == 0 {
		v.figures = 1
	}
	switch k := scales[unit]; {
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
