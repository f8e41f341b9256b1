package manpage

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// request handles a request of roff or a macro of man.
func (p *page) request(name, rest string) {
	if strings.HasPrefix(name, `\"`) || strings.HasPrefix(name, `\}`) {
		return
	}
	if i := strings.IndexByte(name, '\\'); i > 0 {
		name, rest = name[:i], name[i:]+" "+rest
	}
	switch name {
	case "if", "ie", "el", "while":
		p.condition(name, rest)
	case "de", "de1":
		body := p.skip(name, rest)
		if f := strings.Fields(rest); len(f) > 0 && len(p.macros) < maxStrings {
			p.macros[f[0]] = body
		}
	case "am", "am1", "ig", "dei", "ami", "EQ":
		p.skip(name, rest)
	case "ds", "ds1", "as":
		p.define(name, rest)
	case "TS":
		p.breakText()
		p.table()
	case "so":
		if arguments := p.arguments(rest); len(arguments) > 0 && len(p.Blocks) == 0 {
			p.redirect(arguments[0])
		}
	case "TH":
		a := append(p.arguments(rest), "", "", "")
		p.titled(a[0], a[1], a[2])
	case "Dd":
		p.mdoc = true
		p.meta.Date = strings.TrimSuffix(strings.TrimPrefix(p.escape(rest), "$Mdocdate: "), " $")
	default:
		if p.mdoc {
			p.mdocMacro(name, rest)
		} else {
			p.manMacro(name, p.arguments(rest))
		}
	}
}

// manMacro handles the macros of the package man.
func (p *page) manMacro(name string, a []string) {
	text := strings.Join(a, " ")
	switch name {
	case "SH":
		p.section(1, text)
	case "SS":
		p.section(2, text)
	case "PP", "P", "LP", "HP", "sp", "SP":
		if p.literal {
			p.code = append(p.code, "")
		} else if name == "sp" || name == "SP" {
			p.breakText()
		} else {
			p.endItems()
		}
	case "TP":
		p.item("- ")
		p.term = 1
	case "TQ":
		p.breakText()
		p.term = 2
	case "IP":
		p.indentedItem(a)
	case "RS":
		p.breakText()
		if len(p.lists) < maxDepth {
			p.lists = append(p.lists, list{indent: true})
		}
	case "RE":
		for n := len(p.lists) - 1; n >= 0; n-- {
			if p.lists[n].indent {
				p.endLists(n)
				break
			}
		}
	case "nf", "EX", "Vb":
		p.breakText()
		p.literal = true
	case "fi", "EE", "Ve":
		p.endCode()
	case "B", "I", "SM", "SB", "R", "CW", "C":
		if text != "" {
			p.add(text)
		}
	case "BR", "BI", "RB", "RI", "IR", "IB":
		p.add(strings.Join(a, ""))
	case "br", "ti":
		p.lineBreak()
	default:
		p.manLink(name, a)
	}
}

var numberRE = regexp.MustCompile(`^\(?(\w{1,3})[.)]$`)

// indentedItem handles IP: an item with a mark or a term, or a further paragraph of an item.
func (p *page) indentedItem(a []string) {
	tag := ""
	if len(a) > 0 {
		tag = strings.TrimSpace(a[0])
	}
	if tag == "" {
		p.breakText()
		return
	}
	m := numberRE.FindStringSubmatch(tag)
	switch {
	case isBullet(tag):
		p.item("- ")
	case m != nil:
		p.item(m[1] + ". ")
	default:
		p.item("- ")
		p.Lead(tag)
	}
	p.term = 0
}

// manLink handles the macros of links and of synopses.
func (p *page) manLink(name string, a []string) {
	text := strings.Join(a, " ")
	switch name {
	case "UR", "MT":
		p.url, p.urlFrom = text, p.text.Len()
	case "UE", "ME":
		shown := strings.TrimSpace(p.text.String()[min(p.urlFrom, p.text.Len()):])
		if shown == "" {
			p.add(p.url)
			shown = p.url
		} else {
			p.add("(" + p.url + ")")
		}
		p.links = append(p.links, document.Link{Text: shown, Target: p.url})
		if p.url = ""; text != "" && p.text.Len() > 0 {
			p.text.WriteString(text)
		}
	case "URL", "MTO": // of www.tmac of groff
		if len(a) > 1 && a[1] != "" {
			p.add(a[1] + " (" + a[0] + ")" + strings.Join(a[2:], ""))
		} else {
			p.add(strings.Join(a, ""))
		}
	case "SY":
		p.breakText()
		p.add(text)
	case "YS":
		p.breakText()
	case "OP":
		p.add("[" + text + "]")
	case "MR":
		if len(a) > 1 {
			p.add(a[0] + "(" + a[1] + ")" + strings.Join(a[2:], ""))
		}
	case "Sp":
		p.breakText()
	default:
		p.call(name, a)
	}
}

