package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// kind is the type of thing that a question asks for.
type kind int

const (
	anyKind kind = iota
	timeKind
	personKind
	numberKind
	placeKind
	reasonKind
	definitionKind
	instructionKind // an instruction
	listKind        // a list
)

// question is the analysis of a question.
type question struct {
	text        string
	lang        *lang.Language
	matched     map[string]partial // by stem, for other stems than those of the terms
	terms       []lang.Term
	vector      [][]float32
	sum         []float32 // vector of the question
	index       map[string]int
	plain       []float64 // weight over the greatest weight, reduced for words that name a type of thing
	words       []lang.Token
	named       []int // terms that are names or numbers
	numbers     []int
	stems       map[string]string        // of words of the passages
	meant       map[string][]alternative // alternatives of words of the question, by the first stem or, of phrases, by the first word
	measure     *measure                 // the quantity that is asked for; nil: none
	inUnit      bool                     // it asks for a number of a unit: how many litres
	amounts     []float64                // numbers with units
	bound       *bound                   // nil: none
	moments     []moment                 // dates, days of the week and times of day
	weekday     lang.Weekdays            // the days of the week that it names first, other than each day; 0: none
	superlative map[int]bool             // terms that are adjectives of superlatives: le plus grand
	amountTerm  int                      // of the thing whose amount it asks for; -1: it asks for none
	namesDays   bool                     // it names days of the week
	negated     bool                     // the question is negated
	kind        kind
	who         bool       // asks who, also if it is for a definition: who is the treasurer
	whether     bool       // asks for yes or no
	broad       bool       // asks for an explanation, not for a fact
	listed      bool       // asks for a list
	way         bool       // asks how to do something, which code may answer
	open        bool       // has no subject: summarize this
	code        bool       // asks for a command or code
	command     bool       // asks for a command in so many words
	fact        fact       // what it asks for, if that is said in few ways
	codes       []string   // options and identifiers that it names: --retry, maxAge
	identifiers []string   // those that documents must have as they are written: --retry
	message     bool       // it asks about messages: who sent them, when and about what
	task        *lang.Task // of a question how to do something; nil: none

	plainTotal float64             // of plain
	follows    map[[2]string][]int // indexes in words of the second word of each pair

	before conversation // the turns before it

	subject []string // stems of the subject of a definition
}

