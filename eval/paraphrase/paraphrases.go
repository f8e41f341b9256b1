package paraphrase

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var paraphrases = []rule{
	{"letters", changeCaseAndSpace}, {"polite", addPoliteness}, {"thanks", addThanks}, {"indirect", makeIndirect}, {"question word", useEquivalentQuestionWord}, {"contraction", toggleContraction},
	{"adjunct", moveAdjunct}, {"passive", makePassive}, {"genitive", toggleGenitive}, {"synonym", useSynonym}, {"number form", changeNumberForm}, {"in situ", moveQuestionWordToEnd},
	{"claim", makeYesNoQuestion},
	{"polite synonym", compose(useSynonym, addPoliteness)}, {"indirect synonym", compose(useSynonym, makeIndirect)}, {"question word letters", compose(useEquivalentQuestionWord, changeCaseAndSpace)},
	{"adjunct thanks", compose(moveAdjunct, addThanks)}, {"passive letters", compose(makePassive, changeCaseAndSpace)},
}

// compose applies two rules, one after the other.
func compose(a, b func(*rand.Rand, string, []string) (string, bool)) func(*rand.Rand, string, []string) (string, bool) {
	return func(r *rand.Rand, q string, names []string) (string, bool) {
		s, ok := a(r, q, names)
		if !ok {
			return "", false
		}
		return b(r, s, names)
	}
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// lowerFirst lower-cases the first letter, unless the first word may be a name.
func lowerFirst(q string) string {
	first, _, _ := strings.Cut(q, " ")
	if _, known := questionOpeners[strings.ToLower(strings.TrimRight(first, ",'s"))]; !known {
		return q
	}
	r, n := utf8.DecodeRuneInString(q)
	return string(unicode.ToLower(r)) + q[n:]
}

func upperFirst(q string) string {
	r, n := utf8.DecodeRuneInString(q)
	return string(unicode.ToUpper(r)) + q[n:]
}

var questionOpeners = func() map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(`what which who whom whose when where why how is are was were do does did can could will would has have had
in on at from the a an for by during after before since between to with under besides if of both according along as`) {
		m[w] = struct{}{}
	}
	return m
}()

func isQuestion(q string) bool {
	first, _, _ := strings.Cut(strings.ToLower(q), " ")
	_, ok := questionOpeners[first]
	return ok && strings.HasSuffix(q, "?")
}

func changeCaseAndSpace(r *rand.Rand, q string, _ []string) (string, bool) {
	switch r.IntN(4) {
	case 0:
		return strings.ToLower(q), true
	case 1:
		return strings.TrimRight(q, "?. "), true
	case 2:
		return strings.ReplaceAll(q, " ", "  ") + " ", true
	}
	return strings.TrimRight(strings.ToLower(q), "?. ") + " ??", true
}

func addPoliteness(r *rand.Rand, q string, _ []string) (string, bool) {
	if !isQuestion(q) {
		return "", false
	}
	return pick(r, []string{"Please tell me: ", "Hi, ", "Hello! ", "Quick question: ", "Please, ", "Excuse me, ", "My question is: ", "Tell me, ",
		"I have a question. ", "Hey there, "}) + lowerFirst(q), true
}

func addThanks(r *rand.Rand, q string, _ []string) (string, bool) {
	if !isQuestion(q) {
		return "", false
	}
	if r.IntN(2) == 0 {
		return q + pick(r, []string{" Thanks!", " Thank you.", " Please tell me.", " Thanks in advance."}), true
	}
	return strings.TrimRight(q, "? ") + pick(r, []string{", please?", " please", ", do you know?", ", if you know?"}), true
}

// irregularVerbs lists the base form, past tense and participle of each verb.
var irregularVerbs = strings.Fields(`become became become begin began begun build built built bring brought brought buy bought bought choose chose
chosen come came come draw drew drawn drive drove driven fall fell fallen fight fought fought find found found get got got give gave given
go went gone grow grew grown have had had hold held held keep kept kept know knew known lead led led leave left left lose lost lost make
made made meet met met pay paid paid play played played rise rose risen run ran run say said said see saw seen sell sold sold send sent
sent speak spoke spoken spend spent spent stand stood stood take took taken teach taught taught tell told told think thought thought win
won won write wrote written die died died do did done shoot shot shot`)

// nonVerbs are other words that can follow the subject of a question.
var nonVerbs = strings.Fields("first originally not also have had finally officially initially")

