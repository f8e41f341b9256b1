package verify

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// side is one of two opposites: the axis that they lie on, and which end.
type side struct {
	axis int8
	sign int8
}

// opposites are words for the ends of an axis. Of one word's forms those are listed whose stems differ.
var opposites = [...]string{
	"increase increased rise rose risen grow grew grown growth raise raised higher high highest gain gained greater greatest more elevate elevation upregulate augment expand faster strengthen larger longer climb soar surge double boost|" +
		"decrease decreased fall fell fallen shrink shrank decline drop dropped lower low lowest reduce reduction less fewer fewest loss downregulate diminish diminution slow slower weaken smaller shorter attenuate attenuation lessen plunge halve cut sink sank",
	"cause promote activate activation stimulate stimulation trigger induce induction enable facilitate encourage|" +
		"prevent prevention inhibit inhibition suppress suppression block abolish hinder halt discourage impede",
	"before earlier|after later",
	"majority|minority",
	"maximum largest biggest longest|minimum smallest shortest",
	"best better superior improve improvement enhance ameliorate alleviate rescue restore|" +
		"worst worse worsen inferior deteriorate exacerbate aggravate impair impairment damage",
	"overestimate|underestimate", "accelerate|decelerate",
	"win won victory|lose lost defeat",
	"accept approve approved approval permit allow legal|reject rejection refuse refused refusal deny prohibit prohibition forbid forbidden ban illegal",
	"success beneficial|failure unsuccessful harmful",
	"positive positively|negative negatively",
	"always often frequently usually|seldom rarely",
	"north northern|south southern", "east eastern|west western",
	"opened|closed shut", "start started begin began begun launch|end ended finish finished stop stopped cease",
	"presence present|absence absent lack deficient deficiency", "resistant resistance immune|susceptible susceptibility vulnerable prone",
	"known|unknown", "first|last", "buy bought purchase|sell sold", "import|export", "arrive arrived|depart departed",
	"male man men|female woman women", "alive survive|dead die died", "hot warm|cold cool", "old older|young younger", "rich|poor",
	"agree agreed|disagree disagreed", "include included|exclude excluded", "public|private", "true correct|false wrong incorrect", "profit|deficit",
}

var sides = func() map[string]side {
	m := map[string]side{}
	for i, pair := range opposites {
		left, right, _ := strings.Cut(pair, "|")
		for sign, words := range map[int8]string{1: left, -1: right} {
			for w := range strings.FieldsSeq(words) {
				m[lang.Stem(w)] = side{int8(i), sign}
			}
		}
	}
	return m
}()

// denials turn what they stand with into its opposite.
var denials = wordSet("not no never without cannot neither nor none nobody nothing hardly scarcely unable fail fails failed failing nowhere ineffective incapable " +
	"unrelated useless unlikely little")

func denial(ws []word, i int) bool {
	w := ws[i].text
	if !in(denials, w) && !strings.HasSuffix(w, "n't") {
		return false
	}
	if i+1 < len(ws) {
		switch next := ws[i+1].text; {
		case w == "not" && (next == "only" || next == "just" || next == "merely"), w == "no" && (next == "doubt" || next == "less" || next == "fewer"),
			w == "little" && i > 0 && ws[i-1].text == "a":
			return false // not only: it says the thing
		}
	}
	for k := i - 1; w == "nor" && k >= 0; k-- {
		if ws[k].text == "neither" {
			return false // it is counted
		}
	}
	return true
}

// scope is how many words a negation reaches.
const scope = 8

// denied counts the negations among the words that bear on one of the stems: it stands behind the negation, in the same
// clause, or where nothing does, before it.
func denied(ws []word, about func(stem string) bool) int {
	n := 0
	for i := range ws {
		if denial(ws, i) && bears(ws, i, about) {
			n++
		}
	}
	return n
}

func bears(ws []word, i int, about func(string) bool) bool {
	empty := true
	for k := i + 1; k < min(len(ws), i+1+scope) && !ws[k].cut; k++ {
		if !ws[k].stop {
			empty = false
			if about(ws[k].stem) {
				return true
			}
		}
	}
	for k := i - 1; empty && k >= max(0, i-scope); k-- {
		if about(ws[k].stem) {
			return true
		}
		if ws[k+1].cut {
			break
		}
	}
	return false
}

// prefixes make a word its opposite. What begins with the longer ones, or with those that also mean within, must be longer.
var prefixes = map[string]int{"un": 4, "non": 4, "de": 5, "in": 5, "im": 5, "ir": 5, "il": 5, "dis": 5, "mis": 5}

// contrary says whether one stem is the other behind a prefix that denies it.
func contrary(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	front, ok := strings.CutSuffix(b, a)
	least := prefixes[front]
	return ok && least > 0 && len(a) >= least
}

