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

// reader splits a passage by its lines: headings, paragraphs, lists, tables, labelled lines and code. Each candidate keeps what leads to it.
type reader struct {
	passage model.Passage
	number  int
	lang    *lang.Language
	lines   []string
	heading string   // the last one
	outer   []string // the headings over the passage, the innermost first, without the title
	since   int      // how many candidates stand before it
	lead    string   // what leads to a list or a table that comes next
	groups  int      // the number of lists and tables
	blocks  int      // the number of paragraphs, items, tables and headings
	inList  bool     // the last block was an item
	open    bool     // the last block was a paragraph that does not end like a sentence
	parents []parent // the items over a nested one
	code    bool     // what was read last is code
	config  bool     // lines that begin with a number sign are comments
	out     []*sentence
}

// parent is an item that others may be nested in.
type parent struct {
	indent int
	text   string
}

func (r *reader) readAll(s string) {
	r.lines = strings.Split(s, "\n")
	dropContents(r.lines)
	readAligned(r.lines, r.lang)
	labelDays(r.lines, r.lang)
	labelAmounts(r.lines, r.lang)
	r.config = hasComments(r.lines)
	for i := 0; i < len(r.lines); r.blocks++ {
		i = r.block(i)
	}
}

// block reads the block that begins at a line, and returns the line after it.
func (r *reader) block(i int) int {
	line := r.lines[i]
	bare := strings.TrimSpace(line)
	wasCode := r.code
	if bare == "" {
		return i + 1
	}
	wasOpen := r.open
	r.open = false
	switch {
	case strings.HasPrefix(bare, "```"):
		return r.fence(i, wasCode)
	case r.config && (isComment(bare) || r.inConfig(bare)):
		return r.comment(i)
	case strings.HasPrefix(bare, "#"):
		r.setHeading(strings.Trim(bare, "# \t"))
		return i + 1
	case lang.IsTableRow(bare):
		return r.table(i)
	case ruleRE.MatchString(bare):
		return i + 1
	case r.isSection(i):
		r.setHeading(bare)
		return i + 1
	case markerRE.MatchString(bare) && !r.isHeading(i) && !strings.HasPrefix(bare, ">"):
		return r.item(i)
	}
	before := len(r.out)
	i = r.paragraph(i)
	if said := r.out[before:]; len(said) > 0 {
		if c := said[0]; wasOpen && startsLower(c.text) {
			c.whole = false // the end of a sentence that another paragraph begins
		}
		r.open = isOpen(said[len(said)-1].text, strings.TrimSpace(r.lines[i-1]))
	} else {
		r.open = wasOpen && startsLower(bare) // a short line that was taken for a heading
	}
	return i
}

// maxSalutation is the maximum number of words of a salutation.
const maxSalutation = 8

// isOpen reports whether the last text of a paragraph, whose last line is given, may need the next paragraph: it does not end like a sentence, and is no
// salutation, such as Dear members.
func isOpen(said, line string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, `"')]»”’`))
	return !strings.ContainsRune(".!?…:;。！？：；", last) && (startsLower(said) || len(strings.Fields(said)) > maxSalutation)
}

// startsLower reports whether a text begins with a small letter that is not that of a name such as iPhone.
func startsLower(s string) bool {
	first, n := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[n:])
	return unicode.IsLower(first) && !unicode.IsUpper(second)
}

func (r *reader) setHeading(s string) {
	r.heading, r.since, r.lead, r.inList, r.parents, r.code = plain(s), len(r.out), "", false, nil, false
}

func (r *reader) add(c *sentence) {
	if c.text == "" {
		return
	}
	if c.own == "" {
		c.own = c.text
	}
	c.block = r.blocks
	c.passage, c.at, c.heading, c.outer, c.under = r.number, len(r.out), r.heading, r.outer, len(r.out)-r.since
	r.code = c.code
	r.out = append(r.out, c)
}

