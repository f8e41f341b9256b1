package office

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// ParseODF parses a text, presentation or spreadsheet of OpenDocument. Each slide is a page, and the name of each sheet is a heading.
func ParseODF(ctx context.Context, src document.Source) (document.Parsed, error) {
	f, err := open(ctx, src)
	if err != nil {
		return document.Parsed{}, err
	}
	if !f.zip.Has("content.xml") {
		return document.Parsed{}, document.Refuse(nil, "not valid OpenDocument")
	}
	o := &odf{flow: newFlow(src.Limits), limits: src.Limits, styles: map[string]odfStyle{}, counts: map[string]int{}}
	for _, member := range []string{"styles.xml", "content.xml"} {
		if err := f.read(member, o.styleHandler()); err != nil {
			return document.Parsed{}, err
		}
	}
	if err := f.read("content.xml", xmltext.Handler{Start: o.start, End: o.ended, Text: o.write}); err != nil {
		return document.Parsed{}, err
	}
	if o.failed != nil {
		return document.Parsed{}, o.failed
	}
	p := document.Parsed{Meta: f.properties("meta.xml"), Blocks: o.out, Pages: o.page, Title: o.title}
	if p.Title == "" || p.Meta.Title != "" {
		p.Title = titleOf(p.Meta, p.Blocks)
	}
	if o.sheet {
		p.Title = p.Meta.Title // the name of a sheet is none
	}
	return p, nil
}

type odfStyle struct {
	base     string
	numbered bool   // a style of a list: its items have numbers
	hidden   bool   // a style of a table, a slide or text: it is not shown
	weight   string // of characters: bold, or 100 to 900; "" as in base
}

type odf struct {
	*flow
	limits document.Limits
	styles map[string]odfStyle
	lists  []odfList
	title  string
	sheet  bool
	cells  int
	failed error

	repeat int            // of the open cell
	frame  string         // the attribute presentation:class of the open draw:frame, such as title, outline or notes
	notes  int            // open footnotes
	outer  []bool         // whether the text around each open paragraph or span is in bold
	counts map[string]int // of the items of lists, by their styles
}

type odfList struct {
	style string
	n     int
	fresh bool // the item has no text yet
}

// styleHandler reads the styles of paragraphs, lists and tables.
func (o *odf) styleHandler() xmltext.Handler {
	var id string
	return xmltext.Handler{Start: func(e xmltext.Element) bool {
		s := o.styles[id]
		switch e.Name {
		case "body", "master-styles":
			return false
		case "style":
			id = e.Attr("name")
			s = odfStyle{base: e.Attr("parent-style-name")}
		case "list-style":
			id = e.Attr("name")
			s = odfStyle{}
		case "list-level-style-number":
			s.numbered = s.numbered || e.Attr("level") == "1"
		case "table-properties":
			s.hidden = e.Attr("display") == "false"
		case "text-properties":
			s.hidden = s.hidden || e.Attr("display") == "none" || strings.HasPrefix(e.Attr("font-size"), "0pt")
			s.weight = cmp.Or(s.weight, e.Attr("font-weight"))
		case "drawing-page-properties":
			s.hidden = s.hidden || e.Attr("visibility") == "hidden"
		default:
			return true
		}
		if id != "" {
			o.styles[id] = s
		}
		return true
	}}
}

// styled reports whether a style or one that it is based on has a name with a part.
func (o *odf) styled(name, part string) bool {
	for depth := 0; depth < 10 && name != ""; depth++ {
		if strings.Contains(strings.ToLower(name), part) {
			return true
		}
		name = o.styles[name].base
	}
	return false
}

// invisible reports whether a style or one that it is based on hides its text.
func (o *odf) invisible(name string) bool {
	for depth := 0; depth < 10 && name != ""; depth++ {
		if o.styles[name].hidden {
			return true
		}
		name = o.styles[name].base
	}
	return false
}

// isText reports whether an element holds text with a style.
func isText(name string) bool { return name == "span" || name == "p" || name == "h" }

// beginText begins a text with a style. Spans without a weight have that of the text around them.
func (o *odf) beginText(span bool, style string) {
	weight := ""
	for depth := 0; depth < 10 && weight == "" && style != ""; depth++ {
		weight, style = o.styles[style].weight, o.styles[style].base
	}
	bold := weight == "bold" || weight >= "600" && weight <= "900"
	o.outer = append(o.outer, o.bold)
	if !span || weight != "" {
		o.bold = bold
	}
}

