package display

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	xansi "github.com/charmbracelet/x/ansi"
)

// maxBlock is the most bytes of Markdown that are rendered in one piece: the time that takes may grow faster than the piece does.
const maxBlock = 4 << 10

// maxStyled is how much of a text is rendered as Markdown, in bytes; what follows is shown as it is. Strange text takes up to a tenth of a second
// for each block.
const maxStyled = 128 << 10

// maxNesting is the most quotes or lists in each other; text that has more is shown as it is.
const maxNesting = 12

// markdown renders an answer that grows. The text is rendered by blocks, and those that are over are rendered once for each width.
type markdown struct {
	width    int
	free     *glamour.TermRenderer // breaks no line
	bound    *glamour.TermRenderer // fits tables to the width
	blocks   []block
	last     block // the one that is not over, as it was drawn last
	rendered int   // blocks rendered so far
}

// block is a piece of the text that is over, and its lines.
type block struct {
	source string
	begin  string // the fence of code that it begins in; empty: none
	fence  string // the one that goes on in the next block
	lines  []string
}

// lines gives the text as lines of at most so many columns. The last block is rendered anew each time.
func (m *markdown) lines(text string, width int) []string {
	if width = max(width, 4); width != m.width {
		*m = markdown{width: width, rendered: m.rendered}
	}
	at, fence := 0, ""
	for i, b := range m.blocks {
		if !strings.HasPrefix(text[at:], b.source) {
			m.blocks = m.blocks[:i]
			break
		}
		at, fence = at+len(b.source), b.fence
	}
	var all []string
	for _, b := range m.blocks {
		all = append(all, b.lines...)
	}
	for at < len(text) {
		n, open, over := cut(text[at:], fence)
		b := block{source: text[at : at+n], begin: fence, fence: open}
		if !over && b.source == m.last.source && b.begin == m.last.begin {
			return ended(append(all, m.last.lines...))
		}
		source := b.source
		if fence != "" {
			source = fence + "\n" + source
		}
		b.lines = m.render(source, at < maxStyled)
		all = append(all, b.lines...)
		if !over {
			m.last = b
			break
		}
		m.blocks = append(m.blocks, b)
		at, fence = at+n, open
	}
	return ended(all)
}

