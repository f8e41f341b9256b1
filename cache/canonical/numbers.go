package canonical

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cardinals are numbers in words, ordinals are ordinal numbers in words.
var (
	cardinals = table(`one=1|two=2|three=3|four=4|five=5|six=6|seven=7|eight=8|nine=9|ten=10|eleven=11|twelve=12|thirteen=13
fourteen=14|fifteen=15|sixteen=16|seventeen=17|eighteen=18|nineteen=19|twenty=20|thirty=30|forty=40|fifty=50|sixty=60|seventy=70
eighty=80|ninety=90|ii=2|iii=3|iv=4|vi=6|vii=7|viii=8|ix=9|xi=11|xii=12|xiii=13|xiv=14|xv=15|xvi=16|xvii=17|xviii=18|xix=19|xx=20`)
	ordinals = table(`first=1th|second=2th|third=3th|fourth=4th|fifth=5th|sixth=6th|seventh=7th|eighth=8th|ninth=9th|tenth=10th
eleventh=11th|twelfth=12th|thirteenth=13th|fourteenth=14th|fifteenth=15th|sixteenth=16th|seventeenth=17th|eighteenth=18th
nineteenth=19th|twentieth=20th|thirtieth=30th`)
	scales = map[string]float64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
	months = table(`january=01|february=02|march=03|april=04|may=05|june=06|july=07|august=08|september=09|october=10|november=11
december=12|jan=01|feb=02|mar=03|apr=04|jun=06|jul=07|aug=08|sep=09|sept=09|oct=10|nov=11|dec=12`)
	symbols = table(`%=percent|&=and|$=dollar|€=euro|£=pound|¥=yen`)
)

// normalizeNumbers writes numbers, ordinals, amounts and dates in one notation.
func normalizeNumbers(words []word) []word {
	for i := range words {
		w := &words[i]
		if n, ok := cardinals[w.text]; ok {
			w.text, w.inWords = n, true
		} else if n, ok := ordinals[w.text]; ok {
			w.text, w.inWords = n, true
		} else if s, ok := symbols[w.text]; ok {
			w.text = s
		} else if w.number() {
			w.text = normalizeNumeral(w.text)
		}
		if w.number() {
			w.surface = w.text
		}
	}
	out := words[:0]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if n := parseDate(words[i:], &w); n > 0 {
			w.pause = words[i+n-1].pause
			out = append(out, w)
			i += n - 1
			continue
		}
		money := word{}
		if symbols[w.surface] != "" && w.text != "and" && w.text != "percent" && i+1 < len(words) && words[i+1].number() {
			money = word{text: w.text, surface: w.text} // $5 is 5 dollars
			i++
			w = words[i]
		}
		for i+1 < len(words) && w.number() && !w.pause {
			joined, ok := joinNumbers(w.text, words[i+1].text)
			if !ok || w.inWords != words[i+1].inWords && scales[words[i+1].text] == 0 {
				break
			}
			w.text, w.surface, w.pause = joined, joined, words[i+1].pause
			i++
		}
		if money.text != "" {
			money.pause, w.pause = w.pause, false
			out = append(out, w)
			w = money
		}
		out = append(out, w)
	}
	return out
}

// normalizeNumeral removes thousands separators, and writes ordinals with th.
func normalizeNumeral(s string) string {
	s = strings.ReplaceAll(s, ",", "")
	for _, end := range [...]string{"st", "nd", "rd", "th"} {
		if n, ok := strings.CutSuffix(s, end); ok && strings.Trim(n, "0123456789") == "" {
			return n + "th"
		}
	}
	return s
}

// joinNumbers returns the number that two words form: twenty and five, 5 and million.
func joinNumbers(a, b string) (string, bool) {
	if scale, ok := scales[b]; ok {
		n, err := strconv.ParseFloat(a, 64)
		if err != nil || math.Abs(n) > 1e6 {
			return "", false
		}
		if n *= scale; n == math.Trunc(n) {
			return strconv.FormatInt(int64(n), 10), true
		}
		return strconv.FormatFloat(n, 'f', -1, 64), true
	}
	unit := strings.TrimSuffix(b, "th")
	if len(a) == 2 && a[1] == '0' && a[0] > '1' && a[0] <= '9' && len(unit) == 1 && unit[0] >= '1' && unit[0] <= '9' {
		return a[:1] + b, true
	}
	return "", false
}

// parseDate parses a date at the beginning of words and returns the number of its words: January 5, 1990; 5th of January 1990; January 1990;
// January 5.
func parseDate(words []word, into *word) int {
	at := func(i int) string {
		if i < len(words) {
			return words[i].text
		}
		return ""
	}
	month, ok := months[at(0)]
	n, day := 1, ""
	if ok {
		if d, isDay := parseDay(at(1)); isDay {
			day, n = d, 2
		}
	} else {
		d, isDay := parseDay(at(0))
		if at(1) == "of" {
			n = 2
		}
		if month, ok = months[at(n)]; !isDay || !ok || at(n) == "may" && n == 1 && at(2) != "" && !isYear(at(2)) {
			return 0
		}
		day = d
		n++
	}
	of := 0
	if at(n) == "of" {
		of = 1
	}
	switch {
	case isYear(at(n+of)) && day != "":
		into.text, n = fmt.Sprintf("%s-%s-%s", at(n+of), month, day), n+of+1
	case isYear(at(n + of)):
		into.text, n = fmt.Sprintf("%s-%s", at(n+of), month), n+of+1
	case day != "":
		into.text = fmt.Sprintf("0-%s-%s", month, day)
	default:
		return 0
	}
	into.surface, into.possessive = into.text, false
	return n
}

func isYear(s string) bool { return len(s) == 4 && strings.Trim(s, "0123456789") == "" }

func parseDay(s string) (string, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "th"))
	if err != nil || n < 1 || n > 31 {
		return "", false
	}
	return fmt.Sprintf("%02d", n), true
}
