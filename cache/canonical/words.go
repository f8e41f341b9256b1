package canonical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is a word of a question during canonicalization.
type word struct {
	text string // lower-cased at first, canonical in the end
	face string // as written, lower-cased
	raw  string // as written
	name bool   // capitalised where only names are
	cap  bool   // capitalised, possibly for another reason
	poss bool   // ends in a possessive 's
	stop bool   // a comma or the like follows
	end  bool   // of these, one that ends a sentence
	said bool   // a number in words
	past bool   // in a past form
	part bool   // may be a past participle
}

// number reports whether the word is a number or a date.
func (w word) number() bool {
	s := strings.TrimPrefix(w.text, "-")
	return s != "" && isDigit(s[0])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// read splits a question into words. A symbol that does not only separate words is a word of its own, as in C++ and 50 %.
func read(question string) []word {
	s := norm.NFC.String(question)
	shouted := strings.ToUpper(s) == s
	var out []word
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case inWord(r), signed(s, i):
			end := wordEnd(s, i+n)
			w := word{face: strings.ReplaceAll(strings.ToLower(s[i:end]), "’", "'"), raw: s[i:end], name: unicode.IsUpper(r)}
			switch shout := !shouted && len(w.raw) > 1 && strings.ToUpper(w.raw) == w.raw; {
			case shout && w.raw == "US":
				w.face = "usa" // and not we
			case shout && (pronouns[w.face] || asks[w.face]):
				w.face = w.raw // IT is not it
			case r == '.' && isDigit(s[i+1]):
				w.face = "0" + w.face
			}
			out = append(out, w)
			i = end
			continue
		case strings.ContainsRune(".?!,;:", r) && startsWord(s[i+1:]), strings.ContainsRune("'\"′″", r) && measured(s, i), r == '‰':
			out = append(out, word{face: string(r)})
		case strings.ContainsRune(".?!,;:。？！，、；：", r):
			if len(out) > 0 {
				out[len(out)-1].stop = true
				out[len(out)-1].end = !strings.ContainsRune(",;，、；", r)
			}
		case r == '\'' || r == '’':
			if k := len(out) - 1; k >= 0 && i > 0 && s[i-1] == 's' && !out[k].stop {
				out[k].poss = true
			}
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.IsPunct(r) && !strings.ContainsRune("#%&*@/\\", r):
		default:
			out = append(out, word{face: string(r)})
		}
		i += n
	}
	for i := range out {
		out[i].text = out[i].face
	}
	return markNames(out)
}

// signed reports whether a sign begins a word at i: a point or a minus of -5, .5, -v, --all, .NET.
func signed(s string, i int) bool {
	if i > 0 && s[i-1] != ' ' || i+1 == len(s) || s[i] != '-' && s[i] != '.' {
		return false
	}
	return startsWord(strings.TrimPrefix(strings.TrimPrefix(s[i+1:], "-"), "."))
}

// startsWord reports whether s begins with a word or another part of a sign of code: !=, ::, ./
func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && (inWord(r) || strings.ContainsRune("=:/", r))
}

// measured reports whether the quotation mark at i stands for feet, inches, minutes or seconds: it follows a digit and closes no quotation.
func measured(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return i > 0 && isDigit(s[i-1]) && strings.Count(s[:i], string(r))%2 == 0
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == 0x200c || r == 0x200d
}

// wordEnd returns the end of the word that continues at i. Points stand inside of numbers, names of files and acronyms, commas before
// three digits, colons and hyphens between digits, apostrophes between letters. Of what writes no spaces, each character is a word.
func wordEnd(s string, i int) int {
	if r, _ := utf8.DecodeLastRuneInString(s[:i]); alone(r) {
		return i
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if inWord(r) && !alone(r) {
			i += n
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		digits := unicode.IsDigit(before) && unicode.IsDigit(next)
		switch {
		case r == '.' && inWord(next) && !alone(next),
			r == ',' && digits && thousands(s[i+1:]),
			r == ':' && digits,
			r == '-' && digits && isoDate(s, i),
			(r == '\'' || r == '’') && unicode.IsLetter(next) && inWord(before):
			i += n
		default:
			return i
		}
	}
	return i
}

// alone reports whether r belongs to a script without spaces.
func alone(r rune) bool {
	return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Thai, r)
}

func thousands(s string) bool {
	return len(s) >= 3 && isDigit(s[0]) && isDigit(s[1]) && isDigit(s[2]) && (len(s) == 3 || !isDigit(s[3]))
}

// isoDate reports whether the hyphen at i is part of a date such as 2024-01-02.
func isoDate(s string, i int) bool {
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

// markNames decides which capitalised words are names. If all or almost all words are capitalised, none is.
func markNames(words []word) []word {
	capitals := 0
	for _, w := range words {
		if w.name {
			capitals++
		}
	}
	// A capital at the beginning of a sentence tells nothing.
	styled := len(words) >= 4 && capitals*5 > len(words)*4 || capitals == len(words)
	for i := range words {
		if words[i].cap = words[i].name; styled {
			words[i].raw = words[i].face
		}
		words[i].name = words[i].name && !styled && i > 0 && !words[i-1].end
	}
	return words
}

// contracted are contractions, with and without the apostrophe.
var contracted = table(`
can't=can not|cannot=can not|cant=can not|won't=will not|wont=will not|shan't=shall not|ain't=is not
whats=what is|whos=who is|wheres=where is|whens=when is|hows=how is|whys=why is|thats=that is|theres=there is
dont=do not|doesnt=do not|didnt=did not|isnt=is not|arent=are not|wasnt=was not|werent=were not|couldnt=could not
wouldnt=would not|shouldnt=should not|havent=have not|hasnt=has not|hadnt=had not
i'm=i am|im=i am|ive=i have|youre=you are|theyre=they are|let's=let us|whatre=what are
`)

// beforeIs are the words after which 's stands for is.
var beforeIs = set("what who where when how why which that there it he she here this")

// expand expands contractions.
func expand(words []word) []word {
	out := make([]word, 0, len(words)+2)
	add := func(w word, texts ...string) {
		for i, t := range texts {
			if t == "" {
				continue // 'm alone
			}
			next := word{text: t, face: t, name: w.name && i == 0, cap: w.cap && i == 0}
			if i == len(texts)-1 {
				next.stop, next.poss = w.stop, w.poss
			}
			out = append(out, next)
		}
	}
	for _, w := range words {
		if whole, ok := contracted[w.text]; ok {
			add(w, strings.Fields(whole)...)
			continue
		}
		base, end, found := strings.Cut(w.text, "'")
		if base == "" && found {
			base, end, found = end, "", false
			w.text, w.face = base, base
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
			w.poss = true
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

// has reports whether the words from i on are the phrase.
func has(words []word, i int, phrase ...string) bool {
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
