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

// sentence is a candidate for an answer: a sentence, an item of a list, a row of a table, a labelled line, or code.
type sentence struct {
	passage int      // index into the task's passages
	at      int      // position within its passage
	text    string   // as quoted: no markup, one line, with a full stop
	prefix  string   // what was put before the text: the heading, or what leads to it
	own     string   // what it says itself: for a row, the cells without the names of the columns
	heading string   // the innermost heading over it
	outer   []string // the headings over that, the innermost first, without the title
	lead    string   // the sentence that leads to the list or the table, or the label of the line
	group   int      // the list or table that it belongs to, from 1; 0: none
	under   int      // number of sentences after the heading or the beginning of the passage
	columns []string // of a row: the names of the columns; nil if they are unknown
	cells   []string // of a row
	listed  bool     // an item of a list
	ordered bool     // an item with a number
	row     bool     // a row of a table
	table   int      // of a row: its table, from 1
	met     bool     // of a row: its cells meet a condition of the question
	moment  int      // of a row: the column of the time of day that the question names, if another row has it; 0: none
	counted bool     // of a row that meets it: the question asks how many do
	code    bool     // fenced code
	coded   bool     // code stands before it in its section
	label   bool     // a line with a label: Place: clubroom
	setting bool     // a line of a configuration file that sets something
	key     string   // of a setting: its name
	header  bool     // a field of the head of a message
	dangles bool     // it begins with a pronoun that refers to an earlier sentence
	reason  bool     // it, or the sentence that completes it, gives the reason that is asked for
	follows bool     // it begins with a connective: so, however
	block   int      // the number of its paragraph, item or table in the passage
	closed  bool     // it ends with punctuation and does not begin in lower case
	quoted  bool     // the last answer of the conversation quotes it
	whole   bool     // it is a complete statement, which can be quoted
	words   []lang.Token
	stems   []string  // one per word; empty for stop words
	exact   []float64 // coverage of each term of the question, without related words
	covers  []float64 // coverage of each term of the question
	near    []float64 // coverage by the innermost heading, what leads to it, and the names of the columns
	over    []float64 // 1 for each term that is in near, the title or another heading
	nearest []float64 // for each term, the cosine of the nearest word
	named   float64   // how well the headings name what a question asks how to do
	score   float64
	evid    evidence
}

// maxPassage is the maximum number of bytes of a passage that are read.
const maxPassage = 64 << 10

// sentences splits a passage into candidates, with the words of a language.
func sentences(p model.Passage, number int, l *lang.Language) []*sentence {
	s := p.Chunk.Text
	if len(s) > maxPassage {
		s = s[:maxPassage]
	}
	r := &reader{passage: p, number: number, lang: l}
	if n := len(p.Chunk.Headings); n > 0 {
		r.heading = p.Chunk.Headings[n-1]
		for _, h := range slices.Backward(p.Chunk.Headings[:n-1]) {
			if h != p.Chunk.Title {
				r.outer = append(r.outer, h)
			}
		}
	}
	r.readAll(dropFences(lang.Clean(s)))
	for _, c := range r.out {
		c.readWords(l)
	}
	return r.out
}

// readWords sets the words of what the candidate says, and their stems.
func (c *sentence) readWords(l *lang.Language) {
	c.words = lang.Words(c.own)
	c.stems = make([]string, len(c.words))
	for i, w := range c.words {
		if !l.IsStopWord(w.Text) {
			c.stems[i] = stemIn(l, w.Text)
		}
	}
}

// checkComplete decides whether the candidate is a complete statement, and adds a missing full stop.
func (c *sentence) checkComplete(l *lang.Language, ownLine, mayContinue bool) {
	bare := strings.TrimRight(removeMarks(c.text), " ")
	first, _ := utf8.DecodeRuneInString(bare)
	last, _ := utf8.DecodeLastRuneInString(bare)
	closed := strings.ContainsRune(`.!?…。！？`, last) ||
		strings.ContainsRune(`"')]”’`, last) && strings.ContainsAny(bare[max(0, len(bare)-8):], ".!?")
	c.closed = closed && !unicode.IsLower(first)
	fields := strings.Fields(bare)
	n := len(lang.Words(bare))
	c.whole = n >= 3 || (closed || c.label) && n >= 2
	switch {
	case !closed && (c.listed || ownLine) && len(c.text) < 300 && last != ':' && last != ',':
		c.text = strings.TrimRight(c.text, ";, ") + "."
	case !closed:
		c.whole = false
	}
	if names := identifiers(c.text); names >= 4 && 4*names >= len(fields) {
		c.whole = false // a list of paths or names
	}
	if looksLikeCode(c.text) || strings.Count(c.text, "→") > 1 {
		c.whole = false
	}
	if mayContinue && !c.listed && (unicode.IsLower(first) || unicode.IsPunct(first)) {
		c.whole = false
	}
	if len(fields) > 0 && !c.listed {
		first := strings.ToLower(strings.Trim(fields[0], `"'“‘,`))
		c.dangles, c.follows = l.Has(lang.Pronouns, first), l.Has(lang.Connectives, first)
		c.dangles = c.dangles || c.follows
	}
}

