package local

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// sentence is a candidate for an answer.
type sentence struct {
	passage int    // index into the task's passages
	at      int    // position within its passage
	text    string // as it would be said: no markup, one line, closed by a mark
	heading string // the innermost that stands over it
	under   int    // how many sentences stand between the heading, or the passage's beginning, and it
	head    string // of a row, the first row of its table
	listed  bool   // an item of a list
	row     bool   // a row of a table
	code    bool   // fenced code
	dangles bool   // it opens with a pronoun whose noun is in a sentence before, or follows from one
	follows bool   // it opens with a word that ties it to the sentence before: so, however
	closed  bool   // it ends with a mark and begins with no small letter
	whole   bool   // it is a whole statement: fit to be said
	words   []lang.Token
	stems   []string  // one a word; empty for stop words
	covers  []float64 // of each of the question's terms
	over    []float64 // of each of them: 1 if the title or a heading over the sentence, or its table's, holds it
	nearest []float64 // of each of them, the cosine of the nearest word
	score   float64
	evid    evidence
}

// maxPassage is how many bytes of one passage are read.
const maxPassage = 64 << 10

// sentences cuts a passage into candidates.
func sentences(p model.Passage, number int) []*sentence {
	s := p.Chunk.Text
	if len(s) > maxPassage {
		s = s[:maxPassage]
	}
	r := &reader{passage: p, number: number, s: dropFences(lang.Clean(s)), heading: p.Chunk.Heading()}
	spans := lang.Sentences(r.s)
	for i, sp := range spans {
		r.read(sp, i+1 < len(spans) && lang.Row(r.s[spans[i+1].Start:spans[i+1].End]))
	}
	for i, c := range r.out {
		if strings.HasSuffix(c.text, ":") && !c.row && !c.code {
			c.follow(r.out[i+1:])
		}
	}
	for _, c := range r.out {
		c.words = lang.Words(c.text)
		c.stems = make([]string, len(c.words))
		for i, w := range c.words {
			if !lang.Stop(w.Text) {
				c.stems[i] = stem(w.Text)
			}
		}
	}
	return r.out
}

const (
	maxItems = 6   // of a list that is said with what leads to it
	maxList  = 700 // bytes of the two
)

// follow makes a whole statement of what ends with a colon: with the list that it leads to if that is short, or without the
// code that it leads to if it says enough. Items that are no sentences cannot be said without it.
func (c *sentence) follow(rest []*sentence) {
	n, size, closed := 0, len(c.text), true
	for n < len(rest) && rest[n].listed {
		size += len(rest[n].text) + 2
		closed = closed && rest[n].closed
		n++
	}
	switch {
	case n == 0 && len(rest) > 0 && rest[0].code:
		words := strings.Fields(c.text)
		if _, leads := leading[strings.ToLower(strings.TrimSuffix(words[len(words)-1], ":"))]; len(words) >= 10 && !leads {
			c.text, c.whole = strings.TrimSuffix(c.text, ":")+".", true
		}
		return
	case n == 0:
		return
	}
	items := make([]string, n)
	for i, item := range rest[:n] {
		items[i] = item.text
		if !closed {
			items[i] = strings.TrimRight(item.text, ".; ")
		}
		if !item.closed {
			item.whole = false
		}
	}
	switch {
	case n < 2 || n > maxItems || size > maxList:
	case closed:
		c.text, c.whole = c.text+" "+strings.Join(items, " "), true
	default:
		c.text, c.whole = c.text+" "+strings.Join(items, "; ")+".", true
	}
}

// leading are words after which a colon cannot be left out.
var leading = wordSet("to so this these then is are with by for from of in on at as like form way ways follows following order")

// reader takes a passage apart.
type reader struct {
	passage model.Passage
	number  int
	s       string
	heading string // the last one
	since   int    // how many candidates stand before it
	head    string // of the table at hand
	inTable bool
	code    bool // what was read last is code
	out     []*sentence
}