var (
	broadRE    = regexp.MustCompile(`(?i)\b(summar\w*|overview|outline|main (?:findings?|points?|ideas?|results?|topics?|conclusions?)|key (?:findings?|points?|takeaways?|results?|ideas?)|takeaways|compare|contrast|comparison|differences?|differ|similarities|pros and cons|advantages|explain|describe|discuss|elaborate|tell me (?:about|more)|walk me through|in detail|everything|what is this (?:document|text|paper|file)|what (?:does|do) (?:the|this|these) (?:documents?|texts?|papers?|reports?) (?:say|cover))\b`)
	listRE     = regexp.MustCompile(`(?i)(?:^|[.!?] )\W*(?:please )?(list|name (?:the|all|some|three|two|four|five)|give|which .* are|what (?:are|were) |what is in |what (?:kinds?|types?|sorts?) )`)
	timeRE     = regexp.MustCompile(`(?i)(?:^\W*|\b(?:in|by|since|until|and) )when\b|\bwhen (?:did|was|were|do|does|will)\b|\b(what (?:year|date|day|month|century|decade|time|era)|which (?:year|date|day|month|century|decade)|how long ago|since when|(?:in|by|until) (?:what|which) (?:year|century|decade|month))\b`)
	whoRE      = regexp.MustCompile(`(?i)\b(who|whom|whose|what (?:person|president|king|queen|scientist|actor|author|singer|man|woman)|which (?:person|president|king|queen|scientist|actor|author|singer|man|woman))\b`)
	howRE      = regexp.MustCompile(`(?i)\b(how (?:many|much|long|old|far|large|big|tall|high|fast|often|deep|wide|heavy|hot|cold|loud|noisy|powerful)|what (?:percent\w*|number|amount|fraction|proportion|share|size|population|temperature|distance|length|height|price|cost)|(?:what|which) (?:\pL+ ){0,2}versions?|(?:what|which) (?:is the )?(?:port|(?:http |status )?code|(?:http )?status))\b`)
	whereRE    = regexp.MustCompile(`(?i)\b(where|(?:in|at|from|to)? ?(?:what|which) (?:city|country|state|town|place|location|region|continent|county|island|river|building|village|province))\b`)
	meanRE     = regexp.MustCompile(`(?i)^\W*(?:(?:what|who) (?:is|are|was|were) |define |what does .* mean)`)
	contentsRE = regexp.MustCompile(`(?i)^\W*(?:what|who) (?:is|are|was|were) (?:\pL+(?:ed|en|pt) )?(?:in|inside|on|at|under|behind)\b`) // what is in a place: what is kept in the shed
	runRE      = regexp.MustCompile(`(?i)\b(commands?|snippets?|syntax|examples?|code (?:for|to|that|examples?|samples?)|show me|how (?:do|can|should|would|to) (?:(?:i|you|we|one) )?(?:run|start|launch|call|invoke|install|build|compile|use|configure|set up|ask|query|ingest))\b`)
	curlRE     = regexp.MustCompile(`(?i)(?:^|\PL)(?:with|using|via|mit|per|über|avec|con|usando|tramite|com|met|через|помощью) curl\b|\bcurl(?: ile\b|で)|用 ?curl\b`)
	whyRE      = regexp.MustCompile(`(?i)\b(why|what (?:(?:is|was|went) wrong|causes?|caused|is the reason|was the reason|reasons?))\b`)

	// about are words of broad questions without a subject.
	about = wordSet(`summar summari summaris summary overview outlin main key find point takeaway idea result topic conclus
		compar contrast comparison differ differ similar explain describ discuss elabor tell detail everyth list name give
		document text paper report file say cover content passag articl main pros con advantag`)

	// shape are words for the format of an answer.
	shape = wordSet("command code exampl snippet syntax show")

	// vague are words that questions are made with; answers seldom repeat them.
	wayRE  = regexp.MustCompile(`(?i)^\W*how (?:do|can|should|could|would) (?:i|you|we|one)\b|^\W*how to\b|^\W*how (?:is|are|can|must) (?:a|an|the|my|our)\b|\b(?:what|which) (?:are the )?(?:steps|command)\b|\bwhat (?:do|should|must|can) (?:i|you|we|one) (?:have to )?do\b`)
	manyRE = regexp.MustCompile(`(?i)^\W*(?:list|name) |^\W*(?:which|what) [\pL ]{2,40} (?:are|is) (?:there|supported|read|accepted|available|allowed|possible)\b|^\W*what (?:kinds?|types?|sorts?) of\b`)

	// kindsOfThings are types that questions name and answers seldom do: which year, what city.
	kindsOfThings = wordSet(`year day month centuri decad date time citi countri state town place locat region contin counti person peopl
		percentag percent number amount name word term group organ compani event`)

	// vague are words of questions that answers seldom repeat.
	vague = wordSet("step thing all much mani often happen mean work call know occur use role purpos kind type sort exampl refer defin definit exact")
)

