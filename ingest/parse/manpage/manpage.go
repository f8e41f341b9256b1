// Package manpage parses manual pages: roff with the macros man (groff_man(7)) and mdoc (mdoc(7)), and tables of tbl(1).
package manpage

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

const (
	maxDepth   = 24      // of lists in lists
	maxStrings = 1000    // that a page defines, and as many macros
	maxCalls   = 20      // of macros in macros
	maxString  = 1000    // bytes of one
	maxCells   = 500_000 // of a table
	maxCell    = 8 << 10 // bytes; the rest of a cell is dropped
)

var looksRE = regexp.MustCompile(`(?m)^[.'][ \t]*(?:TH[ \t]+\S|Dd[ \t\r\n]|so[ \t]+man\d)`)

// Looks reports whether data begins like a manual page: with a request of roff, and soon after it with the title of a page.
func Looks(data []byte) bool {
	head := bytes.TrimLeft(data[:min(len(data), 32<<10)], " \t\r\n\ufeff")
	return len(head) > 2 && (head[0] == '.' || head[0] == '\'') && looksRE.Match(head)
}

// page is the state of parsing a page.
type page struct {
	*document.Builder
	ctx     context.Context
	name    string // of the file
	lines   []string
	at      int               // of the next line
	strings map[string]string // that the page defines
	macros  map[string][]string
	calls   int // of macros that have not ended
	meta    corpus.DublinCore

	expansions int // bytes of strings and macros that may still be inserted
	title      string
	mdoc       bool
	topic      string // the name that the page describes, of mdoc
	// topicSet: the page has named its topic. synopsis: this is the section with that name. inFo: in the arguments of a function.
	topicSet, synopsis, inFo bool
	// tight: no spaces between words, after the first tightFrom bytes of the text.
	tight     bool
	tightFrom int

	text    strings.Builder // of the open paragraph
	links   []document.Link
	code    []string // lines that are not filled
	literal bool     // lines are not filled
	term    int      // lines that are the term of an item: 1 after TP
	lists   []list
	heading int  // level of a heading whose text is in the next line
	no      bool // no space before the next text
	// otherwise has an element for each open condition with an alternative: whether the alternative is taken.
	otherwise []bool
	url       string
	urlFrom   int
}

// list is an open list, or an indentation.
type list struct {
	indent bool // of RS
	kind   byte // of mdoc: t tag, b bullet, e enumerated, c columns, i other
	number int
	rows   [][]string
}

// Parse parses a page. If its title is the name of its file in capitals, the name of the file is used as the title.
func Parse(ctx context.Context, name, s string, limits document.Limits) (document.Parsed, error) {
	p := &page{Builder: document.NewBuilder(limits), ctx: ctx, expansions: 1 << 20, macros: map[string][]string{}, name: path.Base(strings.ReplaceAll(name, "\\", "/")),
		lines: strings.Split(s, "\n"), strings: map[string]string{"R": "®", "Tm": "™", "lq": "“", "rq": "”", "Aq": "'", "lp": "(",
			"rp": ")", "Am": "&", "Ba": "|", "Ge": "≥", "Gt": ">", "If": "∞", "Le": "≤", "Lt": "<", "Na": "NaN", "Ne": "≠", "Pi": "π", "Pm": "±", "Px": "POSIX", "q": "\""}}
	p.all()
	if ctx.Err() != nil {
		return document.Parsed{}, ctx.Err()
	}
	p.breakText()
	p.endCode()
	p.endLists(0)
	return document.Parsed{Title: p.title, Meta: p.meta, Blocks: p.Blocks}, ctx.Err()
}

// all reads the lines.
func (p *page) all() {
	for p.at < len(p.lines) && !p.Full() {
		if p.at%1024 == 0 && p.ctx.Err() != nil {
			return
		}
		p.line(p.read())
	}
}

