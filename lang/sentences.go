package lang

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Span is a piece of a text: s[Start:End], in bytes.
type Span struct{ Start, End int }

// maxSentence is the maximum length of a sentence in bytes. Longer text without an end is split at a space.
const maxSentence = 2000

// maxMarks is the maximum number of bytes of consecutive end marks, and of the closing marks after them.
const maxMarks = 64

// Sentences returns the sentences of s in order, without the white space around them. A sentence ends
//   - at a full stop, question mark or exclamation mark, including the closing marks after it (quotes, brackets, references such as [12]),
//     unless the full stop belongs to an abbreviation, an initial (but not the letter of "Annex A" or "°C"), a number or the counter of a list, or probably does because a lower-case
//     letter follows;
//   - at a blank line, and at the end of a heading;
//   - before a line that begins with a bullet, a counter, a heading, a quotation, a table row or a code fence.
//
// A table row ([IsTableRow]) is one sentence, and so is fenced code with its fences. Wrapped lines stay together. No sentence is longer than
// 2,000 bytes.
func Sentences(s string) []Span {
	c := cutter{s: s, out: make([]Span, 0, len(s)/100+1)}
	for i := c.line(len(s) - len(strings.TrimLeft(s, " \t"))); i < len(s); {
		if i-c.start >= maxSentence {
			i = c.cutLong(i)
		}
		switch b := s[i]; {
		case b == '\n':
			i = c.newline(i)
		case b == '.' || b == '!' || b == '?':
			i = c.stop(i)
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch r {
			case '…':
				i = c.stop(i)
			case '。', '！', '？', '｡':
				i = c.closers(i + n)
				c.end(i)
			default:
				i += n
			}
		default:
			i++
		}
	}
	c.end(len(s))
	return c.out
}

type cutter struct {
	s     string
	start int // of the current sentence, including leading white space
	out   []Span

	open, width int // where the last search for a closing fence ended without a result, and the width of the fence
}

// end appends the text between start and i as a sentence unless it is blank.
func (c *cutter) end(i int) {
	a, b := c.start, i
	for a < b {
		r, n := utf8.DecodeRuneInString(c.s[a:b])
		if !unicode.IsSpace(r) {
			break
		}
		a += n
	}
	for b > a {
		r, n := utf8.DecodeLastRuneInString(c.s[a:b])
		if !unicode.IsSpace(r) {
			break
		}
		b -= n
	}
	if a < b {
		c.out = append(c.out, Span{a, b})
	}
	c.start = i
}

// cutLong ends an overlong sentence before i, at a space in its second half or else between two characters.
func (c *cutter) cutLong(i int) int {
	at := strings.LastIndexAny(c.s[c.start+maxSentence/2:i], " \t\n")
	if at < 0 {
		for at = i; at > i-utf8.UTFMax && !utf8.RuneStart(c.s[at]); {
			at--
		}
	} else {
		at += c.start + maxSentence/2 + 1
	}
	c.end(at)
	return i
}

// newline handles the end of a line at i and returns where to continue.
func (c *cutter) newline(i int) int {
	next := i + 1
	for next < len(c.s) && (c.s[next] == ' ' || c.s[next] == '\t') {
		next++
	}
	if next == len(c.s) || c.s[next] == '\n' || marker(c.s[next:]) || c.inBlock() {
		c.end(i)
	}
	return c.line(next)
}

// inBlock reports whether the current sentence is a line of its own: a heading, an overlong table row or a fence.
func (c *cutter) inBlock() bool {
	line := strings.TrimLeft(c.s[c.start:min(len(c.s), c.start+64)], " \t\n")
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "```")
}

// line consumes a table row or fenced code that begins at i, the start of a line, and returns where to continue.
func (c *cutter) line(i int) int {
	n, ok := c.fenced(i)
	if !ok {
		line := c.s[i:min(len(c.s), i+maxSentence)]
		if n = strings.IndexByte(line, '\n'); n < 0 {
			n = len(line)
		}
		if i+n < len(c.s) && c.s[i+n] != '\n' || !IsTableRow(strings.TrimRight(line[:n], " \t")) {
			return i
		}
		n += i
	}
	c.end(i)
	c.end(n)
	return n
}

// fenced returns the end of the fenced code that begins at i, including its closing fence.
func (c *cutter) fenced(i int) (int, bool) {
	width := fence(c.s[i:])
	if width == 0 {
		return 0, false
	}
	limit := min(len(c.s), i+maxSentence)
	at := i
	if width >= c.width && c.open > at {
		at = c.open // the text before was already searched
	}
	for {
		n := strings.IndexByte(c.s[at:limit], '\n')
		if n < 0 {
			c.open, c.width = at, width
			return 0, false
		}
		at += n + 1
		if w := fence(c.s[at:limit]); w >= width {
			end := at + w
			for end < limit && (c.s[end] == ' ' || c.s[end] == '\t') {
				end++
			}
			if end == len(c.s) || end < limit && c.s[end] == '\n' {
				return end, true
			}
		}
	}
}

