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
	text    string // as quoted: no markup, one line, with a full stop
	heading string // the innermost heading over it
	under   int    // number of sentences after the heading or the beginning of the passage
	head    string // of a row, the first row of its table
	listed  bool   // an item of a list
	row     bool   // a row of a table
	code    bool   // fenced code
	dangles bool   // it begins with a pronoun that refers to an earlier sentence
	follows bool   // it begins with a connective: so, however
	closed  bool   // it ends with punctuation and does not begin in lower case
	whole   bool   // it is a complete statement, which can be quoted
	words   []lang.Token
	stems   []string  // one per word; empty for stop words
	covers  []float64 // coverage of each term of the question
	over    []float64 // 1 for each term in the title or a heading
	nearest []float64 // for each term, the cosine of the nearest word
	score   float64
	evid    evidence
}

// maxPassage is the maximum number of bytes of a passage that are read.
const maxPassage = 64 << 10

// sentences splits a passage into candidates.
func sentences(p model.Passage, number int) []*sentence {
	s := p.Chunk.Text
	if len(s) > maxPassage {
		s = s[:maxPassage]
	}
	r := &reader{passage: p, number: number, s: dropFences(lang.Clean(s)), heading: p.Chunk.Heading()}
	spans := lang.Sentences(r.s)
	for i, sp := range spans {
		r.read(sp, i+1 < len(spans) && lang.IsTableRow(r.s[spans[i+1].Start:spans[i+1].End]))
	}
	for i, c := range r.out {
		if strings.HasSuffix(c.text, ":") && !c.row && !c.code {
			c.attachList(r.out[i+1:])
		}
	}
	for _, c := range r.out {
		c.words = lang.Words(c.text)
		c.stems = make([]string, len(c.words))
		for i, w := range c.words {
			if !lang.IsStopWord(w.Text) {
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

// attachList completes a sentence that ends with a colon: it appends a short list, or drops the colon before code if the
// sentence says enough. List items that are not sentences cannot be quoted alone.
func (c *sentence) attachList(rest []*sentence) {
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

// leading are words after which a colon must stay.
var leading = wordSet("to so this these then is are with by for from of in on at as like form way ways follows following order")

// reader splits a passage.
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

// read adds a candidate for a span that is not a heading. More reports whether a table row follows.
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
	case lang.IsTableRow(raw):
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
		c.text, c.whole = rowText(raw)
	default:
		if r.isHeading(sp) {
			r.heading, r.since = plain(raw), len(r.out)
			return
		}
		body, listed := cutMarker(raw)
		c.listed = listed
		if c.text = plain(body); c.text != "" {
			c.checkComplete(r.ownLine(sp), wasCode || sp.Start == 0 && r.passage.Chunk.Start > 0)
		}
	}
	if c.text == "" {
		return
	}
	c.heading, c.under = r.heading, len(r.out)-r.since
	r.out = append(r.out, c)
}

// maxRow is the maximum number of words of a quoted table row.
const maxRow = 40

// maxCode is the maximum length of quoted code in bytes.
const maxCode = 600

// ownLine reports whether a span fills its lines.
func (r *reader) ownLine(sp lang.Span) bool {
	return (sp.Start == 0 || strings.HasSuffix(strings.TrimRight(r.s[:sp.Start], " \t"), "\n")) &&
		(sp.End == len(r.s) || r.s[sp.End] == '\n')
}

// isHeading reports whether a span is the heading of the passage, or a short line without a full stop or a verb between blank
// lines.
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

// verbs are frequent verbs. A line with one of them is not a heading.
var verbs = wordSet("is are was were be has have had can could will would must may should does do did")

// looksLikeHead reports whether a first row has short names and no numbers, as a table header.
func looksLikeHead(row string) bool {
	for _, cell := range lang.TableCells(row) {
		if strings.ContainsAny(cell, "0123456789") || len(strings.Fields(cell)) > 3 || strings.ToUpper(cell) == cell && cell != "" {
			return false
		}
	}
	return true
}

// rowText returns a table row as text, with its first cell as the name of the others. It returns false if they say too little
// or too much.
func rowText(row string) (said string, ok bool) {
	var cells []string
	for _, cell := range lang.TableCells(row) {
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

// checkComplete decides whether the candidate is a complete statement, and adds a missing full stop.
func (c *sentence) checkComplete(ownLine, mayContinue bool) {
	bare := strings.TrimRight(removeMarks(c.text), " ")
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

// looksLikeCode first checks for the characters that the expensive pattern needs.
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
	tagRE    = regexp.MustCompile(`</?[a-zA-Z][^<>]{0,200}>`)
	ruleRE   = regexp.MustCompile(`^[-|:=_* \t]+$`)
	codeRE   = regexp.MustCompile(`(?:^|\s)//\s|:=|[{;]\s*$|^[})]|\)\s*[{;]|\}\.?$|</|=>|\bfunc\b.*\(`)
	markup   = strings.NewReplacer("**", "", "__", "", "`", "", "~~", "")
	emphasis = regexp.MustCompile(`(^|[\s(])[*_]([^*_\s][^*_]*)[*_]`)
)

// cutMarker removes the bullet or number of a list item.
func cutMarker(s string) (string, bool) {
	if m := markerRE.FindString(s); m != "" {
		return s[len(m):], !strings.HasPrefix(m, ">")
	}
	return s, false
}

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
		s = emphasis.ReplaceAllString(s, "$1$2")
		s = markup.Replace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}
