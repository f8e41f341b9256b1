package parse

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// parseHTML parses the visible text of a page's main part, without scripts, styles, navigation and hidden elements.
func parseHTML(ctx context.Context, src source) (Parsed, error) {
	text := decodeHTML(src.data)
	if costlyHTML(text) {
		return textOf(text, src.limits)
	}
	root, err := html.Parse(&ctxReader{ctx: ctx, r: strings.NewReader(text)})
	if ctx.Err() != nil {
		return Parsed{}, ctx.Err()
	}
	if err != nil { // elements are nested too deeply for the parser
		return textOf(text, src.limits)
	}
	var p Parsed
	htmlHead(root, &p)
	w := &htmlWalk{limit: src.limits.Text}
	w.walk(mainPart(root))
	w.undescribed()
	p.Blocks = preformatted(withoutMenu(w.out), src.limits.Blocks)
	if p.Title == "" && p.Meta.Title == "" {
		for _, b := range p.Blocks {
			if b.Kind == Heading && b.Level == 1 {
				p.Title = b.Text
				break
			}
		}
	}
	return p, nil
}

// textOf parses a page as the text between its tags.
func textOf(page string, limits Limits) (Parsed, error) {
	stripped := stripTags(page)
	if err := checkLines(stripped); err != nil {
		return Parsed{}, err
	}
	return Parsed{Blocks: textBlocks(stripped, limits.Blocks)}, nil
}

// htmlFragment parses HTML that is embedded in another format.
func htmlFragment(s string) []Block {
	if costlyHTML(s) {
		return textBlocks(stripTags(s), len(s))
	}
	root, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return textBlocks(stripTags(s), len(s))
	}
	w := &htmlWalk{limit: 2*len(s) + 1024}
	w.walk(root)
	w.undescribed()
	return w.out
}

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// stripTags returns the text between the tags.
func stripTags(s string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if name, _ := z.TagName(); skip == "" && (string(name) == "script" || string(name) == "style") {
				skip = string(name)
			}
			b.WriteByte(' ')
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
			b.WriteByte('\n')
		case html.TextToken:
			if skip == "" {
				b.Write(z.Text())
			}
		}
	}
}

// maxAuthors limits the authors of a page; each has a meta element of its own.
const maxAuthors = 20

// htmlHead reads the title and the meta elements.
func htmlHead(root *html.Node, p *Parsed) {
	values := map[string]any{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Html:
			if lang := attr(n, "lang"); lang != "" {
				values["language"] = lang
			}
		case atom.Title:
			if p.Title == "" && n.Namespace == "" && n.FirstChild != nil {
				p.Title = oneLine(n.FirstChild.Data)
			}
		case atom.Meta:
			name := strings.ToLower(attr(n, "name"))
			if name == "" {
				name = strings.ToLower(attr(n, "property"))
			}
			switch name {
			case "article:published_time":
				name = "date"
			case "og:description":
				name = "summary"
			case "article:author":
				name = "authors"
			}
			c := attr(n, "content")
			if all, _ := values[name].([]any); c != "" && len(all) < maxAuthors && (values[name] == nil || strings.HasSuffix(name, "author") || strings.HasSuffix(name, "creator")) {
				values[name] = append(all, c)
			}
		case atom.Link:
			if strings.EqualFold(attr(n, "rel"), "canonical") && strings.HasPrefix(attr(n, "href"), "http") && values["canonical"] == nil {
				values["canonical"] = attr(n, "href")
			}
		}
	}
	p.Meta, p.Contributor = dublinCore(values)
	if p.Meta == (corpus.DublinCore{Language: p.Meta.Language}) && p.Title == "" {
		return
	}
	if p.Title == "" {
		p.Title = p.Meta.Title
	}
}

// mainPart returns the page's main element if there is exactly one and it has a third of the text, else root.
func mainPart(root *html.Node) *html.Node {
	var found *html.Node
	count := 0
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.Main || attr(n, "role") == "main") && !hidden(n) {
			if found == nil {
				found = n
			}
			count++
		}
	}
	if count == 1 && textLength(found)*3 > textLength(root) {
		return found
	}
	return root
}

