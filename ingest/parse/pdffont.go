package parse

import (
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// pdfFont maps the character codes of a font to text and widths.
type pdfFont struct {
	bold    bool
	mono    bool
	wide    bool              // codes have two bytes
	unicode map[uint32]string // from the ToUnicode map, by code
	codeLen [5]bool           // code lengths in that map
	simple  [256]string       // for one-byte codes
	charset encoding.Encoding // of the codes of a predefined CMap; nil: none
	utf16   bool              // codes are UTF-16
	widths  map[uint32]float64
	left    *int    // codes that may still be stored, in all fonts of the file
	missing float64 // width of other codes, in thousandths of the size; 0 if unknown
}

// font returns a font. It reads each font once per resource that names it.
func (ip *interpreter) font(resources pdf.Value, name string) *pdfFont {
	d := ip.doc
	fonts := resources.Key("Font")
	shown := fonts.String()
	ip.budget -= len(shown) / 16
	key := name + " " + clip(shown, 4096)
	if f := d.fonts[key]; f != nil {
		return f
	}
	ip.budget -= costForm
	f := &pdfFont{widths: map[uint32]float64{}, left: &d.codes}
	_ = attempt(func() { d.readFont(f, fonts.Key(name)) })
	if len(d.fonts) < 4096 {
		d.fonts[key] = f
	}
	return f
}

func (d *pdfDoc) readFont(f *pdfFont, v pdf.Value) {
	base := strings.ToLower(v.Key("BaseFont").Name())
	f.mono = monospaced.MatchString(base)
	f.bold = strings.Contains(base, "bold") || strings.Contains(base, "black") || strings.Contains(base, "heavy") ||
		strings.Contains(base, "semibold") || strings.Contains(base, "cmbx")
	for i := range f.simple {
		f.simple[i] = string(charmap.Windows1252.DecodeByte(byte(i)))
	}
	f.wide = v.Key("Subtype").Name() == "Type0"
	if strings.Contains(base, "courier") {
		f.missing = 600
	}
	if to := v.Key("ToUnicode"); to.Kind() == pdf.Stream {
		if data, err := d.stream(to); err == nil {
			f.readMap(data)
		}
	}
	if f.wide {
		descendant := v.Key("DescendantFonts").Index(0)
		f.readWideWidths(descendant)
		if f.unicode == nil {
			f.readPredefined(v, descendant)
		}
		return
	}
	d.readSimple(f, v)
}

// readSimple reads the encoding and the widths of a font with one-byte codes.
func (d *pdfDoc) readSimple(f *pdfFont, v pdf.Value) {
	enc := v.Key("Encoding")
	if enc.Kind() == pdf.Dict && enc.Key("Differences").Len() <= 1024 || enc.Kind() == pdf.Name && enc.Name() == "MacRomanEncoding" {
		// The library knows the names of glyphs. It is only used where it does not read the ToUnicode map, whose counts it trusts.
		font := pdf.Font{V: v}
		coder := font.Encoder()
		base := enc.Key("BaseEncoding").Name()
		for i := range f.simple {
			s := coder.Decode(string([]byte{byte(i)}))
			if s != string(rune(i)) || base != "WinAnsiEncoding" && base != "" {
				f.simple[i] = s
			}
		}
	}
	first := v.Key("FirstChar").Int64()
	widths := v.Key("Widths")
	for i := range min(widths.Len(), 256) {
		f.widths[uint32(first)+uint32(i)] = widths.Index(i).Float64()
	}
	if w := v.Key("FontDescriptor").Key("MissingWidth").Float64(); w > 0 {
		f.missing = w
	}
	if v.Key("Subtype").Name() == "Type3" { // its widths are in a space of its own
		clear(f.widths)
	}
}

// readWideWidths reads the W array: a code and an array of widths, or a range and its one width.
func (f *pdfFont) readWideWidths(v pdf.Value) {
	f.missing = 1000
	if dw := v.Key("DW"); !dw.IsNull() {
		f.missing = dw.Float64()
	}
	w := v.Key("W")
	for i := 0; i+1 < min(w.Len(), 100_000); {
		first, next := w.Index(i).Int64(), w.Index(i+1)
		if next.Kind() == pdf.Array {
			for j := range min(next.Len(), 65_536) {
				f.width(uint32(first)+uint32(j), next.Index(j).Float64())
			}
			i += 2
			continue
		}
		width := w.Index(i + 2).Float64()
		for c := first; c <= min(next.Int64(), first+65_535) && *f.left > 0; c++ {
			f.width(uint32(c), width)
		}
		i += 3
	}
}

// width stores the width of a code, within the file's limit.
func (f *pdfFont) width(code uint32, w float64) {
	if *f.left--; *f.left >= 0 {
		f.widths[code] = w
	}
}

// means stores the text of a code, at most maxGlyph bytes, since no ligature has more.
func (f *pdfFont) means(code uint32, text string) {
	if *f.left--; *f.left >= 0 {
		f.unicode[code] = clip(text, maxGlyph)
	}
}

const maxGlyph = 64

// readMap reads a ToUnicode map: bfchar and bfrange (Adobe Technical Note 5411).
func (f *pdfFont) readMap(data []byte) {
	f.unicode = map[uint32]string{}
	lx := &lexer{data: data}
	var args []operand
	for len(f.unicode) < 200_000 && *f.left > 0 {
		o, ok := lx.next()
		if !ok {
			return
		}
		if o.kind != opKeyword {
			if len(args) < 100_000 {
				args = append(args, o)
			}
			continue
		}
		switch o.text {
		case "endcodespacerange":
			for _, a := range args {
				if n := len(a.text); a.kind == opString && n >= 1 && n <= 4 {
					f.codeLen[n] = true
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				f.means(code(args[i].text), fromUTF16(args[i+1].text))
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				f.mapRange(args[i], args[i+1], args[i+2])
			}
		}
		args = args[:0]
	}
}

func (f *pdfFont) mapRange(lo, hi, dst operand) {
	a, b := code(lo.text), code(hi.text)
	if b < a || b-a > 65_535 || len(dst.text) > 8*maxGlyph {
		return
	}
	if dst.kind == opArray {
		for i, d := range dst.list {
			if uint32(i) > b-a {
				return
			}
			f.means(a+uint32(i), fromUTF16(d.text))
		}
		return
	}
	if len(dst.text) == 0 {
		return
	}
	to := []rune(fromUTF16(dst.text))
	if len(to) == 0 {
		return
	}
	for c := a; *f.left > 0; c++ {
		f.means(c, string(to))
		to[len(to)-1]++
		if c == b {
			return
		}
	}
}

func code(s string) uint32 {
	var n uint32
	for i := range len(s) {
		n = n<<8 | uint32(s[i])
	}
	return n
}

func fromUTF16(s string) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}

// glyphs decodes a shown string; each calls yield with its text and its width in thousandths of the size.
func (f *pdfFont) glyphs(s string, yield func(text string, width float64, space bool)) {
	size := 1
	if f.wide {
		size = 2
		if f.codeLen[1] && !f.codeLen[2] {
			size = 1
		}
	}
	for len(s) > 0 {
		if f.utf16 || f.charset != nil {
			n, text, width := f.character(s)
			yield(text, width, false)
			s = s[n:]
			continue
		}
		n := min(size, len(s))
		c := code(s[:n])
		text, known := f.unicode[c]
		if !known && !f.wide {
			text = f.simple[s[0]]
		}
		w, ok := f.widths[c]
		if !ok {
			if w = f.missing; w == 0 {
				w = guessWidth(text)
			}
		}
		yield(text, w, n == 1 && s[0] == ' ')
		s = s[n:]
	}
}

// guessWidth returns the approximate width of a character of Helvetica or Times, whose widths a file may omit.
func guessWidth(s string) float64 {
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case strings.IndexByte("ijl|.,:;'!ftI()[]/\\ `", c) >= 0:
		return 278
	case strings.IndexByte("mMW@w%", c) >= 0:
		return 830
	case c >= 'A' && c <= 'Z':
		return 690
	case c == '-' || c == 'r':
		return 333
	}
	return 540
}
