package parse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of building the tree of a page. A page over a limit is parsed as the text between its tags.
const (
	maxNodes      = 1_000_000 // elements, texts and comments, some 250 bytes each
	maxAttributes = 2_000_000
	maxOpen       = 512 // open elements; the parser rejects more
)

// costlyHTML reports whether the tree of a page would have too many nodes. It counts tokens and the copies of formatting elements: before
// the next text, the parser reopens each active formatting element that a paragraph or cell has closed (HTML Living Standard, section
// 13.2.4.3), so few elements and many paragraphs make many nodes.
func costlyHTML(page string) bool {
	if len(page) < maxAttributes && 2*(maxOpen+1)*strings.Count(page, "<") < maxNodes { // even if each tag and each text copies all open elements
		return false
	}
	z := html.NewTokenizer(strings.NewReader(page))
	nodes, attributes := 0, 0
	f := formatting{scopes: []scope{{open: map[atom.Atom]int{}}}}
	for nodes <= maxNodes && attributes <= maxAttributes {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.TextToken:
			nodes += 1 + f.rebuild()
		case html.CommentToken, html.DoctypeToken:
			nodes++
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			for more {
				_, _, more = z.TagAttr()
				attributes++
			}
			nodes += 1 + f.start(a)
		case html.EndTagToken:
			name, _ := z.TagName()
			nodes++ // the parser makes an element for some end tags without a start tag
			f.end(atom.Lookup(name))
		}
	}
	return true
}

// formatting estimates the list of active formatting elements. A table cell, among others, begins a new scope.
type formatting struct {
	scopes []scope
	closed bool // a tag since the last text may have closed some of them
}

type scope struct {
	kind  atom.Atom // of the element that began it; 0: the page
	open  map[atom.Atom]int
	total int
}

// rebuild returns how many elements are copied before a text or an inline element.
func (f *formatting) rebuild() int {
	if !f.closed {
		return 0
	}
	f.closed = false
	return min(f.scopes[len(f.scopes)-1].total, maxOpen)
}

func (f *formatting) start(a atom.Atom) (copies int) {
	top := &f.scopes[len(f.scopes)-1]
	switch a {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U:
		copies = f.rebuild()
		top.open[a]++
		top.total++
		return copies
	case atom.Td, atom.Th, atom.Caption:
		if top.kind == atom.Td { // the cell before has no end tag
			f.scopes = f.scopes[:len(f.scopes)-1]
		}
		f.push(atom.Td)
	case atom.Table, atom.Applet, atom.Marquee, atom.Object, atom.Template:
		f.push(a)
	}
	f.closed = true
	return 0
}

func (f *formatting) push(kind atom.Atom) {
	if len(f.scopes) < maxOpen {
		f.scopes = append(f.scopes, scope{kind: kind, open: map[atom.Atom]int{}})
	}
}

func (f *formatting) end(a atom.Atom) {
	f.closed = true
	top := &f.scopes[len(f.scopes)-1]
	if top.open[a] > 0 {
		top.open[a]--
		top.total--
		return
	}
	switch a {
	case atom.Th, atom.Caption:
		a = atom.Td
	case atom.Td, atom.Table, atom.Applet, atom.Marquee, atom.Object, atom.Template:
	default:
		return
	}
	for i := len(f.scopes) - 1; i > 0; i-- {
		if kind := f.scopes[i].kind; kind == a {
			f.scopes = f.scopes[:i]
			return
		} else if a != atom.Table && kind == atom.Table {
			return // an end tag only closes elements within its table
		}
	}
}