// read makes a candidate of a span, unless it is a heading; more says whether a table's row follows.
func (r *reader) read(sp lang.Span, more bool) {
	raw := r.s[sp.Start:sp.End]
	c := &sentence{passage: r.number, at: len(r.out)}
	wasTable, wasCode := r.inTable, r.code
	r.inTable, r.code = false, false
	switch body, fenced := lang.Unfence(raw); {
	case strings.HasPrefix(raw, "#"):
		r.heading, r.since = plain(strings.Trim(raw, "# \t")), len(r.out)
		return
	case fenced:
		c.code, r.code = true, true
		c.text = strings.Trim(body, "\n")
		c.whole = !wasCode && c.text != "" && len(c.text) <= maxCode // what follows code is mostly what it prints
	case strings.HasPrefix(raw, "```"):
		return
	case lang.Row(raw):
		r.inTable = true
		if !wasTable {
			r.head = ""
			if more && (sp.Start > 0 || r.passage.Chunk.Start == 0 || looksLikeHead(raw)) {
				r.head = raw
				return
			}
		}
		if ruleRE.MatchString(raw) {
			return
		}
		c.row, c.head = true, r.head
		c.text, c.whole = sayRow(raw)
	default:
		if r.isHeading(sp) {
			r.heading, r.since = plain(raw), len(r.out)
			return
		}
		body, listed := cutMarker(raw)
		c.listed = listed
		if c.text = plain(body); c.text != "" {
			c.judge(r.ownLine(sp), wasCode || sp.Start == 0 && r.passage.Chunk.Start > 0)
		}
	}
	if c.text == "" {
		return
	}
	c.heading, c.under = r.heading, len(r.out)-r.since
	r.out = append(r.out, c)
}

// maxRow is how many words a row may have that an answer quotes.
const maxRow = 40

// maxCode is the longest code that an answer may hold, in bytes.
const maxCode = 600

// ownLine says whether a span is one or more lines and nothing else stands on them.
func (r *reader) ownLine(sp lang.Span) bool {
	return (sp.Start == 0 || strings.HasSuffix(strings.TrimRight(r.s[:sp.Start], " \t"), "\n")) &&
		(sp.End == len(r.s) || r.s[sp.End] == '\n')
}

// isHeading says whether a span is a heading over the passage, or a short line without a stop or a verb that stands
// between blank lines over something.
func (r *reader) isHeading(sp lang.Span) bool {
	if !r.ownLine(sp) {
		return false
	}
	line := strings.Join(strings.Fields(r.s[sp.Start:sp.End]), " ")
	for _, h := range append([]string{r.passage.Chunk.Title}, r.passage.Chunk.Headings...) {
		if line != "" && line == strings.Join(strings.Fields(h), " ") {
			return true
		}
	}
	alone := (sp.Start == 0 && r.passage.Chunk.Start == 0 || strings.HasSuffix(strings.TrimRight(r.s[:sp.Start], " \t"), "\n\n")) &&
		strings.HasPrefix(r.s[sp.End:], "\n\n")
	if !alone || len(line) > 60 || strings.ContainsAny(line[len(line)-1:], ".!?:;,\"')") || markerRE.MatchString(line) {
		return false
	}
	for _, w := range lang.Words(line) {
		if _, verb := verbs[w.Text]; verb {
			return false
		}
	}
	return true
}

// verbs are the commonest by which a line without a stop shows that it says something.
var verbs = wordSet("is are was were be has have had can could will would must may should does do did")

// looksLikeHead says whether a row that nothing stands before has short names for cells, and no figures.
func looksLikeHead(row string) bool {
	for _, cell := range lang.Cells(row) {
		if strings.ContainsAny(cell, "0123456789") || len(strings.Fields(cell)) > 3 || strings.ToUpper(cell) == cell && cell != "" {
			return false
		}
	}
	return true
}

// sayRow says a table's row, its first cell as the name of the others; ok is false where they say too little or too much.
func sayRow(row string) (said string, ok bool) {
	var cells []string
	for _, cell := range lang.Cells(row) {
		if cell = strings.TrimRight(plain(cell), ".;:, "); cell != "" {
			cells = append(cells, cell)
		}
	}
	switch len(cells) {
	case 0:
		return "", false
	case 1:
		return cells[0] + ".", false
	}
	values := strings.Join(cells[1:], "; ")
	n := len(strings.Fields(values))
	if r, size := utf8.DecodeRuneInString(cells[0]); strings.Contains(cells[0], " ") {
		cells[0] = string(unicode.ToUpper(r)) + cells[0][size:] // words, and not a name in code
	}
	return cells[0] + ": " + values + ".", n <= maxRow && (n > 2 || strings.ContainsAny(values, "0123456789"))
}

