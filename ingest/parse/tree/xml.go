package tree

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// element is an element of XML, or a text, which is an element without a name.
type element struct {
	name  string
	attrs []string // names and values
	items []*element
	text  string
	parts *strings.Builder // what becomes text, while more may follow
}

// ParseXML parses XML: a document with paragraphs, such as DocBook, as text with its headings, and other XML as structure, with the names of elements
// and attributes as keys. The items of RSS and Atom are sections. The error is ErrNoTree if it is not valid.
func ParseXML(ctx context.Context, src document.Source) (document.Parsed, error) {
	root, err := readXML(ctx, src.Data)
	if err != nil {
		return document.Parsed{}, err
	}
	r := &renderer{Builder: document.NewBuilder(src.Limits), ctx: ctx, html: func(s string) []document.Block {
		p, err := src.Embed(ctx, document.Source{Name: "part.html", Data: []byte(s)})
		if err != nil {
			return nil
		}
		return p.Blocks
	}}
	p := document.Parsed{}
	if root.isDocument() {
		d := &xmlDocument{renderer: r}
		if skippedXML[root.name] {
			d.inner(root, 1)
		} else {
			d.block(root, 1)
		}
		p.Title, p.Meta = d.title, corpus.DublinCore{Creator: d.author}
	} else {
		r.feed = root.name == "rss" || root.name == "feed" || root.name == "RDF"
		if r.feed {
			root.attrs = nil
		}
		p.Title = feedTitle(root)
		r.render(root.node(0), nil, 1)
	}
	if r.Full() { // the paths make it too large
		return document.Parsed{}, ErrNoTree
	}
	p.Blocks = r.Blocks
	return p, ctx.Err()
}

