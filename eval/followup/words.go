package followup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// sentence is a text with its words.
type sentence struct {
	text  string
	words []word
}

// word is text[from:to] of a sentence, without a possessive ending.
type word struct {
	from, to   int
	lower      string
	upper      bool // it begins with a capital
	possessive bool // 's follows
	gap        bool // punctuation comes before it
	dash       bool // that punctuation is a dash, a slash or another mark that joins words
}

// span is a phrase: text[from:to], words[first:last].
type span struct{ from, to, first, last int }

var wordRE = regexp.MustCompile(`[\pL\pN]+(?:[-.&][\pL\pN]+)*`)

func split(text string) sentence {
	s := sentence{text: strings.Join(strings.Fields(text), " ")}
	end := 0
	for _, at := range wordRE.FindAllStringIndex(s.text, -1) {
		between := s.text[end:at[0]]
		if n := len(s.words); n > 0 && (between == "'" || between == "’") {
			if s.text[at[0]:at[1]] == "s" {
				s.words[n-1].possessive = true
			}
			end = at[1]
			continue
		}
		first, _ := utf8.DecodeRuneInString(s.text[at[0]:])
		s.words = append(s.words, word{from: at[0], to: at[1], lower: strings.ToLower(s.text[at[0]:at[1]]), upper: unicode.IsUpper(first),
			gap: strings.TrimSpace(between) != "", dash: strings.TrimSpace(between) != "" && !strings.ContainsAny(between, ",;:?!.()\"“”")})
		end = at[1]
	}
	return s
}

// at returns the word at i, or none.
func (s sentence) at(i int) word {
	if i < 0 || i >= len(s.words) {
		return word{}
	}
	return s.words[i]
}

// has reports whether the words of a phrase are in the sentence.
func (s sentence) has(phrase string) bool {
	for rest, at := s.text, 0; ; {
		i := strings.Index(rest, phrase)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(phrase)
		whole := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
		before, _ := utf8.DecodeLastRuneInString(s.text[:at])
		after, _ := utf8.DecodeRuneInString(s.text[end:])
		if whole(before) && whole(after) {
			return true
		}
		at++
		rest = s.text[at:]
	}
}

// holds reports whether the sentence has a phrase that is no part of a longer name.
func (s sentence) holds(phrase string) bool {
	if !s.has(phrase) {
		return false
	}
	from := strings.Index(s.text, phrase)
	name := split(phrase).at(0).upper
	for i, w := range s.words {
		if w.from < from {
			continue
		}
		k := i
		for k < len(s.words) && s.words[k].from < from+len(phrase) {
			k++
		}
		before, after := s.at(i-1), s.at(k)
		return !name || (i <= 1 || !before.upper || w.gap) && (!after.upper || after.gap || s.words[k-1].possessive)
	}
	return false
}

// phrases returns the names in a question after its first word, and the noun phrases after an article, without it.
func (s sentence) phrases() []span {
	var out []span
	for i, next := 0, 0; i < len(s.words); i = max(i+1, next) {
		w := s.words[i]
		switch {
		case i == 0 && (function[w.lower] || !auxiliary[s.at(1).lower] && !s.at(1).upper):
			// every sentence begins with a capital
		case w.upper && w.to-w.from > 1 && !dates[w.lower]:
			k := i + 1
			for k < len(s.words) && !s.words[k].gap && !s.words[k-1].possessive && (s.words[k].upper || particle[s.words[k].lower] && s.at(k+1).upper) {
				k++
			}
			out = append(out, span{w.from, s.words[k-1].to, i, k})
			next = k
		case w.lower == "the":
			k := i + 1
			for k < min(len(s.words), i+5) && !s.words[k].gap && !s.words[k].upper && !function[s.words[k].lower] && !s.words[k-1].possessive {
				k++
				if k > i+1 && !s.at(k).upper {
					out = append(out, span{s.words[i+1].from, s.words[k-1].to, i + 1, k})
				}
			}
		}
	}
	return out
}

// pronoun is a pronoun in its three forms.
type pronoun struct{ subject, object, possessive string }

var (
	he   = pronoun{"he", "him", "his"}
	she  = pronoun{"she", "her", "her"}
	it   = pronoun{"it", "it", "its"}
	they = pronoun{"they", "them", "their"}
)

var pronouns = map[string]pronoun{"he": he, "his": he, "him": he, "she": she, "her": she, "it": it, "its": it, "they": they, "their": they, "them": they}

// article is the text about which questions are asked.
type article struct{ sentences [][]sentence } // of each paragraph