// fence reads fenced code.
func (r *reader) fence(i int, wasCode bool) int {
	end := i + 1
	for end < len(r.lines) && !strings.HasPrefix(strings.TrimSpace(r.lines[end]), "```") {
		end++
	}
	c := &sentence{code: true, text: strings.Trim(strings.Join(r.lines[i+1:min(end, len(r.lines))], "\n"), "\n"), lead: r.lead}
	c.whole = !wasCode && c.text != "" && len(c.text) <= maxCode // what follows code is mostly what it prints
	if r.inList {                                                // the code of a step
		c.group = r.groups
	}
	r.add(c)
	return end + 1
}

// maxShort is the length in bytes below which the name of a column with a full stop is an abbreviation.
const maxShort = 6

// maxRow is the maximum number of words of a quoted table row.
const maxRow = 100

// maxCode is the maximum length of quoted code in bytes.
const maxCode = 600

// table reads the rows of a table.
func (r *reader) table(i int) int {
	from := i
	var rows [][]string
	for ; i < len(r.lines) && lang.IsTableRow(strings.TrimSpace(r.lines[i])); i++ {
		bare := strings.TrimSpace(r.lines[i])
		if ruleRE.MatchString(bare) {
			continue
		}
		cells := lang.TableCells(bare)
		for k, cell := range cells {
			cells[k] = strings.TrimRight(plain(cell), ".;:, ")
			if len(rows) == 0 && cells[k]+"." == strings.TrimSpace(cell) && len(cells[k]) < maxShort && !strings.Contains(cells[k], " ") {
				cells[k] += "." // an abbreviation
			}
		}
		rows = append(rows, cells)
	}
	r.groups++
	var columns []string
	if len(rows) > 1 && (from > 0 || r.passage.Chunk.Start == 0 || lang.IsTableHeadOver(rows[0], rows[1:])) && !r.isHeadless(rows) {
		columns, rows = rows[0], rows[1:]
	}
	for _, cells := range rows {
		c := &sentence{row: true, group: r.groups, columns: columns, cells: cells, lead: r.lead}
		c.text, c.whole = rowText(columns, cells, nil)
		c.own = strings.Join(cells, "; ")
		r.add(c)
	}
	r.inList, r.lead = false, ""
	return i
}

// rowText returns a row as text: its first cell, and the others with the names of their columns. Without names, the other cells follow. Only the
// given columns are said, or all. A merged cell is said once. It returns false if they say too little or too much.
func rowText(columns, cells []string, only []int) (said string, ok bool) {
	var b strings.Builder
	n := 0
	for i, cell := range cells {
		if cell == "" || only != nil && i > 0 && !contains(only, i) || isMerged(columns, cells, i) {
			continue
		}
		switch n++; n {
		case 1:
			b.WriteString(cell)
			continue
		case 2:
			b.WriteString(": ")
		default:
			b.WriteString("; ")
		}
		if i < len(columns) && columns[i] != "" {
			b.WriteString(columns[i] + " ")
		}
		b.WriteString(cell)
	}
	if n == 0 {
		return "", false
	}
	return b.String() + ".", n > 1 && len(strings.Fields(b.String())) <= maxRow
}