func (o *odf) start(e xmltext.Element) bool {
	if o.failed != nil {
		return false
	}
	if isText(e.Name) {
		style := e.Attr("style-name")
		if o.invisible(style) {
			return false
		}
		o.beginText(e.Name == "span", style)
	}
	switch e.Name {
	case "annotation", "tracked-changes", "automatic-styles", "styles", "forms", "index-title-template", "table-of-content", "shapes", "note-citation", "settings", "hidden-text":
		return false
	case "section":
		return e.Attr("display") != "none"
	case "spreadsheet":
		o.sheet = true
	case "page":
		if o.page++; o.page > o.limits.Pages {
			o.failed = document.TooLarge("holds more than %d slides", o.limits.Pages)
		}
		return !o.styles[e.Attr("style-name")].hidden
	case "frame":
		o.frame = e.Attr("class")
		return o.frame != "page-number" && o.frame != "date-time" && o.frame != "footer" && o.frame != "header"
	case "note-body":
		o.notes++
	case "notes":
		o.frame = "notes"
	case "h":
		level, _ := strconv.Atoi(e.Attr("outline-level"))
		o.begin(document.Heading, min(max(level, 1), 9))
	case "p":
		o.paragraph(e.Attr("style-name"))
	case "list":
		l := odfList{style: e.Attr("style-name")}
		if e.Attr("continue-numbering") == "true" || e.Attr("continue-list") != "" {
			l.n = o.counts[l.style]
		}
		o.lists = append(o.lists, l)
	case "list-item":
		if n := len(o.lists); n > 0 {
			o.lists[n-1].n++
			o.lists[n-1].fresh = true
		}
	case "s":
		n, _ := strconv.Atoi(e.Attr("c"))
		o.write(strings.Repeat(" ", min(max(n, 1), 200)))
	case "tab":
		o.write("\t")
	case "line-break":
		o.write("\n")
	case "a":
		o.beginLink(e.Attr("href"))
	default:
		return o.startTable(e)
	}
	return true
}

// startTable begins a table, row or cell.
func (o *odf) startTable(e xmltext.Element) bool {
	switch e.Name {
	case "table":
		if len(o.tables) == 0 && o.sheet {
			if o.styles[e.Attr("style-name")].hidden {
				return false
			}
			o.add(document.Block{Kind: document.Heading, Level: 1, Text: e.Attr("name")})
		}
		if t := o.beginTable(); len(o.tables) == 1 && o.sheet {
			t.sheet = &document.Sheet{Add: o.addRow}
		}
	case "table-header-rows":
		if t := o.table(); t != nil {
			t.head = true
		}
	case "covered-table-cell":
		return false
	case "table-cell":
		n, err := strconv.Atoi(e.Attr("number-columns-repeated"))
		if err != nil || n < 1 || n > 64 { // more are empty cells up to the last column of the sheet
			n = 1
		}
		if o.cells += n; o.cells > maxCells {
			o.failed = document.TooLarge("holds more than %d cells", maxCells)
			return false
		}
		o.repeat = n
		columns, _ := strconv.Atoi(e.Attr("number-columns-spanned"))
		rows, _ := strconv.Atoi(e.Attr("number-rows-spanned"))
		o.cell(document.Cell{Columns: columns, Rows: rows})
	}
	return true
}

func (o *odf) paragraph(style string) {
	p := o.begin(document.Paragraph, 0)
	switch {
	case o.frame == "title" || style == "Title" || o.styles[style].base == "Title":
		p.Kind, p.Level = document.Heading, 1
	case o.styled(style, "preformatted") || o.styled(style, "source_20_code"):
		p.Kind, p.Fenced = document.Code, true
	case len(o.lists) > 0:
		p.Level = len(o.lists)
	}
}

func (o *odf) ended(name string) {
	if n := len(o.outer); n > 0 && isText(name) {
		o.bold, o.outer = o.outer[n-1], o.outer[:n-1]
	}
	switch name {
	case "frame", "notes":
		o.frame = ""
	case "h":
		o.end("")
	case "p":
		o.endParagraph()
	case "list":
		if n := len(o.lists); n > 0 {
			o.counts[o.lists[n-1].style] = o.lists[n-1].n
			o.lists = o.lists[:n-1]
		}
	case "a":
		o.endLink()
	case "note-body":
		o.notes--
	case "table-cell":
		o.endCell()
	case "table-row":
		o.endRow()
	case "table-header-rows":
		if t := o.table(); t != nil {
			t.head = false
		}
	case "table":
		o.endTable()
	}
}

func (o *odf) endParagraph() {
	p := o.current()
	if p == nil {
		return
	}
	if n := len(o.open); o.notes > 0 && n > 1 {
		o.open = o.open[:n-1]
		if text := document.OneLine(p.text.String()); text != "" {
			o.current().notes = append(o.current().notes, document.Block{Kind: document.Paragraph, Text: "Note: " + text})
		}
		return
	}
	mark := ""
	if n := len(o.lists); n > 0 && p.Kind == document.Paragraph {
		if l := &o.lists[n-1]; l.fresh && strings.TrimSpace(p.text.String()) != "" {
			p.Kind, l.fresh, mark = document.ListItem, false, "- "
			if o.styles[o.lists[0].style].numbered && n == 1 {
				mark = strconv.Itoa(l.n) + ". "
			}
		} else {
			p.Level = 0
		}
	}
	if p.Kind == document.Heading && p.Level == 1 && o.title == "" && !o.sheet {
		o.title = document.OneLine(p.text.String())
	}
	o.end(mark)
}

// endCell repeats a cell that stands for several.
func (o *odf) endCell() {
	t := o.table()
	if t == nil || len(t.cells) == 0 {
		return
	}
	last := t.cells[len(t.cells)-1]
	for range o.repeat - 1 {
		t.cells = append(t.cells, last)
	}
	o.repeat = 1
}
