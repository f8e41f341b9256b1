package entities

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

func set(words string) map[string]struct{} { return lang.WordSet(words) }

func in(m map[string]struct{}, w string) bool {
	_, ok := m[w]
	return ok
}

var (
	// connectors are lower-case words inside names.
	connectors = set(`of the and for in on at to de du des del della dello di da do dos das la le les el los las den der die das
		van von vom zu zum zur ten ter y e al bin ibn ben af av`)
	// ambiguous are the connectors that join two names as often as they are part of one.
	ambiguous = set("and for in on at to e y")
	// dates are not part of names, except those in maybe before a capitalised word.
	dates = set(`january february march april may june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday`)
	maybe  = set("april may june august")
	titled = set("dr mr mrs ms st prof jr sr lt col gen sgt capt rev hon mt ft")
)

// names returns the capitalised phrases of a sentence, ordered and not overlapping.
func (d *document) names(line string, words []lang.Token) []span {
	var out []span
	for i := 0; i < len(words); {
		n := phraseLength(line, words, i)
		if n == 0 {
			i++
			continue
		}
		out = d.appendName(out, line, words[i:i+n], i == 0)
		i += n
	}
	return out
}

// phraseLength returns the number of words, including connectors, of the capitalised phrase that begins at word i.
func phraseLength(line string, words []lang.Token, i int) int {
	if !beginsName(line, words, i) {
		return 0
	}
	n := 1
	for k := i + 1; k < len(words); k++ {
		if !adjacent(line, words[k-1], words[k]) {
			break
		}
		w := words[k].Text
		switch {
		case isDate(line, words, k):
			return n
		case capitalised(line[words[k].Start:]), isDigit(w[0]) && len(w) <= 4:
			n = k - i + 1
		case in(connectors, w) && !in(ambiguous, w) && k-i-n < 2: // n words before, at most two connectors after them
		default:
			return n
		}
	}
	return n
}

// beginsName reports whether a name may begin at word i.
func beginsName(line string, words []lang.Token, i int) bool {
	w := words[i]
	if isDigit(w.Text[0]) { // such as 20th Century Fox
		return strings.ContainsFunc(w.Text, unicode.IsLetter) && i+1 < len(words) && adjacent(line, w, words[i+1]) && capitalised(line[words[i+1].Start:])
	}
	return capitalised(line[w.Start:]) && !isDate(line, words, i) && w.Text != "i"
}

// isDate reports whether word i is the name of a month or day.
func isDate(line string, words []lang.Token, i int) bool {
	w := words[i].Text
	if !in(dates, w) {
		return false
	}
	if !in(maybe, w) || i+1 == len(words) || i > 0 && isDigit(words[i-1].Text[0]) {
		return true
	}
	return !capitalised(line[words[i+1].Start:])
}

// adjacent reports whether two words may be in one name, by the text between them.
func adjacent(line string, a, b lang.Token) bool {
	switch sep := line[a.End:b.Start]; sep {
	case " ", "-", "–", "\n", "", " & ", "’ ", "' ", "・", "·":
		return true
	case ". ", ".", ".-":
		return utf8.RuneCountInString(a.Text) == 1 || in(titled, a.Text) || strings.Contains(a.Text, ".")
	}
	return false
}

// appendName appends a phrase, without leading words that are not part of the name.
func (d *document) appendName(out []span, line string, words []lang.Token, first bool) []span {
	for len(words) > 0 && (lang.IsArticle(words[0].Text) || first && lang.IsStopWord(words[0].Text)) {
		words, first = words[1:], false // the next word is inside the sentence
		for len(words) > 0 && in(connectors, words[0].Text) && !capitalised(line[words[0].Start:]) {
			words = words[1:]
		}
	}
	if first && len(words) > 0 {
		_, lower := d.lower[words[0].Text]
		_, capital := d.capital[words[0].Text]
		if lower && !capital || len(words) == 1 && !capital {
			words = words[1:]
			for len(words) > 0 && in(connectors, words[0].Text) && !capitalised(line[words[0].Start:]) {
				words = words[1:]
			}
		}
	}
	for len(words) > 0 && numeric(words[0].Text) {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > maxWords || len(words) == 1 && (lang.IsStopWord(words[0].Text) || utf8.RuneCountInString(words[0].Text) == 1) {
		return out
	}
	whole := spanOf(words)
	if end := words[len(words)-1]; strings.HasSuffix(end.Text, "'s") {
		whole.end = end.Start + strings.LastIndexAny(line[end.Start:end.End], "'’")
	}
	return append(out, whole)
}

func numeric(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) }

func spanOf(words []lang.Token) span {
	return span{start: words[0].Start, end: words[len(words)-1].End, kind: corpus.Named}
}

// quotes maps opening to closing quotation marks.
var quotes = map[rune]rune{'"': '"', '“': '”', '„': '“', '«': '»', '「': '」', '『': '』', '《': '》'}

// marked returns the quotations and wiki links of a sentence, ordered and not overlapping.
func marked(line string) (out []span) {
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf && c != '"' && c != '[' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		from, to, after := i+n, -1, 0
		kind := corpus.Named
		if closing, ok := quotes[r]; ok {
			to = strings.IndexRune(line[from:min(len(line), from+maxName)], closing)
		} else if strings.HasPrefix(line[i:], "[[") {
			from, kind = i+2, corpus.Link
			to = strings.Index(line[from:min(len(line), from+maxName)], "]]")
			after = from + to + 2
			if page := strings.IndexAny(line[from:max(from+to, from)], "|#"); page >= 0 {
				to = page
			}
		}
		if to < 0 {
			i += n
			continue
		}
		s := span{start: from, end: from + to, kind: kind}
		words := lang.CountWords(line[s.start:s.end])
		i = s.end + utf8.RuneLen(r)
		if kind == corpus.Link {
			i = after
		}
		if words == 0 || words > maxWords || kind != corpus.Link && !maybeName(line[s.start:s.end]) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// maybeName reports whether a quotation may be a name and not speech: it does not begin in lower case.
func maybeName(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(s))
	return !unicode.IsLower(r)
}

// mergeSpans merges two ordered lists of names. Where names overlap, it keeps that of first.
func mergeSpans(first, second []span) []span {
	if len(first) == 0 {
		return second
	}
	out, k := slices.Clone(first), 0
	for _, s := range second {
		for k < len(first) && first[k].end <= s.start {
			k++
		}
		if k == len(first) || s.end <= first[k].start {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return out
}