// isMerged reports whether a cell is of one that spans columns and is said already: with the name of the row, which is a word, or under the same name of a column.
func isMerged(columns, cells []string, i int) bool {
	if i == 0 || cells[i] != cells[i-1] {
		return false
	}
	if i < len(columns) && columns[i] != "" && columns[i] == columns[i-1] {
		return true
	}
	return wordRE.MatchString(cells[0]) && !slices.ContainsFunc(cells[:i], func(cell string) bool { return cell != cells[i] })
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// item reads an item of a list, with the lines that continue it.
func (r *reader) item(i int) int {
	line := r.lines[i]
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	bare := strings.TrimSpace(line)
	mark := markerRE.FindString(bare)
	text := bare[len(mark):]
	i++
	for ; i < len(r.lines); i++ {
		next := strings.TrimSpace(r.lines[i])
		if next == "" || markerRE.MatchString(next) || strings.HasPrefix(next, "#") || strings.HasPrefix(next, "```") || lang.IsTableRow(next) {
			break
		}
		deeper := len(r.lines[i]) - len(strings.TrimLeft(r.lines[i], " \t"))
		if deeper <= indent && indent > 0 || deeper == 0 && labelOf(next) != "" {
			break
		}
		text += " " + next
	}
	for len(r.parents) > 0 && r.parents[len(r.parents)-1].indent >= indent {
		r.parents = r.parents[:len(r.parents)-1]
	}
	if !r.inList {
		r.groups++
		r.inList = true
	}
	lead := r.lead
	if n := len(r.parents); n > 0 {
		lead = r.parents[n-1].text
	}
	said := r.split(text)
	if len(said) == 0 {
		return i
	}
	r.parents = append(r.parents, parent{indent, said[0]})
	ordered := strings.ContainsAny(mark, "0123456789)") // also a)
	for k, text := range said {
		c := &sentence{listed: k == 0, ordered: ordered, group: r.groups, lead: lead, text: text}
		c.label = k == 0 && labelOf(c.text) != ""
		if k > 0 {
			c.lead = said[0]
		}
		c.checkComplete(r.lang, true, false)
		if c.listed && (lead != "" || r.heading != "") && !strings.HasSuffix(c.text, ":") && !looksLikeCode(c.text) {
			c.whole = true // it is said with what leads to it, or with its heading
		}
		r.add(c)
	}
	return i
}

// labelRE matches the label of a line, up to its colon. It has no full stops but those of numbers and abbreviations: Invoice no.
var labelRE = regexp.MustCompile(`^["*_]*((?:\pL{1,4}\.|[\pL\pN])(?:[^:.!?;|]|\b\pL{1,4}\.|[0-9]\.){0,48}?)["*_]*(?::|：)["*_]*[ \t]*\S`)

// labelOf returns the label of a line such as Place: clubroom, or the author of a message of a chat; empty if it has none.
func labelOf(line string) string {
	line = lang.WithoutStamp(line)
	m := labelRE.FindStringSubmatch(line)
	if m == nil || strings.Contains(line, "://") && strings.HasPrefix(line[strings.Index(line, ":"):], "://") || len(strings.Fields(m[1])) > 6 {
		return ""
	}
	if last := m[1][len(m[1])-1]; last >= '0' && last <= '9' && len(line) > len(m[1])+1 && line[len(m[1])+1] >= '0' && line[len(m[1])+1] <= '9' {
		return "" // a time
	}
	return plain(m[1])
}

// paragraph reads lines up to a blank line, a list, a table or code. Lines that were not wrapped stay apart.
func (r *reader) paragraph(i int) int {
	var lines []string
	widest := 0
	from := i
	for ; i < len(r.lines); i++ {
		bare := strings.TrimSpace(r.lines[i])
		for strings.HasPrefix(bare, ">") { // a quotation in a mail
			bare = strings.TrimSpace(bare[1:])
		}
		if bare == "" || i > from && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "#") || lang.IsTableRow(bare) || markerRE.MatchString(bare)) {
			break
		}
		lines = append(lines, bare)
		widest = max(widest, utf8.RuneCountInString(bare))
	}
	if len(lines) == 0 {
		return i + 1
	}
	if len(lines) == 1 && r.isHeading(from) {
		r.setHeading(lines[0])
		return i
	}
	for len(lines) > 1 && r.opens(lines[0], lines[1], widest) {
		r.setHeading(lines[0])
		lines = lines[1:]
	}
	if len(lines) == 1 && i < len(r.lines) && strings.TrimSpace(r.lines[i]) != "" && r.opens(lines[0], strings.TrimSpace(r.lines[i]), len(lines[0])*3) && !lang.IsTableRow(strings.TrimSpace(r.lines[i])) {
		r.setHeading(lines[0])
		return i
	}
	r.inList, r.parents = false, nil
	var part []string
	over := "" // the line with only a label over these
	before, fields := len(r.out), messageHead(lines)
	for k, line := range lines {
		part = append(part, line)
		if k+1 == len(lines) || separate(line, lines[k+1], widest) {
			if over != "" && len(part) == 1 && labelOf(line) == "" && len(strings.Fields(line)) <= maxHeading {
				r.value(over, line)
			} else {
				r.prose(strings.Join(part, " "), len(part) == 1, from == 0 && k+1 == len(part))
				over = ""
			}
			if len(part) == 1 && strings.HasSuffix(line, ":") && len(strings.Fields(line)) <= 6 {
				over = line
			}
			part = nil
			r.blocks++
		}
		if k < fields {
			for _, c := range r.out[before:] {
				c.header = true
			}
		}
	}
	r.groupLabels(r.out[before:])
	return i
}