func (m *Model) ask(t model.Task) *question {
	s := lang.Clean(t.Question)
	if len(s) > 4000 {
		s = lang.Clean(s[:4000])
	}
	l := languageOf(s, t.Passages)
	if l == lang.English {
		s = m.correctQuestionWord(s, t.Passages)
	}
	q := &question{text: s, lang: l, matched: map[string]partial{}, stems: map[string]string{}, index: map[string]int{}, words: lang.Words(s)}
	q.sum = m.embed(s)
	english := q.lang == lang.English
	asked := q.lang.Asks(s)
	q.broad, q.listed, q.code = asked == lang.AsksBroadly, asked == lang.AsksList, runRE.MatchString(strings.ReplaceAll(s, " of command", " of")) || curlRE.MatchString(s) // a chain of command is none
	if english {
		q.broad, q.listed = broadRE.MatchString(s), listRE.MatchString(s)
	}
	q.message = q.lang.HasPhrase(lang.AsksMessage, s) || q.lang.HasPhrase(lang.AsksEmail, s)
	q.before = conversationOf(q.lang, t)
	m.setTerms(q, s, t.IDF)
	q.open = len(q.terms) == 0 || t.Summary
	q.kind, q.way = q.kindOf(s), asked == lang.AsksManner
	q.who = q.kind == personKind
	if english {
		q.way = wayRE.MatchString(s)
	}
	if now := q.kindOf(t.Asked); now != anyKind {
		q.kind = now // "Who repairs it, and when?" asks now for a time
	}
	if q.subject = lang.DefinitionSubject(s); q.subject != nil && english {
		q.kind = definitionKind
	} else if english && (q.kind == anyKind || q.kind == personKind) && len(q.terms) <= 3 && meanRE.MatchString(s) && !contentsRE.MatchString(s) {
		q.kind = definitionKind
	}
	q.whether = q.lang.AsksWhether(s)
	q.code = q.code && q.kind != reasonKind
	q.listed = q.listed || q.asksSeveral()
	q.command = !q.hasType() && (q.lang.HasPhrase(lang.AsksCommand, s) || curlRE.MatchString(s))
	q.code = q.code || q.command && !english
	q.measure, q.amounts, q.meant = q.measureOf(), q.amountsIn(), q.alternatives()
	q.negated, q.bound = hasNegation(q.lang, q.words), q.boundOf()
	q.amountTerm, q.superlative = q.amountOf(), map[int]bool{}
	for i, w := range q.words {
		if k, ok := q.index[q.stem(w.Text)]; ok && q.isSuperlative(i) {
			q.superlative[k] = true
		}
	}
	q.fact, q.task = q.factOf(), q.lang.TaskOf(s)
	q.way = q.way || q.task != nil
	if q.codes = codesIn(s); len(q.codes) > 0 && !q.way && strings.HasPrefix(q.codes[0], "-") {
		q.code = false // it asks what an option does, and not for an example of it
	}
	q.identifiers, q.follows, q.moments = lang.Identifiers(s), followersOf(q.words), q.momentsIn()
	for _, x := range slices.Backward(q.moments) {
		q.namesDays = q.namesDays || x.days > 0
		if x.days > 0 && x.days != lang.AllWeekdays {
			q.weekday = x.days
		}
	}
	return q
}

// setTerms sets the terms of a question with their weights. idf has those of words that the index knows.
func (m *Model) setTerms(q *question, s string, idf map[string]float64) {
	english := q.lang == lang.English
	most := 0.0
	for _, w := range idf {
		most = max(most, w)
	}
	terms := q.lang.UniqueTerms(s)
	terms = terms[:min(len(terms), 64)]
	names := namesIn(q.lang, s)
	for _, term := range terms {
		term.Stem = stemIn(q.lang, term.Word)
		if _, twice := q.index[term.Stem]; twice {
			continue
		}
		if _, empty := about[term.Stem]; empty && q.broad {
			continue
		}
		w := m.weight(term.Word)
		if most > 0 {
			w = most
			if x, ok := idf[lang.Stem(term.Word)]; ok {
				w = x
			}
		}
		if _, ok := names[term.Word]; ok {
			q.named = append(q.named, len(q.terms))
			if strings.ContainsAny(term.Word, "0123456789") {
				q.numbers = append(q.numbers, len(q.terms))
			}
		}
		_, form := shape[term.Stem]
		_, empty := vague[term.Stem]
		empty = empty && english || q.lang.Has(lang.Vague, term.Word)
		if empty || form && q.code {
			w *= 0.3
		}
		q.index[term.Stem] = len(q.terms)
		q.terms = append(q.terms, term)
		var v []float32
		if english {
			v = m.vector(term.Word)
		}
		q.vector = append(q.vector, v)
		if _, kind := kindsOfThings[term.Stem]; kind && english {
			w *= 0.3
		}
		w *= q.before.weight(term.Stem) / max(most, 1)
		q.plain = append(q.plain, w)
		q.plainTotal += w
	}
}

