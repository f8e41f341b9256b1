package paraphrase

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

var nearMisses = []rule{
	{"year", changeYear}, {"no year", dropYear}, {"number", changeNumber}, {"name", changeName}, {"part of name", changeNamePart}, {"negation", toggleNegation},
	{"negation alone", negateWithoutAuxiliary}, {"superlative", useAntonym}, {"question word", changeQuestionWord}, {"swap", swapNames}, {"kind", changeKind}, {"tense", changeTense},
	{"quantity", changeQuantifier}, {"polite year", compose(changeYear, addPoliteness)}, {"indirect name", compose(changeName, makeIndirect)}, {"letters name", compose(changeName, changeCaseAndSpace)},
	{"passive swap", swapSubjectAndObject}, {"adjunct year", compose(changeYear, moveAdjunct)}, {"synonym number", compose(changeNumber, useSynonym)}, {"negation letters", compose(toggleNegation, changeCaseAndSpace)},
}

var yearRE = regexp.MustCompile(`\b(1\d{3}|20\d{2})\b`)

func changeYear(r *rand.Rand, q string, _ []string) (string, bool) {
	at := yearRE.FindAllStringIndex(q, -1)
	if len(at) == 0 {
		return "", false
	}
	k := pick(r, at)
	year, err := strconv.Atoi(q[k[0]:k[1]])
	if err != nil {
		return "", false
	}
	return q[:k[0]] + strconv.Itoa(year+pick(r, []int{-100, -10, -2, -1, 1, 2, 10})) + q[k[1]:], true
}

var yearPhraseRE = regexp.MustCompile(` (?:in|during|since|before|after|by) (?:1\d{3}|20\d{2})\b`)

func dropYear(_ *rand.Rand, q string, _ []string) (string, bool) {
	at := yearPhraseRE.FindStringIndex(q)
	if at == nil {
		return "", false
	}
	return q[:at[0]] + q[at[1]:], true
}

var digitsRE = regexp.MustCompile(`\d+`)

func changeNumber(r *rand.Rand, q string, _ []string) (string, bool) {
	var at [][]int
	for _, m := range digitsRE.FindAllStringIndex(q, -1) {
		if s := q[m[0]:m[1]]; !yearRE.MatchString(s) && len(s) < 9 {
			at = append(at, m)
		}
	}
	if len(at) == 0 {
		if m := wordRE.FindStringSubmatchIndex(q); m != nil {
			return q[:m[4]] + pick(r, []string{"thirteen", "seventeen", "twenty"}) + q[m[5]:], true
		}
		return "", false
	}
	m := pick(r, at)
	n, err := strconv.Atoi(q[m[0]:m[1]])
	if err != nil {
		return "", false
	}
	return q[:m[0]] + fmt.Sprintf("%0*d", m[1]-m[0], n+pick(r, []int{1, 2, 10})) + q[m[1]:], true
}

// span is the position of a name in a question.
type span struct{ from, to int }

var nameRE = regexp.MustCompile(`[A-Z][\pL\d'’-]+(?: [A-Z][\pL\d'’-]+)*`)

// namesOf returns the runs of capitalised words, without the first word of the question.
func namesOf(q string) []span {
	var out []span
	for _, m := range nameRE.FindAllStringIndex(q, -1) {
		from, to := m[0], m[1]
		if from == 0 {
			_, rest, found := strings.Cut(q[:to], " ")
			if !found {
				continue
			}
			from = to - len(rest)
		}
		for _, end := range []string{"'s", "’s"} {
			to = from + len(strings.TrimSuffix(q[from:to], end))
		}
		out = append(out, span{from, to})
	}
	return out
}

func changeName(r *rand.Rand, q string, names []string) (string, bool) {
	at := namesOf(q)
	if len(at) == 0 || len(names) < 2 {
		return "", false
	}
	s := pick(r, at)
	for range 8 {
		if n := pick(r, names); !strings.EqualFold(n, q[s.from:s.to]) {
			return q[:s.from] + n + q[s.to:], true
		}
	}
	return "", false
}

// changeNamePart replaces one word of a name that has several, such as the first name.
func changeNamePart(r *rand.Rand, q string, names []string) (string, bool) {
	var at []span
	for _, s := range namesOf(q) {
		if strings.Contains(q[s.from:s.to], " ") {
			at = append(at, s)
		}
	}
	if len(at) == 0 || len(names) < 2 {
		return "", false
	}
	s := pick(r, at)
	words := strings.Fields(q[s.from:s.to])
	k := r.IntN(len(words))
	other := pick(r, strings.Fields(pick(r, names)))
	if strings.EqualFold(other, words[k]) {
		return "", false
	}
	words[k] = other
	return q[:s.from] + strings.Join(words, " ") + q[s.to:], true
}

var auxRE = regexp.MustCompile(`\b(did|does|is|are|was|were|can|could|will|has|have|should)\b`)

// toggleNegation adds "not" after the first auxiliary, or removes a negation.
func toggleNegation(r *rand.Rand, q string, _ []string) (string, bool) {
	for _, n := range []string{" not ", "n't "} {
		if strings.Contains(q, n) {
			return strings.Replace(q, n, " ", 1), true
		}
	}
	at := auxRE.FindStringIndex(strings.ToLower(q))
	if at == nil {
		return "", false
	}
	if aux := q[at[0]:at[1]]; r.IntN(2) == 0 && aux != "can" && aux != "will" && aux != "Can" && aux != "Will" {
		return q[:at[1]] + "n't" + q[at[1]:], true
	}
	return q[:at[1]] + " not" + q[at[1]:], true
}

var whoRE = regexp.MustCompile(`^(Who|Which \w+|What \w+) ([a-z]+ed|wrote|won|led|built|made|took) `)

