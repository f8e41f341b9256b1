package office

import (
	"context"
	"strconv"

	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// ParsePPTX parses slides of PresentationML (ISO/IEC 29500-1, 19). Each slide is a page.
func ParsePPTX(ctx context.Context, src document.Source) (document.Parsed, error) {
	f, err := open(ctx, src)
	if err != nil {
		return document.Parsed{}, err
	}
	name := f.main("ppt/presentation.xml")
	if !f.zip.Has(name) {
		return document.Parsed{}, document.Refuse(nil, "not valid PPTX")
	}
	relations, err := f.relations(name)
	if err != nil {
		return document.Parsed{}, err
	}
	var slides []string
	err = f.read(name, xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "sldId" {
			e.Attrs(func(_, value string) { // the attributes id and r:id differ by their namespaces only
				if r := relations[value]; r.kind == "slide" && f.zip.Has(r.target) {
					slides = append(slides, r.target)
				}
			})
		}
		return true
	}})
	if err != nil {
		return document.Parsed{}, err
	}
	if len(slides) > src.Limits.Pages {
		return document.Parsed{}, document.TooLarge("holds more than %d slides", src.Limits.Pages)
	}
	p := document.Parsed{Meta: f.properties("docProps/core.xml"), Pages: len(slides)}
	fl := newFlow(src.Limits)
	for i, slide := range slides {
		fl.page = i + 1
		if err := f.slide(slide, fl); err != nil {
			return document.Parsed{}, err
		}
	}
	p.Blocks = fl.out
	p.Title = titleOf(p.Meta, p.Blocks)
	return p, nil
}

// slide reads a slide and its notes.
func (f *file) slide(name string, fl *flow) error {
	relations, err := f.relations(name)
	if err != nil {
		return err
	}
	s := &slide{flow: fl, links: relations}
	if err := f.read(name, s.handler()); err != nil {
		return err
	}
	notes := related(relations, "notesSlide")
	if notes == "" || s.skipped {
		return nil
	}
	s = &slide{flow: fl, notes: true}
	return f.read(notes, s.handler())
}

// slide reads the shapes of a slide in their order.
type slide struct {
	*flow
	links         map[string]relation
	notes         bool   // of the notes: only the text itself is read
	placeholder   string // the kind of the placeholder of the open shape: title, body or the like; "" for a text box
	inPlaceholder bool   // the shape is a placeholder
	level         int
	plain         bool // the open paragraph has no bullet
	inText        bool
	hidden        bool // the open shape is not shown
	skipped       bool // the slide is not shown
}

func (s *slide) handler() xmltext.Handler {
	return xmltext.Handler{Start: s.start, End: s.ended, Text: func(t string) {
		if s.inText {
			s.write(t)
		}
	}}
}

func (s *slide) start(e xmltext.Element) bool {
	switch e.Name {
	case "sld":
		s.skipped = e.Attr("show") == "0" || e.Attr("show") == "false"
		return !s.skipped
	case "cNvPr":
		s.hidden = e.Attr("hidden") == "1" || e.Attr("hidden") == "true"
	case "sp":
		s.placeholder, s.inPlaceholder = "", false
	case "ph":
		s.placeholder, s.inPlaceholder = e.Attr("type"), true
	case "txBody":
		switch s.placeholder {
		case "sldNum", "dt", "ftr", "hdr", "sldImg":
			return false
		}
		return !s.hidden && (!s.notes || s.placeholder == "body")
	case "Fallback":
		return false
	case "tbl":
		if s.hidden {
			return false
		}
		s.beginTable()
	case "tc":
		if isOn(e.Attr("hMerge")) {
			return false
		}
		columns, _ := strconv.Atoi(e.Attr("gridSpan"))
		s.cell(document.Cell{Columns: columns, Above: isOn(e.Attr("vMerge"))})
	case "p":
		s.begin(document.Paragraph, 0)
		s.level, s.plain = 0, false
	case "pPr":
		s.level, _ = strconv.Atoi(e.Attr("lvl"))
	case "buNone":
		s.plain = true
	case "t":
		s.inText = true
	case "br":
		s.write("\n")
	case "hlinkClick":
		if r := s.links[e.Attr("id")]; r.kind == "hyperlink" {
			s.beginLink(r.target)
		}
	}
	return true
}

func (s *slide) ended(name string) {
	switch name {
	case "t":
		s.inText = false
	case "r":
		s.endLink()
	case "p":
		s.endParagraph()
	case "tr":
		s.endRow()
	case "tbl":
		s.endTable()
	case "graphicFrame", "sp":
		s.placeholder, s.inPlaceholder = "", false
	}
}

func (s *slide) endParagraph() {
	p := s.current()
	if p == nil {
		return
	}
	mark := ""
	switch {
	case s.notes || s.table() != nil:
	case s.placeholder == "title" || s.placeholder == "ctrTitle":
		p.Kind, p.Level = document.Heading, 1
	case s.inPlaceholder && !s.plain && (s.placeholder == "body" || s.placeholder == "" || s.placeholder == "obj"):
		p.Kind, p.Level, mark = document.ListItem, min(max(s.level, 0), 8)+1, "- "
	}
	if p.Kind == document.Heading {
		text := document.OneLine(p.text.String())
		p.text.Reset()
		p.text.WriteString(text)
	}
	s.end(mark)
}