// messageHead returns the number of lines at the beginning of a paragraph that are the head of a message. It has two known fields, and a subject or an address.
func messageHead(lines []string) (n int) {
	known, sure := 0, false
	for i, l := range lines {
		f, ok := lang.MessageField(l)
		if !ok && (i == 0 || !strings.HasSuffix(lines[i-1], ",")) { // addresses go on
			break
		}
		if f.Known {
			known++
			n = i + 1
		}
		sure = sure || f.Subject || f.Known && strings.Contains(f.Value, "@")
	}
	if known < 2 || !sure {
		return 0
	}
	return n
}

// groupLabels makes a list of the labelled lines of a paragraph.
func (r *reader) groupLabels(cs []*sentence) {
	first := slices.IndexFunc(cs, func(c *sentence) bool { return c.label })
	if first < 0 || !slices.ContainsFunc(cs[first+1:], func(c *sentence) bool { return c.label }) {
		return
	}
	r.groups++
	for _, c := range cs[first:] {
		c.group = r.groups
	}
}

// maxHeading is the maximum number of words of a line that is a heading because it is short.
const maxHeading = 8

// opens reports whether the first line of a paragraph is a heading of the next one: it is in capitals, or short and without a full stop.
func (r *reader) opens(line, next string, widest int) bool {
	if labelOf(line) != "" || copyrightRE.MatchString(line) || authorHeadRE.MatchString(r.heading) || strings.ContainsAny(line[len(line)-1:], ".!?:;,-)\"") || len(strings.Fields(line)) > maxHeading {
		return false
	}
	if strings.ToUpper(line) == line && strings.ToLower(line) != line && len(line) > 3 {
		return true
	}
	first, _ := utf8.DecodeRuneInString(line)
	after, _ := utf8.DecodeRuneInString(next)
	return utf8.RuneCountInString(line) < widest/2 && (unicode.IsUpper(first) || unicode.IsDigit(first) || first == '§') &&
		(unicode.IsUpper(after) || unicode.IsDigit(after) || after == '(' || markerRE.MatchString(next)) && !strings.ContainsAny(line, "@|")
}

// separate reports whether two lines of a paragraph belong to different sentences: the first is too short to be wrapped, or the second has a label.
func separate(line, next string, widest int) bool {
	if strings.HasSuffix(line, ":") || labelOf(next) != "" && !strings.HasSuffix(line, ",") {
		return true
	}
	first, _ := utf8.DecodeRuneInString(next)
	if parallelRE.MatchString(line) && parallelRE.MatchString(next) || bothTimed(line, next) {
		return true
	}
	short := utf8.RuneCountInString(line) < widest*7/10
	return short && (unicode.IsUpper(first) || unicode.IsDigit(first) || unicode.IsPunct(first) || strings.ContainsAny(line[len(line)-1:], ".!?"))
}

// parallelRE matches a line that says something of a name or a time before a dash: Room 3 – Lamps.
var parallelRE = regexp.MustCompile(`^[\pL\pN][^.!?;–—]{0,40} [–—-] \S`)

// bothTimed reports whether two lines begin with a time of day, after the same word or none: ore 7.05 departure.
func bothTimed(line, next string) bool {
	before, first := lang.BeginsWithTime(line)
	word, second := lang.BeginsWithTime(next)
	return first && second && before == word
}

