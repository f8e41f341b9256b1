package parse

import (
	"context"
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/lang"
)

var (
	bullet      = regexp.MustCompile(`^\s*(?:[-*•‣◦▪–·]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+\S`)
	ruleOfTable = regexp.MustCompile(`^[-=_ ]*[-=_]{3}[-=_ ]*$`)
	underline   = regexp.MustCompile(`^(?:={3,}|-{3,}|~{3,}|\^{3,}|#{3,}|\*{3,})$`)
)

// parseText parses plain text. Blank lines separate paragraphs. Underlined lines are headings, and short ones in capitals or with the number of a clause.
func parseText(ctx context.Context, src source) (Parsed, error) {
	text := decode(src.data)
	if err := checkLines(text); err != nil {
		return Parsed{}, err
	}
	t := readText(dropPages(unquote(text)), src.limits.Blocks)
	return Parsed{Title: t.title, Blocks: t.out}, ctx.Err()
}

// Limits that are checked before splitting, since each element takes some 50 bytes of memory.
const (
	maxLines = 4_000_000 // of a text or a source file
	maxCells = 4_000_000 // of a CSV or TSV file
)

func checkLines(s string) error {
	if strings.Count(s, "\n") > maxLines {
		return tooLarge("holds more than %d lines", maxLines)
	}
	return nil
}

// textBlocks returns the blocks of a plain text. It stops at more than limit blocks, which finish rejects.
func textBlocks(s string, limit int) []Block { return readText(s, limit).out }

func readText(s string, limit int) *textReader {
	t := &textReader{outline: findOutline(s), limit: limit, numbered: map[int]bool{}, marks: map[byte]int{}, level: headingLevel}
	at := 0
	for _, h := range t.outline.headings {
		t.read(s[at:h.start])
		t.numbered[len(t.out)] = true
		t.add(Block{Kind: Heading, Level: h.level, Text: strings.Join(strings.Fields(s[h.start:h.end]), " ")})
		at = h.end
	}
	t.read(s[at:])
	t.title = t.findTitle()
	t.out = markPlainTitles(t.out, t.numbered)
	return t
}

// textReader reads plain text between the headings of its outline.
type textReader struct {
	outline  outline
	limit    int
	out      []Block
	numbered map[int]bool // blocks that are headings of the outline
	title    string       // see findTitle
	marks    map[byte]int // the level of each underlining character, in order of appearance, as reStructuredText has it
	ruled    bool         // the part before is a rule
	level    int          // of headings that are neither numbered nor underlined; below the titles after rules
}

func (t *textReader) add(b Block) { t.out = append(t.out, b) }

// findTitle returns the text of the first heading among the first blocks that is neither numbered nor the subject of a message that is quoted. Without one, the title
// is the name of the file, which says more than most first lines.
func (t *textReader) findTitle() string {
	before := 0
	for i, b := range t.out[:min(len(t.out), maxBeforeTitle)] {
		if t.numbered[i] || before > maxBytesBeforeTitle {
			break
		}
		before += len(b.Text)
		if b.Kind == Heading && (i == 0 || i+1 == len(t.out) || mailSubject(strings.Split(t.out[i+1].Text, "\n")) == "") {
			return b.Text
		}
	}
	return ""
}

// maxBeforeTitle is the number of blocks among which the title of a text is looked for, and maxBytesBeforeTitle the number of bytes that may stand before it.
const maxBeforeTitle, maxBytesBeforeTitle = 3, 400

// read appends the blocks of a text.
func (t *textReader) read(s string) {
	for part := range strings.SplitSeq(dedent(s), "\n\n") {
		if len(t.out) > t.limit {
			return
		}
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \t\f\v")
		}
		afterRule := t.ruled && len(lines) == 1
		t.ruled = len(lines) == 1 && len(lines[0]) >= minRule && underline.MatchString(lines[0])
		switch {
		case t.ruled:
		case afterRule && isTitle(lines[0]):
			t.level = headingLevel + 1
			t.add(Block{Kind: Heading, Level: headingLevel, Text: strings.Join(strings.Fields(lines[0]), " ")})
		case isSession(lines) || len(t.out) > 0 && t.out[len(t.out)-1].Kind == Paragraph && strings.HasSuffix(t.out[len(t.out)-1].Text, ":") && isIndented(lines):
			t.add(Block{Kind: Code, Text: strings.Join(lines, "\n"), Fenced: true})
		default:
			t.readPart(lines)
		}
	}
}

// dropTableRules removes the rules between the lines of a table that is aligned with spaces.
func dropTableRules(lines []string) []string {
	isRow := func(i int) bool { return i >= 0 && i < len(lines) && aligned.MatchString(strings.TrimSpace(lines[i])) }
	out := lines[:0:0]
	for i, line := range lines {
		if !(ruleOfTable.MatchString(strings.TrimSpace(line)) && isRow(i-1) && (isRow(i+1) || isRow(i+2) || i+1 == len(lines))) { // the name of a group may follow
			out = append(out, line)
		}
	}
	return out
}

