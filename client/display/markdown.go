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

// maxBlock is the maximum size of a block in bytes, because the time of rendering can grow faster than the size.
const maxBlock = 4 << 10

// maxStyled is the maximum size of text that is rendered as Markdown in bytes. The rest is shown as plain text. Hostile text takes up to a tenth
// of a second per block.
const maxStyled = 128 << 10

// maxNesting is the maximum depth of quotes and lists. Deeper text is shown as plain text.
const maxNesting = 12

// markdown renders a growing answer block by block. Complete blocks are rendered once for each width.
type markdown struct {
	width    int
	free     *glamour.TermRenderer // does not wrap
	bound    *glamour.TermRenderer // wraps tables to the width
	blocks   []block
	last     block // the incomplete block, as drawn last
	rendered int   // number of rendered blocks
}

// block is a block of the text with its rendered lines.
type block struct {
	source string
	begin  string // open code fence at its begin, or empty
	fence  string // open code fence at its end, or empty
	lines  []string
}

// lines renders the text as lines of at most width columns. The incomplete block is rendered at each call.
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

// ended removes trailing empty lines.
func ended(all []string) []string {
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// cut returns the length of the first block with its trailing blank lines, and whether it is complete, so that more text cannot change it. A
// block ends before an unindented line after a blank line, outside code fences. fence is the open fence at the start of the text, open that at
// the end of the block.
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

// piece returns the length of the block at the start of a line that is too long. It cuts at a space, otherwise between characters.
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

// fenced returns the open code fence after an unindented line, and whether the line opens or closes a fence. fence is the open one before it.
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

// fenceOf returns the code fence at the start of a line, or an empty string.
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

// render returns the lines of a block, followed by an empty line.
func (m *markdown) render(source string, styled bool) (lines []string) {
	m.rendered++
	text := laid(unescaped(Clean(source)), m.width)
	if styled {
		lines = m.styled(protectMarkers(text))
	}
	if lines == nil {
		lines = wrapped(strings.TrimSpace(restoreMarkers(protectMarkers(text))), m.width)
	}
	return append(lines, "")
}

// styled renders Markdown. It returns nil if that fails.
func (m *markdown) styled(text string) (lines []string) {
	if nested(text) {
		return nil
	}
	defer func() {
		if recover() != nil { // show plain text if the library panics
			lines, m.free, m.bound = nil, nil, nil
		}
	}()
	lines = rendered(&m.free, text, 0)
	for _, line := range lines {
		if strings.Contains(line, crossing) && xansi.StringWidth(line) > m.width {
			return cropped(rendered(&m.bound, text, m.width), m.width) // for example a wide table
		}
	}
	all := make([]string, 0, len(lines))
	for _, line := range lines {
		all = append(all, hung(line, m.width)...)
	}
	return all
}

// rendered returns the lines of a renderer with a maximum width, where 0 is unlimited. It returns nil if rendering fails. It creates the
// renderer if necessary.
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
	for line := range strings.SplitSeq(restoreMarkers(onlyColours(out)), "\n") {
		if line = trimmed(line); line != "" || len(lines) > 0 {
			lines = append(lines, line)
		}
	}
	return append([]string{}, ended(lines)...)
}

// cropped truncates lines that are too wide.
func cropped(lines []string, width int) []string {
	for i := range lines {
		lines[i] = xansi.Truncate(lines[i], width, "…")
	}
	return lines
}

// trimmed removes trailing padding, which can contain colours.
func trimmed(line string) string {
	if strings.TrimSpace(xansi.Strip(line)) == "" {
		return ""
	}
	return strings.TrimRight(line, " ")
}

// nested reports whether a text is nested deeper than maxNesting, according to the markers at the start of its lines.
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

// entity matches a numeric character reference, which the renderer would replace.
var entity = regexp.MustCompile(`&#(?:[xX]([0-9a-fA-F]{1,7})|([0-9]{1,8}));?`)

// unescaped replaces numeric character references, except those of hidden characters.
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

// A citation marker passes the renderer as a number between two private use characters, which Clean has removed from the text. It is not parsed
// as a link and has its final width.
const heldOpen, heldClose = "\ue000", "\ue001"

var (
	markers = regexp.MustCompile(`⟦⟦([0-9]{1,6})⟧⟧`)
	held    = regexp.MustCompile(heldOpen + `([0-9]{1,6})` + heldClose)
)

func protectMarkers(s string) string { return markers.ReplaceAllString(s, heldOpen+"${1}"+heldClose) }

func restoreMarkers(s string) string {
	s = held.ReplaceAllString(s, "\x1b[36m[${1}]\x1b[39m")
	return strings.NewReplacer(heldOpen, "[", heldClose, "]").Replace(s) // a marker that was wrapped
}

// escape matches a control sequence or the start of one.
var escape = regexp.MustCompile("\x1b\\[[0-9;:]*m|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b\\[[0-?]*[ -/]*[@-~]?|\x1b[^\\[\\]]?|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")

// onlyColours removes all control sequences except colours, for example hyperlinks.
func onlyColours(s string) string {
	return escape.ReplaceAllStringFunc(s, func(e string) string {
		if strings.HasPrefix(e, "\x1b[") && strings.HasSuffix(e, "m") {
			return e
		}
		return ""
	})
}

// columns and crossing separate the columns of a table and of its header. codeMargin is the indentation of code in columns.
const (
	columns    = "│"
	crossing   = "┼"
	codeMargin = 2
)

// style uses the sixteen colours of the terminal, which suit light and dark backgrounds.
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
