package parse

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pdfLine is a line of text on a page.
type pdfLine struct {
	text   string
	x, end float64
	y      float64
	size   float64
	bold   bool
	mono   bool // in a monospaced font
	page   int
	level  int // of a heading of the outline of the text; 0: none
	turned turned
	cells  []pdfCell // nil: one
}

// maxLeftwards is the most bytes of a line before which text is put.
const maxLeftwards = 4000

// gatherLines joins adjacent runs to lines. It keeps the order of the content stream, which is the reading order in nearly all files, also
// with columns. Slanted text, such as a watermark, is left out.
func gatherLines(runs []pdfRun) []pdfLine {
	runs = placeSymbols(runs)
	var out []pdfLine
	var b strings.Builder
	var cur pdfLine
	var gaps []gap
	wide, last := gapOf(runs), ""
	boldChars, monoChars, chars := 0, 0, 0
	flush := func() {
		cur.text = oneLine(logicalOrder(b.String()))
		cur.bold, cur.mono = boldChars*10 > chars*8 && chars > 0, monoChars*10 > chars*8
		cur.cells = cellsOf(b.String(), cur, gaps)
		if cur.text != "" {
			out = append(out, cur)
		}
		b.Reset()
		boldChars, monoChars, chars, gaps = 0, 0, 0, gaps[:0]
	}
	for _, r := range runs {
		if r.turned == slanted || r.size < 0.5 || strings.TrimSpace(r.text) == "" && b.Len() == 0 {
			continue
		}
		near := b.Len() > 0 && r.turned == cur.turned && math.Abs(r.y-cur.y) < 0.45*max(cur.size, r.size)
		space := 0.17 * min(r.size, cur.size)
		switch {
		case near && r.x > cur.end-1.5*cur.size && r.x >= cur.x-1:
			if g := r.x - cur.end; g > narrowGap*min(r.size, cur.size) && len(gaps) < 2*maxPDFColumns {
				gaps = append(gaps, gap{b.Len(), cur.end, r.x, g > wide*min(r.size, cur.size) && (wide == wideGap || isGap(last, r.text))})
			}
			if r.x-cur.end > space {
				b.WriteByte(' ')
			}
			b.WriteString(r.text)
		case near && r.end <= cur.x+1 && r.end > cur.x-1.5*cur.size && b.Len() < maxLeftwards && hasRightToLeft(r.text+b.String()):
			before := r.text // a word to the left of the one before it in reading order
			if cur.x-r.end > space {
				before += " "
			}
			after := b.String()
			b.Reset()
			b.WriteString(before + after)
			cur.x = r.x
		default:
			if b.Len() > 0 {
				flush()
			}
			cur = pdfLine{x: r.x, end: r.x, y: r.y, size: r.size, turned: r.turned}
			b.WriteString(r.text)
		}
		n := utf8.RuneCountInString(strings.TrimSpace(r.text))
		if r.size > cur.size && n > 0 {
			cur.size, cur.y = r.size, r.y
		}
		chars += n
		if r.bold {
			boldChars += n
		}
		if r.mono {
			monoChars += n
		}
		cur.end, last = max(cur.end, r.end), r.text
	}
	if b.Len() > 0 {
		flush()
	}
	return out
}

// maxSymbolsBack is the maximum number of runs that a symbol is moved back by.
const maxSymbolsBack = 64

// placeSymbols puts runs of symbols, such as the boxes of a form, before the run to the right of them in their line. Programs write symbols after the other text
// of the line, because they are of another font.
func placeSymbols(runs []pdfRun) []pdfRun {
	var out []pdfRun // nil: as runs
	for i, r := range runs {
		at := i
		if isSymbol(r.text) {
			for k := i - 1; k >= max(0, i-maxSymbolsBack); k-- {
				o := runs[k]
				if out != nil {
					o = out[k]
				}
				if o.turned != r.turned || math.Abs(o.y-r.y) >= 0.45*max(o.size, r.size) || o.x < r.x {
					break
				}
				at = k
			}
		}
		if at < i && out == nil {
			out = slices.Clone(runs[:i])
		}
		if out != nil {
			out = slices.Insert(out, at, r)
		}
	}
	if out == nil {
		return runs
	}
	return out
}