// readPart appends the blocks of lines without a blank one between them.
func (t *textReader) readPart(lines []string) {
	lines = dropTableRules(lines)
	if subject := mailSubject(lines); subject != "" {
		t.add(Block{Kind: Heading, Level: headingLevel, Text: subject})
	}
	from := 0
	for from < len(lines) && t.outline.isHeading(lines[from:]) {
		t.add(Block{Kind: Heading, Level: t.level, Text: strings.TrimSpace(lines[from])})
		from++
	}
	for i := from + 1; i < len(lines); i++ {
		under := lines[i]
		if !underline.MatchString(under) || lines[i-1] == "" || underline.MatchString(lines[i-1]) ||
			utf8.RuneCountInString(lines[i-1]) > len(under)+2 {
			continue
		}
		over := lines[from : i-1]
		if len(over) > 0 && over[len(over)-1] == under {
			over = over[:len(over)-1]
		}
		t.out = appendParagraphs(t.out, over, t.limit)
		if t.marks[under[0]] == 0 {
			t.marks[under[0]] = min(len(t.marks), 5) + 1
		}
		t.add(Block{Kind: Heading, Level: t.marks[under[0]], Text: lines[i-1]})
		from = i + 1
	}
	if from < len(lines) {
		t.out = appendParagraphs(t.out, lines[from:], t.limit)
	}
}

// minRule is the least length of a rule between sections, whose title may follow in a paragraph of its own.
const minRule = 20

// isTitle reports whether a line may be the title of a section: it is short, and does not end like a sentence.
func isTitle(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(line)
	return line != "" && utf8.RuneCountInString(line) <= maxHeading && len(strings.Fields(line)) <= maxHeadingWords && !strings.ContainsRune(".:;,!?|。", last)
}

// isIndented reports whether lines are indented like code after a colon, and are no prose.
func isIndented(lines []string) bool {
	for _, l := range lines {
		if !strings.HasPrefix(l, "\t") && !strings.HasPrefix(l, "    ") {
			return false
		}
	}
	return len(lines) > 0 && len(lines) <= maxSession && !isProse(strings.Join(lines, "\n"))
}

var (
	clause        = regexp.MustCompile(`^(?:§+|(?i:article|art\.|artikel|artículo|articolo|artigo|artikkel|clause|section|madde|статья|раздел))\s*[0-9]|^第.{1,4}[条章条節]`)
	parenthesis   = regexp.MustCompile(`\s\([^()]*\)$`)
	sectionNumber = regexp.MustCompile(`^[0-9]{1,2}(?:\.[0-9]{1,2}){0,2}\s+\p{Lu}`)
)

// headingLevel is the level of headings that are not underlined. maxHeading is their maximum length in characters, and maxHeadingWords in words.
const (
	headingLevel    = 2
	maxHeading      = 70
	maxHeadingWords = 10
)

// isHeading reports whether the first of some lines is a heading without an underline, which is not one of a series: it is short, does not end like a
// sentence, and is in capitals, or begins with the number of a clause or section.
func (o *outline) isHeading(lines []string) bool {
	line, next := strings.TrimSpace(lines[0]), ""
	if len(lines) > 1 {
		next = strings.TrimSpace(lines[1])
	}
	first, _ := utf8.DecodeRuneInString(next)
	if !isTitle(line) || underline.MatchString(next) || o.listed[line] {
		return false
	}
	letters := 0
	for _, r := range parenthesis.ReplaceAllString(line, "") {
		if unicode.IsLower(r) {
			return !unicode.IsLower(first) && (clause.MatchString(line) || sectionNumber.MatchString(line) && !o.clauses[line] && !sectionNumber.MatchString(next))
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters >= 4 && !bullet.MatchString(line) || clause.MatchString(line)
}

// appendParagraphs appends the blocks of consecutive lines. It joins long lines to paragraphs, makes each list item a block, and keeps the
// line breaks of short lines, such as those of a poem.
func appendParagraphs(out []Block, lines []string, limit int) []Block {
	items, tight := 0, false
	marked := make([]bool, len(lines))
	for i, l := range lines {
		if marked[i] = bullet.MatchString(l); marked[i] {
			items++
		}
	}
	if items > 0 {
		items -= unmarkRows(lines, marked)
	}
	listed := items > 1 || items == 1 && marked[0]
	var cur []string
	kind := Paragraph
	flush := func() {
		if text := joinLines(cur); text != "" {
			out = append(out, Block{Kind: kind, Level: level(kind), Text: text, Tight: tight && kind == ListItem})
			tight = kind == ListItem
		}
		cur = nil
	}
	for i, l := range lines {
		if len(out) > limit {
			return out
		}
		if strings.TrimSpace(l) == "" {
			flush()
			kind = Paragraph
			continue
		}
		if listed && marked[i] {
			flush()
			kind = ListItem
		}
		cur = append(cur, l)
	}
	flush()
	return out
}

// markOf matches the number or the letter that begins an item, with the gap after it.
var markOf = regexp.MustCompile(`^\s*\(?(?:\d{1,3}|[a-zA-Z])[.)]\s+`)

// unmarkRows clears the marks of lines that are rows of a table, such as "2. floor   Friday" and "K. Nowak   night", and returns their number. A table has a line
// without a mark, such as that with the names of its columns.
func unmarkRows(lines []string, marked []bool) (cleared int) {
	for from := 0; from < len(lines); from++ {
		to, plain := from, 0
		for ; to < len(lines) && isAligned(lines[to][len(markOf.FindString(lines[to])):]); to++ {
			if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(lines[to])); !marked[to] && !unicode.IsLower(first) {
				plain++
			}
		}
		for i := from; plain > 0 && i < to; i++ {
			if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(lines[i])); marked[i] && (unicode.IsDigit(first) || unicode.IsLetter(first)) {
				marked[i] = false
				cleared++
			}
		}
		from = max(from, to)
	}
	return cleared
}

