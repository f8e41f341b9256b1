// Package markup parses reStructuredText and AsciiDoc line by line. It reads what a reader of the rendered document sees; comments, raw output for
// other formats and included files are left out.
package markup

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

const (
	maxNest   = 24       // of blocks in blocks; deeper ones are paragraphs
	maxMarked = 64 << 10 // bytes of a line; a longer one is text without marks
)

// rst is the state of parsing reStructuredText (docutils.sourceforge.io/docs/ref/rst/restructuredtext.html).
type rst struct {
	*document.Builder
	ctx    context.Context
	lines  []string
	nest   int
	styles []string // of titles, by their levels: the character, twice if there is one above too
	names  names
	title  string
	meta   corpus.DublinCore
}

// ParseRST parses reStructuredText, with the directives and roles of docutils and Sphinx.
func ParseRST(ctx context.Context, s string, limits document.Limits) (document.Parsed, error) {
	r := &rst{Builder: document.NewBuilder(limits), ctx: ctx, lines: splitLines(s), names: newNames()}
	r.define()
	r.body(0, len(r.lines), 0)
	p := document.Parsed{Title: r.title, Meta: r.meta, Blocks: r.Blocks}
	return p, ctx.Err()
}

// splitLines splits text into lines without white space at their ends and without tabs in their indentation.
func splitLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, " \t\f\v")
		n := indentOf(l)
		if tabs := l[n:]; strings.HasPrefix(tabs, "\t") {
			for width := n; ; n++ {
				switch {
				case n < len(l) && l[n] == '\t' && width < 256:
					width += 8 - width%8
					continue
				case n < len(l) && l[n] == ' ':
					width++
					continue
				}
				l = strings.Repeat(" ", width) + strings.TrimLeft(l[n:], "\t ")
				break
			}
		}
		lines[i] = l
	}
	return lines
}

func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// at returns a line without its first indent spaces, or without all of them if there are fewer.
func (r *rst) at(i, indent int) string {
	l := r.lines[i]
	return l[min(indent, indentOf(l)):]
}

// indented returns the end of the lines from i that are empty or indented by more than indent spaces, without empty ones at the end, and the
// smallest indentation of them.
func (r *rst) indented(i, to, indent int) (end, least int) {
	end, least = i, 1<<20
	for ; i < to; i++ {
		if r.lines[i] == "" {
			continue
		}
		n := indentOf(r.lines[i])
		if n <= indent {
			break
		}
		end, least = i+1, min(least, n)
	}
	return end, least
}

// body parses the lines of a block that are indented by indent spaces.
func (r *rst) body(from, to, indent int) {
	r.nest++
	for i := from; i < to && !r.Full() && r.ctx.Err() == nil; {
		if r.at(i, indent) == "" {
			i++
			continue
		}
		i = max(r.block(i, to, indent), i+1)
	}
	r.nest--
}

// block parses the block at line i, and returns the line after it.
func (r *rst) block(i, to, indent int) int {
	l := r.at(i, indent)
	if r.nest > maxNest || len(l) > maxMarked {
		return r.paragraph(i, to, indent)
	}
	if n := indentOf(r.lines[i]); n > indent { // a quote
		end, least := r.indented(i, to, indent)
		r.body(i, end, least)
		return end
	}
	if end := r.heading(i, to, indent); end > i {
		return end
	}
	if end := r.table(i, to, indent); end > i {
		return end
	}
	switch {
	case l == ".." || strings.HasPrefix(l, ".. "):
		return r.explicit(i, to, indent)
	case strings.HasPrefix(l, "__ "):
		return i + 1
	case strings.HasPrefix(l, ">>> "):
		return r.code(i, r.untilBlank(i, to), indent)
	case l == "|" || strings.HasPrefix(l, "| "):
		return r.lineBlock(i, to, indent)
	}
	if end := r.list(i, to, indent); end > i {
		return end
	}
	return r.paragraph(i, to, indent)
}

// item is the beginning of an item of a list.
type item struct {
	kind  byte   // b: bullet, e: number, f: field, o: option, d: definition
	mark  string // before its text
	term  string
	rest  string // of the line
	width int    // of the marker
}