// looksLikeCode first checks for the characters that the expensive pattern needs.
func looksLikeCode(s string) bool {
	return (strings.ContainsAny(s, "/={;}<") || strings.Contains(s, "func")) && codeRE.MatchString(s)
}

// identifiers returns the number of words that are paths or identifiers of code.
func identifiers(s string) int {
	n := 0
	for w := range strings.FieldsSeq(s) {
		if i := strings.IndexAny(w, "/_"); i > 0 && i < len(w)-1 && !strings.Contains(w, "://") {
			n++
		}
	}
	return n
}

func wordSet(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(s) {
		m[w] = struct{}{}
	}
	return m
}

// dropFences removes unbalanced code fences, whose other side may be in another passage. Code longer than a sentence is removed
// with them.
func dropFences(s string) string {
	if !strings.Contains(s, "```") {
		return s
	}
	halved := strings.Count(s, "```")%2 == 1
	var b, code strings.Builder
	in := false
	for line := range strings.Lines(s) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && halved:
			b.WriteByte('\n')
			continue
		case fence && !in:
			in = true
			code.Reset()
			code.WriteString(strings.TrimLeft(line, " \t"))
			continue
		case !in:
			b.WriteString(line)
			continue
		}
		code.WriteString(line)
		if fence {
			in = false
			if code.Len() < 2000 {
				b.WriteString(code.String())
			} else {
				b.WriteByte('\n')
			}
		}
	}
	if in {
		b.WriteString(code.String())
	}
	return b.String()
}

var (
	markerRE = regexp.MustCompile(`^(?:[-*+•◦▪‣·–—>]+[ \t]+|[0-9]{1,3}[.)][ \t]+|\(?[a-z]\)[ \t]+|•)+`)
	imageRE  = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkRE   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	editRE   = regexp.MustCompile(`\[(?:citation needed|edit)\]`)
	noteRE   = regexp.MustCompile(`\[(?:[0-9]{1,3}(?:[,–-] ?[0-9]{1,3})*|[a-z])\]`)
	// tagRE matches tags of HTML that texts have, but no placeholders: <branch>.
	tagRE  = regexp.MustCompile(`(?i)</?(?:a|abbr|address|article|aside|b|big|blockquote|br|caption|center|cite|code|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|img|ins|kbd|li|main|mark|nav|nobr|ol|p|picture|pre|q|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|wbr)(?:\s[^<>]{0,200})?/?>`)
	ruleRE = regexp.MustCompile(`^[-|:=_* \t]+$`)
	codeRE = regexp.MustCompile(`(?:^|\s)//\s|:=|[{;]\s*$|^[})]|\)\s*[{;]|\}\.?$|</|=>|\bfunc\b.*\(`)
	// Only around words: names and patterns such as **kw, __init__ and **/*.go are code.
	strong = regexp.MustCompile(`(^|[^\pL\pN*/])(?:\*\*([\pL\pN(\["“][^*]*)\*\*|~~([\pL\pN(\["“][^~]*)~~)($|[\s.,;:!?)"”’»])`)
	// CommonMark: no space after the opening mark or before the closing one, and no word after that.
	emphasis = regexp.MustCompile(`(^|[\s(])[*_]([^*_\s](?:[^*_]*[^*_\s])?)[*_]($|[\s.,;:!?)"”’»])`)
)

// Reference marks such as [12] are quoted as they are, but are no evidence. While sentences are scored, their characters are
// mapped to a private range of Unicode.
const hiddenFrom, hiddenTo = '\ue000', '\ue07f'

// hideMarks maps a reference mark to the private range.
func hideMarks(mark string) string {
	return strings.Map(func(r rune) rune {
		if r == '–' {
			return hiddenTo
		}
		return hiddenFrom + r
	}, mark)
}

func isHidden(r rune) bool { return r >= hiddenFrom && r <= hiddenTo }

// removeMarks removes the hidden reference marks.
func removeMarks(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, s)
}

// showMarks restores the hidden reference marks.
func showMarks(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == hiddenTo:
			return '–'
		case isHidden(r):
			return r - hiddenFrom
		}
		return r
	}, s)
}

// plain removes markup and line breaks.
func plain(s string) string {
	if ruleRE.MatchString(s) {
		return ""
	}
	s = removeMarks(s) // no text has a use for these characters
	if strings.ContainsAny(s, "[]<>*_`~") {
		s = imageRE.ReplaceAllString(s, "")
		s = linkRE.ReplaceAllString(s, "$1")
		s = noteRE.ReplaceAllStringFunc(editRE.ReplaceAllString(s, ""), hideMarks)
		s = tagRE.ReplaceAllString(s, " ")
		s = strong.ReplaceAllString(s, "$1$2$3$4")
		s = emphasis.ReplaceAllString(s, "$1$2$3")
		s = strings.ReplaceAll(s, "`", "")
	}
	return strings.Join(strings.Fields(s), " ")
}
