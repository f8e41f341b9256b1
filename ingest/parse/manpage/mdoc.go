package manpage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// mdocMacro handles a macro of mdoc that begins a line.
func (p *page) mdocMacro(name, rest string) {
	a := p.arguments(rest)
	switch name {
	case "Dt":
		a = append(a, "", "")
		p.titled(a[0], a[1], p.meta.Date)
	case "Sh", "Ss":
		level := 1
		if name == "Ss" {
			level = 2
		}
		p.section(level, p.mdocText(a))
		p.synopsis = strings.Join(a, " ") == "SYNOPSIS"
	case "Pp", "Lp":
		p.paragraph()
	case "Bl":
		p.beginList(a)
	case "It":
		p.listItem(a)
	case "El":
		for n := len(p.lists) - 1; n >= 0; n-- {
			if !p.lists[n].indent {
				p.endLists(n)
				break
			}
		}
	case "Bd":
		p.breakText()
		p.literal = slices.Contains(a, "-literal") || slices.Contains(a, "-unfilled")
	case "Ed":
		p.endCode()
		p.breakText()
	case "Dl", "D1":
		p.breakText()
		p.Code(p.mdocText(a))
	case "br":
		p.lineBreak()
	case "sp":
		p.paragraph()
	case "nf":
		p.breakText()
		p.literal = true
	case "fi":
		p.endCode()
	case "Os", "Bk", "Ek", "Rs", "Tg", "Db", "in", "ne", "ad", "na", "hy", "nh", "nr", "ft", "ta", "tr", "UC", "Bf", "Ef":
	case "Lb":
		library := strings.Join(a, " ")
		p.add("Library " + library + " (-l" + strings.TrimPrefix(library, "lib") + ")")
	case "Sm":
		p.tight = len(a) > 0 && a[0] == "off"
		p.no, p.tightFrom = p.no && p.tight, p.text.Len()
	case "Re":
		if s := p.text.String(); strings.HasSuffix(s, ",") {
			p.text.Reset()
			p.text.WriteString(s[:len(s)-1] + ".")
		}
		p.breakText()
	case "Fo":
		p.add(p.mdocText(a) + "(" + noBreak)
		p.inFo = true
	case "Fc":
		p.inFo = false
		p.noSpace()
		p.add(")" + strings.Join(a, ""))
	default:
		p.mdocLine(name, a)
	}
}

// mdocLine adds the text of a line.
func (p *page) mdocLine(name string, a []string) {
	if strings.HasPrefix(name, "%") { // a reference
		p.add(strings.Join(a, " ") + ",")
		return
	}
	if !callable[name] {
		return
	}
	if p.synopsis && strings.Contains(" Nm In Ft Fn Cd ", " "+name+" ") {
		p.lineBreak()
	}
	text := p.mdocText(append([]string{name}, a...))
	if p.inFo && name == "Fa" {
		if !strings.HasSuffix(p.text.String(), "(") {
			p.noSpace()
			text = ", " + text
		}
	}
	if text == "" {
		return
	}
	p.no = p.no || p.tight && p.text.Len() > p.tightFrom
	if name == "Lk" && len(a) > 0 {
		shown := a[0]
		if len(a) > 1 {
			shown = a[1]
		}
		p.links = append(p.links, document.Link{Text: shown, Target: a[0]})
	}
	switch { // the end of an enclosure, or punctuation
	case name == "Ns" || strings.HasSuffix(name, "c") && strings.Contains(" Oc Dc Sc Pc Bc Qc Ac Brc Ec Xc ", " "+name+" "):
		p.noSpace()
	}
	p.add(text)
	if strings.HasSuffix(name, "o") && len(a) == 0 && strings.Contains(" Oo Do So Po Bo Qo Ao Bro Eo ", " "+name+" ") {
		p.no = true
	}
}

// noSpace lets the next text follow without a space.
func (p *page) noSpace() { p.no = true }

func (p *page) beginList(a []string) {
	p.breakText()
	kind := byte('t')
	for _, x := range a {
		switch x {
		case "-bullet", "-dash", "-hyphen", "-item":
			kind = 'b'
		case "-enum":
			kind = 'e'
		case "-column":
			kind = 'c'
		}
	}
	if len(p.lists) >= maxDepth {
		return
	}
	p.lists = append(p.lists, list{kind: kind})
	p.BeginList()
}