func level(k Kind) int {
	if k == ListItem {
		return 1
	}
	return 0
}

// joinLines returns lines as text. Lines that stay apart keep their indentation.
func joinLines(lines []string) string {
	rows, times := 0, map[string]int{}
	for _, l := range lines {
		if isAligned(l) {
			rows++
		}
		if before, ok := lang.BeginsWithTime(l); ok {
			times[before]++
		}
	}
	if rows > 1 {
		lines = strings.Split(dedent(strings.Join(lines, "\n")), "\n")
	}
	var b []byte
	widest := width(lines)
	var cells []int // where the cells of the last row begin
	for i, l := range lines {
		goesOn := slices.Contains(cells, indentation(l))
		switch {
		case rows > 1 && isAligned(l):
			cells = cellStarts(l)
		case !goesOn:
			cells = nil
		}
		before, isTime := lang.BeginsWithTime(l)
		switch {
		case i == 0:
		case staysApart(lines[i-1], l, widest), isTime && times[before] > 1, goesOn, rows > 1 && isAligned(lines[i-1]) && !wraps(lines[i-1], l, widest):
			b = append(b, '\n')
		default:
			b = append(b, ' ')
			l = strings.TrimSpace(l)
		}
		b = append(b, strings.TrimRight(l, " \t")...)
	}
	return strings.Trim(string(b), "\n ")
}

// wraps reports whether a line continues the last cell of a row: it begins with a small letter, and the row is full or ends with a word that ends no phrase.
func wraps(row, line string, widest int) bool {
	if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line)); !unicode.IsLower(first) {
		return false
	}
	words := strings.Fields(row)
	return float64(utf8.RuneCountInString(row)) >= fullLine*float64(widest) || len(words) > 0 && lang.OfQuestion(row).IsStopWord(strings.ToLower(words[len(words)-1]))
}

// cellStarts returns the columns in which the cells of a line of a table begin that is aligned with spaces, but for the first one.
func cellStarts(line string) (out []int) {
	column, spaces := 0, 2
	for _, r := range line {
		if r == ' ' {
			spaces++
		} else {
			if spaces > 1 && column > 0 && len(out) < maxCellStarts {
				out = append(out, column)
			}
			spaces = 0
		}
		column++
	}
	return out
}

// maxCellStarts is the maximum number of cells of a line that other lines can continue.
const maxCellStarts = 40

