package parse

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

const (
	// markdownPart is the most source that goldmark parses in one call, because it cannot be cancelled and some inputs take more than
	// linear time. Parts are split before headings, so only link definitions in other parts are lost.
	markdownPart = 512 << 10
	// markdownNest is the deepest nesting of block markers on a line. Parts with deeper nesting are parsed as plain text, because goldmark
	// recurses.
	markdownNest = 64
)

// parseMarkdown parses CommonMark with tables, and YAML front matter.
func parseMarkdown(ctx context.Context, src source) (Parsed, error) {
	body, values := frontMatter(decode(src.data))
	var p Parsed
	p.Meta, p.Contributor = dublinCore(values)
	for len(body) > 0 && len(p.Blocks) <= src.limits.Blocks {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		part := markdownCut(body)
		if hostile(part) {
			p.Blocks = append(p.Blocks, textBlocks(part, src.limits.Blocks)...)
		} else {
			p.Blocks = append(p.Blocks, markdownBlocks([]byte(part))...)
		}
		body = body[len(part):]
	}
	if p.Meta.Title == "" {
		for _, b := range p.Blocks {
			if b.Kind == Heading && b.Level == 1 {
				p.Title = b.Text
				break
			}
		}
	}
	return p, nil
}

// markdownCut returns the next part: up to the last heading outside a fence within the limit, or else the last line.
func markdownCut(s string) string {
	if len(s) <= markdownPart {
		return s
	}
	fenced, cut, at := false, 0, 0
	for at < markdownPart {
		line, _, more := strings.Cut(s[at:], "\n")
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case !fenced && at > 0 && strings.HasPrefix(line, "#"):
			cut = at
		}
		if !more || at+len(line)+1 > markdownPart {
			break
		}
		at += len(line) + 1
	}
	switch {
	case cut > 0:
		return s[:cut]
	case at > 0:
		return s[:at]
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

var blockMarks = regexp.MustCompile(`^(?:[ \t]*(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)))*[ \t]*`)

// tableRule matches the delimiter row of a table, also in lists and quotes.
var tableRule = regexp.MustCompile(`^[ \t>]*(?:[-+*][ \t]+|\d{1,9}[.)][ \t]+)*[ \t|:>-]*-[ \t|:>-]*$`)

// maxPartCells limits the cells in the tables of a part. A cell takes some 500 bytes.
const maxPartCells = 200_000

// hostile reports whether a part has far more markup than ordinary documents, which would take too much time or memory.
func hostile(s string) bool {
	if strings.Count(s, "[") > 20_000 || strings.Count(s, "`") > 50_000 || strings.Count(s, "*")+strings.Count(s, "_") > 200_000 {
		return true
	}
	columns, cells := 0, 0 // of the current table, and of all tables
	for line := range strings.SplitSeq(s, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			columns = 0
		case tableRule.MatchString(line):
			columns = max(columns, strings.Count(line, "|")+1)
		default: // short rows are padded to the table's columns
			cells += columns
		}
		if cells > maxPartCells {
			return true
		}
		if len(line) > 256<<10 || strings.Count(line, "[") > 1000 || strings.Count(line, "<") > 5000 ||
			strings.Count(line, "|") > 2000 {
			return true
		}
		marks := blockMarks.FindString(line)
		if len(marks) > 4*markdownNest || strings.Count(marks, ">") > markdownNest {
			return true
		}
	}
	return false
}

func markdownBlocks(source []byte) []Block {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.DefinitionList))
	w := &markdownWalk{source: source}
	w.children(md.Parser().Parse(gmtext.NewReader(source)), 0)
	return w.out
}

type markdownWalk struct {
	source []byte
	out    []Block
}

func (w *markdownWalk) add(b Block) { w.out = append(w.out, b) }

// children appends the blocks under n; depth is the nesting depth of lists.
func (w *markdownWalk) children(n ast.Node, depth int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Heading:
			text, links := w.heading(c)
			w.add(Block{Kind: Heading, Level: c.Level, Text: text, Links: links})
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			w.add(Block{Kind: Code, Text: w.lines(c), Fenced: true})
		case *ast.HTMLBlock:
			raw := w.lines(c)
			if c.HasClosure() {
				raw += string(c.ClosureLine.Value(w.source))
			}
			w.out = append(w.out, htmlFragment(raw)...)
		case *ast.List:
			w.list(c, depth+1)
		case *east.Table:
			w.table(c)
		case *ast.Paragraph, *ast.TextBlock, *east.DefinitionTerm:
			if w.badges(c) {
				continue
			}
			text, links := w.inline(c)
			if onlyCode(c) {
				w.add(Block{Kind: Code, Text: text, Fenced: true})
				continue
			}
			strong, ok := c.FirstChild().(*ast.Emphasis)
			w.add(Block{Kind: Paragraph, Text: text, Links: links, Strong: ok && strong.Level == 2 && strong.NextSibling() == nil})
		case *ast.ThematicBreak, *ast.LinkReferenceDefinition:
		default:
			w.children(c, depth)
		}
	}
}

// list appends a block per item, followed by the other blocks of the item.
func (w *markdownWalk) list(l *ast.List, depth int) {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		mark = strings.Repeat("  ", min(depth-1, 8)) + mark
		first := item.FirstChild()
		rest := first
		if first != nil && (first.Kind() == ast.KindParagraph || first.Kind() == ast.KindTextBlock) {
			if text, links := w.inline(first); text != "" {
				w.add(Block{Kind: ListItem, Level: depth, Text: strings.TrimLeft(mark, " ") + text, Links: links, Tight: w.afterItem()})
			}
			rest = first.NextSibling()
		}
		if rest != nil {
			tail := &markdownWalk{source: w.source, out: w.out}
			for c := rest; c != nil; c = c.NextSibling() {
				tail.one(c, depth)
			}
			w.out = tail.out
		}
	}
}

