package lang

import (
	"cmp"
	"embed"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// Language has the words and rules of one language. It is safe for concurrent use.
type Language struct {
	Code      string // ISO 639-1
	Compounds bool   // words are compounds, which contain other words: Mitgliedsbeitrag
	// CapitalNouns means that all nouns begin with a capital letter, not only names.
	CapitalNouns bool
	VerbLast     bool // a verb with an auxiliary is at the end of the question
	DecimalComma bool // numbers are written as 1.234,5
	sections     map[Section]wordList
	elides       bool // articles and prepositions are joined to a word: l'ascenseur
	umlauts      bool // ä, ö and ü can be written as ae, oe and ue
	stem         func(*snowballstem.Env) bool
	stems        *Recent[string]
	stopWords    wordList
	stopShapes   shapes              // of the stop words
	script       *unicode.RangeTable // nil: Latin
	number       int                 // from 0, among all languages

	readOnce  sync.Once
	thesaurus *thesaurus
	readTasks sync.Once

	dayPhrases []dayPhrase
	dayStarts  map[string]bool // the first words of those for several days
	tasks      map[string][]string
	phrases    sync.Map        // requests, by section
	topics     *Recent[*Topic] // of questions
}

const maxTopics = 64 // questions whose topics are kept

// Section is a group of words of a language, as a file in data has it.
type Section string

// The sections of single words.
const (
	StopWords   Section = "stop"        // words without a subject of their own
	Negations   Section = "negation"    // not, without
	Pronouns    Section = "pronoun"     // words that refer to an earlier sentence
	Connectives Section = "connective"  // words that join a sentence to the one before
	Months      Section = "month"       // with their numbers
	ShortMonths Section = "month-short" // abbreviations of months with their numbers, which are months beside a day or a year
	Days        Section = "day"         // days of the week with their numbers from Monday, and words such as daily
	ShortDays   Section = "day-short"   // abbreviations of the days of the week, each after its number
	DayJoiners  Section = "day-joiner"  // words between the first and the last day of a range
	Workdays    Section = "workdays"    // phrases for Monday to Friday
	Weekends    Section = "weekend"     // phrases for Saturday and Sunday
	EachDay     Section = "each-day"    // phrases for all days of the week
	Exceptions  Section = "except"      // words before days that are not meant
	Counts      Section = "count"       // number words and fractions with their values, and words such as twice
	Reasons     Section = "because"     // words that give a reason
	Most        Section = "most"        // words that ask for the greatest or the last of several: highest
	Least       Section = "least"       // words that ask for the smallest or the first of several: lowest, cheapest
	Superlative Section = "superlative" // words that ask for this with the adjective after them: most, plus
	Little      Section = "little"      // adjectives that ask for the smallest value after them: le plus court
	// Abbreviations end with a full stop, without it.
	Abbreviations Section = "abbreviation"
	// Parts are words before letters that count: Annex A.
	Parts Section = "part"
)

// The sections of phrases that show what a question asks for.
const (
	AsksTime       Section = "time"
	AsksPerson     Section = "person"
	AsksNumber     Section = "number"
	AsksPlace      Section = "place"
	AsksReason     Section = "reason"
	AsksManner     Section = "manner"   // how to do something
	Methods        Section = "method"   // headings over instructions for what the title names: preparation
	Tasks          Section = "task"     // groups of verbs that manuals use for each other
	Particles      Section = "particle" // particles of verbs that stand at the end: stelle … ein
	AsksList       Section = "list"
	AsksDefinition Section = "definition"
	AsksBroadly    Section = "broad"   // for a summary or an explanation
	AsksName       Section = "name"    // what something is called: wie heißt
	AsksSeveral    Section = "several" // words with which a question for what there is asks for several things: bring, included
	Vague          Section = "vague"   // words of questions that answers seldom repeat: things
	AsksCommand    Section = "command" // phrases with which a command of a computer is asked for
	AsksWhether    Section = "whether" // phrases with which a yes/no question begins; in Turkish, Chinese and Japanese, particles that it contains
)

// The sections that show what kind of amount a question or the name of a column is about, and the units of these amounts.
const (
	Money            Section = "money" // words for a price, a fee or a salary
	Weight           Section = "weight"
	Length           Section = "length" // words for a length or a distance
	Temperature      Section = "temperature"
	TimeUnits        Section = "unit-time"
	MoneyUnits       Section = "unit-money"
	WeightUnits      Section = "unit-weight"
	LengthUnits      Section = "unit-length"
	TemperatureUnits Section = "unit-temperature"
	Age              Section = "age"       // words that make an age of a number near them: aged, born
	AgeAfter         Section = "age-after" // words that make an age of a number before them: old
)

// The sections of quantities whose amounts nearly always have a unit: phrases that ask for them, and names of their units. Among the units, m² and m³ stand for
// those of a length with a word of [Squares] or [Cubes]: square metre.
const (
	AsksLoudness  Section = "loudness-question"
	AsksPower     Section = "power-question"
	AsksEnergy    Section = "energy-question"
	AsksVoltage   Section = "voltage-question"
	AsksCurrent   Section = "current-question"
	AsksArea      Section = "area-question"
	AsksVolume    Section = "volume-question"
	AsksSpeed     Section = "speed-question"
	AsksData      Section = "data-question" // for an amount of data
	AsksShare     Section = "share-question"
	AsksPressure  Section = "pressure-question"
	AsksSize      Section = "size-question" // how big: a length, an area, a volume, an amount of data, money or a share
	LoudnessUnits Section = "unit-loudness"
	PowerUnits    Section = "unit-power"
	EnergyUnits   Section = "unit-energy"
	VoltageUnits  Section = "unit-voltage"
	CurrentUnits  Section = "unit-current"
	AreaUnits     Section = "unit-area"
	VolumeUnits   Section = "unit-volume"
	SpeedUnits    Section = "unit-speed"
	DataUnits     Section = "unit-data"
	ShareUnits    Section = "unit-share"
	PressureUnits Section = "unit-pressure"
	Squares       Section = "square"
	Cubes         Section = "cube"
	InUnit        Section = "in-unit" // prepositions before the unit in which a question asks for a number: in litres
)

// The sections of phrases about amounts. They tell questions apart that [Language.Asks] gives one section, so asking does not have them.
const (
	AsksDuration Section = "duration"         // how long something takes
	AsksClock    Section = "clock"            // for a time of the day
	AsksDay      Section = "weekday-question" // for a day or a date
	AsksAge      Section = "age-question"
	AsksHot      Section = "temperature-question"
	AsksCount    Section = "count-question"  // how many
	Lasts        Section = "lasts"           // verbs with which a phrase for an age asks for a duration
	AsksAmount   Section = "amount-question" // for an amount of a substance: how much
	Quantities   Section = "quantities"      // names of columns: quantity, stock
	AsksPhone    Section = "phone-question"  // for the number of a telephone
	AsksEmail    Section = "email-question"  // for an address of e-mail
	AsksMessage  Section = "message"         // about the sender, the date or the subject of a message: wrote, sent
	Above        Section = "above"           // phrases that make a range with a number: at least, or more
	Below        Section = "below"           // up to, or less
	Unlimited    Section = "unlimited"       // no limit, as many as you like
)

// The sections for questions about the rows of a table.
const (
	Smaller Section = "smaller" // words that compare: less, below
	Greater Section = "greater"
	Than    Section = "than"
	Free    Section = "free"   // phrases for a price of nothing, or for one that is a part of another: free of charge, included, half
	If      Section = "if"     // words that begin a condition
	Absent  Section = "absent" // phrases for what is not there, besides negations: out of
	Yes     Section = "yes"    // cells that say that something is there
	No      Section = "no"     // and that it is not
	Old     Section = "old"    // words that ask for the earliest year: oldest
	New     Section = "new"
	Totals  Section = "total" // words before the sums of a table
)

// The sections for follow-up questions. Those of phrases are separated by semicolons.
const (
	Articles      Section = "article"
	Prepositions  Section = "preposition"
	Auxiliaries   Section = "auxiliary" // verbs that follow a question word or begin a question
	QuestionWords Section = "question"
	Adverbs       Section = "adverb"    // today, now
	Shifts        Section = "shift"     // phrases for a time before or after another one, in days; 30 are a month and 365 a year
	Then          Section = "then"      // phrases that ask for what comes next: afterwards
	People        Section = "people"    // groups of people that have different prices or rules
	Openings      Section = "opening"   // phrases that join a question to the one before
	Closings      Section = "closing"   // particles at the end of such a question
	About         Section = "about"     // phrases before the only words of a question: what about
	Change        Section = "change"    // phrases that announce a question about something else
	Returns       Section = "back"      // phrases that name what the question after a colon or a comma is about: back to the pool
	Expletives    Section = "expletive" // phrases with a pronoun that refers to nothing: il y a
	He            Section = "he"        // pronouns for persons; in languages with genders also for things
	His           Section = "his"
	It            Section = "it"
	Its           Section = "its"
	They          Section = "they"
	Their         Section = "their"
	There         Section = "there"
	This          Section = "this"     // demonstratives that are not always pronouns
	Gendered      Section = "gendered" // articles with the pronoun for a noun with this article: der=er
)

// The sections of what is said in a conversation.
const (
	Thanks      Section = "thanks"
	Greetings   Section = "hello"
	Farewells   Section = "bye"
	Agreement   Section = "agreed"
	AsksAbility Section = "ability"   // phrases that ask what the program can do
	Praise      Section = "praise"    // words that agree only within a conversation; alone, Nice is a place
	Fillers     Section = "filler"    // words beside those phrases
	AsksSummary Section = "summarize" // phrases that ask for a summary; … stands for the thing, which is last without it
	AsksNews    Section = "news"      // phrases that ask what is new in something, in the same form
	AsksAccount Section = "account"   // phrases that ask for all that is said about a thing, in the same form or with an ellipsis where the thing is
	AsksWhatIs  Section = "what-is"   // phrases that ask what a thing is or does, in that form
	Politeness  Section = "polite"    // words beside those phrases
	Documents   Section = "document"  // words for the documents themselves
)

// Reply returns the answer to a phrase of one of the sections [Thanks], [Greetings], [Farewells], [Agreement], [AsksAbility] and [Praise].
func (l *Language) Reply(to Section) string {
	if to == Praise {
		to = Agreement
	}
	for reply := range l.sections[to+"-reply"] {
		return reply
	}
	return ""
}

var asking = []Section{AsksBroadly, AsksTime, AsksPerson, AsksNumber, AsksPlace, AsksReason, AsksManner, AsksDefinition, AsksList, AsksName}

type wordList map[string]float64 // the number of each word, or 0

//go:embed data/*.txt
var dataFiles embed.FS

// stemmers are Snowball's algorithms for the languages that have a file. A language without one is compared by whole words.
var stemmers = map[string]func(*snowballstem.Env) bool{"en": stemEnglish, "de": german.Stem, "fr": french.Stem, "es": spanish.Stem, "it": italian.Stem,
	"pt": portuguese.Stem, "nl": dutch.Stem, "ru": russian.Stem, "tr": turkish.Stem}

var scripts = map[string]*unicode.RangeTable{"ru": unicode.Cyrillic, "zh": unicode.Han, "ja": unicode.Hiragana}

// English is the default language.
var English = languages()["en"]

// Languages returns all languages that have a file, by code.
func Languages() map[string]*Language { return languages() }

var languages = sync.OnceValue(func() map[string]*Language {
	out := map[string]*Language{}
	files, _ := dataFiles.ReadDir("data")
	for _, f := range files {
		text, _ := dataFiles.ReadFile(path.Join("data", f.Name()))
		l := readLanguage(strings.TrimSuffix(f.Name(), ".txt"), string(text))
		l.number = len(out)
		out[l.Code] = l
	}
	return out
})

// readLanguage reads a file of a language: sections, each with a name in brackets and a list of words, or of phrases that are separated by semicolons.
// A number in a list of words is the value of the words after it. Lines that begin with # are comments.
func readLanguage(code, text string) *Language {
	l := &Language{Code: code, sections: map[Section]wordList{}, stem: stemmers[code], stems: NewRecent[string](maxStems), topics: NewRecent[*Topic](maxTopics), script: scripts[code]}
	var section Section
	number := 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			name, words, _ := strings.Cut(rest, "]")
			section, line = Section(name), words
			l.sections[section], number = wordList{}, 0
		}
		words := strings.Fields(line)
		if slices.Contains(asking, section) || strings.Contains(line, ";") {
			words = strings.Split(line, ";")
		}
		for _, w := range words {
			w = strings.TrimSpace(w)
			if x, err := strconv.ParseFloat(w, 64); err == nil {
				number = x
			} else if w != "" {
				l.sections[section][w] = number
			}
		}
	}
	l.stopWords = l.sections[StopWords]
	for w := range l.stopWords {
		l.stopShapes.add(w)
	}
	_, l.Compounds = l.sections["compounds"]
	_, l.elides = l.sections["elision"]
	_, l.umlauts = l.sections["umlauts"]
	_, l.DecimalComma = l.sections["decimal comma"]
	_, l.CapitalNouns = l.sections["capital nouns"]
	_, l.VerbLast = l.sections["verb last"]
	l.readDays()
	return l
}

