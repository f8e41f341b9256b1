package embedded

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/vellum"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/lang"
)

// Weights of the terms that are searched for together with a term of the question, or in its place.
const (
	formWeight    = 0.9  // another form of the word, or another spelling of its accents
	similarWeight = 0.5  // a word that differs by typing errors
	partWeight    = 0.5  // a part of a compound, or a compound that contains the word
	synonymWeight = 0.25 // a word of the same meaning
)

const (
	maxLookups  = 64   // words of a question whose forms are looked up: each takes milliseconds, and a question can have thousands
	maxScanned  = 2000 // terms of the dictionary that are compared with a word
	maxVariants = 8    // for one word
	maxEnding   = 8    // characters after the stem in a form of a word
	maxPartRest = 12   // characters of a compound beside the word that it contains
)

// variant is a term of the index that is searched for besides a term of the question.
type variant struct {
	text   string
	weight float64
}

// expander finds terms in the dictionary of a view that stand for words of a question. The index stems all words as English ones, so forms in other
// languages are different terms. Words that the index does not have are replaced by similar ones.
type expander struct {
	terms     *inverted.Snapshot
	known     *formCache
	language  *lang.Language      // of the question; nil: unknown
	same      map[string][]string // words of the same meaning, by word of the question
	corrected map[string][]string // terms that replace words of the question
	lookups   int                 // words whose forms were looked up
}

// newExpander returns nil if the view has no dictionary.
func newExpander(v *view, question string, l *lang.Language) *expander {
	if v.lexical == nil {
		return nil
	}
	return &expander{terms: v.lexical, known: v.forms, language: l, same: cmp.Or(l, lang.English).SameMeaning(question)}
}

// corrections returns the words that were replaced so far.
func (x *expander) corrections() map[string][]string {
	if x == nil {
		return nil
	}
	return x.corrected
}

// expand returns the terms that stand for a word of the question. texts are the terms of the whole index, and known means that they have the word itself.
func (x *expander) expand(texts *inverted.Terms, t lang.Term, known bool) ([]variant, error) {
	if x == nil || utf8.RuneCountInString(t.Word) < 3 || t.Word[0] >= '0' && t.Word[0] <= '9' || len(t.Word) > 40 {
		return nil, nil
	}
	foreign := x.language != nil && x.language != lang.English
	l := cmp.Or(x.language, lang.English)
	if l.IsStopWord(t.Word) {
		return nil, nil
	}
	same, err := x.synonyms(texts, t)
	if err != nil || known && !foreign || x.lookups == maxLookups {
		return same, err
	}
	x.lookups++
	forms, err := x.forms(l, t, known)
	return append(forms, same...), err
}

// synonyms returns the most frequent terms of the same meaning as a word of the question.
func (x *expander) synonyms(texts *inverted.Terms, t lang.Term) (out []variant, err error) {
	var stems []string
	for _, w := range x.same[t.Word] {
		if s := lang.Stem(w); s != t.Stem {
			stems = append(stems, s)
		}
	}
	slices.Sort(stems)
	counts := map[string]int{}
	for _, s := range slices.Compact(stems) {
		if counts[s], err = texts.Count(s); err != nil {
			return nil, err
		}
		if counts[s] > 0 {
			out = append(out, variant{s, synonymWeight})
		}
	}
	return mostFrequent(out, counts), nil
}

// mostFrequent returns the most frequent variants, at most [maxVariants].
func mostFrequent(all []variant, counts map[string]int) []variant {
	slices.SortStableFunc(all, func(a, b variant) int { return cmp.Compare(counts[b.text], counts[a.text]) })
	return all[:min(len(all), maxVariants)]
}

// maxForms is the number of words whose forms a snapshot keeps, enough for the searches of some questions: some 60 KB, since there can be thousands of
// collections.
const maxForms = 128

// formCache keeps the forms of words that were looked up in a snapshot. To find those of a word that the index does not have takes milliseconds, and the
// searches of a question look for the same words.
type formCache = lru.Cache[formKey, wordForms]

type formKey struct {
	language, word string
	known          bool
}

// wordForms are the forms of a word, which nobody changes. corrected means that the word may be a misspelling of the forms.
type wordForms struct {
	variants  []variant
	corrected bool
}

// forms returns the other forms of a word, or the words for which it may be a typing error.
func (x *expander) forms(l *lang.Language, t lang.Term, known bool) ([]variant, error) {
	key := formKey{l.Code, t.Word, known}
	found, ok := x.known.Get(key)
	if !ok {
		var err error
		if found, err = x.findForms(l, t, known); err != nil {
			return nil, err
		}
		key.word = strings.Clone(key.word) // it is a part of the question
		x.known.Add(key, found)
	}
	if found.corrected {
		if x.corrected == nil {
			x.corrected = map[string][]string{}
		}
		for _, v := range found.variants {
			x.corrected[t.Word] = append(x.corrected[t.Word], v.text)
		}
	}
	return slices.Clip(found.variants), nil
}