// marker reports whether a line begins with a mark that separates it from the line before, such as a bullet.
func marker(line string) bool {
	switch line[0] {
	case '#', '|', '>':
		return true
	case '-', '*', '+':
		return len(line) > 1 && (line[1] == ' ' || line[1] == '\t' || line[1] == line[0])
	case '`':
		return strings.HasPrefix(line, "```")
	}
	for _, p := range []string{"•", "◦", "▪", "‣", "– ", "— ", "·"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	n := 0
	for n < len(line) && n < 3 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n == 0 && (line[0]|0x20 >= 'a' && line[0]|0x20 <= 'z') && len(line) > 1 && line[1] == ')' {
		n = 1
	}
	return n > 0 && n+1 < len(line) && (line[n] == '.' || line[n] == ')') && line[n+1] == ' '
}

// stop handles a run of end marks at i and returns where to continue.
func (c *cutter) stop(i int) int {
	after := i
	for after < min(len(c.s), i+maxMarks) {
		if b := c.s[after]; b == '.' || b == '!' || b == '?' {
			after++
		} else if strings.HasPrefix(c.s[after:], "…") {
			after += len("…")
		} else {
			break
		}
	}
	single := after == i+1 && c.s[i] == '.'
	closed := c.closers(after)
	if closed == len(c.s) {
		return closed
	}
	next := closed
	for next < len(c.s) && (c.s[next] == ' ' || c.s[next] == '\t') {
		next++
	}
	if next == closed && c.s[next] != '\n' {
		return closed // inside a number, a name or an address
	}
	if next < len(c.s) && c.s[next] == '\n' {
		next++
		for next < len(c.s) && (c.s[next] == ' ' || c.s[next] == '\t') {
			next++
		}
	}
	if c.ends(i, next, single) {
		c.end(closed)
	}
	return closed
}

// closers returns the end of the quotes, brackets and references that begin at i.
func (c *cutter) closers(i int) int {
	for limit := min(len(c.s), i+maxMarks); i < limit; {
		switch b := c.s[i]; {
		case b == '"' || b == '\'' || b == ')' || b == ']' || b == '*' || b == '_':
			i++
		case b == '[':
			n := i + 1
			for n < len(c.s) && n < i+12 && (c.s[n] >= '0' && c.s[n] <= '9' || c.s[n] == ',' || c.s[n] == '-') {
				n++
			}
			if n == i+1 || n == len(c.s) || c.s[n] != ']' {
				return i
			}
			i = n + 1
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(c.s[i:])
			if !unicode.In(r, unicode.Pe, unicode.Pf) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// ends reports whether the end mark at i ends a sentence. The text continues at next. single means that the mark is one full stop.
func (c *cutter) ends(i, next int, single bool) bool {
	if next >= len(c.s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(c.s[next:])
	if r == ',' || r == ';' {
		return false
	}
	if unicode.IsLower(r) {
		return single && endsWithWord(c.s[c.start:i]) // an identifier may begin a sentence
	}
	if !single {
		return true
	}
	word := lastWord(c.s[c.start:i])
	switch {
	case isDate(word, c.s[next:]) || isOrdinal(word, c.s[c.start:i], c.s[next:]):
		return false
	case isDayAndMonth(word, c.s[c.start:i]):
		first := Words(Truncate(c.s[next:], 24))
		return len(first) > 0 && has(stopWordsOf(), first[0].Text)
	case word == "":
		return strings.TrimSpace(c.s[c.start:i]) != ""
	case isCounter(word) && strings.TrimLeft(c.s[c.start:i-len(word)], " \t\n-*•>#(") == "":
		return false
	}
	low := strings.ToLower(word)
	switch _, never := abbreviations[low]; {
	case never || has(abbreviationsOf(), low):
		return false
	case has(beforeNumbers, low):
		token, _, _ := strings.Cut(c.s[next:min(len(c.s), next+32)], " ")
		return !strings.ContainsAny(token, "0123456789")
	}
	_, maybe := endings[low]
	if isInitial(word) && c.isLetterOf(i-len(word)) {
		return true
	}
	if maybe || isInitial(word) {
		return startsSentence(c.s[next:])
	}
	return true
}

// isLetterOf reports whether the capital at i is no initial: a unit such as °C, or the letter of a part that the sentence names, as in "see Annex A". A part at the
// beginning of the sentence is a title, which goes on.
func (c *cutter) isLetterOf(i int) bool {
	before := c.s[c.start:i]
	if strings.HasSuffix(before, "°") || strings.HasSuffix(before, "° ") {
		return true
	}
	words := strings.Fields(before[max(0, len(before)-64):])
	return len(words) > 1 && before[len(before)-1] <= ' ' && has(partsOf(), strings.ToLower(words[len(words)-1]))
}

// partsOf returns the names of parts in all languages.
var partsOf = sync.OnceValue(func() map[string]struct{} { return union(Parts) })

// isDayAndMonth reports whether a text ends with a date without a year that ends a range: 23.-27.12. Names follow these in rosters. Other such words are often
// versions or prices.
func isDayAndMonth(word, text string) bool {
	day, month, ok := strings.Cut(word, ".")
	d, err := strconv.Atoi(day)
	m, err2 := strconv.Atoi(month)
	return ok && (strings.HasSuffix(text, "-"+word) || strings.HasSuffix(text, "–"+word)) && err == nil && err2 == nil && 0 < d && d < 32 && 0 < m && m < 13
}

// isDate reports whether a word is a day before a month: 3. Juli.
func isDate(word, after string) bool {
	if len(word) > 2 || !isNumber(word) {
		return false
	}
	words := Words(Truncate(after, 24))
	return len(words) > 0 && has(monthsOf(), words[0].Text)
}

// isOrdinal reports whether a word is a number of one or two digits after a comma, or after a German article or preposition: der 2. Vorsitzende.
func isOrdinal(word, text, after string) bool {
	if len(word) > 2 || !isNumber(word) {
		return false
	}
	text = strings.TrimRight(text[:len(text)-len(word)], " ")
	return has(beforeOrdinals, strings.ToLower(lastWord(text))) || strings.HasSuffix(text, ",") && !startsSentence(after)
}

var beforeOrdinals = WordSet("der die das des dem den am zum zur vom beim im jeder jeden jedes ihr ihre ihrem sein seine seinem")

func isNumber(w string) bool {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return w != ""
}

func has[V any](set map[string]V, w string) bool {
	_, ok := set[w]
	return ok
}

// stopWordsOf returns the stop words of all languages.
var stopWordsOf = sync.OnceValue(func() map[string]struct{} { return union(StopWords) })

// monthsOf returns the names of months in all languages.
var monthsOf = sync.OnceValue(func() map[string]struct{} { return union(Months) })

// abbreviationsOf returns the abbreviations of two letters and more in all languages.
var abbreviationsOf = sync.OnceValue(func() map[string]struct{} {
	all := union(Abbreviations)
	for w := range all {
		if len(w) < 2 || has(endings, w) || w == "no" || w == "art" {
			delete(all, w)
		}
	}
	return all
})

func union(s Section) map[string]struct{} {
	out := map[string]struct{}{}
	for _, l := range languages() {
		for w := range l.sections[s] {
			out[w] = struct{}{}
		}
	}
	return out
}

// endsWithWord reports whether s ends with a word that is probably not an abbreviation: at least four lower-case letters, and not a known
// abbreviation.
func endsWithWord(s string) bool {
	word := lastWord(s)
	if len(word) < 4 || len(word) == len(s) {
		return false
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	_, never := abbreviations[word]
	_, maybe := endings[word]
	return !never && !maybe && strings.ContainsAny(word, "aeiouy")
}

// lastWord returns the last word of s with the full stops inside it, at most about 16 bytes.
func lastWord(s string) string {
	at := len(s)
	for at > 0 && len(s)-at < 16 {
		r, n := utf8.DecodeLastRuneInString(s[:at])
		if r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		at -= n
	}
	return s[at:]
}

func isCounter(w string) bool {
	if len(w) > 3 {
		return false
	}
	if len(w) == 1 {
		return true
	}
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return true
}

// isInitial reports whether a word is one capital letter, or several letters with full stops between them, such as U.S.
func isInitial(w string) bool {
	letterNext := true
	for _, r := range w {
		if letterNext != (r != '.') || letterNext && !unicode.IsLetter(r) {
			return false
		}
		letterNext = !letterNext
	}
	r, _ := utf8.DecodeRuneInString(w)
	return !letterNext && (unicode.IsUpper(r) || len(w) > 2)
}

// startsSentence reports whether s begins with a word that often begins a sentence and rarely a name.
func startsSentence(s string) bool {
	end := 0
	for end < len(s) && end < 16 && (s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	if end == 0 || end < len(s) && s[end] == '.' {
		return false
	}
	_, ok := starters[strings.ToLower(s[:end])]
	return ok
}

var (
	// abbreviations never end a sentence.
	abbreviations = WordSet(`dr mr mrs ms mx prof st rev hon gen col sgt capt lt cmdr adm gov sen rep pres supt fr messrs mme mlle
		fig figs eq eqs tab vol vols ref refs cf vs viz approx assoc introd transl orig misc ca e.g i.e eg ie resp incl mt ft`)
	// beforeNumbers has words that are abbreviations before a number or a code, such as "no.". Otherwise they end a sentence.
	beforeNumbers = WordSet("no nos n p pp art ch sec ext apt")
	// endings are abbreviations that may also end a sentence.
	endings = WordSet(`al etc inc ltd co corp jr sr bros dept univ est ed eds a.m p.m am pm ph.d m.d b.a m.a b.c a.d
		jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd rd u.s u.k u.n d.c`)
	// starters often begin a sentence.
	starters = WordSet(`the this that these those it its he she they we you i his her their our my a an in on at as by for from with
		after before during since until when while where why how what which who if although though because however moreover
		furthermore therefore thus hence but and or so yet there here some many most several all both each every one two no not
		according to under over between among through another other such then later today now finally first second third also`)
)