func textLength(root *html.Node) int {
	n := 0
	for c := range root.Descendants() {
		if c.Type == html.TextNode && (c.Parent == nil || !skipped(c.Parent)) {
			n += len(strings.TrimSpace(c.Data))
		}
	}
	return n
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// invisible matches a style, without white space, whose text cannot be seen on any background. White text is not invisible, because the background may be dark.
// tiny matches a style whose text has no size, unless an inner element sets another one, and sized a style that may set a size.
var (
	invisible = regexp.MustCompile(`(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:` + zeroCSS + `)`)
	tiny      = regexp.MustCompile(`(?:^|;)font-size:` + zeroCSS)
	sized     = regexp.MustCompile(`(?:^|;)font(?:-size)?:`)
	cssSpace  = regexp.MustCompile(`\s+|/\*.*?\*/`)
)

const zeroCSS = `\+?0*\.?0*(?:px|pt|em|rem|ex|ch|mm|cm|in|vw|vh|%)?(?:;|!|$)`

func styleOf(value string) string {
	return cssSpace.ReplaceAllString(strings.ToLower(lang.Truncate(value, maxStyle)), "")
}

// resized reports whether an element in n has a size of text of its own, as in the frames of newsletters.
func resized(n *html.Node) bool {
	for c := range n.Descendants() {
		if style := styleOf(attr(c, "style")); style != "" && sized.MatchString(style) && !tiny.MatchString(style) {
			return true
		}
	}
	return false
}

// maxStyle is the longest style that is read, in bytes.
const maxStyle = 4 << 10

// hidden reports whether an element cannot be seen by its own attributes, or is not part of the text. Style sheets are not read.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			if !strings.EqualFold(a.Val, "until-found") {
				return true
			}
		case "aria-hidden":
			if strings.EqualFold(a.Val, "true") {
				return true
			}
		case "style":
			if style := styleOf(a.Val); invisible.MatchString(style) || tiny.MatchString(style) && !resized(n) {
				return true
			}
		case "class":
			if isNavigation(n, a.Val) {
				return true
			}
		case "role":
			if a.Val == "navigation" || a.Val == "search" || a.Val == "banner" || a.Val == "contentinfo" {
				return true
			}
		}
	}
	return false
}

func skipped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Nav, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg,
		atom.Math, atom.Canvas, atom.Audio, atom.Video, atom.Head, atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Dialog:
		return true
	case atom.Footer, atom.Header:
		// only those of the page, not those of an article
		return n.Parent != nil && n.Parent.DataAtom == atom.Body
	}
	return false
}

// htmlWalk collects inline text until a block element ends it. The parser limits the nesting of elements, and so the recursion of walk.
type htmlWalk struct {
	out   []Block
	buf   strings.Builder
	limit int // bytes of text left
	kind  Kind
	level int
	lists []htmlList
	mark  string // of the current list item, until it has text
	tight bool
	a     anchor          // the link that is open, in buf
	links []Link          // of buf
	ids   map[string]bool // of the elements of the page; nil: not read yet
	term  int             // bytes at the beginning of buf that are a term, which its description follows; 0: none
}

type htmlList struct {
	ordered bool
	n       int
}

// cut ends the text of the open link. Text after an image or in another block becomes a link of its own.
func (w *htmlWalk) cut() {
	if w.a.open && w.buf.Len()-w.a.start <= 4*maxLink {
		w.links = appendLink(w.links, blockText(w.buf.String()[w.a.start:]), w.a.target)
	}
	w.a.start = w.buf.Len()
}