// pluralRE matches the noun of a question for several things. It is the last word of the first group.
var pluralRE = map[string]*regexp.Regexp{
	"en": regexp.MustCompile(`(?i)\b(?:which|what) ((?:\pL[\pL-]* ){0,2}?\pL+[^su\W]s)\b`),
	"es": regexp.MustCompile(`(?i)(?:^|\PL)qué (\pL+s)\b`),
	"pt": regexp.MustCompile(`(?i)(?:^|\PL)que (\pL+s)\b`),
}

// notPlural are words that end as plurals do.
var notPlural = wordSet("is was does has this its days hours times years months weeks minutes seconds miles metres meters más mais mas tens dias horas años anos meses")

// asksSeveral reports whether a question asks for several things: the noun that it asks for is a plural, or it asks what is needed or included.
func (q *question) asksSeveral() bool {
	if re := pluralRE[q.lang.Code]; re != nil {
		for _, at := range re.FindAllStringSubmatchIndex(q.text, 4) {
			nouns := strings.Fields(strings.ToLower(q.text[at[2]:at[3]]))
			next, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(q.text[at[1]:], " ")), " ")
			isVerb := len(nouns) > 1 && (q.lang.Has(lang.Articles, next) || q.lang.Has(lang.Most, next) || q.lang.Has(lang.Least, next)) // which job takes the most time
			if !isVerb && !slices.ContainsFunc(nouns, func(w string) bool {
				_, no := notPlural[w]
				return no || q.lang.Has(lang.Auxiliaries, w)
			}) {
				return true
			}
		}
	}
	if q.kind > personKind && q.kind != definitionKind || q.kind == timeKind || q.whether || !q.lang.HasPhrase(lang.AsksSeveral, q.text) {
		return false
	}
	if q.lang.HasPhrase(lang.Most, q.text) || q.lang.HasPhrase(lang.Least, q.text) {
		return false // the largest boat that is allowed
	}
	if q.kind == definitionKind && q.subject == nil {
		q.kind = anyKind // who was present
	}
	return true
}

// followersOf returns the indexes of the second words of all pairs.
func followersOf(words []lang.Token) map[[2]string][]int {
	out := map[[2]string][]int{}
	for i := 1; i < len(words); i++ {
		two := [2]string{words[i-1].Text, words[i].Text}
		out[two] = append(out[two], i)
	}
	return out
}

// kinds are the types of things by the phrases of a language.
var kinds = map[lang.Section]kind{lang.AsksTime: timeKind, lang.AsksPerson: personKind, lang.AsksNumber: numberKind, lang.AsksPlace: placeKind,
	lang.AsksReason: reasonKind, lang.AsksManner: instructionKind, lang.AsksList: listKind, lang.AsksDefinition: definitionKind}

// maxShown is the number of passages, and of bytes of each, that show the language of a short question.
const maxShown, maxShownBytes = 3, 1000

func languageOf(question string, passages []model.Passage) *lang.Language {
	var texts []string
	for _, p := range passages[:min(len(passages), maxShown)] {
		texts = append(texts, lang.Truncate(p.Chunk.Text, maxShownBytes))
	}
	return lang.OfQuestion(question, texts...)
}

// mainRE matches a question up to the question word that begins it, or begins a clause after a comma.
var mainRE = regexp.MustCompile(`(?i)^(?:\W*|[^?]{0,80}, )(?:(?:in|at|on|by|to|from|of|for|with|during|and) )?(?:what|which|who|whom|whose|where|when|why|how)\b`)

// relativeRE matches words that begin relative clauses.
var relativeRE = regexp.MustCompile(`(?i)\b(?:who|whom|whose|where|when)\b`)