// indentation returns the number of spaces before a line. A tab counts as eight.
func indentation(line string) int {
	n := 0
	for _, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

// softBreak stands for the end of a line until [wrapLines] decides whether it is a line break or a space.
const softBreak = '\v'

// wrapLines replaces each soft break, by a space if the lines were wrapped to fit a width. The result is as long as s.
func wrapLines(s string) string {
	if !strings.ContainsRune(s, softBreak) {
		return s
	}
	lines := strings.Split(s, string(softBreak))
	widest := width(lines)
	var b strings.Builder
	for i, l := range lines {
		switch {
		case i == 0:
		case staysApart(lines[i-1], l, widest):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(l)
	}
	return b.String()
}

// width returns the number of characters of the longest line.
func width(lines []string) int {
	most := 0
	for _, l := range lines {
		most = max(most, utf8.RuneCountInString(strings.TrimSpace(l)))
	}
	return most
}

const (
	minWrapped = 50  // width in characters from which lines of prose are wrapped
	fullLine   = 0.6 // share of the widest line that a wrapped line fills at least
)

// labelled matches a line with a label: Due date: 5 September. parted matches one with a dash after its first words: Room 3 – Lamps.
var (
	labelled = regexp.MustCompile(`^[\pL\pN][^:.!?;]{0,40}[:：]\s`)
	parted   = regexp.MustCompile(`^[\pL\pN][^.!?;–—]{0,40} [–—-] \S`)
)

// aligned matches a line whose cells are aligned with spaces: Great Hall    48 pounds.
var aligned = regexp.MustCompile(`[^\s.!?](?: {3,}|\t)\S`)

// isAligned first checks for the characters that the pattern needs.
func isAligned(line string) bool {
	return (strings.Contains(line, "   ") || strings.Contains(line, "\t")) && aligned.MatchString(line)
}

// leader matches a line whose number follows dots: Soup ..... 4.90. priced matches one that ends with a price.
var (
	leader = regexp.MustCompile(`(?:\.{4,}|[ \t]\.{2,}|…{2,})[ \t]*[^\s\pL]{0,3}[0-9]\S{0,15}(?: \S{1,10})?$`)
	priced = regexp.MustCompile(`\pL.* (?:[€$£] ?)?[0-9]+(?:[.,][0-9]{2}(?: ?(?:[€$£]|EUR|USD|CHF))?| ?[€$£])$`)
)

// staysApart reports whether the break between two lines means something, as in an address, in a poem, between lines with labels, in a price list, or in a table
// that is aligned with spaces.
func staysApart(line, next string, widest int) bool {
	if strings.HasPrefix(line, "#") || strings.HasPrefix(next, "#") { // a comment of a configuration file
		return true
	}
	line, next = strings.TrimSpace(line), strings.TrimSpace(next)
	if isAligned(next) || strings.Contains(line, "..") && leader.MatchString(line) || strings.Contains(line, "…") && leader.MatchString(line) ||
		strings.ContainsAny(next, ":：") && !strings.HasSuffix(line, ",") && labelled.MatchString(next) {
		return true
	}
	if priced.MatchString(next) && priced.MatchString(line) || strings.ContainsAny(next, "-–—") && parted.MatchString(next) && parted.MatchString(line) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(next)
	return !unicode.IsLower(first) && (widest < minWrapped || float64(utf8.RuneCountInString(line)) < fullLine*float64(widest))
}

// sampleLines is the number of lines in which the separator of a CSV file is counted: the first one may be a title.
const sampleLines = 10

// parseTable parses CSV and TSV: each record is a block. Titles over the table and notes under it are read as in a spreadsheet.
func parseTable(ctx context.Context, src source) (Parsed, error) {
	text := decode(src.data)
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	if first := firstLines(text, sampleLines); src.format.label == "TSV" {
		r.Comma = '\t'
	} else if strings.Count(first, ";") > strings.Count(first, ",") {
		r.Comma = ';'
	}
	if strings.Count(text, string(r.Comma)) > maxCells {
		return Parsed{}, tooLarge("holds more than %d cells", maxCells)
	}
	var p Parsed
	size := 0
	sheet := document.Sheet{Add: func(b Block) {
		size += len(b.Text)
		p.Blocks = append(p.Blocks, b)
	}}
	var cells []document.Cell
	oneColumn := !strings.ContainsRune(text, r.Comma)
	for {
		rec, err := r.Read()
		if err == io.EOF {
			sheet.End()
			return p, ctx.Err()
		}
		if err != nil {
			return p, refuse(err, "not valid %s", src.format.label)
		}
		if len(p.Blocks)%1024 == 0 && ctx.Err() != nil {
			return p, ctx.Err()
		}
		if len(p.Blocks) > src.limits.Blocks || size > src.limits.Text { // finish rejects it
			return p, nil
		}
		if oneColumn {
			if row := tableRow(rec); row != "" {
				sheet.Add(Block{Kind: TableRow, Text: row, Tight: len(p.Blocks) > 0})
			}
			continue
		}
		cells = cells[:0]
		for _, text := range rec {
			cells = append(cells, document.Cell{Text: text})
		}
		sheet.Row(cells)
	}
}

// firstLines returns the first lines of a text.
func firstLines(s string, n int) string {
	end := 0
	for range n {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

// isSession reports whether the lines are commands after the prompt of a shell.
func isSession(lines []string) bool {
	for _, l := range lines {
		if !strings.HasPrefix(strings.TrimSpace(l), "$ ") {
			return false
		}
	}
	return len(lines) > 0 && len(lines) <= maxSession
}

// maxSession is the maximum number of lines of a session, which is not split.
const maxSession = 12