// one adds a single block node.
func (w *markdownWalk) one(c ast.Node, depth int) {
	switch c := c.(type) {
	case *ast.List:
		w.list(c, depth+1)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.add(Block{Kind: Code, Text: w.lines(c), Fenced: true, Tight: true})
	case *ast.Paragraph, *ast.TextBlock:
		text, links := w.inline(c)
		w.add(Block{Kind: Paragraph, Text: text, Links: links, Tight: true})
	default:
		w.children(c, depth)
	}
}

func (w *markdownWalk) afterItem() bool {
	return len(w.out) > 0 && w.out[len(w.out)-1].Kind == ListItem
}

func (w *markdownWalk) table(t *east.Table) {
	first := true
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		var links []Link
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text, its := w.inline(cell)
			cells, links = append(cells, text), append(links, its...)
		}
		if text := tableRow(cells); text != "" {
			w.add(Block{Kind: TableRow, Text: text, Links: links, Tight: !first})
			first = false
		}
	}
}

// lines returns the source of a leaf block.
func (w *markdownWalk) lines(n ast.Node) string {
	var b strings.Builder
	for i := 0; i < n.Lines().Len(); i++ {
		seg := n.Lines().At(i)
		b.Write(seg.Value(w.source))
	}
	return strings.TrimRight(b.String(), "\n")
}

// heading returns the text of a heading without images, which are badges, unless it has only images.
func (w *markdownWalk) heading(n ast.Node) (string, []Link) {
	if words, links := w.inlineWithout(n, ast.KindImage); words != "" {
		return words, links
	}
	return w.inline(n)
}

// badges reports whether a paragraph consists of linked images only, such as the badges of a project.
func (w *markdownWalk) badges(n ast.Node) bool {
	linked := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.Kind() {
		case ast.KindLink:
			if c.FirstChild() == nil || c.FirstChild().Kind() != ast.KindImage {
				return false
			}
			if words, _ := w.inlineWithout(c, ast.KindImage); words != "" {
				return false
			}
			linked = true
		case ast.KindImage:
		case ast.KindText:
			if text := c.(*ast.Text); strings.TrimSpace(string(text.Segment.Value(w.source))) != "" {
				return false
			}
		default:
			return false
		}
	}
	return linked
}

// inline returns the visible text: the text of links and the descriptions of images.
func (w *markdownWalk) inline(n ast.Node) (string, []Link) {
	return w.inlineWithout(n, ast.NodeKind(-1))
}

// inlineWithout is like inline, and skips nodes of a kind.
func (w *markdownWalk) inlineWithout(n ast.Node, kind ast.NodeKind) (string, []Link) {
	var t linkedText
	var off muted
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if raw, ok := n.(*ast.RawHTML); ok && entering && raw.Segments.Len() > 0 {
			off.tag(string(raw.Segments.Value(w.source)))
		}
		if n.Kind() == kind || off.depth > 0 && n.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		if !entering {
			t.leave(n)
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			t.Write(unescape(n.Segment.Value(w.source), n.IsRaw()))
			if n.HardLineBreak() {
				t.WriteByte('\n')
			} else if n.SoftLineBreak() {
				t.WriteByte(softBreak)
			}
		case *ast.String:
			t.Write(n.Value)
		case *ast.Link:
			t.begin(string(n.Destination))
		case *ast.Image:
			t.cut()
		case *ast.CodeSpan:
			t.code = append(t.code, linkSpan{start: t.Len()})
		case *ast.AutoLink:
			target := string(n.URL(w.source))
			if n.AutoLinkType == ast.AutoLinkEmail {
				target = "mailto:" + target
			}
			t.begin(target)
			t.Write(n.Label(w.source))
		case *ast.RawHTML:
			if n.Segments.Len() > 0 {
				if at := n.Segments.At(0); isBreak(at.Value(w.source)) {
					t.WriteByte('\n')
				} else if n.Segments.Len() == 1 {
					t.tag(string(at.Value(w.source)))
				}
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	t.end()
	return t.all()
}

// muted is whether text is in a hidden element of HTML.
type muted struct {
	name  string // of the element
	depth int    // of elements with its name; 0 if none is open
}

// tag handles a tag within text.
func (m *muted) tag(s string) {
	z := html.NewTokenizer(strings.NewReader(s))
	kind := z.Next()
	t := z.Token()
	switch {
	case m.depth > 0 && t.Data != m.name, t.Data == "br" || t.Data == "img" || t.Data == "input" || t.Data == "wbr" || t.Data == "hr": // without an end
	case kind == html.EndTagToken && m.depth > 0:
		m.depth--
	case kind == html.StartTagToken && (m.depth > 0 || hidden(&html.Node{Type: html.ElementNode, Data: t.Data, Attr: t.Attr})):
		m.name = t.Data
		m.depth++
	}
}

// leave records the end of a link, an image or code.
func (t *linkedText) leave(n ast.Node) {
	switch n.(type) {
	case *ast.Link, *ast.AutoLink:
		t.end()
	case *ast.Image:
		t.anchor.start = t.Len()
	case *ast.CodeSpan:
		t.code[len(t.code)-1].end = t.Len()
	}
}

func isBreak(tag []byte) bool {
	return strings.HasPrefix(strings.ToLower(string(tag)), "<br")
}

// onlyCode reports whether a paragraph is nothing but a span of code, as a command in the instructions of a README.
func onlyCode(n ast.Node) bool {
	return n.ChildCount() == 1 && n.FirstChild().Kind() == ast.KindCodeSpan
}
