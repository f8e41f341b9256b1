package parse

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice-rag/sluice/lang"
)

// This file has what generators of manuals write: preformatted pages, links to other pages, tables of contents, menus, and paragraphs of code.

// preformatted returns the blocks of a page. If most of it is prose in preformatted text, as in the HTML of RFCs and of manuals in plain text, this is parsed
// as text.
func preformatted(blocks []Block, limit int) []Block {
	all := 0
	var code strings.Builder
	for _, b := range blocks {
		all += len(b.Text)
		if b.Kind == Code {
			code.WriteString(b.Text + "\n\n")
		}
	}
	if 4*code.Len() < 3*all || !isProse(code.String()) {
		return blocks
	}
	var out []Block
	for _, b := range blocks {
		if b.Kind == Code {
			out = append(out, textBlocks(b.Text, limit)...)
		} else {
			out = append(out, b)
		}
	}
	return out
}

// minStopWords is the least share of stop words of prose. Most code has less than half of that.
const minStopWords = 0.25

// isProse reports whether a text is prose, judged by its beginning.
func isProse(s string) bool {
	s = lang.Truncate(s, 64<<10)
	l := lang.OfQuestion(s)
	words, stops := 0, 0
	for _, w := range lang.Words(s) {
		words++
		if l.IsStopWord(w.Text) {
			stops++
		}
	}
	return words > 0 && float64(stops) >= minStopWords*float64(words)
}

// navigation are the classes of links to other pages in the manuals of DocBook, Publican and LaTeX2HTML.
var navigation = lang.WordSet("navheader navfooter docnav navigation")

// code appends the text under n as code.
func (w *htmlWalk) code(n *html.Node) {
	code := strings.Trim(rawText(n), "\n")
	w.limit -= len(code)
	w.out = append(w.out, Block{Kind: Code, Text: code, Fenced: true})
}

// isCode reports whether a paragraph has nothing but code of several words, as the manual of Apache writes commands.
func isCode(n *html.Node) bool {
	found := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "", c.DataAtom == atom.Br:
		case c.DataAtom == atom.Code && !found:
			found = true
		default:
			return false
		}
	}
	return found && len(strings.Fields(rawText(n))) > 1
}

// isNavigation reports whether an element with these classes has the links to other pages of a manual, and not the content of the page.
func isNavigation(n *html.Node, classes string) bool {
	named := false
	for name := range strings.FieldsSeq(classes) {
		_, ok := navigation[name]
		named = named || ok
	}
	if !named || n.FirstChild == nil || n.DataAtom == atom.Body || n.DataAtom == atom.Main || n.DataAtom == atom.Article {
		return false
	}
	linked, other, nodes, headed := 0, 0, 0, false
	for c := range n.Descendants() {
		if nodes++; nodes > maxNavigationNodes {
			break
		}
		switch {
		case headings[c.DataAtom]:
			headed = true
		case c.Type != html.TextNode || c.Parent.DataAtom == atom.Script || c.Parent.DataAtom == atom.Style || c.Parent.DataAtom == atom.Option:
		case linkAround(c, n) != nil:
			linked += len(strings.TrimSpace(c.Data))
		default:
			other += len(strings.TrimSpace(c.Data))
		}
	}
	if headed || linked == 0 && other > maxTitle {
		return other <= linked
	}
	return other <= max(2*linked, maxNavigation)
}

// linkAround returns the link that a node below another one is in; nil: it is in none.
func linkAround(n, below *html.Node) *html.Node {
	for p := n.Parent; p != nil && p != below; p = p.Parent {
		if p.DataAtom == atom.A {
			return p
		}
	}
	return nil
}

const (
	maxNavigation      = 200  // bytes that navigation may have beside its links, such as the title of the chapter
	maxTitle           = 20   // bytes of navigation without links: Prev, Next
	maxNavigationNodes = 1000 // nodes by which it is judged
)

var headings = map[atom.Atom]bool{atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true}

// isContents reports whether a list is a table of contents: it has nothing but links to places in the same page, and more than one. At least half of the places
// exist: what leads nowhere may be all that the page says.
func (w *htmlWalk) isContents(n *html.Node) bool {
	links, places := 0, 0
	for c := range n.Descendants() {
		switch {
		case c.DataAtom == atom.A && strings.HasPrefix(attr(c, "href"), "#"):
			links++
			if w.hasID(n, attr(c, "href")[1:]) {
				places++
			}
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" && !inLink(c, n):
			return false
		}
	}
	return links > 1 && 2*places >= links
}

// hasID reports whether an element of the page of n has an id, or a link has it as its name.
func (w *htmlWalk) hasID(n *html.Node, id string) bool {
	if w.ids == nil {
		w.ids = map[string]bool{}
		root := n
		for root.Parent != nil {
			root = root.Parent
		}
		for c := range root.Descendants() {
			w.ids[attr(c, "id")] = true
			if c.DataAtom == atom.A {
				w.ids[attr(c, "name")] = true
			}
		}
	}
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	return id != "" && w.ids[id]
}

// inLink reports whether a node below a list is in a link to a place in the same page.
func inLink(n, list *html.Node) bool {
	a := linkAround(n, list)
	return a != nil && strings.HasPrefix(attr(a, "href"), "#")
}

// withoutMenu drops the paragraphs and items before the first heading of a page that are links and nothing else: its menu, if it has no element nav.
func withoutMenu(blocks []Block) []Block {
	first := slices.IndexFunc(blocks, func(b Block) bool { return b.Kind == Heading })
	if first <= 0 {
		return blocks
	}
	menu := slices.DeleteFunc(blocks[:first:first], func(b Block) bool {
		return len(b.Links) >= minMenu && b.Kind == Paragraph && isOnlyLinks(b) || len(b.Links) > 0 && b.Kind == ListItem && isOnlyLinks(b)
	})
	return append(menu, blocks[first:]...)
}

// minMenu is the number of links in a line that make it a menu.
const minMenu = 3

// isOnlyLinks reports whether a block has no words beside its links.
func isOnlyLinks(b Block) bool {
	rest := b.Text
	for _, l := range b.Links {
		rest = strings.Replace(rest, l.Text, "", 1)
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}
