package canonical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is a word of a question during canonicalization.
type word struct {
	text        string // lower-cased at first, canonical in the end
	surface     string // as written, lower-cased
	raw         string // as written
	name        bool   // capitalized where only names are
	capitalized bool   // also for another reason
	possessive  bool   // ends in a possessive 's
	pause       bool   // a comma or another separator follows
	sentenceEnd bool   // the separator ends a sentence
	inWords     bool   // a number in words
	past        bool   // in a past form
	participle  bool   // may be a past participle
}

// number reports whether the word is a number or a date.
func (w word) number() bool {
	s := strings.TrimPrefix(w.text, "-")
	return s != "" && isDigit(s[0])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// tokenize splits a question into words. A symbol with a meaning is a word of its own, as in C++ and 50 %.
func tokenize(question string) []word {
	s := norm.NFC.String(question)
	shouted := strings.ToUpper(s) == s
	var out []word
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case inWord(r), startsSigned(s, i):
			end := wordEnd(s, i+n)
			w := word{surface: strings.ReplaceAll(strings.ToLower(s[i:end]), "’", "'"), raw: s[i:end], name: unicode.IsUpper(r)}
			switch shout := !shouted && len(w.raw) > 1 && strings.ToUpper(w.raw) == w.raw; {
			case shout && w.raw == "US":
				w.surface = "usa" // and not we
			case shout && (pronouns[w.surface] || questionWords[w.surface]):
				w.surface = w.raw // IT is not it
			case r == '.' && isDigit(s[i+1]):
				w.surface = "0" + w.surface
			}
			out = append(out, w)
			i = end
			continue
		case strings.ContainsRune(".?!,;:", r) && startsWord(s[i+1:]), strings.ContainsRune("'\"′″", r) && isUnitMark(s, i), r == '‰':
			out = append(out, word{surface: string(r)})
		case strings.ContainsRune(".?!,;:。？！，、；：", r):
			if len(out) > 0 {
				out[len(out)-1].pause = true
				out[len(out)-1].sentenceEnd = !strings.ContainsRune(",;，、；", r)
			}
		case r == '\'' || r == '’':
			if k := len(out) - 1; k >= 0 && i > 0 && s[i-1] == 's' && !out[k].pause {
				out[k].possessive = true
			}
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.IsPunct(r) && !strings.ContainsRune("#%&*@/\\", r):
		default:
			out = append(out, word{surface: string(r)})
		}
		i += n
	}
	for i := range out {
		out[i].text = out[i].surface
	}
	return markNames(out)
}

// startsSigned reports whether a sign begins a word at i: a point or a minus of -5, .5, -v, --all, .NET.
func startsSigned(s string, i int) bool {
	if i > 0 && s[i-1] != ' ' || i+1 == len(s) || s[i] != '-' && s[i] != '.' {
		return false
	}
	return startsWord(strings.TrimPrefix(strings.TrimPrefix(s[i+1:], "-"), "."))
}

// startsWord reports whether s begins with a word or with the rest of an operator such as != or ::, or of a path such as ./
func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && (inWord(r) || strings.ContainsRune("=:/", r))
}

// isUnitMark reports whether the quotation mark at i stands for feet, inches, minutes or seconds: it follows a digit and closes no quotation.
func isUnitMark(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return i > 0 && isDigit(s[i-1]) && strings.Count(s[:i], string(r))%2 == 0
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == 0x200c || r == 0x200d
}

// wordEnd returns the end of the word that continues at i. A word may contain points (numbers, file names, acronyms), commas before three digits,
// colons and hyphens between digits, and apostrophes between letters. In scripts without spaces, each character is a word.
func wordEnd(s string, i int) int {
	if r, _ := utf8.DecodeLastRuneInString(s[:i]); isUnspaced(r) {
		return i
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if inWord(r) && !isUnspaced(r) {
			i += n
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		digits := unicode.IsDigit(before) && unicode.IsDigit(next)
		switch {
		case r == '.' && inWord(next) && !isUnspaced(next),
			r == ',' && digits && startsThousands(s[i+1:]),
			r == ':' && digits,
			r == '-' && digits && inISODate(s, i),
			(r == '\'' || r == '’') && unicode.IsLetter(next) && inWord(before):
			i += n
		default:
			return i
		}
	}
	return i
}

// isUnspaced reports whether r belongs to a script without spaces.
func isUnspaced(r rune) bool {
	return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Thai, r)
}