func (p *page) listItem(a []string) {
	p.breakText()
	n := len(p.lists) - 1
	if n < 0 {
		return
	}
	l := &p.lists[n]
	switch l.kind {
	case 'c':
		var row []string
		from := 0
		for i, w := range append(slices.Clone(a), "Ta") {
			if w == "Ta" {
				cells := strings.Split(p.mdocText(a[min(from, len(a)):min(i, len(a))]), "\t")
				row, from = append(row, cells...), i+1
			}
		}
		if len(l.rows) < maxCells {
			l.rows = append(l.rows, row)
		}
	case 'e':
		l.number++
		p.Item(strconv.Itoa(l.number) + ". ")
	case 'b':
		p.Item("- ")
	default:
		text := p.mdocText(a)
		if k := slices.Index(a, "Xo"); k >= 0 { // the term goes on in the next lines
			text = p.mdocText(a[:k]) + " " + p.mdocText(a[k+1:]) + " " + p.until("Xc")
		}
		if l.number++; l.number > 1 && p.pending(text) {
			return
		}
		p.Item("- ")
		p.Lead(text)
	}
}

// pending adds a term. If the term before it has no text yet, both get the same text.
func (p *page) pending(text string) bool {
	if !p.HasLead() {
		return false
	}
	p.Also(text)
	return true
}

// until returns the text of the lines up to a macro.
func (p *page) until(end string) string {
	var b strings.Builder
	space := func() string {
		if p.tight {
			return ""
		}
		return " "
	}
	for p.at < len(p.lines) && b.Len() < maxString {
		l := p.read()
		if !strings.HasPrefix(l, ".") {
			b.WriteString(p.escape(l) + space())
			continue
		}
		words := p.arguments(l[1:])
		if len(words) > 0 && words[0] == end {
			return b.String() + strings.Join(words[1:], " ")
		}
		if len(words) > 0 && words[0] == "Sm" {
			p.tight = len(words) > 1 && words[1] == "off"
			continue
		}
		b.WriteString(p.mdocText(words) + space())
	}
	return b.String()
}

// enclosures has the characters around the arguments of a macro, or around the text up to its closing macro.
var enclosures = map[string][2]string{"Op": {"[", "]"}, "Oo": {"[", ""}, "Oc": {"", "]"}, "Dq": {"“", "”"}, "Do": {"“", ""}, "Dc": {"", "”"},
	"Sq": {"‘", "’"}, "So": {"‘", ""}, "Sc": {"", "’"}, "Ql": {"‘", "’"}, "Qq": {"\"", "\""}, "Qo": {"\"", ""}, "Qc": {"", "\""}, "Pq": {"(", ")"}, "Po": {"(", ""}, "Pc": {"", ")"},
	"Bq": {"[", "]"}, "Bo": {"[", ""}, "Bc": {"", "]"}, "Brq": {"{", "}"}, "Bro": {"{", ""}, "Brc": {"", "}"}, "Aq": {"<", ">"}, "Ao": {"<", ""}, "Ac": {"", ">"}}

// callable are the macros that may be among the arguments of another one.
var callable = func() map[string]bool {
	out := map[string]bool{}
	for m := range strings.FieldsSeq("Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em En Er Ev Ex Fa Fl Fn Fr Ft Fx Ic In Lb Li Lk Ms Mt Nd Nm No Ns Nx Ox Pa Pf Rv St Sx Sy Ta Tn Ux Va Vt Xc Xo Xr Es Eo Ec") {
		out[m] = true
	}
	for m := range enclosures {
		out[m] = true
	}
	return out
}()

