package verify

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// pole is a word's position on an axis between two antonyms.
type pole struct {
	axis int8
	sign int8
}

// antonyms are grouped by axis. Of the forms of a word, those with distinct stems are listed.
var antonyms = [...]string{
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

var poles = func() map[string]pole {
	m := map[string]pole{}
	for i, pair := range antonyms {
		left, right, _ := strings.Cut(pair, "|")
		for sign, words := range map[int8]string{1: left, -1: right} {
			for w := range strings.FieldsSeq(words) {
				m[lang.Stem(w)] = pole{int8(i), sign}
			}
		}
	}
	return m
}()

// pole returns the pole of a stem. The table of antonyms is English.
func (s *statement) pole(stem string) (pole, bool) {
	if s.language != lang.English {
		return pole{}, false
	}
	p, ok := poles[stem]
	return p, ok
}

// negations are English words that negate.
var negations = lang.WordSet("not no never without cannot neither nor none nobody nothing hardly scarcely unable fail fails failed failing nowhere ineffective incapable " +
	"unrelated useless unlikely little")

func isNegation(ws []word, i int) bool {
	w := ws[i].text
	if !in(negations, w) && !strings.HasSuffix(w, "n't") {
		return false
	}
	if i+1 < len(ws) {
		switch next := ws[i+1].text; {
		case w == "not" && (next == "only" || next == "just" || next == "merely"), w == "no" && (next == "doubt" || next == "less" || next == "fewer"),
			w == "little" && i > 0 && ws[i-1].text == "a":
			return false // "not only" affirms
		}
	}
	for k := i - 1; w == "nor" && k >= 0; k-- {
		if ws[k].text == "neither" {
			return false // counted elsewhere
		}
	}
	return true
}

// negationScope is the number of words that a negation affects.
const negationScope = 8

// countNegations counts the negations that affect a stem of the claim: it follows the negation in the same clause or, if nothing
// follows, precedes it. In languages other than English, where several words may negate together as ne and pas do, each clause
// has one.
func (s *statement) countNegations(ws []word) int {
	n := 0
	negated := false
	for i := range ws {
		negated = negated && !ws[i].startsClause
		switch {
		case s.language == lang.English && isNegation(ws, i) && affects(ws, i, s.mentions):
			n++
		case s.language != lang.English && !negated && s.language.Has(lang.Negations, ws[i].text) && affects(ws, i, s.mentions):
			n++
			negated = true
		}
	}
	return n
}

func affects(ws []word, i int, about func(string) bool) bool {
	empty := true
	for k := i + 1; k < min(len(ws), i+1+negationScope) && !ws[k].startsClause; k++ {
		if !ws[k].stop {
			empty = false
			if about(ws[k].stem) {
				return true
			}
		}
	}
	for k := i - 1; empty && k >= max(0, i-negationScope); k-- {
		if about(ws[k].stem) {
			return true
		}
		if ws[k+1].startsClause {
			break
		}
	}
	return false
}

// polesOf returns the poles of each axis that occur among the words: 1, -1, or 0 if both poles occur.
func (s *statement) polesOf(ws []word) map[int8]int8 {
	var m map[int8]int8
	for _, w := range ws {
		p, ok := s.pole(w.stem)
		if !ok {
			continue
		}
		if m == nil {
			m = map[int8]int8{}
		}
		if old, ok := m[p.axis]; ok && old != p.sign {
			m[p.axis] = 0
		} else {
			m[p.axis] = p.sign
		}
	}
	return m
}

// numeral reports whether a word is a number of more than two.
func numeral(w word) bool {
	x, letters := lang.English.Number(lang.Counts, w.text)
	return letters && x > 2 && x < 100 || w.text[0] >= '0' && w.text[0] <= '9'
}

// stance is the relation of a sentence to a claim.
type stance int8

const (
	contradicts stance = iota - 1
	neutral            // the sentence says nothing about the claim
	agrees
)

// stance compares the claim with a sentence about the same subject. They disagree if they differ in an odd number of
// negations, antonyms and exchanged sides of a comparison. Two of them cancel out: what did not rise fell, or stayed.
func (s *statement) stance(ws []word) stance {
	if s.quotedBy(ws) {
		return agrees
	}
	ws = s.clauses(ws)
	denials := s.countNegations(ws)
	n := s.negations + denials
	other := s.polesOf(ws)
	shared := false
	for axis, sign := range s.poles {
		otherSign, ok := other[axis]
		shared = shared || ok
		if ok && sign != 0 && otherSign == -sign {
			n++
		}
	}
	if s.swapsSides(ws) {
		n++
	}
	switch {
	case n%2 == 1:
		return contradicts
	case len(s.poles) > 0 && !shared && denials == 0:
		return neutral
	}
	return agrees
}

// quotedBy reports whether the claim is the sentence, or most of it, word for word.
func (s *statement) quotedBy(ws []word) bool {
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

// clauses returns the clauses of a sentence that share a word other than an antonym with the claim; all clauses if none
// does.
func (s *statement) clauses(ws []word) []word {
	var out []word
	for from := 0; from < len(ws); {
		to := from + 1
		for to < len(ws) && !ws[to].startsClause {
			to++
		}
		for _, w := range ws[from:to] {
			_, end := s.pole(w.stem)
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

// mentions reports whether the claim contains a stem, or an antonym of it.
func (s *statement) mentions(stem string) bool {
	if _, ok := s.at[stem]; ok {
		return true
	}
	if side, ok := s.pole(stem); ok {
		_, ok := s.poles[side.axis]
		return ok
	}
	return false
}

// swapsSides reports whether both are comparisons with than, and the first side of the claim is the second side of the
// other.
func (s *statement) swapsSides(ws []word) bool {
	at := than(ws)
	if s.than < 0 || at < 0 {
		return false
	}
	var here, there, back int // number of the claim's terms after than that occur after it, before it; and of those before than that occur after it
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

// than returns the position of the word that separates the sides of a comparison, or -1. In "older than 65", the number is
// not a side.
func than(ws []word) int {
	for i, w := range ws {
		if w.text == "than" && (i+1 == len(ws) || !numeral(ws[i+1])) {
			return i
		}
	}
	return -1
}