// isSymbol reports whether a text is one or a few symbols, such as boxes and ticks.
func isSymbol(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && len(s) <= 12 && strings.IndexFunc(s, func(r rune) bool { return !unicode.Is(unicode.So, r) && r != ' ' }) < 0
}

var (
	pdfBullet  = regexp.MustCompile(`^(?:[•‣◦▪●■–]\s*|[-*]\s+|\(?\d{1,3}[.)]\s+|\([a-z]\)\s+)\S`)
	numbered   = regexp.MustCompile(`^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.|(?:Chapter|Appendix|Part|Section)\s+\w{1,4})[.:]?\s+\p{Lu}`)
	chapter    = regexp.MustCompile(`^(?:Chapter|CHAPTER|Appendix|APPENDIX)\s+(?:\d{1,3}|[A-Z]|[IVXLC]{1,6})(?:\s*[:.–—-]\s*\S.*)?$`)
	anyNumber  = regexp.MustCompile(`\d+|^[ivxlc]+\b|\b[ivxlc]+$`)
	pageNumber = regexp.MustCompile(`^(?i:(?:page|seite|p\.)\s*)?[-–(]?\s*#\s*[-–)]?(?:\s*(?:/|of|von)\s*#)?$`)
)

// repeated returns the folded lines at the top or the bottom of half of the pages: running heads and page numbers. A line of words and a page
// number only has to be on half of the pages between its first and its last, as the running head of a chapter is.
func repeated(pages [][]pdfLine) map[string]bool {
	type pageRange struct{ first, last, n int }
	found := map[string]pageRange{}
	for page, lines := range pages {
		seen := map[string]bool{}
		for _, i := range margins(lines) {
			f := foldLine(lines[i].text)
			if seen[f] {
				continue
			}
			seen[f] = true
			at, ok := found[f]
			if !ok {
				at.first = page
			}
			found[f] = pageRange{at.first, page, at.n + 1}
		}
	}
	out := map[string]bool{}
	for f, at := range found {
		among := len(pages)
		if (strings.HasPrefix(f, "# ") || strings.HasSuffix(f, " #")) && strings.ContainsFunc(f, unicode.IsLetter) {
			among = at.last - at.first + 1
		}
		if at.n >= 3 && at.n*2 >= among || at.n >= 2 && pageNumber.MatchString(f) {
			out[f] = true
		}
	}
	return out
}

// foldLine replaces the numbers of a line by a placeholder, and a Roman page number at either end.
func foldLine(s string) string { return anyNumber.ReplaceAllString(s, "#") }

// margins returns the indexes of the two topmost and the two lowest lines.
func margins(lines []pdfLine) []int {
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].y, lines[a].y) })
	if len(order) <= 4 {
		return order
	}
	return append(order[:2:2], order[len(order)-2:]...)
}

// bodySize returns the most common font size, by letters.
func bodySize(pages [][]pdfLine) float64 {
	counts := map[float64]int{}
	for _, lines := range pages {
		for _, l := range lines {
			counts[roundSize(l.size)] += len(l.text)
		}
	}
	best, most := 0.0, -1
	for size, n := range counts {
		if n > most || n == most && size < best {
			best, most = size, n
		}
	}
	return best
}

func roundSize(s float64) float64 { return math.Round(s*2) / 2 }

// clearMono marks all lines as not monospaced if most of the text is: it is not code then.
func clearMono(pages [][]pdfLine) {
	mono, all := 0, 0
	for _, lines := range pages {
		for _, l := range lines {
			if all += len(l.text); l.mono {
				mono += len(l.text)
			}
		}
	}
	if 2*mono <= all {
		return
	}
	for _, lines := range pages {
		for i := range lines {
			lines[i].mono = false
		}
	}
}