// ended takes the empty lines off the end.
func ended(all []string) []string {
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// cut gives the length of the text's first block, with the blank lines behind it, and whether it is over: more of the text cannot change it.
// A block ends before a line behind a blank one that is not indented, outside fences of code. Fence is the one that the text begins in; open
// is the one that it goes on in.
func cut(text, fence string) (n int, open string, over bool) {
	blank := false
	for at := 0; at < len(text); {
		if at >= maxBlock {
			return at, fence, true
		}
		end := strings.IndexByte(text[at:], '\n')
		whole := end >= 0
		if !whole {
			end = len(text) - at
		}
		if end > maxBlock {
			return at + piece(text[at:]), fence, true
		}
		line := text[at : at+end]
		body := strings.TrimLeft(line, " \t")
		switch {
		case body == "":
			blank = blank || whole && fence == ""
		case blank && fence == "" && body == line:
			return at, "", true
		default:
			_, fence = fenced(body, fence)
			blank = false
		}
		if at += end; whole {
			at++
		}
	}
	return len(text), fence, false
}

// piece gives how much of a line that is too long makes a block: up to a blank, or else to a character.
func piece(line string) int {
	if i := strings.LastIndexByte(line[:maxBlock], ' '); i > maxBlock/2 {
		return i + 1
	}
	n := maxBlock
	for n > 1 && !utf8.RuneStart(line[n]) {
		n--
	}
	return n
}

// fenced takes a line, without what it is indented by, and the fence of code that it stands in. It gives the one that goes on behind it, and
// whether the line is an edge of it.
func fenced(line, fence string) (edge bool, open string) {
	f := fenceOf(line)
	switch {
	case fence == "":
		return f != "", f
	case strings.HasPrefix(f, fence) && strings.Trim(line, f[:1]+" \t\r") == "":
		return true, ""
	}
	return false, fence
}

// fenceOf gives the fence that a line begins with; empty: none.
func fenceOf(line string) string {
	for _, c := range []byte("`~") {
		n := 0
		for n < len(line) && line[n] == c {
			n++
		}
		if n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// render gives a block's lines with an empty one behind them.
func (m *markdown) render(source string, styled bool) (lines []string) {
	m.rendered++
	text := laid(unescaped(Clean(source)), m.width)
	if styled {
		lines = m.styled(hold(text))
	}
	if lines == nil {
		lines = wrapped(strings.TrimSpace(release(hold(text))), m.width)
	}
	return append(lines, "")
}

// styled renders Markdown; nil where that is not to be had.
func (m *markdown) styled(text string) (lines []string) {
	if nested(text) {
		return nil
	}
	defer func() {
		if recover() != nil { // a library's fault over a strange text costs its looks and not the answer
			lines, m.free, m.bound = nil, nil, nil
		}
	}()
	lines = rendered(&m.free, text, 0)
	for _, line := range lines {
		if strings.Contains(line, crossing) && xansi.StringWidth(line) > m.width {
			return cropped(rendered(&m.bound, text, m.width), m.width) // a table that has to be made narrower
		}
	}
	all := make([]string, 0, len(lines))
	for _, line := range lines {
		all = append(all, hung(line, m.width)...)
	}
	return all
}

// rendered gives the renderer's lines, of any width or of one at most; nil where there are none to be had. The renderer is made where there is none.
func rendered(r **glamour.TermRenderer, text string, width int) (lines []string) {
	if *r == nil {
		made, err := glamour.NewTermRenderer(glamour.WithStyles(style()), glamour.WithWordWrap(width), glamour.WithPreservedNewLines(),
			glamour.WithChromaFormatter("terminal16"))
		if err != nil {
			return nil
		}
		*r = made
	}
	out, err := (*r).Render(text)
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(release(onlyColours(out)), "\n") {
		if line = trimmed(line); line != "" || len(lines) > 0 {
			lines = append(lines, line)
		}
	}
	return append([]string{}, ended(lines)...)
}

// cropped cuts the lines that are wider all the same.
func cropped(lines []string, width int) []string {
	for i := range lines {
		lines[i] = xansi.Truncate(lines[i], width, "…")
	}
	return lines
}

// trimmed takes the blanks off a line's end, which padding puts there in colours.
func trimmed(line string) string {
	if strings.TrimSpace(xansi.Strip(line)) == "" {
		return ""
	}
	return strings.TrimRight(line, " ")
}

// nested tells whether a text nests deeper than is rendered, by what stands before the words of its lines.
func nested(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		depth, blanks := 0, 0
		for i := 0; i < len(line) && strings.IndexByte(" \t>-*+0123456789.)[]", line[i]) >= 0; i++ {
			switch line[i] {
			case '>', '-', '*', '+', '.', ')':
				depth++
			case ' ':
				blanks++
			case '\t':
				blanks += 4
			}
		}
		if depth > maxNesting && strings.Trim(line, "-*_ \t") != "" || blanks > 4*maxNesting {
			return true
		}
	}
	return strings.Count(text, "[") > 400 || strings.Count(text, "*")+strings.Count(text, "_")+strings.Count(text, "~") > 1500 || strings.Count(text, "|") > 1500
}

// entity is a character by its number, which the renderer would put in its place.
var entity = regexp.MustCompile(`&#(?:[xX]([0-9a-fA-F]{1,7})|([0-9]{1,8}));?`)

// unescaped gives characters that are written as numbers, but for those that are not shown.
func unescaped(s string) string {
	if !strings.Contains(s, "&#") {
		return s
	}
	return entity.ReplaceAllStringFunc(s, func(e string) string {
		m := entity.FindStringSubmatch(e)
		n, err := strconv.ParseInt(m[1], 16, 32)
		if m[1] == "" {
			n, err = strconv.ParseInt(m[2], 10, 32)
		}
		if err != nil || n > utf8.MaxRune || n < ' ' || hidden(rune(n)) {
			return "\ufffd"
		}
		return e
	})
}

// A citation's marker goes through the renderer as a number between two private characters, which Clean has left out of the text, so that it
// is no link and as wide as it will be.
const heldOpen, heldClose = "\ue000", "\ue001"

var (
	markers = regexp.MustCompile(`⟦⟦([0-9]{1,6})⟧⟧`)
	held    = regexp.MustCompile(heldOpen + `([0-9]{1,6})` + heldClose)
)

func hold(s string) string { return markers.ReplaceAllString(s, heldOpen+"${1}"+heldClose) }

func release(s string) string {
	s = held.ReplaceAllString(s, "\x1b[36m[${1}]\x1b[39m")
	return strings.NewReplacer(heldOpen, "[", heldClose, "]").Replace(s) // of a marker that was broken over lines
}

// escape is a control sequence of colour, or any other, or the beginning of one.
var escape = regexp.MustCompile("\x1b\\[[0-9;:]*m|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b\\[[0-?]*[ -/]*[@-~]?|\x1b[^\\[\\]]?|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")

// onlyColours leaves out every control sequence but those of colours: links that point elsewhere than they say, and what slipped through.
func onlyColours(s string) string {
	return escape.ReplaceAllStringFunc(s, func(e string) string {
		if strings.HasPrefix(e, "\x1b[") && strings.HasSuffix(e, "m") {
			return e
		}
		return ""
	})
}

// columns stands between those of a table, and crossing below its head; codeMargin is how far code is indented, in columns.
const (
	columns    = "│"
	crossing   = "┼"
	codeMargin = 2
)

// style is how Markdown looks: the sixteen colours of the terminal, which fit a light ground as well as a dark one.
func style() ansi.StyleConfig {
	heading := ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: new(true), Color: new("4"), BlockSuffix: "\n"}}
	plain := ansi.StyleBlock{}
	code := "3"
	c := ansi.StyleConfig{
		BlockQuote: ansi.StyleBlock{Indent: new(uint(1)), IndentToken: new("│ "), StylePrimitive: ansi.StylePrimitive{Faint: new(true)}},
		Paragraph:  plain, List: ansi.StyleList{LevelIndent: 2}, Heading: heading,
		H1: plain, H2: prefixed("## "), H3: prefixed("### "), H4: prefixed("#### "), H5: prefixed("##### "), H6: prefixed("###### "),
		Strikethrough:  ansi.StylePrimitive{CrossedOut: new(true)},
		Emph:           ansi.StylePrimitive{Italic: new(true)},
		Strong:         ansi.StylePrimitive{Bold: new(true)},
		HorizontalRule: ansi.StylePrimitive{Format: "\n────────\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[✓] ", Unticked: "[ ] "},
		Link:           ansi.StylePrimitive{Color: new("6"), Underline: new(true)},
		LinkText:       ansi.StylePrimitive{Bold: new(true)},
		Image:          ansi.StylePrimitive{Color: new("6"), Underline: new(true)},
		ImageText:      ansi.StylePrimitive{Format: "image: {{.text}} →"},
		Code:           ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &code}},
		CodeBlock:      ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: new(uint(codeMargin)), StylePrimitive: ansi.StylePrimitive{Color: &code}}},
		Table:          ansi.StyleTable{CenterSeparator: new(crossing), ColumnSeparator: new(columns), RowSeparator: new("─")},
		DefinitionTerm: ansi.StylePrimitive{Bold: new(true)},
	}
	return c
}

func prefixed(s string) ansi.StyleBlock {
	return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: s}}
}