func newArticle(paragraphs []string) *article {
	a := &article{}
	for _, p := range paragraphs {
		var all []sentence
		for _, at := range lang.Sentences(p) {
			all = append(all, split(p[at.Start:at.End]))
		}
		a.sentences = append(a.sentences, all)
	}
	return a
}

// kind returns the pronoun for a phrase of a question: the one that the article uses most for it, in the number of the question's verb.
// A sentence uses it for the phrase at its beginning, and a sentence that begins with it, for the phrase at the beginning of the one
// before. It returns false if the article has none and the phrase is a name, or if the phrase is used as an adjective.
func (a *article) kind(q sentence, p span) (pronoun, bool) {
	phrase := q.text[p.from:p.to]
	uses := map[pronoun]int{}
	alone, attributive := 0, 0
	thing := q.at(p.first-1).lower == "the" // people have names without an article
	places := 0
	for _, paragraph := range a.sentences {
		for i, s := range paragraph {
			at := strings.Index(s.text, phrase)
			if at < 0 || !s.has(phrase) {
				continue
			}
			k := 0 // index of the word after the phrase
			for k < len(s.words) && s.words[k].from < at+len(phrase) {
				k++
			}
			if next := s.at(k); next.lower == "" || next.gap || function[next.lower] || s.at(k-1).possessive || strings.HasSuffix(next.lower, "ed") {
				alone++
			} else if k-(p.last-p.first) > 1 { // after a subject, it may be a verb
				attributive++
			}
			if s.at(k-(p.last-p.first)-1).lower == "in" {
				places++
			}
			if k-(p.last-p.first) > 2 {
				continue // it is not the subject
			}
			for _, w := range s.words[k:] {
				if by, ok := pronouns[w.lower]; ok {
					uses[by]++
					break
				}
			}
			if i+1 < len(paragraph) {
				if by, ok := pronouns[paragraph[i+1].at(0).lower]; ok {
					uses[by] += 2
				}
			}
		}
	}
	if attributive > alone {
		return pronoun{}, false
	}
	name := q.words[p.first].upper && !thing && places < 2
	return choose(uses, q.number(p), name, plural(phrase))
}

func plural(phrase string) bool {
	return strings.HasSuffix(phrase, "s") && !strings.HasSuffix(phrase, "ss") && !strings.HasSuffix(phrase, "us") && !strings.HasSuffix(phrase, "is")
}

// choose returns the most used pronoun of a number. For a name, it must be used clearly more than the others.
func choose(uses map[pronoun]int, number int, name, plural bool) (pronoun, bool) {
	best, most, all := pronoun{}, 0, 0
	for _, by := range []pronoun{it, he, she, they} {
		if by == they && (number == 1 || name && !plural) || by != they && number == 2 {
			continue
		}
		n := uses[by]
		if by == he || by == she {
			n *= 2 // "it" often refers to something else
		}
		if all += n; n > most {
			best, most = by, n
		}
	}
	switch {
	case number == 2 || number == 0 && plural && !name:
		return they, true
	case !name:
		return it, true
	}
	return best, most >= 2 && 3*most >= 2*all
}

// number returns 1 for a phrase with a verb in the singular, 2 for one in the plural, and 0 if the verb does not show it.
func (s sentence) number(p span) int {
	first := p.first
	if s.at(first-1).lower == "the" {
		if last := s.words[p.last-1]; last.upper && plural(last.lower) {
			return 2 // as in "the Normans"
		}
		first--
	}
	if preposition[s.at(first-1).lower] {
		return 0 // it is not the subject
	}
	for _, w := range []word{s.at(first - 1), s.at(p.last)} {
		switch w.lower {
		case "is", "was", "does", "has":
			return 1
		case "are", "were", "do", "have":
			return 2
		}
	}
	return 0
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

var (
	questionWords = set("who whom what which when where why how whose")
	asks          = set("do does did can could will would should may might must")
	auxiliary     = set("do does did can could will would should may might must is are was were has have had be been")
	preposition   = set("in on at by for from to with of about after before during under over near between against within into through without since until among around behind")
	conjunction   = set("and or but that because when if while than as")
	participle    = set("built made begun begin located known found founded fought won held led")
	determiner    = set("the a an")
	particle      = set("of the and de von del")
	dates         = set("january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday i")
	function      = union(questionWords, auxiliary, preposition, conjunction, determiner, set("not also its their his her this these those it they he she there some any all most other more many much so such both each"))
)

func union(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for w := range s {
			out[w] = true
		}
	}
	return out
}