// headingLevels ranks the font sizes of large short lines.
func headingLevels(pages [][]pdfLine, body float64) map[float64]int {
	seen := map[float64]bool{}
	for _, lines := range pages {
		for _, l := range lines {
			if s := roundSize(l.size); s >= body*1.12 && headingLike(l.text) {
				seen[s] = true
			}
		}
	}
	sizes := slices.Collect(maps.Keys(seen))
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	out := map[float64]int{}
	for i, s := range sizes {
		out[s] = min(i+1, 5)
	}
	return out
}

func headingLike(s string) bool {
	if len(s) > 200 {
		return false
	}
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}

// maxLeading is the greatest distance of two lines of a paragraph, as a multiple of their size.
const maxLeading = 1.75

// pdfLayout turns lines into blocks.
type pdfLayout struct {
	out     []Block
	levels  map[float64]int
	outline map[string]int
	body    float64
	lines   []pdfLine // of the current block
	kind    Kind
	level   int

	lastTable            *pdfTable
	tableEnd             int      // number of blocks after its last row
	headCells, lastCells []string // its first and its last row
}

func pdfBlocks(pages [][]pdfLine, outline map[string]int) []Block {
	drop := repeated(pages)
	for i, lines := range pages {
		if len(pages) < 2 {
			break
		}
		edge := map[int]bool{}
		for _, j := range margins(lines) {
			edge[j] = drop[foldLine(lines[j].text)]
		}
		var kept []pdfLine
		for j, l := range lines {
			if !edge[j] {
				kept = append(kept, l)
			}
		}
		pages[i] = kept
	}
	clearMono(pages)
	l := &pdfLayout{body: bodySize(pages), outline: outline}
	l.levels = headingLevels(pages, l.body)
	if l.read(pages); countHeadings(l.out) <= 1 && markLines(pages) {
		l = &pdfLayout{body: l.body, levels: l.levels, outline: outline}
		l.read(pages)
	}
	return l.out
}

// maxIndent is the indentation, as a multiple of the size of a line, from which a line is not that of a list: it is centered, or in a further column.
const maxIndent = 8

// markLines marks the lines that are headings by their numbers, as in a plain text, and reports whether there are any.
func markLines(pages [][]pdfLine) bool {
	left := math.Inf(1)
	for _, lines := range pages {
		for _, line := range lines {
			left = min(left, line.x)
		}
	}
	var b strings.Builder
	var all []*pdfLine
	var starts []int // of all
	for _, lines := range pages {
		for i := range lines {
			line := &lines[i]
			if i > 0 && math.Abs(lines[i-1].y-line.y) > maxLeading*line.size {
				b.WriteByte('\n')
			}
			all, starts = append(all, line), append(starts, b.Len())
			b.WriteString(line.plain(left) + "\n")
		}
	}
	headings := findOutline(b.String()).headings
	for _, h := range headings {
		if i, ok := slices.BinarySearch(starts, h.start); ok {
			all[i].level = h.level
		}
	}
	return len(headings) > 0
}

// plain returns a line as in a plain text: indented, with spaces between cells, and marked if it can be no title.
func (l pdfLine) plain(left float64) string {
	if l.mono || l.turned != upright {
		return "|" + l.text
	}
	text := l.text
	if len(l.cells) > 0 {
		var cells []string
		for _, c := range l.cells {
			cells = append(cells, c.text)
		}
		text = strings.Join(cells, "   ")
	}
	if indent := math.Round((l.x - left) / l.size); indent >= 0 && indent < maxIndent { // a size can be 0
		text = strings.Repeat(" ", int(indent)) + text
	}
	return text
}

// read appends the blocks of pages.
func (l *pdfLayout) read(pages [][]pdfLine) {
	for _, lines := range pages {
		from := 0
		for _, t := range tablesOf(lines) {
			l.text(lines[from:t.first])
			l.table(&t, lines)
			from = t.after
		}
		l.text(lines[from:])
	}
	l.flush()
}

