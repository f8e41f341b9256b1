package parse

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// outline has the numbered headings of a plain text: "4. Appointments", "TOP 3  Well and pump", "IV. DEPOSIT", "2.1 Room". A single line does not show
// whether it is a heading, an item of a list, or an entry of the contents. So all lines with consecutive numbers of one form are judged together: they are
// headings if nearly all of them are short titles, and text follows most of them.
type outline struct {
	headings []outlineHeading // in order
	listed   map[string]bool  // lines of lists and contents, which are no headings
	clauses  map[string]bool  // lines of series that are mostly text
}

// outlineHeading is a line that is a heading.
type outlineHeading struct{ start, end, level int }

// maxEntries is the number of lines with numbers from which a text is rather data, and gets no outline.
const maxEntries = 20_000

// findOutline finds the outline of a text.
func findOutline(s string) outline {
	o := outline{listed: map[string]bool{}, clauses: map[string]bool{}}
	var g grouper
	at := 0
	for line := range strings.Lines(s) {
		start := at
		at += len(line)
		e, ok := readEntry(line)
		if !ok || isUnderlined(s[at:]) {
			continue
		}
		if len(g.all) == maxEntries {
			return outline{}
		}
		e.start, e.end = start, at
		g.add(e)
	}
	levels := map[string]int{} // of each form, in order of appearance
	byStart := map[int]outlineHeading{}
	for _, es := range g.groups() {
		titled, followed := es.judge(s)
		for _, e := range es {
			switch line := strings.TrimSpace(s[e.start:e.end]); {
			case !followed:
				o.listed[line] = true
			case !titled:
				o.clauses[line] = true
			default:
				if levels[e.form] == 0 {
					levels[e.form] = headingLevel + min(len(levels), maxDeeper)
				}
				byStart[e.start] = outlineHeading{e.start, e.end, levels[e.form]}
			}
		}
	}
	for _, e := range g.all {
		if h, ok := byStart[e.start]; ok {
			o.headings = append(o.headings, h)
		}
	}
	return o
}

// isUnderlined reports whether what follows a line begins with an underline. Such a line is a heading without being judged.
func isUnderlined(rest string) bool {
	under, _, _ := strings.Cut(rest[:min(len(rest), maxEntry)], "\n")
	return underline.MatchString(strings.TrimSpace(under))
}

// maxDeeper is the number of levels below that of the first form of numbers.
const maxDeeper = 3

// entry is a line that begins with a number.
type entry struct {
	start, end int    // of the line in the text, with its line break
	form       string // what all numbers of its series have in common: the word before, the number of parts, the mark after it
	parent     string // the parts of the number but the last: 2.1 of 2.1.3
	number     int
	from, to   int    // columns of the number
	word       string // before the number
	title      string
}

// entryRE matches a line that begins with a number, which a word may precede. Its groups are the word, the number, the mark after it and the rest.
var entryRE = regexp.MustCompile(`^[ \t]*(?:(\p{L}{2,12}\.?[ \t]|(?:§{1,2}|№))[ \t]*)?([1-9][0-9]?(?:\.[1-9][0-9]?){0,2}|[IVXL]{1,5}|[A-H])([.):/]?)(?:\s*$|[ \t]+(?:[-–—:][ \t]+)?(\S.*))`)

// readEntry returns the entry in a line. Titles begin with a capital letter, or in a script without them: what follows other numbers is mostly a unit.
func readEntry(line string) (entry, bool) {
	line = lang.Truncate(line, maxEntry)
	m := entryRE.FindStringSubmatchIndex(line)
	if m == nil {
		return entry{}, false
	}
	group := func(k int) string {
		if m[2*k] < 0 {
			return ""
		}
		return strings.TrimSpace(line[m[2*k]:m[2*k+1]])
	}
	word, digits, mark, title := strings.ToLower(group(1)), group(2), group(3), group(4)
	first, _ := utf8.DecodeRuneInString(title)
	if title == "" && word == "" || title != "" && (unicode.IsLower(first) || !unicode.IsLetter(first) && !strings.ContainsRune(`"“„«¿¡`, first)) {
		return entry{}, false
	}
	e := entry{title: title, word: word, from: m[4], to: m[5]}
	style := "A"
	if unicode.IsDigit(rune(digits[0])) {
		dot := strings.LastIndexByte(digits, '.')
		e.number, _ = strconv.Atoi(digits[dot+1:])
		e.parent = digits[:max(0, dot)]
		style = strconv.Itoa(1 + strings.Count(digits, "."))
	} else if word == "" && mark == "" {
		return entry{}, false // a word of one letter
	} else if e.number = romanNumber(digits); e.number > 0 {
		style = "I"
	} else {
		e.number = int(digits[0]-'A') + 1
	}
	e.form = word + " " + style + mark
	return e, true
}