// Has reports whether a section has a lower-cased word.
func (l *Language) Has(s Section, word string) bool {
	_, ok := l.sections[s][word]
	return ok
}

// List returns the words or phrases of a section, the longest first.
func (l *Language) List(s Section) []string {
	return slices.SortedFunc(maps.Keys(l.sections[s]), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
}

// Number returns the number of a lower-cased word in a section: 3 for März among the months and for drei among the number words.
func (l *Language) Number(s Section, word string) (float64, bool) {
	x := l.sections[s][word]
	return x, x != 0
}

// IsStopWord reports whether a lower-cased word of [Words] has too little meaning to be searched for: articles, pronouns, prepositions, auxiliary verbs,
// question words. In Japanese, all words in Hiragana are.
func (l *Language) IsStopWord(word string) bool {
	if l.stopShapes.may(word) && has(l.stopWords, word) {
		return true
	}
	if l.Code == "ja" {
		r, n := utf8.DecodeRuneInString(word)
		return n == len(word) && unicode.Is(unicode.Hiragana, r)
	}
	return l.elides && has(l.stopWords, l.withoutElision(word))
}

// shapes are the first letter, the length and the last letter of the words of a list of ASCII words. Most words that are not in the list differ in these, and
// this check is faster than a look-up in a map.
type shapes [26][maxShape]uint32

const maxShape = 16

func (s *shapes) at(word string) (row *uint32, bit uint32) {
	n := len(word)
	if n == 0 || n >= maxShape {
		return nil, 0
	}
	first, last := word[0]-'a', word[n-1]-'a'
	if first >= 26 || last >= 26 {
		return nil, 0
	}
	return &s[first][n], 1 << last
}

func (s *shapes) add(word string) {
	if row, bit := s.at(word); row != nil {
		*row |= bit
	}
}

// may reports whether the list may have a word.
func (s *shapes) may(word string) bool {
	row, bit := s.at(word)
	return row == nil || *row&bit != 0
}

// Stem returns the stem of a lower-cased word of [Words], by Snowball's algorithm of the language, without accents. Numbers lose their thousands
// separators.
func (l *Language) Stem(word string) string {
	if word == "" || len(word) > maxStem || l.stem == nil {
		return word
	}
	if word[0] >= '0' && word[0] <= '9' {
		return stemOfNumber(word)
	}
	return l.stems.Get(word, maxStem, l.computeStem)
}

// computeStem computes the stem of a word of letters.
func (l *Language) computeStem(word string) string {
	if l.elides {
		word = l.withoutElision(word)
	}
	word = strings.ReplaceAll(word, "ё", "е") // Russian is mostly written without ё, and the algorithm knows endings without it
	env := snowballstem.NewEnv(word)
	l.stem(env)
	return FoldAccents(cmp.Or(env.Current(), word))
}

// withoutElision removes an article or preposition that is joined to a word by an apostrophe.
func (l *Language) withoutElision(word string) string {
	if i := strings.IndexByte(word, '\''); i > 0 && i <= 6 && i < len(word)-1 {
		return word[i+1:]
	}
	return word
}

// FoldAccents removes the accents of Latin letters, and replaces letters such as ß, ø, ı and the Russian ё by those that people without them type.
func FoldAccents(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	if ascii {
		return word
	}
	if r, _ := utf8.DecodeRuneInString(word); !unicode.Is(unicode.Latin, r) {
		return strings.ReplaceAll(word, "ё", "е")
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(unaccented.Replace(word)))
}

var unaccented = strings.NewReplacer("ß", "ss", "ø", "o", "ı", "i", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe")

// UniqueTerms returns the terms of s with distinct stems, in order of first occurrence. Stop words are left out unless s has no other words.
func (l *Language) UniqueTerms(s string) []Term {
	words := Words(s)
	seen := make(map[string]struct{}, len(words))
	var out []Term
	add := func(w string) {
		stem := l.Stem(w)
		if _, ok := seen[stem]; !ok {
			seen[stem] = struct{}{}
			out = append(out, Term{w, stem})
		}
	}
	for _, w := range words {
		if !l.IsStopWord(w.Text) {
			add(w.Text)
		}
	}
	if len(out) == 0 {
		for _, w := range words {
			add(w.Text)
		}
	}
	return out
}

// Terms returns the stems of the words of s in order, with repetitions and without stop words.
func (l *Language) Terms(s string) []string {
	words := Words(s)
	out := make([]string, 0, len(words))
	for _, w := range words {
		if !l.IsStopWord(w.Text) {
			out = append(out, l.Stem(w.Text))
		}
	}
	return out
}

// TermSet returns the stems of the terms of s.
func (l *Language) TermSet(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for _, t := range l.Terms(s) {
		m[t] = struct{}{}
	}
	return m
}

// ContentWords returns the first distinct words of s that are not stop words, at most the given number.
func (l *Language) ContentWords(s string, limit int) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range Words(s) {
		if !l.IsStopWord(w.Text) && !seen[w.Text] && len(out) < limit {
			seen[w.Text] = true
			out = append(out, w.Text)
		}
	}
	return out
}

// maxAsking is the number of words of a question in which the phrases are searched that show what it asks for.
const maxAsking = 8

// Asks returns the section of the phrase with which a question begins, or one of its clauses; empty if there is none. Of several phrases, the first one
// counts, and of those that begin at the same word the longest.
func (l *Language) Asks(question string) Section {
	var s string
	if l.Code == "zh" || l.Code == "ja" {
		s = strings.ToLower(question)
	} else {
		words := Words(question)
		for i, w := range words[:min(len(words), maxAsking)] {
			if i == 0 || strings.ContainsAny(question[words[i-1].End:w.Start], ",;:") {
				s += " "
			}
			s += " " + w.Text
		}
		s += " "
	}
	best, at, size := Section(""), len(s), 0
	for _, section := range asking {
		for phrase := range l.sections[section] {
			if l.script == nil || l.Code == "ru" {
				phrase = " " + phrase + " "
			}
			if i := strings.Index(s, phrase); i >= 0 && (i < at || i == at && len(phrase) > size) {
				best, at, size = section, i, len(phrase)
			}
		}
	}
	return best
}

// AsksWhether reports whether a question is a yes/no question: it begins with a verb, or has a particle for it, and has no other question word.
func (l *Language) AsksWhether(question string) bool {
	if !l.Spaced() {
		return l.HasPhrase(AsksWhether, question) && l.Asks(question) == ""
	}
	asks := func(text string) bool {
		return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return l.Has(QuestionWords, w) })
	}
	text := withSpaces(Words(question))
	if l.Code == "tr" {
		return l.HasPhrase(AsksWhether, question) && !asks(text)
	}
	return slices.ContainsFunc(l.List(AsksWhether), func(p string) bool {
		rest, ok := strings.CutPrefix(text, " "+strings.ReplaceAll(p, "-", " ")+" ")
		return ok && !asks(rest)
	})
}