func (l *pdfLayout) text(lines []pdfLine) {
	for _, line := range lines {
		l.line(line)
	}
}

func (l *pdfLayout) line(line pdfLine) {
	kind, level := Paragraph, 0
	if lv := l.heading(line); lv > 0 {
		kind, level = Heading, lv
	} else if l.isCode(line) {
		kind = Code
	} else if pdfBullet.MatchString(line.text) {
		kind, level = ListItem, 1
	}
	if l.isTerm(line, kind) {
		l.kind, l.lines[0].text = Paragraph, strings.TrimRight(l.lines[0].text, ":")+":"
		l.lines = append(l.lines, line)
		return
	}
	if len(l.lines) > 0 && l.continues(line, kind, level) {
		l.lines = append(l.lines, line)
		return
	}
	l.flush()
	l.lines, l.kind, l.level = append(l.lines, line), kind, level
}

// isTerm reports whether the only line of code is a term, which the next line, further to the right, explains.
func (l *pdfLayout) isTerm(next pdfLine, kind Kind) bool {
	if len(l.lines) != 1 || l.kind != Code || kind != Paragraph {
		return false
	}
	term := l.lines[0]
	down := term.y - next.y
	return next.page == term.page && down > 0 && down < 2*next.size && next.x > term.x+0.8*next.size
}

// isCode reports whether a line is code: text in a monospaced font, but not in the middle of a paragraph.
func (l *pdfLayout) isCode(line pdfLine) bool {
	if !line.mono || line.turned != upright || strings.ContainsRune("•‣◦▪●■", firstRune(line.text)) {
		return false
	}
	n := len(l.lines)
	return n == 0 || l.kind == Code || l.kind == Heading || strings.ContainsRune(".:", lastRune(l.lines[n-1].text)) || !l.continues(line, Paragraph, 0)
}