// maxEntry is the number of bytes of a line that are read: titles are shorter.
const maxEntry = 400

// romanNumber returns the value of a Roman number of the letters I, V, X and L; 0 if there are others.
func romanNumber(s string) int {
	sum, last := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		k := strings.IndexByte("IVXL", s[i])
		if k < 0 {
			return 0
		}
		v := [...]int{1, 5, 10, 50}[k]
		if v < last {
			v = -v
		}
		sum, last = sum+v, max(last, v)
	}
	return sum
}

// series are entries of one form.
type series []entry

// grouper makes series of entries with consecutive numbers.
type grouper struct {
	all    []entry
	series []*series
	open   map[place]*series // by what their next entry is
}

// place is where the next entry of a series is expected: its number begins or ends below that of the last one, so that a list within a section does not continue
// the numbers of the sections.
type place struct {
	form, parent string
	number       int
	column       int
	right        bool // column is that of the end of the number
}

func (e entry) places(number int) [2]place {
	return [2]place{{e.form, e.parent, number, e.from, false}, {e.form, e.parent, number, e.to, true}}
}

func (g *grouper) add(e entry) {
	if g.open == nil {
		g.open = map[place]*series{}
	}
	g.all = append(g.all, e)
	var s *series
	for _, p := range e.places(e.number) {
		if s == nil {
			s = g.open[p]
		}
	}
	if s == nil {
		s = new(series)
		g.series = append(g.series, s)
	} else {
		last := (*s)[len(*s)-1]
		for _, p := range last.places(e.number) {
			delete(g.open, p)
		}
	}
	*s = append(*s, e)
	for _, p := range e.places(e.number + 1) {
		g.open[p] = s
	}
}

// groups returns the series that are long enough to be judged. Those of numbers with several parts are one, since each section has a few of them.
func (g *grouper) groups() []series {
	var out []series
	parted := map[string]int{}
	for _, s := range g.series {
		first := (*s)[0]
		switch k, ok := parted[first.form]; {
		case first.parent != "" && ok:
			out[k] = append(out[k], *s...)
		case first.parent != "" && len(*s) > 1:
			parted[first.form] = len(out)
			out = append(out, *s)
		case len(*s) > 2, len(*s) == 2 && first.number <= 1:
			out = append(out, *s)
		}
	}
	return out
}

const (
	minTitles = 0.8 // share of the entries of an outline that are titles
	minBodies = 0.5 // share of them that text follows
	minBody   = 40  // mean number of bytes of that text, if nothing but a number shows that an entry is more than a step or an item
)

// judge reports whether entries are titles, and whether text follows them.
func (s series) judge(text string) (titled, followed bool) {
	starts := map[int]bool{}
	for _, e := range s {
		starts[e.start] = true
	}
	titles, bodies, size, plain := 0, 0, 0, 0
	for i, e := range s {
		blank := e.end + len(text[e.end:]) - len(strings.TrimLeft(text[e.end:], " \t\r\n\f"))
		next := strings.LastIndexByte(text[:blank], '\n') + 1 // the next line with text
		line, _, _ := strings.Cut(text[next:], "\n")
		if i+1 < len(s) && next < len(text) && !starts[next] { // anything may follow the last one
			bodies++
			size += max(0, s[i+1].start-next)
		}
		if starts[next] || next > e.end {
			line = "" // nothing that continues the title
		}
		if e.isTitle(strings.TrimSpace(text[e.start:e.end]), strings.TrimSpace(line)) {
			titles++
		}
		if e.word == "" && strings.ContainsFunc(e.title, unicode.IsLower) {
			plain++
		}
	}
	n := float64(len(s))
	if 2*plain > len(s) && size < minBody*max(1, bodies) {
		bodies = 0
	}
	return float64(titles) >= minTitles*n, float64(bodies) >= minBodies*(n-1)
}

// isTitle reports whether the line of an entry is a title, and the next line does not continue it.
func (e entry) isTitle(line, next string) bool {
	if !isTitle(strings.TrimRight(line, "?:.")) || !strings.HasSuffix(line, "?") && states(e.title) || e.title != "" && strings.HasSuffix(line, ".") || isAligned(e.title) {
		return false
	}
	if bullet.MatchString(next) || isAligned(next) {
		return true // a list, or a table
	}
	first, _ := utf8.DecodeRuneInString(next)
	n := utf8.RuneCountInString(line)
	return !unicode.IsLower(first) && (n < minWrapped || float64(n) < maxTitleWidth*float64(utf8.RuneCountInString(next)))
}

// maxTitleWidth is the greatest length of a title, as a share of the line after it: a longer one may be the first line of a paragraph.
const maxTitleWidth = 0.8