// sidesOf gives, for each axis, which ends the words stand at: 1, -1 or both, 0 being both.
func sidesOf(ws []word) map[int8]int8 {
	var m map[int8]int8
	for i, w := range ws {
		s, ok := sides[w.stem]
		if !ok || measures(ws[i:]) {
			continue
		}
		if m == nil {
			m = map[int8]int8{}
		}
		if old, ok := m[s.axis]; ok && old != s.sign {
			m[s.axis] = 0
		} else {
			m[s.axis] = s.sign
		}
	}
	return m
}

// measures says whether words begin as more than 300 does, which is a number and no direction.
func measures(ws []word) bool {
	return len(ws) > 2 && ws[1].text == "than" && in(amounts, ws[0].text) && numeral(ws[2])
}

var amounts = wordSet("more less fewer")

func numeral(w word) bool {
	_, letters := spelt[w.text]
	return letters || w.text[0] >= '0' && w.text[0] <= '9'
}

// stance is what a sentence says of a claim.
type stance int8

const (
	contradicts stance = iota - 1
	silent             // it says nothing of what the claim is about, such as whether it rose
	agrees
)

// stance compares the claim with a sentence that is about the same. It says the opposite where an odd number of negations,
// opposites and exchanged sides of a comparison lie between the two. Two of them cancel out: what did not rise fell, or stayed.
func (s *statement) stance(ws []word) stance {
	if s.quotes(ws) {
		return agrees
	}
	ws = s.clauses(ws)
	denials := denied(ws, s.mentions)
	n := s.denials + denials
	theirs := sidesOf(ws)
	shared := false
	for axis, sign := range s.sides {
		other, ok := theirs[axis]
		shared = shared || ok
		if ok && sign != 0 && other == -sign {
			n++
		}
	}
	for _, t := range s.terms {
		if s.prefixed(t.Stem, ws) {
			n++
		}
	}
	if s.exchanged(ws) {
		n++
	}
	switch {
	case n%2 == 1:
		return contradicts
	case len(s.sides) > 0 && !shared && denials == 0:
		return silent
	}
	return agrees
}

// quotes says whether the claim is the sentence, or most of it as it stands there.
func (s *statement) quotes(ws []word) bool {
	n := len(s.words)
	if 10*n < 7*len(ws) {
		return false
	}
	for from := 0; from+n <= len(ws); from++ {
		k := 0
		for k < n && s.words[k].text == ws[from+k].text {
			k++
		}
		if k == n {
			return true
		}
	}
	return false
}

// clauses gives the clauses of a sentence that share a word with the claim other than an opposite; all where none does.
func (s *statement) clauses(ws []word) []word {
	var out []word
	for from := 0; from < len(ws); {
		to := from + 1
		for to < len(ws) && !ws[to].cut {
			to++
		}
		for _, w := range ws[from:to] {
			_, end := sides[w.stem]
			if _, ok := s.at[w.stem]; ok && !end && !w.stop {
				out = append(out, ws[from:to]...)
				break
			}
		}
		from = to
	}
	if out == nil {
		return ws
	}
	return out
}

// mentions says whether the claim speaks of a stem, of an opposite of one or of its contrary.
func (s *statement) mentions(stem string) bool {
	if _, ok := s.at[stem]; ok {
		return true
	}
	if side, ok := sides[stem]; ok {
		_, ok := s.sides[side.axis]
		return ok
	}
	return false
}

// prefixed says whether the words hold the contrary of a term of the claim, and not the term.
func (s *statement) prefixed(stem string, ws []word) bool {
	found := false
	for _, w := range ws {
		if w.stem == stem {
			return false
		}
		found = found || contrary(stem, w.stem) && !in(denials, w.text) && !s.denies(stem)
	}
	return found
}

// denies says whether the word of a stem is one of the claim's denials, which count by themselves.
func (s *statement) denies(stem string) bool {
	i, ok := s.at[stem]
	return ok && in(denials, s.terms[i].Word)
}

// exchanged says whether both compare with than, and the claim's first side is the other's second.
func (s *statement) exchanged(ws []word) bool {
	at := than(ws)
	if s.than < 0 || at < 0 {
		return false
	}
	var here, there, back int // the claim's terms behind than: behind it, before it; and those before than that stand behind it
	for i, w := range ws {
		k, ok := s.at[w.stem]
		if !ok || w.stop || s.both[k] {
			continue
		}
		switch {
		case s.left[k] && i > at:
			back++
		case !s.left[k] && i > at:
			here++
		case !s.left[k]:
			there++
		}
	}
	return here == 0 && there > 0 && back > 0
}

// than gives the place of the word that parts the sides of a comparison, and -1 where none does. What follows it in older
// than 65 is no side.
func than(ws []word) int {
	for i, w := range ws {
		if w.text == "than" && (i+1 == len(ws) || !numeral(ws[i+1])) {
			return i
		}
	}
	return -1
}
