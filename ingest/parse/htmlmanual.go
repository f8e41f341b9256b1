package parse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice-rag/sluice/lang"
)

// This file has what generators of manuals write: preformatted pages, links to other pages, tables of contents, and paragraphs of code.

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

// isContents reports whether a list is a table of contents: it has nothing but links to places in the same page, and more than one.
func isContents(n *html.Node) bool {
	links := 0
	for c := range n.Descendants() {
		switch {
		case c.DataAtom == atom.A && strings.HasPrefix(attr(c, "href"), "#"):
			links++
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" && !inLink(c, n):
			return false
		}
	}
	return links > 1
}

// inLink reports whether a node below a list is in a link to a place in the same page.
func inLink(n, list *html.Node) bool {
	for p := n.Parent; p != nil && p != list; p = p.Parent {
		if p.DataAtom == atom.A {
			return strings.HasPrefix(attr(p, "href"), "#")
		}
	}
	return false
}