// call reads the lines of a macro that the page defines (groff(7)), with its arguments.
func (p *page) call(name string, a []string) {
	body := p.macros[name]
	if len(body) == 0 || p.calls >= maxCalls {
		return
	}
	all := strings.ReplaceAll(strings.Join(a, " "), `\`, `\e`)
	pairs := []string{`\$*`, all, `\$@`, all}
	for i := range 9 {
		text := ""
		if i < len(a) {
			text = strings.ReplaceAll(a[i], `\`, `\e`)
		}
		pairs = append(pairs, `\$`+strconv.Itoa(i+1), text)
	}
	arguments := strings.NewReplacer(pairs...)
	lines, size := make([]string, len(body)), 0
	for i, l := range body {
		lines[i] = arguments.Replace(strings.ReplaceAll(l, `\\`, `\`)) // a definition has two backslashes for one
		if size += len(l) + len(lines[i]) + 1; size > p.expansions {
			return
		}
	}
	p.expansions -= size
	outer, at := p.lines, p.at
	p.lines, p.at, p.calls = lines, 0, p.calls+1
	p.all()
	p.lines, p.at, p.calls = outer, at, p.calls-1
}

// condition handles if, ie and el. Output is that of a terminal, and registers have no value.
func (p *page) condition(name, rest string) {
	ok := false
	if name == "el" {
		if n := len(p.otherwise); n > 0 {
			ok, p.otherwise = p.otherwise[n-1], p.otherwise[:n-1]
		}
	} else {
		negated := strings.HasPrefix(rest, "!")
		rest = strings.TrimLeft(strings.TrimPrefix(rest, "!"), " ")
		word := rest
		if n := strings.IndexAny(rest, " \t"); n >= 0 && (rest == "" || rest[0] != '\'' && rest[0] != '"' && rest[0] != '(') {
			word, rest = rest[:n], strings.TrimLeft(rest[n:], " \t")
		} else if rest != "" && (rest[0] == '\'' || rest[0] == '"') { // a comparison of strings
			parts := strings.SplitN(rest, rest[:1], 4)
			if len(parts) < 4 {
				return
			}
			word, rest = "", strings.TrimLeft(parts[3], " \t")
		} else {
			rest = ""
		}
		if i := strings.Index(word, `\{`); i > 0 {
			word, rest = word[:i], word[i:]+" "+rest
		}
		ok = (word == "n" || word == "1" || strings.HasPrefix(word, `\n(.g`) || strings.HasPrefix(word, `\n[.g]`)) != negated
		if name == "ie" && len(p.otherwise) < maxStrings {
			p.otherwise = append(p.otherwise, !ok)
		}
	}
	body, block := strings.CutPrefix(rest, `\{`)
	if ok {
		if body = strings.TrimLeft(body, " \t"); block {
			body = strings.TrimPrefix(body, `\`)
		}
		if body != "" {
			p.line(strings.TrimSuffix(body, `\}`))
		}
		return
	}
	if !block {
		return
	}
	depth := 1 + strings.Count(body, `\{`) - strings.Count(body, `\}`)
	for ; depth > 0 && p.at < len(p.lines); p.at++ {
		depth += strings.Count(p.lines[p.at], `\{`) - strings.Count(p.lines[p.at], `\}`)
	}
}

// skip skips the definition of a macro, text that is ignored, or an equation, and returns its lines.
func (p *page) skip(name, rest string) []string {
	end := "."
	rest, _, _ = strings.Cut(rest, `\"`)
	if name == "EQ" {
		end = "EN"
	} else if f := strings.Fields(rest); name == "ig" && len(f) > 0 {
		end = f[0]
	} else if len(f) > 1 {
		end = f[1]
	}
	from := p.at
	for p.at < len(p.lines) {
		l := strings.TrimRight(p.lines[p.at], " \t")
		p.at++
		if len(l) > 1 && (l[0] == '.' || l[0] == '\'') && strings.TrimLeft(l[1:], " \t") == end {
			return p.lines[from : p.at-1]
		}
	}
	return p.lines[from:]
}

// define defines a string.
func (p *page) define(request, rest string) {
	name, value, _ := strings.Cut(rest, " ")
	value = p.escape(strings.TrimPrefix(strings.TrimLeft(value, " "), `"`))
	if request == "as" {
		value = p.strings[name] + value
	}
	if len(value) <= maxString && (len(p.strings) < maxStrings || p.strings[name] != "") {
		p.strings[name] = value
	}
}

// redirect handles a page that only includes another page (.so): it names that page.
func (p *page) redirect(file string) {
	file = file[strings.LastIndexByte(file, '/')+1:]
	if i := strings.LastIndexByte(file, '.'); i > 0 {
		file = file[:i] + "(" + file[i+1:] + ")"
	}
	p.Text("See " + file + ".")
	p.title = p.name
	if i := strings.LastIndexByte(p.name, '.'); i > 0 {
		p.title = p.name[:i] + "(" + p.name[i+1:] + ")"
	}
}

// table reads the rows of a table of tbl(1).
func (p *page) table() {
	tab := "\t"
	var rows [][]string
	cells, format := 0, true
	for first := true; p.at < len(p.lines) && p.ctx.Err() == nil; first = false {
		l := p.lines[p.at]
		p.at++
		switch {
		case strings.HasPrefix(l, ".TE"):
			p.endItemsRows(rows)
			return
		case first && strings.HasSuffix(strings.TrimSpace(l), ";"):
			if i := strings.Index(l, "tab"); i >= 0 {
				if inner, _, ok := strings.Cut(strings.TrimLeft(l[i+3:], " "), ")"); ok && len(inner) == 2 && inner[0] == '(' {
					tab = inner[1:]
				}
			}
			continue
		case format:
			format = !strings.HasSuffix(strings.TrimSpace(l), ".")
			continue
		case strings.HasPrefix(l, ".T&"):
			format = true
			continue
		case l == "_" || l == "=" || l == "" || cells > maxCells:
			continue
		case len(l) > 1 && (l[0] == '.' || l[0] == '\'') && l[1] != ' ' && !strings.HasPrefix(l, ".\t"):
			continue
		}
		row := strings.Split(l, tab)
		for k := len(row) - 1; strings.TrimSpace(row[k]) == "T{"; k = len(row) - 1 {
			text, after := p.cell()
			row[k] = text
			if after == "" {
				break
			}
			row = append(row, strings.Split(strings.TrimPrefix(after, tab), tab)...)
		}
		for i, c := range row {
			if c = strings.TrimSpace(c); c == "_" || c == "=" || c == `\_` || c == `\^` {
				c = ""
			}
			row[i] = p.escape(c)
		}
		cells += len(row)
		rows = append(rows, row)
	}
	p.endItemsRows(rows)
}

func (p *page) endItemsRows(rows [][]string) {
	p.Rows(rows)
}

// cell reads the lines of a cell up to T}, and returns its text and what follows it.
func (p *page) cell() (text, after string) {
	var b strings.Builder
	for p.at < len(p.lines) {
		l := p.lines[p.at]
		p.at++
		if rest, ok := strings.CutPrefix(l, "T}"); ok {
			return b.String(), rest
		}
		if len(l) > 1 && (l[0] == '.' || l[0] == '\'') {
			name, rest, _ := strings.Cut(strings.TrimLeft(l[1:], " "), " ")
			switch a := p.arguments(rest); {
			case p.mdoc:
				l = p.mdocText(append([]string{name}, a...))
			case len(name) == 2 && strings.Trim(name, "BIR") == "":
				l = strings.Join(a, "")
			case name == "B" || name == "I" || name == "R" || name == "SM":
				l = strings.Join(a, " ")
			default:
				continue
			}
		}
		if b.Len() < maxCell {
			b.WriteString(l + " ")
		}
	}
	return b.String(), ""
}