var (
	bulletRE = regexp.MustCompile(`^[-*+•‣⁃](\s+|$)`)
	numberRE = regexp.MustCompile(`^\(?(#|\d{1,9}|[a-zA-Z]|[ivxlcdmIVXLCDM]{1,9})[.)](\s+|$)`)
	fieldRE  = regexp.MustCompile("^:([^:\\s`](?:[^:`]|:[^\\s`]){0,200}):(?:\\s+|$)")
	optionRE = regexp.MustCompile(`^(?:-\w(?: ?[<\w][\w>-]*)?|--?[a-zA-Z][\w-]*(?:[ =][<\w][\w>-]*)?|/\w)(?:, (?:-\w(?: ?[<\w][\w>-]*)?|--?[a-zA-Z][\w-]*(?:[ =][<\w][\w>-]*)?|/\w)){0,9}(?:  +|$)`)
)

// begins returns the item that begins at line i.
func (r *rst) begins(i, to, indent int) (item, bool) {
	l := r.at(i, indent)
	if len(l) > maxMarked || strings.HasPrefix(l, ".. ") || indentOf(r.lines[i]) > indent {
		return item{}, false
	}
	inner := i+1 < to && r.lines[i+1] != "" && indentOf(r.lines[i+1]) > indent
	if m := bulletRE.FindString(l); m != "" {
		return item{kind: 'b', mark: "- ", rest: l[len(m):], width: utf8.RuneCountInString(m)}, true
	}
	if m := numberRE.FindStringSubmatch(l); m != nil {
		if i+1 >= to || r.lines[i+1] == "" || inner || numberRE.MatchString(r.at(i+1, indent)) {
			return item{kind: 'e', mark: m[1] + ". ", rest: l[len(m[0]):], width: len(m[0])}, true
		}
		return item{}, false
	}
	if m := fieldRE.FindStringSubmatch(l); m != nil {
		return item{kind: 'f', mark: "- ", term: m[1], rest: l[len(m[0]):], width: len(m[0])}, true
	}
	if m := optionRE.FindString(l); m != "" && (len(m) < len(l) || inner) {
		return item{kind: 'o', mark: "- ", term: strings.TrimSpace(m), rest: l[len(m):], width: len(m)}, true
	}
	if inner && !strings.HasSuffix(l, "::") {
		return item{kind: 'd', mark: "- ", term: l}, true
	}
	return item{}, false
}

// list parses the items of a list.
func (r *rst) list(i, to, indent int) int {
	first, ok := r.begins(i, to, indent)
	if !ok {
		return i
	}
	docinfo := first.kind == 'f' && r.nest == 1 && len(r.Blocks) <= 2 && (len(r.Blocks) == 0 || r.Blocks[len(r.Blocks)-1].Kind == document.Heading)
	r.BeginList()
	defer r.EndList()
	end := i
	for n, m := 1, first; ok && m.kind == first.kind && !r.Full(); n++ {
		var least int
		end, least = r.indented(i+1, to, indent)
		if m.mark == "#. " {
			m.mark = strconv.Itoa(n) + ". "
		}
		r.Item(m.mark)
		if m.term != "" {
			term, _ := r.inline(m.term)
			r.Lead(term)
		}
		if m.kind == 'b' || m.kind == 'e' {
			least = min(least, indent+m.width)
		} else if end == i+1 {
			least = indent + m.width
		}
		if m.kind == 'd' {
			r.body(i+1, end, least)
		} else {
			r.lines[i] = ""
			if m.rest != "" {
				r.lines[i] = strings.Repeat(" ", least) + m.rest
			}
			if docinfo {
				r.docinfo(m.term, r.joined(i, end))
			}
			r.body(i, end, least)
		}
		for i = end; i < to && r.lines[i] == ""; {
			i++
		}
		if ok = i < to; ok {
			m, ok = r.begins(i, to, indent)
		}
	}
	return end
}

// docinfo reads a field at the beginning of a document.
func (r *rst) docinfo(name, value string) {
	value, _ = r.inline(value)
	value = document.OneLine(value)
	for field, to := range map[string]*string{"author": &r.meta.Creator, "authors": &r.meta.Creator, "date": &r.meta.Date, "copyright": &r.meta.Rights,
		"organization": &r.meta.Publisher, "abstract": &r.meta.Description, "description": &r.meta.Description, "keywords": &r.meta.Subject,
		"language": &r.meta.Language} {
		if strings.EqualFold(name, field) && *to == "" {
			*to = value
		}
	}
}

