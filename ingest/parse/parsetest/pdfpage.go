package parsetest

import (
	"fmt"
	"strings"
)

const (
	plainFont = "/Font<</F 5 0 R>>"
	begin     = "BT /F 9 Tf 9 700 Td "
)

// simpleFont adds a font with additional dictionary entries.
func simpleFont(p *pdf, more string) {
	p.object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica" + more + ">>")
}

func wideFont(p *pdf, more string) {
	p.object("<</Type/Font/Subtype/Type0/BaseFont/X" + more + ">>")
}

// mapped adds a font and its ToUnicode map.
func mapped(p *pdf, toUnicode string) {
	wideFont(p, "/ToUnicode 6 0 R")
	p.deflated("", []byte("1 begincodespacerange <0000> <ffff> endcodespacerange "+toUnicode))
}

// pdfFonts returns PDF files with a hostile font.
func pdfFonts() []bomb {
	return []bomb{
		{"glyph-text.pdf", func() []byte {
			return single(plainFont, begin+strings.Repeat("<0001>Tj ", 1_000_000), func(p *pdf) {
				mapped(p, "1 beginbfchar <0001> <"+strings.Repeat("0061", 100_000)+"> endbfchar")
			})
		}},
		{"glyph-range.pdf", func() []byte {
			return single(plainFont, begin+"<0001>Tj", func(p *pdf) {
				mapped(p, "1 beginbfrange <0000> <ffff> <"+strings.Repeat("0061", 100_000)+"> endbfrange")
			})
		}},
		{"map-ranges.pdf", func() []byte {
			return single(plainFont, begin+"<0001>Tj", func(p *pdf) {
				mapped(p, "9 beginbfrange "+strings.Repeat("<0000> <ffff> <0041> ", 30_000)+" endbfrange")
			})
		}},
		{"map-ranges-apart.pdf", func() []byte {
			var b strings.Builder
			for i := range 30_000 {
				fmt.Fprintf(&b, "<%08x> <%08x> <00610062> ", i<<16, i<<16+65_535)
			}
			return single(plainFont, begin+"<0001>Tj", func(p *pdf) { mapped(p, "9 beginbfrange "+b.String()+" endbfrange") })
		}},
		{"fonts-many.pdf", func() []byte {
			var fonts, uses strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&fonts, "/F%d 5 0 R", i)
				fmt.Fprintf(&uses, "/F%d 9 Tf <0041>Tj ", i)
			}
			return single("/Font<<"+fonts.String()+">>", "BT "+uses.String(), func(p *pdf) {
				mapped(p, "9 beginbfrange <0000> <ffff> <0041> <00010000> <0001ffff> <0041> endbfrange")
			})
		}},
		{"font-widths.pdf", func() []byte {
			return single(plainFont, begin+"<0001>Tj", func(p *pdf) {
				wideFont(p, "/DescendantFonts[<</W["+strings.Repeat("0 65535 500 ", 30_000)+"]>>]")
			})
		}},
		{"font-dictionary-long.pdf", func() []byte {
			return single("/Font<</F 5 0 R/G["+strings.Repeat("1 ", 100_000)+"]>>", "BT "+strings.Repeat("/F 9 Tf ", 300_000), func(p *pdf) { simpleFont(p, "") })
		}},
	}
}

// pdfPages returns PDF files with a hostile page.
func pdfPages() []bomb {
	return []bomb{
		{"content-inflated.pdf", func() []byte { return single(plainFont, strings.Repeat("\x00", 150_000_000), nil) }},
		{"content-inflated-thrice.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R>>")
			p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
			p.object("<</Type/Page/Contents 4 0 R>>")
			p.stream("/Filter[/FlateDecode/FlateDecode/FlateDecode]", deflate(deflate(deflate([]byte(strings.Repeat("q Q ", 30<<20))))))
			return p.end("")
		}},
		{"contents-repeated.pdf", func() []byte {
			p := newPDF()
			p.object("<</Type/Catalog/Pages 2 0 R>>")
			p.object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
			p.object("<</Type/Page/Contents[" + strings.Repeat("4 0 R ", 10_000) + "]>>")
			p.deflated("", []byte(strings.Repeat("q Q ", 2<<20)))
			return p.end("")
		}},
		{"forms-exponential.pdf", func() []byte {
			return single("/XObject<</X 5 0 R>>", strings.Repeat("/X Do ", 20), func(p *pdf) {
				for i := range 10 {
					p.stream(fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", min(i+6, 14)), []byte(strings.Repeat("/X Do ", 20)))
				}
			})
		}},
		{"form-self.pdf", func() []byte {
			return single("/XObject<</X 5 0 R>>", "/X Do", func(p *pdf) {
				p.stream("/Subtype/Form/Resources<</XObject<</X 5 0 R>>>>", []byte(strings.Repeat("/X Do ", 50)))
			})
		}},
		{"form-shown-often.pdf", func() []byte {
			return single("/XObject<</X 5 0 R>>", strings.Repeat("/X Do ", 2_000_000), func(p *pdf) { p.stream("/Subtype/Form", []byte("q Q")) })
		}},
		{"array-operands.pdf", func() []byte {
			return single(plainFont, begin+"["+strings.Repeat("1 ", 30<<20)+"]TJ", func(p *pdf) { simpleFont(p, "") })
		}},
		{"strings-empty.pdf", func() []byte {
			return single(plainFont, begin+"["+strings.Repeat("(a)", 20<<20)+"]TJ", func(p *pdf) { simpleFont(p, "") })
		}},
		{"string-long.pdf", func() []byte {
			return single(plainFont, begin+"("+strings.Repeat("word ", 12<<20)+")Tj", func(p *pdf) { simpleFont(p, "") })
		}},
		{"lines-many.pdf", func() []byte { return shared(20_000, strings.Repeat("0 -9 Td (a)Tj ", 3000)) }},
		{"pages-shared.pdf", func() []byte { return shared(20_000, strings.Repeat("1 0 0 1 0 0 cm ", 1_000_000)) }},
		{"sizes-distinct.pdf", func() []byte {
			var b strings.Builder
			for i := range 300_000 {
				fmt.Fprintf(&b, "/F %d Tf 0 -9 Td (ab)Tj ", i+1)
			}
			return shared(4, b.String())
		}},
		{"inline-images.pdf", func() []byte { return single("", strings.Repeat("BI ID ", 10<<20), nil) }},
		{"names-escaped.pdf", func() []byte { return single("", "/"+strings.Repeat("#41", 20<<20)+" Do", nil) }},
	}
}

// shared returns a file of n pages with the same content in one font.
func shared(n int, content string) []byte {
	p := newPDF()
	p.object("<</Type/Catalog/Pages 2 0 R>>")
	p.object("<</Type/Pages/Kids[" + strings.Repeat("3 0 R ", n) + "]>>")
	p.object("<</Type/Page/Contents 4 0 R/Resources<<" + plainFont + ">>>>")
	p.deflated("", []byte(begin+content))
	simpleFont(p, "")
	return p.end("")
}
