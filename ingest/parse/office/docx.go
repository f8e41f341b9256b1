package office

import (
	"context"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// ParseDOCX parses a document of WordprocessingML (ISO/IEC 29500-1, 17).
func ParseDOCX(ctx context.Context, src document.Source) (document.Parsed, error) {
	f, err := open(ctx, src)
	if err != nil {
		return document.Parsed{}, err
	}
	name := f.main("word/document.xml")
	if !f.zip.Has(name) {
		return document.Parsed{}, document.Refuse(nil, "not valid DOCX")
	}
	d := &docx{file: f, flow: newFlow(src.Limits), counters: map[string]*[9]int{}}
	if d.links, err = f.relations(name); err != nil {
		return document.Parsed{}, err
	}
	if d.styles, err = f.wordStyles(archive.Resolve(name, "styles.xml")); err != nil {
		return document.Parsed{}, err
	}
	if d.numbering, err = f.numbering(archive.Resolve(name, "numbering.xml")); err != nil {
		return document.Parsed{}, err
	}
	if d.footnotes, err = d.readNotes(archive.Resolve(name, "footnotes.xml"), "footnote"); err != nil {
		return document.Parsed{}, err
	}
	if d.endnotes, err = d.readNotes(archive.Resolve(name, "endnotes.xml"), "endnote"); err != nil {
		return document.Parsed{}, err
	}
	if err := f.read(name, d.handler()); err != nil {
		return document.Parsed{}, err
	}
	p := document.Parsed{Meta: f.properties("docProps/core.xml"), Blocks: d.out}
	for len(d.open) > 0 {
		d.end("")
	}
	p.Blocks, p.Title = d.out, d.title
	if p.Title == "" || p.Meta.Title != "" {
		p.Title = titleOf(p.Meta, p.Blocks)
	}
	return p, nil
}

type docx struct {
	*file
	*flow
	styles              map[string]wordStyle
	numbering           map[string]*[9]wordLevel // by the id of the list
	counters            map[string]*[9]int       // by the same
	links               map[string]relation
	footnotes, endnotes map[string]string
	paragraphs          []wordStyle // of the open paragraphs
	inText              bool
	inRun, hidden       bool // in a run; the text of the run is hidden
	title               string
}

// wordStyle is what a style or a paragraph's own properties say. Heading is from 1, 0 for none.
type wordStyle struct {
	based   string
	heading int
	title   bool
	code    bool
	list    string // id of the list; "0" for none
	level   int    // of the list, from 0
	hidden  bool   // its text is not shown
	bold    string // on or off; "" as in the style that it is based on
}

// wordStyles reads the styles of paragraphs by their ids, with what they inherit.
func (f *file) wordStyles(member string) (map[string]wordStyle, error) {
	styles := map[string]wordStyle{}
	var id string
	var s wordStyle
	err := f.read(member, xmltext.Handler{
		Start: func(e xmltext.Element) bool {
			switch e.Name {
			case "style":
				id, s = e.Attr("styleId"), wordStyle{}
				return e.Attr("type") == "paragraph" || e.Attr("type") == "character"
			case "name":
				s.named(e.Attr("val"))
			case "basedOn":
				s.based = e.Attr("val")
			default:
				s.property(e)
			}
			return true
		},
		End: func(name string) {
			if name == "style" {
				styles[id] = s
			}
		},
	})
	for id, s := range styles {
		for depth := 0; depth < 10 && s.based != ""; depth++ {
			base := styles[s.based]
			s.based = base.based
			if s.heading == 0 {
				s.heading = base.heading
			}
			if s.list == "" {
				s.list, s.level = base.list, base.level
			}
			if s.bold == "" {
				s.bold = base.bold
			}
			s.title, s.code, s.hidden = s.title || base.title, s.code || base.code, s.hidden || base.hidden
		}
		s.based = ""
		styles[id] = s
	}
	return styles, err
}

// named recognises the names that Word gives its own styles in every language, and those of styles for code.
func (s *wordStyle) named(name string) {
	name = strings.ToLower(name)
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil && n >= 1 && n <= 9 {
		s.heading = n
	}
	s.title = name == "title"
	s.code = strings.Contains(name, "code") || strings.Contains(name, "preformatted") || name == "plain text" || strings.Contains(name, "verbatim")
}

// property applies a property of a paragraph.
func (s *wordStyle) property(e xmltext.Element) {
	n, err := strconv.Atoi(e.Attr("val"))
	switch {
	case hides(e):
		s.hidden = true
	case e.Name == "b":
		if s.bold = "off"; isSet(e) {
			s.bold = "on"
		}
	case e.Name == "outlineLvl" && err == nil:
		s.heading = 0
		if n >= 0 && n < 9 {
			s.heading = n + 1
		}
	case e.Name == "numId":
		s.list = e.Attr("val")
	case e.Name == "ilvl" && err == nil && n >= 0 && n < 9:
		s.level = n
	}
}

// over returns a style with the properties of a paragraph itself. Some programs, such as pandoc, write these before the name of the style.
func (s wordStyle) over(style wordStyle) wordStyle {
	if s.list != "" {
		style.list, style.level = s.list, s.level
	}
	if s.heading > 0 {
		style.heading = s.heading
	}
	style.hidden = style.hidden || s.hidden
	return style
}

// hides reports whether a property of text hides it: it is hidden, or has no size.
func hides(e xmltext.Element) bool {
	return e.Name == "vanish" && isSet(e) || e.Name == "sz" && e.Attr("val") == "0"
}

// isSet reports whether a property is on, as it is without a value.
func isSet(e xmltext.Element) bool {
	value := e.Attr("val")
	return value != "0" && value != "false" && value != "off"
}

// run applies a property of a run of text.
func (d *docx) run(e xmltext.Element) {
	switch {
	case e.Name == "rStyle":
		style := d.styles[e.Attr("val")]
		d.hidden, d.bold = d.hidden || style.hidden, style.bold == "on" || style.bold == "" && d.bold
	case e.Name == "b":
		d.bold = isSet(e)
	case e.Name == "vanish":
		d.hidden = hides(e)
	case hides(e):
		d.hidden = true
	}
}

// readNotes returns the texts of the footnotes or endnotes by their ids.
func (d *docx) readNotes(member, element string) (map[string]string, error) {
	notes := map[string]string{}
	var id string
	var text strings.Builder
	inText, hidden := false, false
	err := d.file.read(member, xmltext.Handler{
		Start: func(e xmltext.Element) bool {
			switch e.Name {
			case element:
				id = e.Attr("id")
				text.Reset()
				return e.Attr("type") == "" // others are separators
			case "del", "moveFrom", "Fallback", "instrText":
				return false
			case "tab", "br", "p":
				text.WriteByte(' ')
			case "r":
				hidden = false
			}
			hidden = hidden || hides(e)
			inText = e.Name == "t"
			return true
		},
		End: func(name string) {
			inText = false
			if s := document.OneLine(text.String()); name == element && s != "" {
				notes[id] = s
			}
		},
		Text: func(s string) {
			if inText && !hidden {
				text.WriteString(s)
			}
		},
	})
	return notes, err
}

func (d *docx) handler() xmltext.Handler {
	return xmltext.Handler{Start: d.start, End: d.ended, Text: func(s string) {
		if d.inText && !d.hidden {
			d.write(s)
		}
	}}
}

func (d *docx) start(e xmltext.Element) bool {
	switch e.Name {
	case "del", "moveFrom", "Fallback", "instrText", "delText", "pPrChange", "rPrChange", "sectPr", "tblPr", "tblGrid":
		return false
	case "r":
		d.inRun = true
		if n := len(d.paragraphs); n > 0 {
			d.hidden, d.bold = d.paragraphs[n-1].hidden, d.paragraphs[n-1].bold == "on"
		}
	case "rPr":
		return d.inRun // not of the mark at the end of a paragraph
	case "rStyle", "vanish", "sz", "b":
		d.run(e)
	case "p":
		if strings.Contains(e.Space, "drawingml") {
			return true
		}
		d.begin(document.Paragraph, 0)
		d.paragraphs = append(d.paragraphs, wordStyle{})
	case "pStyle":
		if n := len(d.paragraphs); n > 0 {
			d.paragraphs[n-1] = d.paragraphs[n-1].over(d.styles[e.Attr("val")])
		}
	case "outlineLvl", "numId", "ilvl":
		if n := len(d.paragraphs); n > 0 {
			d.paragraphs[n-1].property(e)
		}
	case "t":
		d.inText = true
	case "tab", "ptab":
		if len(d.paragraphs) > 0 {
			d.write("\t")
		}
	case "br", "cr":
		d.write("\n")
	case "noBreakHyphen":
		d.write("-")
	case "hyperlink":
		if r := d.links[e.Attr("id")]; r.kind == "hyperlink" {
			d.beginLink(r.target)
		}
	case "footnoteReference":
		d.note(d.footnotes[e.Attr("id")])
	case "endnoteReference":
		d.note(d.endnotes[e.Attr("id")])
	case "tbl":
		d.beginTable()
	case "tc":
		d.cell(document.Cell{})
	case "tblHeader", "gridSpan", "vMerge":
		d.cellProperty(e)
	case "tabs":
		return false // positions of tabulators
	}
	return true
}

// cellProperty applies a property of a row or of a cell.
func (d *docx) cellProperty(e xmltext.Element) {
	t := d.table()
	if t == nil {
		return
	}
	if e.Name == "tblHeader" {
		t.head = isSet(e)
		return
	}
	if len(t.cells) == 0 {
		return
	}
	switch c := &t.cells[len(t.cells)-1]; e.Name {
	case "gridSpan":
		c.Columns, _ = strconv.Atoi(e.Attr("val"))
	case "vMerge":
		c.Above = e.Attr("val") != "restart"
	}
}

func (d *docx) note(text string) {
	if p := d.current(); p != nil && text != "" {
		p.notes = append(p.notes, document.Block{Kind: document.Paragraph, Text: "Note: " + text})
	}
}

func (d *docx) ended(name string) {
	switch name {
	case "t":
		d.inText = false
	case "r":
		d.inRun, d.hidden, d.bold = false, false, false
	case "hyperlink":
		d.endLink()
	case "p":
		if n := len(d.paragraphs); n > 0 && d.current() != nil {
			s := d.paragraphs[n-1]
			d.paragraphs = d.paragraphs[:n-1]
			d.endParagraph(s)
		}
	case "tr":
		d.endRow()
		if t := d.table(); t != nil {
			t.head = false
		}
	case "tbl":
		d.endTable()
	}
}

// endParagraph decides what kind of block a paragraph is.
func (d *docx) endParagraph(s wordStyle) {
	p := d.current()
	mark := ""
	if s.list != "" && s.list != "0" && !s.title && !s.code && strings.TrimSpace(p.text.String()) != "" {
		mark = d.mark(s)
	}
	switch {
	case s.heading > 0:
		p.Kind, p.Level, mark = document.Heading, s.heading, strings.TrimPrefix(mark, "- ")
	case s.title:
		if p.Kind, p.Level = document.Heading, 1; d.title == "" {
			d.title = document.OneLine(p.text.String())
		}
	case s.code:
		p.Kind, p.Fenced = document.Code, true
	case mark != "":
		p.Kind, p.Level = document.ListItem, s.level+1
	}
	d.end(mark)
}