func pastOf(verb string) string {
	for i := 0; i < len(irregularVerbs); i += 3 {
		if irregularVerbs[i] == verb {
			return irregularVerbs[i+1]
		}
	}
	switch {
	case strings.HasSuffix(verb, "e"):
		return verb + "d"
	case strings.HasSuffix(verb, "y") && !strings.ContainsAny(verb[len(verb)-2:len(verb)-1], "aeiou"):
		return verb[:len(verb)-1] + "ied"
	}
	return verb + "ed"
}

func participleOf(past string) string {
	for i := 0; i < len(irregularVerbs); i += 3 {
		if irregularVerbs[i+1] == past {
			return irregularVerbs[i+2]
		}
	}
	return past
}

const aName = `(?:[Tt]he )?(?:[A-Z][\w.'’-]*)(?: (?:of |the )?[A-Z][\w.'’-]*)*`

var (
	beRE      = regexp.MustCompile(`^(When|Where|Why) (is|was|are|were) (` + aName + `) ([a-z]\w*ed|born|built|held|found|made|written)\b(.*)\?$`)
	didRE     = regexp.MustCompile(`^(When|Where|Why|How|Who|What) did (` + aName + `) ([a-z]+)\b(.*)\?$`)
	subjectRE = regexp.MustCompile(`^(Who|Which \w+|How many \w+|What) ((?:was|is|were) (?:the|a) .*|[a-z]+ed .*)\?$`)
	copulaRE  = regexp.MustCompile(`^(What|Who) (is|was|are|were) (the [a-z ]+ of ` + aName + `)\?$`)
)

var indirectOpeners = []string{"Could you tell me ", "Can you tell me ", "Do you know ", "I would like to know ", "I'd like to know ", "Please tell me ",
	"Tell me ", "I want to know ", "Do you happen to know ", "I was wondering ", "Would you please tell me ", "Any idea "}

func makeIndirect(r *rand.Rand, q string, _ []string) (string, bool) {
	end := pick(r, []string{"?", ".", ""})
	lead := pick(r, indirectOpeners)
	if m := beRE.FindStringSubmatch(q); m != nil {
		return lead + strings.ToLower(m[1]) + " " + m[3] + " " + m[2] + " " + m[4] + m[5] + end, true
	}
	if m := didRE.FindStringSubmatch(q); m != nil && !slices.Contains(nonVerbs, m[3]) {
		return lead + strings.ToLower(m[1]) + " " + m[2] + " " + pastOf(m[3]) + m[4] + end, true
	}
	if m := copulaRE.FindStringSubmatch(q); m != nil {
		return lead + strings.ToLower(m[1]) + " " + m[3] + " " + m[2] + end, true
	}
	if m := subjectRE.FindStringSubmatch(q); m != nil {
		return lead + lowerFirst(m[1]) + " " + m[2] + end, true
	}
	return "", false
}

// moveQuestionWordToEnd moves the question word to the end, as in "Prussia became the centre when?".
func moveQuestionWordToEnd(_ *rand.Rand, q string, _ []string) (string, bool) {
	if m := didRE.FindStringSubmatch(q); m != nil && !slices.Contains(nonVerbs, m[3]) && m[1] != "How" && m[1] != "Why" {
		rest := m[4]
		if m[1] == "Who" || m[1] == "What" {
			if rest != "" {
				return "", false
			}
		}
		return upperFirst(m[2]) + " " + pastOf(m[3]) + rest + " " + strings.ToLower(m[1]) + "?", true
	}
	if m := copulaRE.FindStringSubmatch(q); m != nil {
		return upperFirst(m[3]) + " " + m[2] + " " + strings.ToLower(m[1]) + "?", true
	}
	return "", false
}

// equivalentQuestionWords maps the beginnings of questions to beginnings with the same meaning.
var equivalentQuestionWords = []struct {
	re *regexp.Regexp
	to []string
}{
	{regexp.MustCompile(`^When (did|was|were) `), []string{"In what year $1 ", "In which year $1 ", "At what time $1 ", "What year $1 ", "On what date $1 "}},
	{regexp.MustCompile(`^In (?:what|which) year (did|was|were) `), []string{"When $1 ", "What year $1 "}},
	{regexp.MustCompile(`^What year (did|was|were) `), []string{"When $1 ", "In which year $1 "}},
	{regexp.MustCompile(`^Where (did|was|were|is|are|do|does) `), []string{"In what place $1 ", "In which place $1 ", "At what location $1 ", "In which location $1 "}},
	{regexp.MustCompile(`^Why (did|was|were|is|are|do|does) `), []string{"For what reason $1 ", "For which reason $1 "}},
	{regexp.MustCompile(`^Who ([a-z]+ed|was the|is the|wrote|won|made|built|led|took|gave) `), []string{"Which person $1 ", "What person $1 "}},
	{regexp.MustCompile(`^How many `), []string{"What number of "}},
	{regexp.MustCompile(`^What (country|city|state|year|film|band|team|company|river|county|kind|type|group|war|language|university|organization) `), []string{"Which $1 "}},
	{regexp.MustCompile(`^Which ([a-z]+) `), []string{"What $1 "}},
	{regexp.MustCompile(`^In what ([a-z]+) `), []string{"In which $1 "}},
	{regexp.MustCompile(`^In which ([a-z]+) `), []string{"In what $1 "}},
}