// findForms looks for the forms of a word in the dictionary.
func (x *expander) findForms(l *lang.Language, t lang.Term, known bool) (wordForms, error) {
	out, err := x.matching(formPattern(l, t.Word), formWeight, func(term string) bool { return term != t.Stem && l.SameWord(t.Word, term) })
	if err != nil || known || len(out) > 0 {
		return wordForms{variants: out}, err
	}
	for edits := 1; edits <= lang.Edits(t.Word) && len(out) == 0; edits++ {
		if out, err = x.similar(t.Stem, edits); err != nil {
			return wordForms{}, err
		}
	}
	if len(out) == 0 && l.Compounds {
		if out, err = x.compounds(l.Stem(t.Word)); err != nil {
			return wordForms{}, err
		}
	}
	return wordForms{out, len(out) > 0}, nil
}

// similar returns the most frequent terms within a number of edits.
func (x *expander) similar(term string, edits int) ([]variant, error) {
	near, err := inverted.Near(term, edits)
	if err != nil {
		return nil, err
	}
	return x.read(near, similarWeight, func(found string) bool { return utf8.RuneCountInString(found) > 3 })
}

// compounds returns the terms that begin or end a word, and those that it begins or ends.
func (x *expander) compounds(stem string) ([]variant, error) {
	if utf8.RuneCountInString(stem) < 5 {
		return nil, nil
	}
	at := foldedPattern(stem)
	rest := ".{3," + strconv.Itoa(maxPartRest) + "}"
	out, err := x.matching(at+rest+"|"+rest+at, partWeight, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	// Forms of a part may have an ending or a linking letter: Gitarre in Gitarrenlehrer.
	runes := []rune(stem)
	for n := len(runes) - 3; n >= 5; n-- {
		for _, part := range []string{string(runes[:n]), string(runes[len(runes)-n:])} {
			found, err := x.matching(foldedPattern(part)+".{0,2}", partWeight, func(term string) bool {
				f := lang.FoldAccents(term)
				return lang.IsPart(part, stem) && utf8.RuneCountInString(f) <= n+1
			})
			if err != nil {
				return nil, err
			}
			for _, v := range found {
				if !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
		if len(out) >= maxVariants {
			break
		}
	}
	return out[:min(len(out), maxVariants)], nil
}

// limited matches the parts of a pattern that limit a number of characters.
var limited = regexp.MustCompile(`\.\{\d+,\d+\}`)

// matching returns the most frequent terms that match a pattern and are accepted. The index compiles a pattern to an automaton of all its states, of which
// a limited number of characters has many, so it gets the pattern without the limits.
func (x *expander) matching(pattern string, weight float64, accept func(string) bool) ([]variant, error) {
	wide, err := inverted.Pattern(limited.ReplaceAllString(pattern, ".*"))
	if err != nil {
		return nil, err
	}
	matches := func(string) bool { return true }
	if limited.MatchString(pattern) {
		exact, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			return nil, err
		}
		matches = exact.MatchString
	}
	return x.read(wide, weight, matches, accept)
}

// read returns the most frequent terms that an automaton accepts and that pass all of some conditions. The last condition is tested for the first
// maxScanned terms that pass the others.
func (x *expander) read(a vellum.Automaton, weight float64, conditions ...func(string) bool) (out []variant, err error) {
	last := len(conditions) - 1
	counts, left := map[string]int{}, maxScanned
	err = x.terms.Match(fieldText, a, func(term string, documents int) bool {
		for _, pass := range conditions[:last] {
			if !pass(term) {
				return true
			}
		}
		if conditions[last](term) {
			out = append(out, variant{term, weight})
			counts[term] = documents
		}
		left--
		return left > 0
	})
	return mostFrequent(out, counts), err
}

// formPattern matches the forms of a word: its stem with any accents, an ending, and before it an article that is joined to it.
func formPattern(l *lang.Language, word string) string {
	p := foldedPattern(l.Stem(word)) + ".{0," + strconv.Itoa(maxEnding) + "}"
	if l.Elides() {
		p = "([a-z]{1,2}')?" + p
	}
	return p
}

// foldedPattern matches a word without accents as it is written with them.
func foldedPattern(word string) string {
	var b strings.Builder
	for n, part := range strings.Split(word, "ss") {
		if n > 0 {
			b.WriteString("(ss|ß)")
		}
		for _, r := range part {
			b.WriteString(cmp.Or(accents[r], regexp.QuoteMeta(string(r))))
		}
	}
	return b.String()
}

// accents are patterns for the letters that may have an accent, and umlauts as they are written without one.
var accents = map[rune]string{'a': "[aàáâãäå]e?", 'o': "[oòóôõöø]e?", 'u': "[uùúûü]e?", 'e': "[eèéêë]", 'i': "[iìíîïı]", 'c': "[cçć]", 'n': "[nñń]",
	's': "[sśşš]", 'y': "[yýÿ]", 'z': "[zźżž]", 'g': "[gğ]", 'е': "[её]"}