// prose adds the sentences of a text. The last one leads to a list or table if it ends with a colon, or is alone before a table.
func (r *reader) prose(text string, oneLine, first bool) {
	said := r.split(text)
	if len(said) == 0 {
		return
	}
	label := labelOf(said[0])
	mayContinue := first && r.passage.Chunk.Start > 0 || r.code
	for k, text := range said {
		c := &sentence{text: text}
		switch {
		case label != "" && k == 0:
			c.label = true
		case label != "":
			c.lead = label
		}
		r.lead = c.text
		c.checkComplete(r.lang, oneLine && len(said) == 1, mayContinue && k == 0 && !c.label)
		c.whole = c.whole || oneLine && len(said) == 1 && (authorHeadRE.MatchString(r.heading) || c.label && !looksLikeCode(c.text))
		r.add(c)
	}
}

// split returns the sentences of a text without markup.
func (r *reader) split(text string) (out []string) {
	for _, sp := range lang.Sentences(text) {
		if s := plain(text[sp.Start:sp.End]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// maxSection is the maximum number of words of the title of a section after a number.
const maxSection = 4

// isSection reports whether a line is the number and the title of a section, and the next line is of that section: 3. FIRST AID. A title that is not in
// capitals is short and follows a blank line.
func (r *reader) isSection(i int) bool {
	bare := strings.TrimSpace(r.lines[i])
	if i+1 == len(r.lines) || bare == "" || !unicode.IsDigit(rune(bare[0])) {
		return false
	}
	title := bare[len(markerRE.FindString(bare)):]
	next := strings.TrimSpace(r.lines[i+1])
	words := len(strings.Fields(title))
	if title == bare || len(title) <= 3 || words > maxHeading || next == "" || strings.ToLower(title) == title {
		return false
	}
	return strings.ToUpper(title) == title && !markerRE.MatchString(next) ||
		words <= maxSection && (i == 0 || strings.TrimSpace(r.lines[i-1]) == "") && !unicode.IsDigit(rune(next[0])) && next == strings.TrimRight(r.lines[i+1], " \t") &&
			!strings.ContainsAny(title[len(title)-1:], ".!?:;,")
}

// isHeading reports whether a line is the heading of the passage, or a short line without a full stop or a verb between blank lines.
func (r *reader) isHeading(i int) bool {
	line := strings.Join(strings.Fields(r.lines[i]), " ")
	for _, h := range append([]string{r.passage.Chunk.Title}, r.passage.Chunk.Headings...) {
		if line != "" && line == strings.Join(strings.Fields(h), " ") {
			return true
		}
	}
	blank := func(k int) bool { return strings.TrimSpace(r.lines[k]) == "" }
	alone := (i == 0 && r.passage.Chunk.Start == 0 || i > 0 && blank(i-1)) && i+2 < len(r.lines) && blank(i+1)
	if !alone || len(line) > 90 || copyrightRE.MatchString(line) || authorHeadRE.MatchString(r.heading) || strings.ContainsAny(line[len(line)-1:], ".!?:;,\"'") || strings.HasSuffix(line, ")") && !strings.Contains(line, "(") || labelOf(line) != "" {
		return false
	}
	if markerRE.MatchString(line) && markerRE.MatchString(strings.TrimSpace(r.lines[i+2])) {
		return false // an item of a list with blank lines
	}
	if strings.Count(line, ",")+strings.Count(line, ";")+strings.Count(line, "、") > 1 || strings.Contains(line, " · ") || strings.Contains(line, " | ") {
		return false // it lists things
	}
	words := lang.Words(line)
	for _, w := range words {
		if _, verb := verbs[w.Text]; verb && r.lang == lang.English {
			return false
		}
	}
	return len(words) <= 10
}

// verbs are frequent verbs. An English line with one of them is not a heading.
var verbs = wordSet("is are was were be has have had can could will would must may should does do did")

// value adds a line under a line that is only a label, such as a name under Authors.
func (r *reader) value(label, line string) {
	c := &sentence{text: plain(line), lead: plain(label), label: true}
	c.checkComplete(r.lang, true, false)
	c.whole = c.text != "" && !looksLikeCode(c.text)
	r.add(c)
}