func useEquivalentQuestionWord(r *rand.Rand, q string, _ []string) (string, bool) {
	for _, s := range equivalentQuestionWords {
		if at := s.re.FindStringSubmatchIndex(q); at != nil {
			return string(s.re.ExpandString(nil, pick(r, s.to), q, at)) + q[at[1]:], true
		}
	}
	return "", false
}

var contractions = [][2]string{{"What is ", "What's "}, {"Who is ", "Who's "}, {"Where is ", "Where's "}, {"When is ", "When's "}, {"How is ", "How's "},
	{" did not ", " didn't "}, {" does not ", " doesn't "}, {" do not ", " don't "}, {" is not ", " isn't "}, {" are not ", " aren't "},
	{" was not ", " wasn't "}, {" were not ", " weren't "}, {" cannot ", " can't "}, {" will not ", " won't "}, {" could not ", " couldn't "},
	{"Who is ", "Who’s "}, {"What is ", "What’s "}}

func toggleContraction(r *rand.Rand, q string, _ []string) (string, bool) {
	var all []string
	for _, c := range contractions {
		if strings.Contains(q, c[0]) {
			all = append(all, strings.Replace(q, c[0], c[1], 1))
		} else if strings.Contains(q, c[1]) {
			all = append(all, strings.Replace(q, c[1], c[0], 1))
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return pick(r, all), true
}

var (
	lastTimeRE  = regexp.MustCompile(`^(.+) ((?:in|during|since|before|after|by) (?:the year )?(?:1\d{3}|20\d{2}))\?$`)
	firstTimeRE = regexp.MustCompile(`^((?:In|During|Since|Before|After|By|As of) (?:1\d{3}|20\d{2})),? (.+)\?$`)
	lastPlaceRE = regexp.MustCompile(`^((?:When|Who|How many|What) .+) ((?:in|at) (?:the )?[A-Z]\w+(?: [A-Z]\w+)*)\?$`)
)

// moveAdjunct moves a phrase of time or place from the end to the beginning, or back.
func moveAdjunct(_ *rand.Rand, q string, _ []string) (string, bool) {
	if m := lastTimeRE.FindStringSubmatch(q); m != nil && isQuestion(q) {
		return upperFirst(m[2]) + ", " + lowerFirst(m[1]) + "?", true
	}
	if m := firstTimeRE.FindStringSubmatch(q); m != nil {
		return upperFirst(m[2]) + " " + lowerFirst(m[1]) + "?", true
	}
	if m := lastPlaceRE.FindStringSubmatch(q); m != nil {
		return upperFirst(m[2]) + ", " + lowerFirst(m[1]) + "?", true
	}
	return "", false
}

var (
	activeRE  = regexp.MustCompile(`^Who ([a-z]+ed|wrote|built|led|made|won|found|taught|sold|shot|took) ((?:the |a )?(?:[A-Za-z][\w'’-]*)(?: (?:of |the )?[A-Za-z][\w'’-]*){0,3})\?$`)
	passiveRE = regexp.MustCompile(`^Who (?:was|were|is) (.{3,50}) ([a-z]+ed|written|built|led|made|won) by\?$`)
	didObjRE  = regexp.MustCompile(`^(Who|What) did (` + aName + `) ([a-z]+)\?$`)
	particles = regexp.MustCompile(`\b(?:in|on|at|for|to|with|from|against|by|during|into|as|over|up|out)\b`)
)

func makePassive(r *rand.Rand, q string, _ []string) (string, bool) {
	if m := activeRE.FindStringSubmatch(q); m != nil && !particles.MatchString(m[2]) {
		verb := participleOf(m[1])
		return pick(r, []string{"By whom was " + m[2] + " " + verb + "?", "Who was " + m[2] + " " + verb + " by?", upperFirst(m[2]) + " was " + verb + " by whom?"}), true
	}
	if m := passiveRE.FindStringSubmatch(q); m != nil {
		return "By whom was " + m[1] + " " + m[2] + "?", true
	}
	if m := didObjRE.FindStringSubmatch(q); m != nil {
		return m[1] + " was " + participleOf(pastOf(m[3])) + " by " + m[2] + "?", true
	}
	return "", false
}

var (
	ofRE  = regexp.MustCompile(`\bthe ([a-z]+) of ([A-Z][\w-]+(?: [A-Z][\w-]+)*)(\?| in | on )`)
	hasRE = regexp.MustCompile(`\b([A-Z][\w-]+(?: [A-Z][\w-]+)*)['’]s ([a-z]+)(\?| in | on )`)
)

func toggleGenitive(_ *rand.Rand, q string, _ []string) (string, bool) {
	if ofRE.MatchString(q) {
		return ofRE.ReplaceAllString(q, "$2's $1$3"), true
	}
	if at := hasRE.FindStringIndex(q); at != nil && at[0] > 0 {
		return hasRE.ReplaceAllString(q, "the $2 of $1$3"), true
	}
	return "", false
}

// synonyms lists pairs of inflected words: a word and a synonym.
var synonyms = strings.Fields(`film movie films movies movie film began started begin start started began founded established established founded author writer
country nation countries nations large big largest biggest biggest largest located situated job occupation created made
company firm happened occurred happen occur company's firm's use utilize used utilized often frequently required needed require need
kind type type kind kinds types types kinds purchased bought buy purchase famous renowned doctor physician constructed built built constructed
people persons obtained received difference distinction selected chosen choose select assist help helped assisted attempt try
beat defeated defeated beat died perished car automobile television TV child kid children kids teacher instructor entire whole main primary
mother mom father dad method technique important significant currently now ended finished rich wealthy quickly rapidly
reside live resided lived prison jail wrong incorrect answer reply error mistake percent percentage colour color organisation organization
organization organisation center centre centre center theater theatre defense defence labor labour lawyer attorney illness sickness
increase rise decrease decline result outcome impact effect effect impact allowed permitted forbidden prohibited nearly almost
approximately roughly title name named called called named area region received got amount quantity primarily mainly`)

// useSynonym replaces a word by a synonym. It keeps words before a name, such as "called".
func useSynonym(r *rand.Rand, q string, _ []string) (string, bool) {
	words := strings.Split(q, " ")
	var at []int
	var to []string
	for i, w := range words {
		bare := strings.TrimRight(w, "?.,")
		for k := 0; k+1 < len(synonyms); k += 2 {
			named := i+1 < len(words) && strings.IndexFunc(words[i+1], unicode.IsUpper) == 0
			if synonyms[k] == bare && !(named && (bare == "called" || bare == "named")) {
				at = append(at, i)
				to = append(to, synonyms[k+1]+w[len(bare):])
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

var (
	smallRE    = regexp.MustCompile(`(^| )(\d{1,2})( |\?|$)`)
	thousandRE = regexp.MustCompile(`\b(\d{1,3}),(\d{3})\b`)
	wordRE     = regexp.MustCompile(`(^| )(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)( |\?|$)`)
	small      = strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve`)
)

func changeNumberForm(_ *rand.Rand, q string, _ []string) (string, bool) {
	if thousandRE.MatchString(q) {
		return thousandRE.ReplaceAllString(q, "$1$2"), true
	}
	if m := smallRE.FindStringSubmatchIndex(q); m != nil {
		if n, err := strconv.Atoi(q[m[4]:m[5]]); err == nil && n > 0 && n < len(small) {
			return q[:m[4]] + small[n] + q[m[5]:], true
		}
	}
	if m := wordRE.FindStringSubmatchIndex(q); m != nil {
		for n, w := range small {
			if w == q[m[4]:m[5]] {
				return q[:m[4]] + strconv.Itoa(n) + q[m[5]:], true
			}
		}
	}
	if strings.Contains(q, " percent") {
		return strings.ReplaceAll(q, " percent", "%"), !strings.Contains(q, " percentage")
	}
	return "", false
}

// makeYesNoQuestion turns a statement into a question whether it is true.
func makeYesNoQuestion(r *rand.Rand, q string, _ []string) (string, bool) {
	first, rest, _ := strings.Cut(q, " ")
	if _, question := questionOpeners[strings.ToLower(first)]; question || !strings.HasSuffix(q, ".") || rest == "" || strings.Contains(rest, "?") {
		return "", false
	}
	return pick(r, []string{"Is it true that ", "Is it correct that "}) + strings.TrimSuffix(q, ".") + "?", true
}
