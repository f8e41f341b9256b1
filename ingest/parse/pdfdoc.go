package parse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"

	"github.com/sluice-rag/sluice/corpus"
)

// pdfDoc is the state of parsing a PDF file.
type pdfDoc struct {
	ctx    context.Context
	r      *pdf.Reader
	limits Limits
	left   int64 // bytes that streams may still inflate to
	fonts  map[string]*pdfFont
	codes  int         // of fonts, whose text or width may still be stored
	budget int         // operators and glyphs left for the file
	text   int         // bytes of text that may still be shown
	shown  int         // lines that may still be shown
	lines  [][]pdfLine // by page
	images int         // images drawn
	broken error       // error of the last page that could not be read
}

// attempt runs f and returns panics of the library as errors.
func attempt(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read PDF object: %v", r)
		}
	}()
	f()
	return nil
}

// pdfPage is a page with its inherited attributes.
type pdfPage struct {
	v         pdf.Value
	resources pdf.Value
}

// pages returns the leaves of the page tree.
func (d *pdfDoc) pages() ([]pdfPage, error) {
	var out []pdfPage
	nodes := 0
	var walk func(v, resources pdf.Value, depth int) error
	walk = func(v, resources pdf.Value, depth int) error {
		if nodes++; depth > 64 || nodes > 2*d.limits.Pages+1000 {
			return refuse(nil, "not valid PDF: its tree of pages has no end")
		}
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if r := v.Key("Resources"); r.Kind() == pdf.Dict {
			resources = r
		}
		kids := v.Key("Kids")
		if kids.Kind() != pdf.Array {
			if v.Kind() != pdf.Dict || v.Key("Type").Name() == "Pages" {
				return nil
			}
			if out = append(out, pdfPage{v, resources}); len(out) > d.limits.Pages {
				return tooLarge("has more than %d pages", d.limits.Pages)
			}
			return nil
		}
		for i := range kids.Len() {
			var err error
			if broken := attempt(func() { err = walk(kids.Index(i), resources, depth+1) }); broken != nil {
				d.broken = broken
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	root := d.r.Trailer().Key("Root").Key("Pages")
	if err := walk(root, pdf.Value{}, 0); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, refuse(d.broken, "not valid PDF: it has no pages")
	}
	return out, nil
}

// stream decompresses one or several concatenated streams, within the limits.
func (d *pdfDoc) stream(v pdf.Value) (out []byte, err error) {
	if broken := attempt(func() { out, err = d.inflate(v) }); broken != nil {
		err = broken
	}
	return out, err
}

func (d *pdfDoc) inflate(v pdf.Value) ([]byte, error) {
	if v.Kind() == pdf.Array {
		var all []byte
		for i := range min(v.Len(), 10_000) {
			part, err := d.stream(v.Index(i))
			if err != nil {
				d.broken = err
			}
			if all = append(append(all, part...), '\n'); len(all) > pdfStream {
				return nil, errors.New("a stream is too long")
			}
		}
		return all, nil
	}
	if v.Kind() != pdf.Stream {
		return nil, nil
	}
	most := min(pdfStream, d.left)
	out, err := io.ReadAll(io.LimitReader(&ctxReader{ctx: d.ctx, r: v.Reader()}, most+1))
	d.left -= int64(len(out))
	if int64(len(out)) > most {
		return nil, errors.New("a stream is too long")
	}
	if len(out) > 0 { // data before the damage is usable
		return out, nil
	}
	return out, err
}

// pageLines returns the lines of a page. For a damaged page, it returns the lines before the damage.
func (d *pdfDoc) pageLines(page pdfPage) []pdfLine {
	ip := &interpreter{doc: d, budget: min(pdfPageBudget, d.budget)}
	before := ip.budget
	err := attempt(func() {
		content, err := d.stream(page.v.Key("Contents"))
		if err != nil {
			d.broken = err
		}
		ip.run(content, page.resources, identity, 0)
	})
	d.budget -= before - max(ip.budget, 0)
	if err != nil {
		d.broken = err
	}
	return gatherLines(ip.runs)
}

// info reads the XMP metadata and, for elements that it lacks, the information dictionary.
func (d *pdfDoc) info(p *Parsed) {
	_ = attempt(func() {
		info := d.r.Trailer().Key("Info")
		get := func(key string) string { return oneLine(shortText(info.Key(key))) }
		p.Meta = corpus.DublinCore{
			Title: get("Title"), Creator: get("Author"), Subject: cmp.Or(get("Keywords"), get("Subject")), Description: get("Subject"),
			Date: pdfDate(get("CreationDate")), Language: oneLine(shortText(d.r.Trailer().Key("Root").Key("Lang"))),
		}
	})
	_ = attempt(func() {
		if raw, err := d.stream(d.r.Trailer().Key("Root").Key("Metadata")); err == nil && len(raw) <= maxXMP {
			var stated corpus.DublinCore
			stated, p.Contributor = dublinCore(xmpValues(raw))
			p.Meta = stated.Or(p.Meta)
		}
	})
	// Word processors set the title to the name of the printed file.
	t := strings.ToLower(p.Meta.Title)
	if t == "untitled" || strings.HasPrefix(t, "microsoft word - ") || strings.HasSuffix(t, ".doc") || strings.HasSuffix(t, ".docx") {
		p.Meta.Title = ""
	}
}

// maxXMP limits the XMP metadata that is read, in bytes.
const maxXMP = 1 << 20

// xmpValues returns the elements of Dublin Core in XMP metadata (ISO 16684-1). Of texts in several languages it returns the first.
func xmpValues(raw []byte) map[string]any {
	const space = "http://purl.org/dc/elements/1.1/"
	values := map[string]any{}
	element := ""
	dec := xml.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.Token()
		if err != nil {
			return values
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Space == space {
				element = t.Name.Local
			}
		case xml.EndElement:
			if t.Name.Space == space {
				element = ""
			}
		case xml.CharData:
			text := strings.TrimSpace(string(t))
			all, _ := values[element].([]any)
			if element != "" && text != "" && (len(all) == 0 || len(all) < maxAuthors && (element == "creator" || element == "subject")) {
				values[element] = append(all, text)
			}
		}
	}
}

// shortText returns the text of a string, or "" if it is too long for a title.
func shortText(v pdf.Value) string {
	if len(v.RawString()) > 16<<10 {
		return ""
	}
	return v.Text()
}

// pdfDate converts D:YYYYMMDD… to YYYY-MM-DD.
func pdfDate(s string) string {
	s = strings.TrimPrefix(s, "D:")
	if len(s) < 8 || strings.Trim(s[:8], "0123456789") != "" {
		return s
	}
	return s[:4] + "-" + s[4:6] + "-" + s[6:8]
}

// outline returns the level of each title in the table of contents. Keys are folded by [foldTitle].
func (d *pdfDoc) outline() map[string]int {
	out := map[string]int{}
	nodes := 0
	var walk func(v pdf.Value, level int)
	walk = func(v pdf.Value, level int) {
		for ; v.Kind() == pdf.Dict && nodes < 5000; v = v.Key("Next") {
			nodes++
			if t := foldTitle(shortText(v.Key("Title"))); t != "" && out[t] == 0 {
				out[t] = level
			}
			if level < 6 {
				walk(v.Key("First"), level+1)
			}
		}
	}
	_ = attempt(func() { walk(d.r.Trailer().Key("Root").Key("Outlines").Key("First"), 1) })
	return out
}

// foldTitle removes number, case and white space from a title.
func foldTitle(s string) string {
	s = strings.ToLower(oneLine(s))
	s = strings.TrimLeft(s, "0123456789. ")
	return strings.ReplaceAll(s, " ", "")
}
