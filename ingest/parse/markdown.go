package parse

import (
	"context"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
)

const (
	// markdownPart is how much source goldmark is given at once: it cannot be stopped, and some inputs cost it more
	// than their length. Parts are cut before headings, so no more than a link's definition is lost.
	markdownPart = 512 << 10
	// markdownNest is how deep block marks may nest on a line before the part is read as plain text: goldmark
	// recurses.
	markdownNest = 64
)

// parseMarkdown reads CommonMark with tables, and YAML front matter.
func parseMarkdown(ctx context.Context, src source) (Parsed, error) {
	body, meta := frontMatter(decode(src.data))
	p := Parsed{Meta: meta}
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

// markdownCut takes the next part: up to the last heading outside a fence within the limit, or else the last line.
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

// tableRule is the line of a table that says how many columns it has, within lists and quotes too.
var tableRule = regexp.MustCompile(`^[ \t>]*(?:[-+*][ \t]+|\d{1,9}[.)][ \t]+)*[ \t|:>-]*-[ \t|:>-]*$`)

// maxPartCells is how many cells the tables of a part may have, at some 500 bytes each.
const maxPartCells = 200_000

// hostile reports marks in numbers that no writer uses and that cost more than they show.
func hostile(s string) bool {
	if strings.Count(s, "[") > 20_000 || strings.Count(s, "`") > 50_000 || strings.Count(s, "*")+strings.Count(s, "_") > 200_000 {
		return true
	}
	columns, cells := 0, 0 // of the table at hand, and of all
	for line := range strings.SplitSeq(s, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			columns = 0
		case tableRule.MatchString(line):
			columns = max(columns, strings.Count(line, "|")+1)
		default: // each row is filled up to the table's columns
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

// children adds the blocks under n; depth is how many lists they stand in.
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
			w.add(Block{Kind: Paragraph, Text: text, Links: links})
		case *ast.ThematicBreak, *ast.LinkReferenceDefinition:
		default:
			w.children(c, depth)
		}
	}
}

// list adds an item per mark; what else an item holds follows it.
func (w *markdownWalk) list(l *ast.List, depth int) {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if l.IsOrdered() {
			mark = itoa(number) + ". "
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

// lines is the source of a leaf block.
func (w *markdownWalk) lines(n ast.Node) string {
	var b strings.Builder
	for i := 0; i < n.Lines().Len(); i++ {
		seg := n.Lines().At(i)
		b.Write(seg.Value(w.source))
	}
	return strings.TrimRight(b.String(), "\n")
}

// heading is the text of a heading without the pictures beside it, which are badges.
func (w *markdownWalk) heading(n ast.Node) (string, []Link) {
	if words, links := w.inlineBut(n, ast.KindImage); words != "" {
		return words, links
	}
	return w.inline(n)
}

// badges says whether a paragraph is nothing but pictures that link to something, as the badges of a project are.
func (w *markdownWalk) badges(n ast.Node) bool {
	linked := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.Kind() {
		case ast.KindLink:
			if c.FirstChild() == nil || c.FirstChild().Kind() != ast.KindImage {
				return false
			}
			if words, _ := w.inlineBut(c, ast.KindImage); words != "" {
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

// inline is the text that a reader sees: of a link its words, of a picture its description.
func (w *markdownWalk) inline(n ast.Node) (string, []Link) { return w.inlineBut(n, ast.NodeKind(-1)) }

// inlineBut is inline without the nodes of a kind.
func (w *markdownWalk) inlineBut(n ast.Node, kind ast.NodeKind) (string, []Link) {
	var t linkedText
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Kind() == kind {
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
				t.WriteByte(' ')
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
	return strings.TrimSpace(t.String()), t.all()
}

// leave takes note of where a link, a picture or code ends.
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
