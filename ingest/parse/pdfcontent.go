package parse

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/unicode/bidi"

	"github.com/sluice-rag/sluice/lang"
)

// matrix is the transformation a b c d e f of PDF 32000-1:2008, section 8.3.4.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns the transformation that applies m first and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// pdfRun is the text of one show operator.
type pdfRun struct {
	text      string
	x, y, end float64 // along the text, across it, and along it
	size      float64
	bold      bool
	mono      bool
	turned    turned
}

// turned is the direction of text on its page.
type turned int8

const (
	upright turned = iota
	up
	down
	slanted
)

// textState is the state that text operators change.
type textState struct {
	ctm                                 matrix
	font                                *pdfFont
	size, char, word, scale, lead, rise float64
	mode                                int
}

// interpreter executes content streams and collects the text that they show.
type interpreter struct {
	doc    *pdfDoc
	runs   []pdfRun
	budget int // operators and glyphs left for the page
	state  textState
	saved  []textState
	tm, lm matrix // text matrix and line matrix
}

// run interprets a stream; depth is the nesting depth of forms.
func (ip *interpreter) run(data []byte, resources pdf.Value, ctm matrix, depth int) {
	outer, saved := ip.state, ip.saved
	ip.state = textState{ctm: ctm, scale: 1, font: outer.font, size: outer.size}
	ip.saved = nil
	defer func() { ip.state, ip.saved = outer, saved }()
	lx := &lexer{data: data}
	var args []operand
	for ops := 0; ; {
		o, ok := lx.next()
		if ip.budget--; !ok || ip.budget <= 0 || ip.doc.text < 0 {
			return
		}
		if ops++; ops%1024 == 0 && ip.doc.ctx.Err() != nil {
			return
		}
		if o.kind != opKeyword {
			if len(args) < 64 {
				args = append(args, o)
			}
			continue
		}
		switch o.text {
		case "BI":
			ip.doc.images++
			lx.skipImage()
		case "Do":
			ip.draw(args, resources, depth)
		case "Tf":
			if len(args) >= 2 {
				ip.state.font, ip.state.size = ip.font(resources, args[0].text), args[1].num
			}
		default:
			ip.operator(o.text, args)
		}
		args = args[:0]
	}
}

// costForm is the cost of drawing a form or an image, in operators, without the form's own operators.
const costForm = 200

// draw interprets a form, or counts an image.
func (ip *interpreter) draw(args []operand, resources pdf.Value, depth int) {
	if len(args) < 1 || depth > 8 {
		return
	}
	ip.budget -= costForm // it is read from the file again each time
	x := resources.Key("XObject").Key(args[0].text)
	switch x.Key("Subtype").Name() {
	case "Image":
		ip.doc.images++
	case "Form":
		data, err := ip.doc.stream(x)
		ip.budget -= costForm + len(data)/64
		if err != nil {
			ip.doc.broken = err
			return
		}
		m := identity
		if a := x.Key("Matrix"); a.Len() == 6 {
			for i := range m {
				m[i] = a.Index(i).Float64()
			}
		}
		if r := x.Key("Resources"); r.Kind() == pdf.Dict {
			resources = r
		}
		ip.run(data, resources, m.times(ip.state.ctm), depth+1)
	}
}

func (ip *interpreter) operator(op string, args []operand) {
	s := &ip.state
	num := func(i int) float64 {
		if i < len(args) && !math.IsNaN(args[i].num) && !math.IsInf(args[i].num, 0) {
			return args[i].num
		}
		return 0
	}
	switch op {
	case "q":
		if len(ip.saved) < 1000 {
			ip.saved = append(ip.saved, *s)
		}
	case "Q":
		if n := len(ip.saved); n > 0 {
			*s, ip.saved = ip.saved[n-1], ip.saved[:n-1]
		}
	case "cm":
		s.ctm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}.times(s.ctm)
	case "BT":
		ip.tm, ip.lm = identity, identity
	case "Tc":
		s.char = num(0)
	case "Tw":
		s.word = num(0)
	case "Tz":
		s.scale = num(0) / 100
	case "TL":
		s.lead = num(0)
	case "Ts":
		s.rise = num(0)
	case "Tr":
		s.mode = int(num(0))
	case "TD":
		s.lead = -num(1)
		ip.move(num(0), num(1))
	case "Td":
		ip.move(num(0), num(1))
	case "Tm":
		ip.lm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}
		ip.tm = ip.lm
	case "T*":
		ip.move(0, -s.lead)
	case "Tj", "'", "\"":
		if op != "Tj" {
			ip.move(0, -s.lead)
		}
		if op == "\"" {
			s.word, s.char = num(0), num(1)
		}
		if n := len(args); n > 0 {
			ip.show(args[n-1].text)
		}
	case "TJ":
		if len(args) == 0 {
			return
		}
		for _, a := range args[0].list {
			if a.kind == opString {
				ip.show(a.text)
			} else {
				ip.tm = matrix{1, 0, 0, 1, -a.num / 1000 * s.size * s.scale, 0}.times(ip.tm)
			}
		}
	}
}

func (ip *interpreter) move(x, y float64) {
	ip.lm = matrix{1, 0, 0, 1, x, y}.times(ip.lm)
	ip.tm = ip.lm
}

// show adds a run and advances by its width.
func (ip *interpreter) show(s string) {
	st := &ip.state
	if st.font == nil || s == "" {
		return
	}
	var b strings.Builder
	width := 0.0
	st.font.glyphs(s, func(text string, w float64, space bool) {
		ip.budget--
		if ip.doc.text -= len(text); ip.doc.text >= 0 {
			if hasRightToLeft(text) {
				text = bidi.ReverseString(text) // of several letters; the line is reversed later
			}
			for _, r := range text {
				b.WriteRune(lang.Bullet(r))
			}
		}
		width += w/1000*st.size + st.char
		if space {
			width += st.word
		}
	})
	width *= st.scale
	at := matrix{1, 0, 0, 1, 0, st.rise}.times(ip.tm).times(st.ctm)
	after := matrix{1, 0, 0, 1, width, 0}.times(ip.tm)
	end := after.times(st.ctm)
	ip.tm = after
	size := math.Abs(st.size) * math.Hypot(at[2], at[3])
	r := pdfRun{text: b.String(), x: at[4], y: at[5], end: end[4], size: size, bold: st.font.bold, mono: st.font.mono}
	switch right, above := math.Abs(at[0]), math.Abs(at[1]); {
	case above <= right:
	case right > above/5:
		r.turned = slanted
	case at[1] > 0:
		r.turned, r.x, r.y, r.end = up, at[5], -at[4], end[5]
	default:
		r.turned, r.x, r.y, r.end = down, -at[5], at[4], -end[5]
	}
	if len(ip.runs) < 500_000 {
		ip.runs = append(ip.runs, r)
	}
}