// joined returns lines as one.
func (r *rst) joined(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if l := strings.TrimSpace(r.lines[i]); l != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(l)
		}
	}
	return b.String()
}

// untilBlank returns the first empty line from i.
func (r *rst) untilBlank(i, to int) int {
	for i < to && r.lines[i] != "" {
		i++
	}
	return i
}

// isRule reports whether a line consists of one punctuation character.
func isRule(l string) bool {
	if len(l) < 2 || len(l) > 1000 || l[0] >= 0x7f || !unicode.IsPunct(rune(l[0])) && !unicode.IsSymbol(rune(l[0])) {
		return false
	}
	return strings.Count(l, l[:1]) == len(l)
}

// heading parses a title with a line under it or above and under it, or a transition, which is a line between paragraphs.
func (r *rst) heading(i, to, indent int) int {
	l := r.at(i, indent)
	over := 0
	if isRule(l) {
		if i+2 >= to || r.lines[i+1] == "" || r.at(i+2, indent) != l {
			if len(l) >= 4 && (i+1 >= to || r.lines[i+1] == "") {
				return i + 1
			}
			return i
		}
		over = 1
	}
	if i+over+1 >= to {
		return i
	}
	text, under := strings.TrimSpace(r.at(i+over, indent)), r.at(i+over+1, indent)
	if !isRule(under) || indentOf(r.lines[i+over+1]) != indent || isRule(text) && over == 0 || len(text) > 1000 ||
		len(under) < min(utf8.RuneCountInString(text), 4) || under == "::" {
		return i
	}
	style := strings.Repeat(under[:1], 1+over)
	level := slices.Index(r.styles, style)
	if level < 0 {
		if level = len(r.styles); level < 8 {
			r.styles = append(r.styles, style)
		}
	}
	text, links := r.inline(text)
	if r.nest > 1 { // within a directive
		r.Text(text, links...)
		return i + over + 2
	}
	if r.title == "" {
		r.title = text
	}
	r.Heading(level+1, text, links...)
	return i + over + 2
}

// paragraph parses text, and the literal block that it announces with two colons.
func (r *rst) paragraph(i, to, indent int) int {
	end := i
	for end < to && r.lines[end] != "" && (end == i || indentOf(r.lines[end]) <= indent || r.nest > maxNest) {
		end++
	}
	text := r.joined(i, end)
	literal := strings.HasSuffix(text, "::")
	if literal {
		text = strings.TrimSuffix(text, ":")
		if t := strings.TrimSuffix(text, ":"); t == "" || strings.HasSuffix(t, " ") {
			text = strings.TrimSpace(t)
		}
	}
	text, links := r.inline(text)
	r.Text(text, links...)
	if !literal || r.nest > maxNest {
		return end
	}
	for end < to && r.lines[end] == "" {
		end++
	}
	if end == to {
		return end
	}
	if last, _ := r.indented(end, to, indent); last > end {
		return r.code(end, last, indent)
	}
	mark := r.at(end, indent)[:1] // a quoted literal block
	if !strings.ContainsAny(mark, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~\\") {
		return end
	}
	last := end
	for last < to && strings.HasPrefix(r.at(last, indent), mark) {
		last++
	}
	return r.code(end, last, indent)
}

// code adds lines as code.
func (r *rst) code(from, to, indent int) int {
	_, least := r.indented(from, to, indent-1)
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(r.at(i, least))
		b.WriteByte('\n')
	}
	r.Code(b.String())
	return to
}

// lineBlock parses a line block, whose lines are not joined.
func (r *rst) lineBlock(i, to, indent int) int {
	var lines []string
	var links []document.Link
	for ; i < to && r.lines[i] != ""; i++ {
		l := r.at(i, indent)
		switch {
		case strings.HasPrefix(l, "|"):
			text, its := r.inline(strings.TrimPrefix(l[1:], " "))
			lines, links = append(lines, text), append(links, its...)
		case len(lines) > 0 && strings.HasPrefix(l, " "):
			text, its := r.inline(strings.TrimSpace(l))
			lines[len(lines)-1] += " " + text
			links = append(links, its...)
		default:
			r.Text(strings.Join(lines, "\n"), links...)
			return i
		}
	}
	r.Text(strings.Join(lines, "\n"), links...)
	return i
}