// heading returns the heading level of a line, or 0. The table of contents takes precedence over the font size. Other headings are bold
// lines that are numbered or short.
func (l *pdfLayout) heading(line pdfLine) int {
	if line.level > 0 {
		return line.level
	}
	if lv := l.outline[foldTitle(line.text)]; lv > 0 && (line.bold || line.size > l.body*1.02 || numbered.MatchString(line.text)) {
		return lv
	}
	if lv := l.levels[roundSize(line.size)]; lv > 0 && headingLike(line.text) {
		return lv
	}
	if line.bold && !line.mono && len(line.text) <= 100 && headingLike(line.text) && !strings.ContainsAny(line.text[len(line.text)-1:], ".,;:") &&
		(numbered.MatchString(line.text) || len(line.text) <= 60 && unicode.IsUpper(firstRune(line.text))) {
		return min(len(l.levels)+1, 6)
	}
	if chapter.MatchString(line.text) && len(line.text) <= 100 && lastRune(line.text) != '.' {
		return 1
	}
	return 0
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// continues reports whether the line belongs to the current block.
func (l *pdfLayout) continues(line pdfLine, kind Kind, level int) bool {
	last := l.lines[len(l.lines)-1]
	down := last.y - line.y
	near := line.page == last.page && down > 0 && down < maxLeading*max(last.size, line.size)
	if l.kind == Code || kind == Code {
		return l.kind == kind && line.page == last.page && down > 0 && down < 3*line.size && len(l.lines) < 400
	}
	if l.kind == Heading || kind == Heading {
		return l.kind == kind && l.level == level && near && math.Abs(line.size-last.size) < 0.6 && line.level == 0 && !numbered.MatchString(line.text) &&
			len(l.lines) < 4
	}
	if kind == ListItem || len(l.lines) > 400 || line.turned != last.turned {
		return false
	}
	if math.Abs(line.size-last.size) > 0.12*last.size {
		return false
	}
	ended := strings.ContainsRune(".!?:”\"", lastRune(last.text))
	if line.page != last.page || down <= 0 { // a new page or column
		full := len(l.lines) > 2 && last.end > widest(l.lines)-6*last.size
		return !ended && (full || unicode.IsLower(firstRune(line.text)) || strings.HasSuffix(last.text, "-") || strings.HasSuffix(last.text, ","))
	}
	if !near {
		return false
	}
	first := l.lines[0]
	if l.kind == ListItem {
		return line.x > first.x-0.5*line.size || !ended
	}
	// An indented first line, or a line after a short last line.
	if ended && (line.x > last.x+0.8*line.size && line.x > first.x+0.1*line.size || len(l.lines) > 1 && last.end < widest(l.lines)-8*line.size) {
		return false
	}
	return true
}

func widest(lines []pdfLine) float64 {
	w := 0.0
	for _, l := range lines {
		w = max(w, l.end)
	}
	return w
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// flush joins the lines of the current block, and words that are hyphenated at the end of a line.
func (l *pdfLayout) flush() {
	if len(l.lines) == 0 {
		return
	}
	b := Block{Kind: l.kind, Level: l.level, Page: l.lines[0].page, Fenced: l.kind == Code}
	if n := len(l.out); n > 0 && b.Kind == ListItem && l.out[n-1].Kind == ListItem {
		b.Tight = true
	}
	var text []byte
	page := b.Page
	for i, line := range l.lines {
		switch {
		case l.kind == Code:
			text = append(text, l.indent(i)...)
		case i > 0:
			text = joinLine(text, line.text)
		}
		if line.page != page {
			page = line.page
			b.PageBreaks = append(b.PageBreaks, PageBreak{Offset: len(text), Page: page})
		}
		text = append(text, line.text...)
	}
	b.Text = string(text)
	l.out = append(l.out, b)
	l.lines = l.lines[:0]
}

// indent returns what precedes a line of code: a newline, an empty line for a wide distance, and spaces.
func (l *pdfLayout) indent(i int) string {
	line, left := l.lines[i], l.lines[i].x
	for _, o := range l.lines {
		left = min(left, o.x)
	}
	out := ""
	if i > 0 {
		if out = "\n"; l.lines[i-1].y-line.y > 1.7*line.size {
			out = "\n\n"
		}
	}
	width := (line.end - line.x) / float64(max(1, utf8.RuneCountInString(line.text)))
	return out + strings.Repeat(" ", max(0, min(40, int(math.Round((line.x-left)/max(width, 1))))))
}

// joinLine prepares a text for its next line: it removes a hyphen that cuts a word, or appends a space.
func joinLine(text []byte, next string) []byte {
	switch {
	case cutWord(text, next):
		return text[:len(text)-1]
	case len(text) > 0 && (text[len(text)-1] != '-' || conjunction.MatchString(next)) && !unspaced(text, next):
		return append(text, ' ')
	}
	return text
}

// unspacedScripts are written without spaces between words. Lines of them are joined without a space.
var unspacedScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
	{R16: []unicode.Range16{{Lo: 0x3000, Hi: 0x303f, Stride: 1}, {Lo: 0x30fb, Hi: 0x30fc, Stride: 1}, {Lo: 0xff01, Hi: 0xff65, Stride: 1}}}} // and their punctuation

// unspaced reports whether no space stands between a line and the next one because of their scripts.
func unspaced(text []byte, next string) bool {
	before, _ := utf8.DecodeLastRune(text)
	return unicode.In(before, unspacedScripts...) && unicode.In(firstRune(next), unspacedScripts...)
}

// cutWord reports whether a line ends with a hyphenated word.
func cutWord(text []byte, next string) bool {
	if len(text) < 2 || text[len(text)-1] != '-' {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:len(text)-1])
	return unicode.IsLower(before) && unicode.IsLower(firstRune(next)) && !conjunction.MatchString(next)
}

// conjunction matches what follows a word whose end another one has too: Leistungs- und Verhaltenskontrolle.
var conjunction = regexp.MustCompile(`^(?:und|oder|bzw\.|sowie|and)(?:\s|$)`)