// kindOf returns the type of thing that a question asks for. The words of its relative clauses do not count: the city where.
func (q *question) kindOf(s string) kind {
	if q.lang != lang.English {
		return kinds[q.lang.Asks(s)]
	}
	if at := mainRE.FindStringIndex(s); at != nil {
		s = s[:at[1]] + relativeRE.ReplaceAllString(s[at[1]:], "that")
	}
	switch {
	case timeRE.MatchString(s):
		return timeKind
	case howRE.MatchString(s):
		return numberKind
	case whoRE.MatchString(s):
		return personKind
	case whereRE.MatchString(s):
		return placeKind
	case whyRE.MatchString(s):
		return reasonKind
	case wayRE.MatchString(s):
		return instructionKind
	case manyRE.MatchString(s):
		return listKind
	}
	return anyKind
}

// namesIn returns the words of a text that are capitalized within it or have digits. All German nouns are capitalized.
func namesIn(l *lang.Language, s string) map[string]struct{} {
	out := map[string]struct{}{}
	for i, w := range lang.Words(s) {
		r, _ := utf8.DecodeRuneInString(s[w.Start:w.End])
		if i > 0 && unicode.IsUpper(r) && l.Code != "de" || strings.ContainsAny(w.Text, "0123456789") {
			out[w.Text] = struct{}{}
		}
	}
	return out
}

// hasType reports whether the question asks for a type of thing that can be recognized in a sentence.
func (q *question) hasType() bool { return q.kind >= timeKind && q.kind <= placeKind }

// vector returns the unit vector of a word, or nil.
func (m *Model) vector(word string) []float32 {
	parts := m.find(word)
	if len(parts) == 0 {
		return nil
	}
	v := make([]float32, m.dim())
	for _, p := range parts {
		m.table.add(v, p.row, p.share)
	}
	return unit(v)
}

var (
	dateRE     = regexp.MustCompile(`(?i)\b(1[0-9]{3}|20[0-9]{2}|[0-9]{1,4} ?(?:BCE?|AD|CE)|january|february|march|april|may [0-9]|[0-9]{1,2}(?:st|nd|rd|th)? (?:of )?may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|century|centuries|[0-9]{2,4}s|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? [0-9]{1,2}|[0-9]{1,2} (?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|[0-9]{1,2}/[0-9]{1,2}|[0-9]{1,2}[:.][0-9]{2}|[0-9]{1,2} ?[ap]\.?m|o[’']clock|noon|midnight|weekdays?|weekends?|mornings?|afternoons?|evenings?|daily|hourly|nightly|weekly|monthly|annually|every (?:day|hour|night|week|month|year))\b`)
	numberRE   = regexp.MustCompile(`(?i)\b([0-9][0-9,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundreds?|thousands?|millions?|billions?|half|dozens?|third|quarter|percent|twice|nothing|none|free|zero)\b`)
	placeRE    = regexp.MustCompile(`(?:^|[\s("'=])(?:[/~]|\$[A-Z_{]+}?/)[\w.-]*/[\w./*{}$-]+|\b(?:in|at|from|near|to|of|on|around|across|throughout) (?:the )?(?:[a-z]+ )?[A-Z]|(?i:\b(?:located|north|south|east|west|city|country|region|coast|valley|district|between)\b)`)
	nearRE     = regexp.MustCompile(`(?i)\b(?:near|beside|behind|opposite|outside|inside|upstairs|downstairs|next to|in front of|(?:in|at|on|from|to) (?:the|a|an|our|your)|street|road|lane|avenue|square|hall|room|floor|building)\b`)
	reasonRE   = regexp.MustCompile(`(?i), so |\b(because|due to|since|as a result|caused?|causes|reasons?|in order to|so that|therefore|thus|led to|leads to|to (?:avoid|prevent|make|allow|reduce|protect|ensure))\b`)
	doRE       = regexp.MustCompile(`^(?:To \pL+|(?:Use|Send|Run|Set|Give|Put|Call|Add|Start|Stop|Open|Install|Copy|Write|Make|Delete|Choose|Compare|Serve|Point|Name|Build|Download|Create|Pass|With|By|Hold|Press|Push|Pull|Turn|Switch|Tap|Click|Select|Enter|Insert|Remove|Take|Move|Lift|Screw|Unscrew|Plug|Unplug|Fill|Rinse|Wait)\b)|\b(?:by|with|via|using) (?:\pL+ing|--)`)
	fullNameRE = regexp.MustCompile(`\b[A-Z][\pL'’-]+ [A-Z][\pL'’-]+`)
	nameRE     = regexp.MustCompile(`\b[A-Z][\pL'’-]+`)
)

