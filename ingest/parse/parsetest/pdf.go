package parsetest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// pdf writes a PDF file object by object. Object 1 is the catalog, and object 2 the root of the page tree.
type pdf struct {
	b  bytes.Buffer
	at []int // offsets of objects; object n is at index n-1
}

func newPDF() *pdf {
	p := &pdf{}
	p.b.WriteString("%PDF-1.5\n")
	return p
}

func (p *pdf) object(body string) {
	p.at = append(p.at, p.b.Len())
	fmt.Fprintf(&p.b, "%d 0 obj\n%s\nendobj\n", len(p.at), body)
}

// stream adds a stream with additional dictionary entries.
func (p *pdf) stream(dict string, data []byte) {
	p.object(fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data))
}

func (p *pdf) deflated(dict string, data []byte) {
	p.stream(dict+"/Filter/FlateDecode", deflate(data))
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// end writes the cross-reference table; trailer has additional entries.
func (p *pdf) end(trailer string) []byte {
	xref := p.b.Len()
	fmt.Fprintf(&p.b, "xref\n0 %d\n0000000000 65535 f \n", len(p.at)+1)
	for _, at := range p.at {
		fmt.Fprintf(&p.b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&p.b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(p.at)+1, trailer, xref)
	return p.b.Bytes()
}

// single returns a file of one page, object 3, whose content is object 4.
func single(resources, content string, more func(*pdf)) []byte {
	p := newPDF()
	p.object("<</Type/Catalog/Pages 2 0 R>>")
	p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	p.object("<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<" + resources + ">>>>")
	p.deflated("", []byte(content))
	if more != nil {
		more(p)
	}
	return p.end("")
}

// crossStream returns a file that only has a cross-reference stream.
func crossStream(dict string, rows []byte) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := b.Len()
	fmt.Fprintf(&b, "1 0 obj\n<</Type/XRef/Root 1 0 R/Length %d%s>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", len(rows),
		strings.ReplaceAll(dict, "SELF", fmt.Sprint(at)), rows, at)
	return b.Bytes()
}

// pdfFiles returns PDF files with a hostile structure.
func pdfFiles() []bomb {
	return []bomb{
		{"xref-index-repeated.pdf", func() []byte {
			return crossStream("/Size 9/W[0 0 0]/Index["+strings.Repeat("0 1048576 ", 200)+"]", []byte("x"))
		}},
		{"xref-index-long.pdf", func() []byte {
			return crossStream("/Size 9/W[0 0 0]/Index["+repeat("0 999999 ", 8<<20)+"]", []byte("x"))
		}},
		{"xref-stream-prev-self.pdf", func() []byte { return crossStream("/Size 1048576/W[0 0 0]/Prev SELF", []byte("x")) }},
		{"xref-widths-huge.pdf", func() []byte { return crossStream("/Size 9/W[1 9999999999 1]", []byte("x")) }},
		{"xref-size-huge.pdf", func() []byte { return crossStream("/Size 9999999999/W[1 1 1]", []byte("x")) }},
		{"xref-inflated.pdf", func() []byte {
			return crossStream("/Size 1000000/W[0 1 0]/Filter/FlateDecode/Index["+strings.Repeat("0 1000000 ", 500)+"]", deflate(make([]byte, 150_000_000)))
		}},
		{"xref-table-prev-self.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R>>")
			p.object("<</Type/Pages/Kids[]>>")
			return p.end(fmt.Sprintf("/Prev %d", p.b.Len()))
		}},
		{"object-stream-count.pdf", func() []byte { return objectStream("/N 2000000000/First 10", "9 0 8 0 ") }},
		{"object-stream-extends-self.pdf", func() []byte { return objectStream("/N 2/First 10/Extends 4 0 R", "9 0 8 0 ") }},
		{"object-stream-first.pdf", func() []byte {
			return objectStream("/N 2/First 99999999999/Filter/FlateDecode", string(deflate([]byte("1 0 2 0"+strings.Repeat(" ", 150_000_000)))))
		}},
		{"length-self.pdf", func() []byte { return objectStream("/N 1/First 4/Length 1 0 R", "1 0 99") }},
		{"predictor-columns.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R>>")
			p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
			p.object("<</Type/Page/Contents 4 0 R>>")
			p.deflated("/DecodeParms<</Predictor 12/Columns 5 0 R>>", make([]byte, 32<<20))
			p.object("4000000000")
			return p.end("")
		}},
		{"pages-tree-self.pdf", func() []byte { return tree("<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R 3 0 R]/Count 4>>") }},
		{"pages-tree-wide.pdf", func() []byte { return tree("<</Type/Pages/Kids[" + repeat("3 0 R ", 16<<20) + "]>>") }},
		{"arrays-nested.pdf", func() []byte { return tree("<</Type/Pages/Kids " + strings.Repeat("[", 32<<20) + ">>") }},
		{"dictionaries-nested.pdf", func() []byte { return tree("<</Type/Pages/Kids " + repeat("<</A", 32<<20) + ">>") }},
		{"array-long.pdf", func() []byte { return tree("<</Type/Pages/Kids[3 0 R]/X[" + repeat("1 ", 60<<20) + "]>>") }},
		{"names-long.pdf", func() []byte { return tree("<</Type/Pages/Kids[3 0 R]" + repeat("/Size", 60<<20) + ">>") }},
		{"outline-self.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>")
			p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
			p.object("<</Type/Page>>")
			p.object("<</First 4 0 R/Next 4 0 R/Title(" + strings.Repeat("t", 1<<20) + ")>>")
			return p.end("")
		}},
		{"information-long.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R>>")
			p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
			p.object("<</Type/Page>>")
			p.object("<</Title(" + strings.Repeat("\x80", 60<<20) + ")>>")
			return p.end("/Info 4 0 R")
		}},
	}
}

// objectStream returns a file whose catalog and page tree are in object 4, an object stream.
func objectStream(dict, data string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	held := b.Len()
	length := ""
	if !strings.Contains(dict, "/Length") {
		length = fmt.Sprintf("/Length %d", len(data))
	}
	fmt.Fprintf(&b, "4 0 obj\n<</Type/ObjStm%s%s>>\nstream\n%s\nendstream\nendobj\n", dict, length, data)
	at := b.Len()
	rows := []byte{0, 0, 0, 2, 4, 0, 2, 4, 1, 0, 0, 0, 1, byte(held), 0, 1, byte(at >> 8), 0}
	fmt.Fprintf(&b, "5 0 obj\n<</Type/XRef/Size 5/W[1 1 1]/Root 1 0 R/Length %d>>\nstream\n%s\nendstream\nendobj\n", 15, rows[:15])
	fmt.Fprintf(&b, "%s\nstartxref\n%d\n%%%%EOF\n", strings.Repeat("% fill\n", 20), at)
	return b.Bytes()
}

// tree returns a file of one page, object 3, with the given root of the page tree.
func tree(pages string) []byte {
	p := newPDF()
	p.object("<</Type/Catalog/Pages 2 0 R>>")
	p.object(pages)
	p.object("<</Type/Page/Parent 2 0 R>>")
	return p.end("")
}