// pageRE matches a line that ends with the number of a page, or is one. Its groups are what stands before, the space after that, the number, the number of
// pages, and a number between dashes.
var pageRE = regexp.MustCompile(`(?i)^\s*(\S.{0,80}?)??(\s*)(?:(?:page|seite|p[áa]gina|p[áa]g\.|sayfa|стр\.|страница)[ \t]*([0-9]{1,4})(?:[ \t]*(?:/|of|von|de|sur|di|van|из)[ \t]*([0-9]{1,4}))?|[-–][ \t]*([0-9]{1,4})[ \t]*[-–])\s*$`)

// dropPages removes the numbers of pages and the running heads beside them: lines that are the same but for a number that counts up by one. What is before the
// number is apart from it, or the number of pages follows. The first one of equal running heads stays.
func dropPages(s string) string {
	type run struct{ lines, last int }
	heads := map[string]*run{}
	for line := range strings.Lines(s) {
		if head, n := pageNumberOf(line); n > 0 {
			r := heads[head]
			if r == nil {
				r = &run{last: n - 1}
				heads[head] = r
			}
			if r.lines++; n != r.last+1 {
				r.lines = math.MinInt
			}
			r.last = n
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(heads)), func(r *run) bool { return r.lines > 1 }) {
		return s
	}
	var b strings.Builder
	shown := map[string]bool{}
	for line := range strings.Lines(s) {
		head, n := pageNumberOf(line)
		if n == 0 || heads[head].lines < 2 {
			b.WriteString(line)
			continue
		}
		if head != "" && !shown[head] {
			b.WriteString(head)
			shown[head] = true
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// pageNumberOf returns the number of a page at the end of a line and what stands before it; 0 if there is none.
func pageNumberOf(line string) (head string, n int) {
	bare := strings.TrimRight(line, " \t\r\n\f")
	if len(line) > maxPageLine || bare == "" || !strings.Contains("0123456789-", bare[len(bare)-1:]) && !strings.HasSuffix(bare, "–") {
		return "", 0
	}
	m := pageRE.FindStringSubmatch(line)
	if m == nil || m[1] != "" && (m[2] == "" || len(m[2]) < 2 && m[2] != "\t" && m[4] == "") {
		return "", 0
	}
	n, _ = strconv.Atoi(m[3] + m[5])
	return strings.TrimSpace(m[1]), n
}

// maxPageLine is the maximum length of a line with the number of a page, in bytes.
const maxPageLine = 200

// minPlain is the number of different titles without numbers and underlines from which they are judged, minPlainBodies the share of such lines that text must
// follow, and minUnder the number of bytes of that text.
const minPlain, minPlainBodies, minUnder = 3, 0.7, 30

// markPlainTitles makes headings of short lines that are no sentences, between blank ones or over a paragraph, if text follows most of them. As with numbers, a
// single line does not show what it is: lines of addresses, poems, plays and signatures stand alone too. A title over all of them is a heading above the others.
// numbered are the blocks that are headings with numbers, which the others stand beside.
func markPlainTitles(blocks []Block, numbered map[int]bool) []Block {
	var out []Block
	titles := map[string]bool{}
	titled, lone, level := 0, 0, headingLevel
	for i, b := range blocks {
		if b.Kind == Heading && !numbered[i] {
			level = min(max(level, b.Level+1), headingLevel+maxDeeper+1)
		}
		title, under, _ := strings.Cut(b.Text, "\n")
		if b.Kind != Paragraph || !isPlainTitle(title) {
			out = append(out, b)
			continue
		}
		lone++
		switch {
		case i > 0 && strings.HasSuffix(blocks[i-1].Text, ":"):
			out = append(out, b)
		case under != "" && isOver(title, under):
			titled++
			titles[title] = true
			out = append(out, Block{Kind: Heading, Level: level, Text: title})
			b.Text = under
			out = append(out, b)
		case under == "" && i == 0 && len(blocks) > 1 && !isBody(blocks[1]):
			lone--
			out = append(out, Block{Kind: Heading, Level: headingLevel - 1, Text: title})
		case under == "" && i+1 < len(blocks) && isBody(blocks[i+1]):
			titled++
			titles[title] = true
			out = append(out, Block{Kind: Heading, Level: level, Text: title})
		default:
			out = append(out, b)
		}
	}
	if len(titles) < minPlain || len(titles) < titled || float64(titled) < minPlainBodies*float64(lone) {
		return blocks
	}
	return out
}

// isBody reports whether a block may stand under a title.
func isBody(b Block) bool {
	return b.Kind != Heading && (b.Kind != Paragraph || !isPlainTitle(b.Text) && len(b.Text) >= minUnder)
}

// isPlainTitle reports whether a line may be a title without a number: it is short, begins with a capital letter or in a script without them, states nothing, and
// has no label, cells or date.
func isPlainTitle(line string) bool {
	first, _ := utf8.DecodeRuneInString(line)
	return isTitle(line) && unicode.IsLetter(first) && !unicode.IsLower(first) && !isAligned(line) && !labelled.MatchString(line) && !strings.ContainsAny(line, "\n@|") &&
		strings.Count(line, ",") < 2 && !(strings.Contains(line, ",") && strings.ContainsAny(line, "0123456789")) && !states(line)
}

// isOver reports whether a line is the title of the text below it: it is much shorter than the next line, which begins a sentence or a list.
func isOver(title, under string) bool {
	next, _, _ := strings.Cut(under, "\n")
	first, _ := utf8.DecodeRuneInString(next)
	return !unicode.IsLower(first) && len(next) >= minUnder && float64(utf8.RuneCountInString(title)) < maxTitleWidth/2*float64(utf8.RuneCountInString(next))
}

// strongLevel is the level of paragraphs in bold that are headings.
const strongLevel = 6

// isStrongTitle reports whether a paragraph that is all in bold is a heading. One with figures, other than its own number, says something itself.
func isStrongTitle(text string) bool {
	title := strings.TrimRight(text, ":?")
	if e, ok := readEntry(title); ok && e.title != "" {
		title = e.title
	}
	return isTitle(title) && !strings.ContainsAny(title, "0123456789") && (strings.HasSuffix(text, "?") || !states(title))
}

// states reports whether a line says something, and is no title: it has an auxiliary verb or a negation of its language, or of English.
func states(line string) bool {
	l := lang.OfQuestion(line)
	return slices.ContainsFunc(lang.Words(line), func(w lang.Token) bool {
		return l.Has(lang.Auxiliaries, w.Text) || l.Has(lang.Negations, w.Text) || len(w.Text) > 1 && (lang.English.Has(lang.Auxiliaries, w.Text) || lang.English.Has(lang.Negations, w.Text))
	})
}

// keepStatements makes paragraphs of bold ones again that have no text below them.
func keepStatements(blocks []Block) {
	for i := range blocks {
		if b := &blocks[i]; b.Kind == Heading && b.Strong && (i+1 == len(blocks) || blocks[i+1].Kind == Heading) {
			b.Kind, b.Level = Paragraph, 0
		}
	}
}

// markStrongTitle makes a heading above all others of the first paragraph if it is a title in bold without a number, and the format marks no headings. It returns
// its text, or "".
func markStrongTitle(blocks []Block) string {
	if len(blocks) < 2 || !blocks[0].Strong || countHeadings(blocks) > 0 {
		return ""
	}
	title := oneLine(blocks[0].Text)
	if _, numbered := readEntry(title); numbered || !isTitle(title) {
		return ""
	}
	blocks[0].Kind, blocks[0].Level, blocks[0].Text, blocks[0].Strong = Heading, 1, title, false
	return title
}

// markOutline makes headings of the paragraphs and items of a document whose numbers show that they are, if its format marks no headings but a title. Word
// processors make items of lists of all that begins with a number.
func markOutline(blocks []Block) {
	if countHeadings(blocks) > 1 {
		return
	}
	var b strings.Builder
	at := map[int]int{} // blocks, by where they begin
	for i, block := range blocks {
		title := !strings.Contains(block.Text, "\n")
		switch {
		case block.Tight && block.Kind != ListItem || block.Kind == ListItem && block.Level > 1 && isTitle(block.Text):
			continue // a part of an item
		case block.Kind == ListItem && title:
			at[b.Len()] = i
			b.WriteString("    ") // apart from numbers of paragraphs
		case (block.Kind == Paragraph || block.Kind == Heading && block.Strong) && title:
			at[b.Len()] = i
		default:
			b.WriteByte('|') // text that is no title
		}
		b.WriteString(lang.Truncate(block.Text, maxPageLine) + "\n\n")
	}
	for _, h := range findOutline(b.String()).headings {
		if i, ok := at[h.start]; ok {
			blocks[i].Kind, blocks[i].Level, blocks[i].Text, blocks[i].Tight = Heading, h.level, oneLine(blocks[i].Text), false
		}
	}
}

// countHeadings returns the number of headings, without those that are paragraphs in bold.
func countHeadings(blocks []Block) (n int) {
	for _, b := range blocks {
		if b.Kind == Heading && !b.Strong {
			n++
		}
	}
	return n
}

// dedent removes the indentation that all lines have in common.
func dedent(s string) string {
	common, found := "", false
	for line := range strings.Lines(s) {
		bare := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(bare) == "" {
			continue
		}
		indent := line[:len(line)-len(bare)]
		if !found {
			common, found = indent, true
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
		if common == "" {
			return s
		}
	}
	if common == "" {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimPrefix(line, common))
	}
	return b.String()
}