// read returns the next line. A line that ends with a backslash is joined with the one after it.
func (p *page) read() string {
	l := p.lines[p.at]
	p.at++
	if !strings.HasSuffix(l, `\`) || strings.HasSuffix(l, `\\`) {
		return l
	}
	var b strings.Builder
	for strings.HasSuffix(l, `\`) && !strings.HasSuffix(l, `\\`) && p.at < len(p.lines) && b.Len() < 1<<20 {
		b.WriteString(l[:len(l)-1])
		l = p.lines[p.at]
		p.at++
	}
	b.WriteString(l)
	return b.String()
}

func (p *page) line(l string) {
	if len(l) > 1 && (l[0] == '.' || l[0] == '\'') {
		request := strings.TrimLeft(l[1:], " \t")
		if n := strings.IndexAny(request, " \t"); n >= 0 {
			p.request(request[:n], strings.TrimLeft(request[n:], " \t"))
		} else if request != "" {
			p.request(request, "")
		}
		return
	}
	if l == "." || l == "'" {
		return
	}
	if p.literal {
		if !p.termLine(p.escape(l)) {
			p.code = append(p.code, p.escape(l))
		}
		return
	}
	text := p.escape(l)
	switch {
	case strings.TrimSpace(l) == "":
		p.paragraph()
	case l[0] == ' ' || l[0] == '\t': // a line that stays apart
		p.lineBreak()
		p.add(strings.TrimSpace(text))
	default:
		p.add(text)
	}
}

// add adds text to the open paragraph, heading or term.
func (p *page) add(s string) {
	if p.heading > 0 && strings.TrimSpace(s) != "" {
		p.Heading(p.heading, s)
		p.heading = 0
		return
	}
	if p.literal {
		if !p.termLine(s) {
			p.code = append(p.code, s)
		}
		return
	}
	if p.termLine(s) {
		return
	}
	if p.text.Len() > 0 && !p.no && !strings.HasSuffix(p.text.String(), "\n") {
		p.text.WriteByte(' ')
	}
	p.no = strings.HasSuffix(s, noBreak)
	p.text.WriteString(strings.TrimSuffix(s, noBreak))
}

// termLine takes a line as the term of an item after TP or TQ.
func (p *page) termLine(s string) bool {
	if p.term == 0 || strings.TrimSpace(s) == "" {
		return false
	}
	s = strings.TrimSuffix(s, noBreak)
	switch {
	case p.term == 2:
		p.Also(s)
	case isBullet(s):
	default:
		p.Lead(s)
	}
	p.term = 0
	return true
}

func isBullet(s string) bool {
	switch strings.TrimSpace(s) {
	case "•", "*", "-", "o", "·", "–", "—", "+", "∙", "□", "○":
		return true
	}
	return false
}

// lineBreak keeps what follows on a line of its own.
func (p *page) lineBreak() {
	if s := p.text.String(); s != "" && !strings.HasSuffix(s, "\n") {
		p.text.WriteByte('\n')
	}
}

// breakText ends the open paragraph.
func (p *page) breakText() {
	if p.text.Len() > 0 {
		p.Text(p.text.String(), p.links...)
	}
	p.text.Reset()
	p.links, p.no = nil, false
}

// paragraph ends the paragraph, or separates lines of code.
func (p *page) paragraph() {
	if p.literal {
		p.code = append(p.code, "")
		return
	}
	p.breakText()
}

func (p *page) endCode() {
	p.literal = false
	if len(p.code) > 0 {
		p.Code(strings.Join(p.code, "\n"))
	}
	p.code = nil
}

// endLists ends all lists except the n outermost ones.
func (p *page) endLists(n int) {
	p.breakText()
	if len(p.code) > 0 {
		p.Code(strings.Join(p.code, "\n"))
		p.code = nil
	}
	p.Lead("")
	for len(p.lists) > n {
		l := p.lists[len(p.lists)-1]
		p.lists = p.lists[:len(p.lists)-1]
		if !l.indent {
			p.EndList()
		}
		p.Rows(l.rows)
	}
}

// item begins an item of a list of man macros at the current indentation.
func (p *page) item(mark string) {
	p.breakText()
	if len(p.code) > 0 {
		p.Code(strings.Join(p.code, "\n"))
		p.code = nil
	}
	if n := len(p.lists); (n == 0 || p.lists[n-1].indent) && n < maxDepth {
		p.lists = append(p.lists, list{})
		p.BeginList()
	}
	p.Item(mark)
}

// endItems ends the list of man macros at this indentation.
func (p *page) endItems() {
	p.breakText()
	if n := len(p.lists); n > 0 && !p.lists[n-1].indent {
		p.endLists(n - 1)
	}
}

// section begins a section.
func (p *page) section(level int, text string) {
	p.endCode()
	p.endLists(0)
	p.heading, p.term = level, 0
	if text != "" {
		p.Heading(level, text)
		p.heading = 0
	}
}

// titled sets the title of the page.
func (p *page) titled(name, section, date string) {
	if i := strings.LastIndexByte(p.name, '.'); i > 0 && strings.EqualFold(p.name[:i], name) {
		name = p.name[:i]
	} else if strings.ToUpper(name) == name {
		name = strings.ToLower(name)
	}
	if p.title = name; section != "" {
		p.title += "(" + section + ")"
	}
	p.meta.Date = strings.TrimSpace(date)
	p.topic = name
}