// systems are the names of systems by their macros.
var systems = map[string]string{"Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "Bsx": "BSD/OS", "Ux": "UNIX", "At": "AT&T UNIX"}

// phrase collects the words of a line of mdoc.
type phrase struct {
	strings.Builder
	no    bool // no space before the next word
	tight bool // no spaces at all
}

func (w *phrase) word(s string) {
	if s == "" {
		return
	}
	closing := len(s) == 1 && strings.ContainsAny(s, ".,:;)]?!")
	if w.Len() > 0 && !w.no && !closing && !w.tight {
		w.WriteByte(' ')
	}
	w.no = len(s) == 1 && strings.ContainsAny(s, "([")
	w.WriteString(s)
}

func (w *phrase) words(words []string) {
	for _, s := range words {
		w.word(s)
	}
}

// mdocText returns the text of words and macros.
func (p *page) mdocText(words []string) string {
	w := phrase{tight: p.tight}
	p.phrase(&w, words, 0)
	return w.String()
}

func (p *page) phrase(w *phrase, words []string, depth int) {
	for i := 0; i < len(words); {
		m := words[i]
		if !callable[m] || depth > maxDepth {
			w.word(strings.TrimSuffix(m, noBreak))
			i++
			continue
		}
		i++
		if around, ok := enclosures[m]; ok {
			inner := words[i:]
			end := len(inner)
			if around[0] == "" || around[1] == "" {
				end = 0
			}
			for end > 0 && len(inner[end-1]) == 1 && strings.ContainsAny(inner[end-1], ".,:;?!") { // punctuation after it
				end--
			}
			if around[0] != "" {
				w.word(around[0])
				w.no = true
			}
			p.phrase(w, inner[:end], depth+1)
			if around[1] != "" {
				w.WriteString(around[1])
				w.no = false
			}
			i += end
			continue
		}
		end := i
		for end < len(words) && !callable[words[end]] {
			end++
		}
		p.macro(w, m, words[i:end])
		i = end
	}
}

// macro writes the text of a macro with its own arguments.
func (p *page) macro(w *phrase, m string, a []string) {
	plain := a // without the punctuation after them
	for len(plain) > 0 && len(plain[len(plain)-1]) == 1 && strings.ContainsAny(plain[len(plain)-1], ".,:;)]?!") {
		plain = plain[:len(plain)-1]
	}
	after := a[len(plain):]
	switch m {
	case "Fl":
		if len(plain) == 0 {
			w.word("-")
			w.no = true
		}
		for _, x := range plain {
			if x == "|" || x == "(" || x == "[" {
				w.word(x)
			} else {
				w.word("-" + x)
			}
		}
	case "Nm":
		if len(plain) == 0 {
			plain = []string{p.topic}
		} else if p.topicSet || p.topic == "" {
		} else {
			p.topic, p.topicSet = plain[0], true
		}
		w.words(plain)
	case "Nd":
		w.word("—")
		w.words(plain)
	case "Ar":
		if len(plain) == 0 {
			plain = []string{"file ..."}
		}
		w.words(plain)
	case "Xr":
		if len(plain) > 1 {
			w.word(plain[0] + "(" + plain[1] + ")" + strings.Join(plain[2:], " "))
		} else {
			w.word(strings.Join(plain, " "))
		}
	case "Fn":
		if len(plain) > 0 {
			w.word(plain[0] + "(" + strings.Join(plain[1:], ", ") + ")")
		}
	case "In":
		w.word("#include <" + strings.Join(plain, " ") + ">")
	case "Lk":
		if len(plain) > 1 {
			plain = []string{strings.Join(plain[1:], " ") + " (" + plain[0] + ")"}
		}
		w.word(strings.Join(plain, " "))
	case "Ns", "Pf", "Ap":
		if m == "Ap" {
			w.WriteString("'")
		}
		if m != "Pf" {
			w.no = true
		}
		w.word(strings.Join(plain, " "))
		w.no = m != "Ns" || len(plain) == 0
	case "Ta":
		w.WriteString("\t")
		w.no = true
		w.word(strings.Join(plain, " "))
	default:
		if p.constant(w, m, plain) {
			break
		}
		if m == "An" && len(plain) > 0 && strings.HasPrefix(plain[0], "-") {
			return
		}
		w.words(plain)
	}
	w.words(after)
}

// constant writes the text of a macro that stands for a system, a standard or a sentence.
func (p *page) constant(w *phrase, m string, plain []string) bool {
	switch m {
	case "Bx", "Fx", "Nx", "Ox", "Dx", "Bsx", "Ux", "At":
		version := strings.Join(plain, " ")
		if m == "Bx" && version != "" {
			w.word(version + systems[m])
		} else {
			w.word(strings.TrimSpace(systems[m] + " " + version))
		}
	case "St":
		w.word(strings.TrimPrefix(strings.TrimPrefix(strings.Join(plain, " "), "-p"), "-"))
	case "Ex":
		w.word("The " + p.topic + " utility exits 0 on success, and >0 if an error occurs.")
	case "Rv":
		w.word("The function returns 0 if successful; otherwise it returns -1 and sets errno.")
	default:
		return false
	}
	return true
}