func startsThousands(s string) bool {
	return len(s) >= 3 && isDigit(s[0]) && isDigit(s[1]) && isDigit(s[2]) && (len(s) == 3 || !isDigit(s[3]))
}

// inISODate reports whether the hyphen at i is part of a date such as 2024-01-02.
func inISODate(s string, i int) bool {
	for _, from := range [...]int{i - 4, i - 7} {
		if from < 0 || len(s) < from+10 {
			continue
		}
		fits := true
		for k := range 10 {
			hyphen := k == 4 || k == 7
			fits = fits && hyphen == (s[from+k] == '-') && (hyphen || isDigit(s[from+k]))
		}
		if fits {
			return true
		}
	}
	return false
}

// markNames decides which capitalized words are names. If all or almost all words are capitalized, none is.
func markNames(words []word) []word {
	capitals := 0
	for _, w := range words {
		if w.name {
			capitals++
		}
	}
	// The first word of a sentence is capitalized anyway.
	styled := len(words) >= 4 && capitals*5 > len(words)*4 || capitals == len(words)
	for i := range words {
		if words[i].capitalized = words[i].name; styled {
			words[i].raw = words[i].surface
		}
		words[i].name = words[i].name && !styled && i > 0 && !words[i-1].sentenceEnd
	}
	return words
}

// contractions maps contractions, with and without the apostrophe, to their words.
var contractions = table(`
can't=can not|cannot=can not|cant=can not|won't=will not|wont=will not|shan't=shall not|ain't=is not
whats=what is|whos=who is|wheres=where is|whens=when is|hows=how is|whys=why is|thats=that is|theres=there is
dont=do not|doesnt=do not|didnt=did not|isnt=is not|arent=are not|wasnt=was not|werent=were not|couldnt=could not
wouldnt=would not|shouldnt=should not|havent=have not|hasnt=has not|hadnt=had not
i'm=i am|im=i am|ive=i have|youre=you are|theyre=they are|let's=let us|whatre=what are
`)

// beforeIs are the words after which 's is short for is.
var beforeIs = set("what who where when how why which that there it he she here this")

// expandContractions expands contractions.
func expandContractions(words []word) []word {
	out := make([]word, 0, len(words)+2)
	add := func(w word, texts ...string) {
		for i, t := range texts {
			if t == "" {
				continue // 'm alone
			}
			next := word{text: t, surface: t, name: w.name && i == 0, capitalized: w.capitalized && i == 0}
			if i == len(texts)-1 {
				next.pause, next.possessive = w.pause, w.possessive
			}
			out = append(out, next)
		}
	}
	for _, w := range words {
		if whole, ok := contractions[w.text]; ok {
			add(w, strings.Fields(whole)...)
			continue
		}
		base, end, found := strings.Cut(w.text, "'")
		if base == "" && found {
			base, end, found = end, "", false
			w.text, w.surface = base, base
		}
		if w.text == "" {
			continue
		}
		switch {
		case !found:
			out = append(out, w)
		case end == "t" && strings.HasSuffix(base, "n"):
			add(w, base[:len(base)-1], "not")
		case end == "s" && beforeIs[base]:
			add(w, base, "is")
		case end == "s" && isDigit(base[0]):
			add(w, base+"s")
		case end == "s":
			w.possessive = true
			add(w, base)
		case end == "re":
			add(w, base, "are")
		case end == "ve":
			add(w, base, "have")
		case end == "ll":
			add(w, base, "will")
		case end == "d":
			add(w, base, "would")
		default:
			out = append(out, w)
		}
	}
	return out
}

// set makes a set of the words of a text.
func set(text string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}

// table makes a map of lines and parts of lines of the form key=value.
func table(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		k, v, _ := strings.Cut(part, "=")
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out
}

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// hasPhrase reports whether the words from i on are the phrase.
func hasPhrase(words []word, i int, phrase ...string) bool {
	if i < 0 || i+len(phrase) > len(words) {
		return false
	}
	for k, p := range phrase {
		if words[i+k].text != p {
			return false
		}
	}
	return true
}