// typeFit returns how well a text of a sentence may hold the requested type of thing, 0..1; 0.5 if the question asks for none.
func (q *question) typeFit(c *sentence, text string) float64 {
	var re *regexp.Regexp
	switch q.kind {
	case anyKind, definitionKind:
		return 0.5
	case instructionKind:
		return q.instructionFit(c)
	case listKind:
		if enumerates(text) || c.code {
			return 1
		}
		return 0.5
	case timeKind:
		re = dateRE
	case numberKind:
		if q.inUnit && q.lang.HasPhrase(lang.Unlimited, text) {
			return 1
		}
		re = numberRE
	case placeKind:
		re = placeRE
	case reasonKind:
		if explainsRE.MatchString(text) {
			return 1
		}
		re = reasonRE
	case personKind:
		re = nameRE
		if c.row || q.lang.Code == "de" {
			re = fullNameRE // cells and German nouns begin with capitals
		}
	}
	if q.lang != lang.English {
		switch section := sectionsOf[q.kind]; {
		case q.kind == placeKind || !q.lang.HasAny(lang.Months):
			return 0.5
		case q.hasWord(text, section...):
			return 1
		case q.kind == reasonKind:
			return 0.3
		case q.kind == timeKind:
			re = clockRE
		case q.kind == personKind && q.lang.Code != "de" && q.lang.Code != "zh" && q.lang.Code != "ja":
			re = fullNameRE
		case q.kind == personKind:
			return 0.5
		}
	}
	text = numberingRE.ReplaceAllString(text, "")
	if q.kind == timeKind && !re.MatchString(text) && duration.in(q.lang, text) {
		return 0.5 // within ten days
	}
	if q.kind == placeKind && !re.MatchString(text) && nearRE.MatchString(text) {
		return 0.5 // places in a house or a town have no names
	}
	for _, at := range re.FindAllStringIndex(text, 24) {
		if q.kind == reasonKind || q.kind == placeKind {
			return 1
		}
		if q.kind == personKind && at[0] == 0 && len(c.words) > 0 && q.lang.IsStopWord(c.words[0].Text) {
			continue
		}
		found := lang.Words(text[at[0]:at[1]]) // what the question says itself is no answer
		for _, w := range found {
			if _, said := q.index[stemIn(q.lang, w.Text)]; !said && !(q.kind == personKind && q.lang.IsStopWord(w.Text)) {
				return 1
			}
		}
	}
	return 0
}

// numberingRE matches the number of a section, and that of an issue.
var numberingRE = regexp.MustCompile(`#[0-9]+\b|^(?:\(?[0-9]{1,2}\)|[0-9]{1,2}(?:\.[0-9]{1,2})+\.?|[0-9]{1,2}\.) `)

// explainsRE matches a sentence whose second half explains the first one: "No dogs: the lease forbids them".
var explainsRE = regexp.MustCompile(`\pL[\pL)”"»]*\x{00a0}?\x{202f}?: ?\p{Ll}|\pL：\pL`)

// clockRE matches dates and times of day in figures.
var clockRE = regexp.MustCompile(`\b[0-9]{1,2}[ ]?(?:[:.hH][ ]?[0-9]{2}\b|[hH]\b|Uhr|uur|heures?)|\b(?:1[0-9]{3}|20[0-9]{2})\b|\b[0-9]{1,2}[./][0-9]{1,2}\b|[0-9]+[ ]?[年月日号點点時时]`)