// readXML returns the root element. The error is that of ctx, or wraps [ErrNoTree].
func readXML(ctx context.Context, data []byte) (*element, error) {
	root := &element{}
	open := []*element{root}
	count, tooLarge := 0, false
	err := xmltext.Read(ctx, data, xmltext.Handler{
		Start: func(e xmltext.Element) bool {
			if count++; count > maxNodes || len(open) > maxDepth {
				tooLarge = true
				return false
			}
			x := &element{name: e.Name}
			e.Attrs(func(name, value string) {
				if count++; count <= maxNodes && name != "schemaLocation" && name != "noNamespaceSchemaLocation" {
					x.attrs = append(x.attrs, name, value)
				}
			})
			top := open[len(open)-1]
			top.items = append(top.items, x)
			open = append(open, x)
			return true
		},
		End: func(string) { open = open[:max(len(open)-1, 1)] },
		Text: func(s string) {
			top := open[len(open)-1]
			if strings.TrimSpace(s) == "" && (len(top.items) == 0 || top.items[len(top.items)-1].name == "") || tooLarge {
				if n := len(top.items); n == 0 || tooLarge {
					return
				}
			}
			if n := len(top.items); n > 0 && top.items[n-1].name == "" && top.items[n-1].parts.Len() < 1<<20 {
				top.items[n-1].parts.WriteString(s)
				top.items[n-1].text = top.items[n-1].parts.String() // copies nothing
				return
			}
			if count++; count > maxNodes {
				tooLarge = true
				return
			}
			x := &element{text: s, parts: new(strings.Builder)}
			x.parts.WriteString(s)
			top.items = append(top.items, x)
		},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || tooLarge || len(root.items) == 0 {
		return nil, errors.Join(ErrNoTree, err)
	}
	for _, x := range root.items {
		if x.name != "" {
			return x, nil
		}
	}
	return root, nil
}

func feedTitle(root *element) string {
	for _, x := range append([]*element{root}, root.items...) {
		for _, t := range x.items {
			if t.name == "title" && (x == root || x.name == "channel") {
				return document.OneLine(t.all())
			}
		}
	}
	return ""
}

// all returns the text of an element and of the elements inside it.
func (e *element) all() string {
	if len(e.items) == 0 {
		return e.text
	}
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e *element) write(b *strings.Builder) {
	b.WriteString(e.text)
	for _, x := range e.items {
		x.write(b)
	}
}

// node returns an element as a value: a text if it has only text, else an object of its attributes and elements. Elements with the same name are a list.
func (e *element) node(depth int) *node {
	elements := 0
	var b strings.Builder
	for _, x := range e.items {
		if x.name != "" {
			elements++
		} else {
			b.WriteString(x.text)
		}
	}
	text := strings.TrimSpace(b.String())
	if elements == 0 && len(e.attrs) == 0 {
		return &node{text: text}
	}
	n := &node{keys: []string{}}
	at := map[string]int{}
	add := func(key string, c *node) {
		i, ok := at[key]
		switch {
		case !ok:
			at[key] = len(n.items)
			n.keys, n.items = append(n.keys, key), append(n.items, c)
		case n.items[i].list && n.items[i].keys == nil:
			n.items[i].items = append(n.items[i].items, c)
		default:
			n.items[i] = &node{list: true, items: []*node{n.items[i], c}}
		}
	}
	for i := 0; i < len(e.attrs); i += 2 {
		add(e.attrs[i], &node{text: strings.TrimSpace(e.attrs[i+1])})
	}
	key := ""
	for _, x := range e.items {
		switch {
		case x.name == "":
		case e.name == "dict" && x.name == "key": // a property list
			key = document.OneLine(x.all())
		case e.name == "dict" && key != "":
			if c := x.node(depth + 1); c.scalar() && c.text == "" && len(x.items) == 0 {
				add(key, &node{text: x.name}) // true, false
			} else {
				add(key, c)
			}
			key = ""
		default:
			add(x.name, x.node(depth+1))
		}
	}
	if text != "" {
		if elements == 0 && len(n.keys) == 0 {
			return &node{text: text}
		}
		add("text", &node{text: text})
	}
	return n
}

// The elements of documents: DocBook, DITA, JATS, TEI and FictionBook.
var (
	sections   = words("book part chapter article appendix preface section sect1 sect2 sect3 sect4 sect5 simplesect refentry refsect1 refsect2 refsect3 refsection sec body topic concept task reference glossary glossdiv div div1 div2 div3 dedication colophon abstract")
	paragraphs = words("para simpara formalpara p refpurpose subtitle caption l line v")
	codes      = words("programlisting screen synopsis literallayout codeblock code-block pre cmdsynopsis funcsynopsis preformat screenshot codelisting")
	listed     = words("listitem item list-item li callout step glossentry varlistentry dlentry varlist member stepalternative answer")
	tables     = words("table informaltable tgroup simpletable table-wrap")
	skippedXML = words("indexterm index toc remark draft-comment prolog bookinfo-legal script style binary")
	notes      = map[string]string{"note": "Note", "warning": "Warning", "tip": "Tip", "caution": "Caution", "important": "Important"}
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// isDocument reports whether an element has sections, or paragraphs that mix text with elements. If only mixed text suggests a document, attributes that
// hold more than the text speak against it, because a document leaves attributes out.
func (e *element) isDocument() bool {
	paras, mixed, texts, attrs := 0, 0, 0, 0
	e.each(func(x *element) {
		for i := 1; i < len(x.attrs); i += 2 {
			attrs += len(x.attrs[i])
		}
		if paragraphs[x.name] {
			paras++
		}
		text, inner := false, false
		for _, c := range x.items {
			texts += len(strings.TrimSpace(c.text))
			text = text || c.name == "" && strings.TrimSpace(c.text) != ""
			inner = inner || c.name != ""
		}
		if text && inner {
			mixed++
		}
	})
	return sections[e.name] && paras > 0 || paras > 2 && mixed > 0 || mixed > 2 && texts > attrs
}

func (e *element) each(f func(*element)) {
	f(e)
	for _, x := range e.items {
		if x.name != "" {
			x.each(f)
		}
	}
}

// xmlDocument writes a document.
type xmlDocument struct {
	*renderer
	title, author string
}

// block adds an element. Level is that of the headings in it.
func (d *xmlDocument) block(e *element, level int) {
	if d.Full() || d.ctx.Err() != nil || skippedXML[e.name] {
		return
	}
	text := func() string { return document.OneLine(e.all()) }
	switch {
	case e.name == "title" || e.name == "head" || e.name == "refentrytitle" || e.name == "bridgehead" || e.name == "refname":
		s := text()
		if s == "" {
			return
		}
		if d.title == "" {
			d.title = s
		}
		if d.Lists() > 0 {
			d.Text(s)
		} else {
			d.Heading(min(max(level-1, 1), 9), s)
		}
	case codes[e.name]:
		d.Code(e.all())
	case tables[e.name]:
		d.table(e)
	case listed[e.name] && d.HasLead(): // the meaning of a term
		d.inner(e, level)
	case listed[e.name]:
		d.BeginList()
		d.Item("- ")
		d.inner(e, level)
		d.EndList()
	case e.name == "author" && d.author == "":
		d.author = text()
	case e.name == "term" || e.name == "glossterm" || e.name == "dt":
		d.Lead(text())
	case notes[e.name] != "":
		d.Lead(notes[e.name])
		d.inner(e, level)
		d.Lead("")
	case sections[e.name]:
		d.inner(e, level+1)
	case paragraphs[e.name] || e.mixed():
		d.paragraph(e, level)
	default:
		d.inner(e, level)
	}
}

func (e *element) mixed() bool {
	for _, x := range e.items {
		if x.name == "" && strings.TrimSpace(x.text) != "" {
			return true
		}
	}
	return false
}

func (d *xmlDocument) inner(e *element, level int) {
	if e.mixed() {
		d.paragraph(e, level)
		return
	}
	for _, x := range e.items {
		if x.name != "" {
			d.block(x, level)
		}
	}
}

// paragraph adds text with the elements in it. Blocks, such as lists, end it.
func (d *xmlDocument) paragraph(e *element, level int) {
	var b strings.Builder
	for _, x := range e.items {
		switch {
		case x.name == "":
			b.WriteString(x.text)
		case skippedXML[x.name]:
		case codes[x.name] || tables[x.name] || listed[x.name] || paragraphs[x.name] || notes[x.name] != "" || x.hasBlocks():
			d.Text(document.OneLine(b.String()))
			b.Reset()
			d.block(x, level)
		default:
			x.write(&b)
		}
	}
	d.Text(document.OneLine(b.String()))
}

// hasBlocks reports whether an element contains paragraphs, items or code.
func (e *element) hasBlocks() bool {
	for _, x := range e.items {
		if codes[x.name] || listed[x.name] || paragraphs[x.name] || x.name != "" && x.hasBlocks() {
			return true
		}
	}
	return false
}

// table adds the rows of a table.
func (d *xmlDocument) table(e *element) {
	var rows [][]string
	e.each(func(x *element) {
		switch x.name {
		case "title", "caption":
			d.Text(document.OneLine(x.all()))
		case "row", "tr", "strow", "sthead":
			var cells []string
			for _, c := range x.items {
				if c.name != "" {
					cells = append(cells, c.all())
				}
			}
			rows = append(rows, cells)
		}
	})
	d.Rows(rows)
}