// judge decides whether the candidate is a whole statement, and closes it with a full stop if it is a line without one.
func (c *sentence) judge(ownLine, mayContinue bool) {
	bare := strings.TrimRight(withoutMarks(c.text), " ")
	first, _ := utf8.DecodeRuneInString(bare)
	last, _ := utf8.DecodeLastRuneInString(bare)
	closed := strings.ContainsRune(`.!?…。！？`, last) ||
		strings.ContainsRune(`"')]”’`, last) && strings.ContainsAny(bare[max(0, len(bare)-8):], ".!?")
	c.closed = closed && !unicode.IsLower(first)
	fields := strings.Fields(bare)
	c.whole = len(fields) >= 3 || closed && len(fields) >= 2
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
		_, c.dangles = pronouns[first]
		_, c.follows = connectives[first]
		c.dangles = c.dangles || c.follows
	}
}

// looksLikeCode asks the costly pattern only where one of the characters that it needs is there.
func looksLikeCode(s string) bool {
	return (strings.ContainsAny(s, "/={;}<") || strings.Contains(s, "func")) && codeRE.MatchString(s)
}

var (
	pronouns    = wordSet("he she it they his her its their him them this these those such both neither")
	connectives = wordSet("so therefore thus hence however but and or otherwise then afterwards instead nevertheless moreover furthermore also that's")
)

func wordSet(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(s) {
		m[w] = struct{}{}
	}
	return m
}

// dropFences takes fences out of Markdown that has no other end for one, which may be in another passage: nobody knows which
// side of it is code. Code that is longer than a sentence may be goes as a whole.
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
	tagRE    = regexp.MustCompile(`</?[a-zA-Z][^<>]{0,200}>`)
	ruleRE   = regexp.MustCompile(`^[-|:=_* \t]+$`)
	codeRE   = regexp.MustCompile(`(?:^|\s)//\s|:=|[{;]\s*$|^[})]|\)\s*[{;]|\}\.?$|</|=>|\bfunc\b.*\(`)
	markup   = strings.NewReplacer("**", "", "__", "", "`", "", "~~", "")
	emphasis = regexp.MustCompile(`(^|[\s(])[*_]([^*_\s][^*_]*)[*_]`)
)

// cutMarker takes the bullet or counter off a list's item.
func cutMarker(s string) (string, bool) {
	if m := markerRE.FindString(s); m != "" {
		return s[len(m):], !strings.HasPrefix(m, ">")
	}
	return s, false
}

// Reference marks such as [12] are said as the document has them, and are no evidence: while sentences are weighed, their
// characters stand in a private range of Unicode, where they are neither words nor numbers.
const hiddenFrom, hiddenTo = '\ue000', '\ue07f'

// hidden gives a reference mark in the private range.
func hidden(mark string) string {
	return strings.Map(func(r rune) rune {
		if r == '–' {
			return hiddenTo
		}
		return hiddenFrom + r
	}, mark)
}

func isHidden(r rune) bool { return r >= hiddenFrom && r <= hiddenTo }

// withoutMarks gives a text without its hidden reference marks.
func withoutMarks(s string) string {
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

// revealed gives a text with its reference marks.
func revealed(s string) string {
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

// plain takes the markup out of a sentence and puts it on one line.
func plain(s string) string {
	if ruleRE.MatchString(s) {
		return ""
	}
	s = withoutMarks(s) // no text has a use for these characters
	if strings.ContainsAny(s, "[]<>*_`~") {
		s = imageRE.ReplaceAllString(s, "")
		s = linkRE.ReplaceAllString(s, "$1")
		s = noteRE.ReplaceAllStringFunc(editRE.ReplaceAllString(s, ""), hidden)
		s = tagRE.ReplaceAllString(s, " ")
		s = emphasis.ReplaceAllString(s, "$1$2")
		s = markup.Replace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}