// sectionsOf are the sections with words that are things of a kind.
var sectionsOf = map[kind][]lang.Section{timeKind: {lang.Months, lang.Days}, numberKind: {lang.Counts}, reasonKind: {lang.Reasons}}

// hasWord reports whether a text has a word of a section that the question does not have.
func (q *question) hasWord(text string, sections ...lang.Section) bool {
	if slices.Contains(sections, lang.Reasons) && (q.lang.Code == "zh" || q.lang.Code == "ja") { // words are not separated
		return q.lang.HasPhrase(lang.Reasons, text)
	}
	for _, w := range lang.Words(text) {
		for _, s := range sections {
			if _, said := q.index[stemIn(q.lang, w.Text)]; !said && q.lang.Has(s, w.Text) {
				return true
			}
		}
	}
	return false
}

// instructionFit returns how well a sentence may be an instruction. If it begins with its purpose, that must match.
func (q *question) instructionFit(c *sentence) float64 {
	if c.ordered || c.code {
		return 1
	}
	if q.lang != lang.English {
		return 0.5
	}
	if purpose, _, ok := strings.Cut(c.text, ","); ok && strings.HasPrefix(purpose, "To ") {
		n, asked := 0.0, 0.0
		for _, s := range stemsIn(q.lang, purpose) {
			n++
			if _, ok := q.index[s]; ok {
				asked++
			}
		}
		return 0.2 + 0.8*asked/max(n, 1)
	}
	if doRE.MatchString(c.text) {
		return 1
	}
	return 0.5
}

var copulas = wordSet("is are was were means refers denotes describes implements provides")

// definitionFit returns 1 for a sentence that begins with the subject and says what it is, less if other words precede it or it
// says what happens to it, and 0.3 otherwise. The first sentences under a heading of the subject count more.
func (q *question) definitionFit(c *sentence) float64 {
	fit := q.definition(c)
	if fit > 0.3 && len(q.terms) > 0 && q.headingMatches(c) && !c.row {
		fit += 0.4 / float64(1+c.under)
	}
	return fit
}

func (q *question) definition(c *sentence) float64 {
	separator := ": "
	if !c.row {
		separator = entrySeparator
	}
	switch name, _, ok := strings.Cut(c.text, separator); {
	case ok && q.isSubject(name):
		return 0.9
	case c.row:
		return 0.3
	case lang.Defines(c.text, q.subject):
		return 1
	}
	left := len(q.terms)
	seen := make([]bool, left)
	first, last := -1, -1
	for k, w := range c.words[:min(len(c.words), 24)] {
		if _, ok := copulas[w.Text]; ok && left == 0 {
			switch {
			case k-last > 1:
				return 0.4
			case first <= 1 && len(q.subject) == 0:
				return 1
			case first <= 1 && k+1 < len(c.words) && strings.HasSuffix(c.words[k+1].Text, "ed"):
				return 0.3 // what happens to it
			case first <= 1:
				return 0.7
			case strings.Contains(c.text[:c.words[first].Start], ","):
				return 0.8
			}
			return 0.4
		}
		i, ok := q.index[c.stems[k]]
		if !ok || c.stems[k] == "" {
			continue
		}
		last = k
		if seen[i] {
			continue
		}
		seen[i] = true
		left--
		if first < 0 {
			first = k
		}
	}
	return 0.3
}

// entrySeparator is between a term and its meaning in a list of descriptions, as the HTML parser writes it.
const entrySeparator = " : "

// isSubject reports whether the content words of s are the subject of the question.
func (q *question) isSubject(s string) bool {
	return q.onlyAbout(s) && len(stemsIn(q.lang, s)) >= len(q.terms)
}

// onlyAbout reports whether all content words of s are in the question.
func (q *question) onlyAbout(s string) bool {
	found := stemsIn(q.lang, s)
	for _, t := range found {
		if _, ok := q.index[t]; !ok {
			return false
		}
	}
	return len(found) > 0
}

// headingMatches reports whether the heading over a sentence is the subject of the question.
func (q *question) headingMatches(c *sentence) bool {
	return q.isSubject(c.heading)
}