// negateWithoutAuxiliary negates with words other than "not", such as "never" and "without".
func negateWithoutAuxiliary(_ *rand.Rand, q string, _ []string) (string, bool) {
	if m := whoRE.FindStringSubmatchIndex(q); m != nil {
		return q[:m[4]] + "never " + q[m[4]:], true
	}
	for _, p := range [][2]string{{" with ", " without "}, {" any ", " no "}, {" is ", " is never "}, {" are ", " are no longer "}} {
		if strings.Contains(q, p[0]) {
			return strings.Replace(q, p[0], p[1], 1), true
		}
	}
	return "", false
}

// replaceFromPairs replaces a random word by the other word of its pair. pairs lists words two by two.
func replaceFromPairs(r *rand.Rand, q string, pairs []string) (string, bool) {
	words := strings.Split(q, " ")
	var at []int
	var to []string
	for i, w := range words {
		bare := strings.TrimRight(w, "?.,")
		for k, p := range pairs {
			if p == strings.ToLower(bare) && (bare == p || i == 0) {
				other := pairs[k^1]
				if bare != p {
					other = upperFirst(other)
				}
				at = append(at, i)
				to = append(to, other+w[len(bare):])
			}
		}
	}
	if len(at) == 0 {
		return "", false
	}
	k := r.IntN(len(at))
	words[at[k]] = to[k]
	return strings.Join(words, " "), true
}

var antonyms = strings.Fields(`largest smallest biggest smallest first last most least highest lowest more less older younger oldest youngest longest
shortest longer shorter best worst larger smaller greater lesser early late earliest latest higher lower major minor more fewer tallest shortest
earlier later increase decrease increases decreases increased decreased high low positive negative positively negatively upper lower
maximum minimum top bottom former latter new old`)

func useAntonym(r *rand.Rand, q string, _ []string) (string, bool) {
	return replaceFromPairs(r, q, antonyms)
}

var kinds = strings.Fields(`city country county state river lake film album father mother born died north south east west president governor husband
wife daughter son before after won lost king queen author editor director producer war treaty band song day month brother sister
team league actor singer university school book poem television radio male female left right male female export import parent child
north-south east-west summer winter morning evening students teachers men women land sea water oil day night cells genes mice rats
population area height weight length width company government church castle age name city village teacher student
increases reduces activates inhibits promotes prevents buy sell teach learn north west build destroy open close start end`)

func changeKind(r *rand.Rand, q string, _ []string) (string, bool) {
	return replaceFromPairs(r, q, kinds)
}

var tenses = strings.Fields(`was is were are did does is was are were did will does did has had`)

func changeTense(r *rand.Rand, q string, _ []string) (string, bool) {
	return replaceFromPairs(r, q, tenses)
}

var quantifiers = strings.Fields(`all some every one both neither many few some all only also each any always never usually rarely once twice half all
several all most some`)

func changeQuantifier(r *rand.Rand, q string, _ []string) (string, bool) {
	return replaceFromPairs(r, q, quantifiers)
}

var questionWordChanges = []struct {
	re *regexp.Regexp
	to []string
}{
	{regexp.MustCompile(`^When (did|was|were|is) `), []string{"Where $1 ", "Why $1 ", "How $1 "}},
	{regexp.MustCompile(`^Where (did|was|were|is|are|do|does) `), []string{"When $1 ", "Why $1 "}},
	{regexp.MustCompile(`^Why (did|was|were|is|are|do|does) `), []string{"When $1 ", "How $1 "}},
	{regexp.MustCompile(`^How (did|was|were|is|are|do|does) `), []string{"When $1 ", "Why $1 "}},
	{regexp.MustCompile(`^Who (did|was|were|is) `), []string{"Where $1 ", "When $1 ", "Why $1 "}},
	{regexp.MustCompile(`^What (did|do|does) `), []string{"Why $1 ", "When $1 ", "Who $1 "}},
	{regexp.MustCompile(`^How many `), []string{"Which ", "How old "}},
	{regexp.MustCompile(`^(?:In )?[Ww]hat year `), []string{"In what month ", "On what day ", "In what century "}},
	{regexp.MustCompile(`^What (country|city|state|film|band|team|company) `), []string{"What year ", "Which person "}},
}

func changeQuestionWord(r *rand.Rand, q string, _ []string) (string, bool) {
	for _, s := range questionWordChanges {
		if at := s.re.FindStringSubmatchIndex(q); at != nil {
			return string(s.re.ExpandString(nil, pick(r, s.to), q, at)) + q[at[1]:], true
		}
	}
	return "", false
}

// swapNames exchanges two names, unless there is "and", "or" or a comma between them.
func swapNames(_ *rand.Rand, q string, _ []string) (string, bool) {
	names := namesOf(q)
	for i := 0; i+1 < len(names); i++ {
		a, b := names[i], names[i+1]
		between := q[a.to:b.from]
		if strings.Contains(between, " and ") || strings.Contains(between, " or ") || strings.ContainsAny(between, ",") || q[a.from:a.to] == q[b.from:b.to] ||
			strings.TrimSpace(between) == "" {
			continue
		}
		return q[:a.from] + q[b.from:b.to] + between + q[a.from:a.to] + q[b.to:], true
	}
	return "", false
}

// swapSubjectAndObject changes between active and passive without exchanging the names, so that subject and object change places.
func swapSubjectAndObject(_ *rand.Rand, q string, _ []string) (string, bool) {
	if m := activeRE.FindStringSubmatch(q); m != nil && !particles.MatchString(m[2]) {
		return "Who was " + participleOf(m[1]) + " by " + m[2] + "?", true
	}
	if m := didObjRE.FindStringSubmatch(q); m != nil {
		return m[1] + " " + pastOf(m[3]) + " " + m[2] + "?", true
	}
	return "", false
}