// isPermalink reports whether a link leads to a place on the same page and has a sign as its text, such as the ¶ that documentation has after each heading.
func isPermalink(n *html.Node) bool {
	if !strings.HasPrefix(attr(n, "href"), "#") {
		return false
	}
	for range 3 { // it may be in a span
		n = n.FirstChild
		switch {
		case n == nil || n.NextSibling != nil:
			return false
		case n.Type == html.TextNode:
			return len(n.Data) <= 16 && !strings.ContainsFunc(n.Data, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		}
	}
	return false
}

// link walks a link.
func (w *htmlWalk) link(n *html.Node) {
	if isPermalink(n) {
		return
	}
	if target := attr(n, "href"); target != "" {
		w.cut()
		w.a = anchor{true, w.buf.Len(), target}
		defer func() { w.a.open = false }()
		defer w.cut()
	}
	w.children(n)
}

func (w *htmlWalk) flush() {
	if w.waits() {
		return
	}
	described := w.term > 0
	w.term = 0
	w.cut()
	text, links := blockText(w.buf.String()), w.links
	w.buf.Reset()
	w.a.start, w.links = 0, nil
	if text == "" || w.limit <= 0 {
		return
	}
	b := Block{Kind: w.kind, Level: w.level, Text: text, Links: links}
	if len(w.lists) > 0 && w.kind != Heading {
		b.Tight = w.tight
		b.Kind, b.Level, w.tight = Paragraph, 0, true
		if w.mark != "" {
			b.Kind, b.Level, b.Text, w.mark = ListItem, len(w.lists), w.mark+text, ""
		}
	}
	if described && w.kind != Heading {
		b.Kind, b.Level = ListItem, max(1, len(w.lists))
		b.Text = "- " + text
	}
	w.limit -= len(b.Text)
	w.out = append(w.out, b)
}

// waits reports whether buf holds a term without its description.
func (w *htmlWalk) waits() bool {
	return w.term > 0 && strings.TrimSpace(w.buf.String()[w.term:]) == ""
}

// describe walks a term of a list of descriptions. The first text after it becomes an item with it: --quiet: Print nothing.
func (w *htmlWalk) describe(n *html.Node) {
	before := ""
	if w.waits() && w.term <= maxTerms { // a further term with the same description
		before = strings.TrimRight(w.buf.String()[:w.term], ": ") + ", "
		w.cut()
		w.buf.Reset()
		w.term = 0
		w.a.start = 0
	}
	w.undescribed()
	w.buf.WriteString(before)
	w.children(n)
	text := strings.TrimSpace(w.buf.String())
	if text == "" {
		return
	}
	if !strings.ContainsAny(text[len(text)-1:], ".:?!") {
		w.buf.WriteByte(':')
	}
	w.buf.WriteByte(' ')
	w.cut()
	w.term = w.buf.Len()
}

// maxTerms is the maximum length of terms that share a description, in bytes.
const maxTerms = 300

// undescribed flushes a term that no description follows.
func (w *htmlWalk) undescribed() {
	if w.waits() {
		w.term = 0
	}
	w.flush()
}

// blockText collapses white space as a browser does, except for the line breaks that walk marks with \v.
func blockText(s string) string {
	if strings.IndexByte(s, '\v') < 0 {
		return oneLine(s)
	}
	var lines []string
	for l := range strings.SplitSeq(s, "\v") {
		if l = oneLine(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

func (w *htmlWalk) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walk(c)
	}
}

func (w *htmlWalk) walk(n *html.Node) {
	if n.Type == html.TextNode {
		w.buf.WriteString(strings.ReplaceAll(n.Data, "\v", " "))
		return
	}
	if n.Type != html.ElementNode {
		w.children(n)
		return
	}
	if skipped(n) || hidden(n) || w.limit <= 0 {
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.undescribed()
		w.kind, w.level = Heading, int(n.Data[1]-'0')
		w.children(n)
		w.flush()
		w.kind, w.level = Paragraph, 0
	case atom.Pre, atom.Listing, atom.Xmp:
		w.undescribed()
		w.code(n)
	case atom.Ul, atom.Ol, atom.Menu:
		if !w.isContents(n) {
			w.list(n)
		}
	case atom.Table:
		w.table(n)
	case atom.Dt:
		w.describe(n)
	case atom.Dl:
		w.flush()
		w.children(n)
		w.undescribed()
	case atom.Br:
		w.buf.WriteByte('\v')
	case atom.Img:
		w.cut()
		w.buf.WriteString(" " + attr(n, "alt") + " ")
		w.a.start = w.buf.Len()
	case atom.A:
		w.link(n)
	case atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn, atom.Em, atom.Font,
		atom.I, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Output, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong,
		atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Big, atom.Ruby:
		w.children(n)
	default:
		if w.kind == Heading {
			w.children(n)
			return
		}
		if w.flush(); n.DataAtom == atom.P && isCode(n) {
			w.code(n)
			return
		}
		w.children(n)
		before := len(w.out)
		w.flush()
		if len(w.out) == before+1 && w.out[before].Kind == Paragraph && isStrong(n) {
			w.out[before].Strong = true
		}
	}
}

// isStrong reports whether all text of a paragraph is in bold.
func isStrong(n *html.Node) bool {
	strong := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "", c.DataAtom == atom.Br:
		case c.DataAtom == atom.B || c.DataAtom == atom.Strong:
			strong = true
		default:
			return false
		}
	}
	return strong && n.DataAtom == atom.P
}

func (w *htmlWalk) list(n *html.Node) {
	w.undescribed()
	outer, kind := w.mark, w.kind
	w.kind = Paragraph
	if len(w.lists) == 0 {
		w.tight = false
	}
	w.lists = append(w.lists, htmlList{ordered: n.DataAtom == atom.Ol})
	l := len(w.lists) - 1
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom == atom.Li && !hidden(c) {
			w.lists[l].n++
			w.mark = "- "
			if w.lists[l].ordered {
				w.mark = strconv.Itoa(w.lists[l].n) + ". "
			}
			w.children(c)
			w.flush()
			w.mark = ""
			continue
		}
		w.walk(c)
	}
	w.flush()
	w.lists, w.mark, w.kind = w.lists[:l], outer, kind
}

// rawText returns the unchanged text under n.
func rawText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode && (c.Parent == nil || !skipped(c.Parent)):
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// visibleText returns the text under n, with spaces between blocks, and its links.
func visibleText(n *html.Node) (string, []Link) {
	w := &htmlWalk{limit: 1 << 20}
	w.children(n)
	w.undescribed()
	parts := make([]string, len(w.out))
	var links []Link
	for i, b := range w.out {
		parts[i] = b.Text
		links = append(links, b.Links...)
	}
	return strings.Join(parts, " "), links
}