// AsksOfAllRows reports whether the answer to a question can depend on all rows of a table: it asks for the greatest or the smallest, how many there are, compares, or asks
// what is not there.
func (l *Language) AsksOfAllRows(question string) bool {
	sections := []Section{Most, Least, Old, New, AsksCount}
	if l.Spaced() { // in Chinese and Japanese, negations are parts of many words
		sections = append(sections, Smaller, Greater, Absent, Negations)
	}
	return slices.ContainsFunc(sections, func(s Section) bool { return l.HasPhrase(s, question) })
}

// HasPhrase reports whether a text has a word or a phrase of a section. Chinese and Japanese words are not separated.
func (l *Language) HasPhrase(s Section, text string) bool {
	if !l.Spaced() {
		return slices.ContainsFunc(l.List(s), func(p string) bool { return strings.Contains(text, p) })
	}
	text = withSpaces(Words(text))
	return slices.ContainsFunc(l.List(s), func(p string) bool { return strings.Contains(text, " "+p+" ") })
}

// Spaced reports whether words are separated by spaces.
func (l *Language) Spaced() bool { return l.Code != "zh" && l.Code != "ja" }

// withSpaces returns words with a space before and after each.
func withSpaces(words []Token) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" " + w.Text)
	}
	return b.String() + " "
}

// Elides reports whether articles and prepositions are joined to the word after them by an apostrophe: l'ascenseur.
func (l *Language) Elides() bool { return l.elides }

// HasAny reports whether the language has words in a section.
func (l *Language) HasAny(s Section) bool { return len(l.sections[s]) > 0 }
