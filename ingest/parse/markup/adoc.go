package markup

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// adoc is the state of parsing AsciiDoc (docs.asciidoctor.org/asciidoc).
type adoc struct {
	*document.Builder
	ctx   context.Context
	names names
	nest  int
	title string
	meta  corpus.DublinCore
	style style
	// counts has the number of the last item of each open list.
	counts []int
}

// style is set by the lines before a block: its attributes and its title.
type style struct {
	attributes string // of the last list in brackets
	title      string
}

// kind returns the first attribute, in lower case.
func (s style) kind() string {
	first, _, _ := strings.Cut(s.attributes, ",")
	first, _, _ = strings.Cut(first, "%")
	first, _, _ = strings.Cut(first, "#")
	first, _, _ = strings.Cut(first, ".")
	return strings.ToLower(strings.TrimSpace(first))
}

// ParseAsciiDoc parses AsciiDoc. Files that it includes are not read, and both branches of a condition are.
func ParseAsciiDoc(ctx context.Context, s string, limits document.Limits) (document.Parsed, error) {
	a := &adoc{Builder: document.NewBuilder(limits), ctx: ctx, names: newNames()}
	for name, text := range map[string]string{"nbsp": " ", "sp": " ", "empty": "", "zwsp": "", "amp": "&", "lt": "<", "gt": ">", "plus": "+", "apos": "'", "quot": "\"",
		"lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "asterisk": "*", "tilde": "~", "caret": "^", "backtick": "`", "startsb": "[", "endsb": "]", "vbar": "|",
		"backslash": "\\", "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "deg": "°", "litdd": "--", "blank": ""} {
		a.names.set(name, text)
	}
	a.body(a.header(splitLines(s)))
	return document.Parsed{Title: a.title, Meta: a.meta, Blocks: a.Blocks}, ctx.Err()
}

var (
	adocAttributeRE = regexp.MustCompile(`^:(!?[\w][\w-]*!?):(?:\s+(.*))?$`)
	authorRE        = regexp.MustCompile(`^(\pL[^<>:=]{0,200}?)(?:\s*<([^<>\s]+)>)?(?:;|$)`)
	revisionRE      = regexp.MustCompile(`^(?:v[\w.-]*\d[\w.-]*,?\s*)?(\d{4}-\d{2}-\d{2})?`)
	sectionRE       = regexp.MustCompile(`^(={1,6}|#{1,6})\s+(\S.*?)(?:\s+=+)?$`)
	blockAttrRE     = regexp.MustCompile(`^\[(?:\[[^\[\]]*\]|[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]$`)
	blockMacroRE    = regexp.MustCompile(`^([a-z]\w{0,30})::(\S*?)\[(.*)\]$`)
	adocItemRE      = regexp.MustCompile(`^\s*(\*{1,6}|-|\.{1,6}|\d{1,6}\.|[a-zA-Z]\.|[ivxIVX]{1,6}\)|<(?:\d{1,3}|\.)>)\s+(\S.*)$`)
	adocTermRE      = regexp.MustCompile(`^\s*(\S.*?)(:{2,4}|;;)(?:\s+(.*))?$`)
	admonitionRE    = regexp.MustCompile(`^(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+\S`)
	conditionRE     = regexp.MustCompile(`^(ifdef|ifndef|ifeval|endif|include)::(\S*?)\[(.*)\]$`)
	fenceRE         = regexp.MustCompile("^```\\w*$")
)

// header reads the title, the authors and the attributes at the beginning of a document, and returns the lines after them.
func (a *adoc) header(lines []string) []string {
	i := 0
	for i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "//") && !strings.HasPrefix(lines[i], "////") || a.headerCondition(lines[i]) || a.attribute(lines, &i)) {
		i++
	}
	if i >= len(lines) {
		return nil
	}
	title, next := "", i
	if m := sectionRE.FindStringSubmatch(lines[i]); m != nil && len(m[1]) == 1 {
		title, next = m[2], i+1
	} else if i+1 < len(lines) && underlined(lines[i], lines[i+1]) == 1 {
		title, next = lines[i], i+2
	}
	if title == "" {
		return lines[i:]
	}
	if a.title == "" {
		a.title, _ = a.inline(title)
	}
	a.Heading(1, a.title)
	for n := 0; next < len(lines) && lines[next] != ""; next++ {
		l := lines[next]
		if strings.HasPrefix(l, "//") || a.headerCondition(l) || a.attribute(lines, &next) {
			continue
		}
		if n++; n == 1 && authorRE.MatchString(l) && !strings.HasSuffix(l, ".") && len(l) < 300 {
			m := authorRE.FindStringSubmatch(l)
			a.meta.Creator = m[1]
			continue
		} else if m := revisionRE.FindStringSubmatch(l); n == 2 && m != nil && m[0] != "" {
			a.meta.Date = m[1]
			continue
		}
		break
	}
	return lines[next:]
}

// headerCondition handles a condition between the attributes of a header.
func (a *adoc) headerCondition(l string) bool {
	m := conditionRE.FindStringSubmatch(l[:min(len(l), maxMarked)])
	if m != nil {
		a.attribute([]string{m[3]}, new(int))
	}
	return m != nil
}

// attribute sets the attribute that the line at i defines. A line that ends with a backslash is joined with the one after it.
func (a *adoc) attribute(lines []string, i *int) bool {
	if len(lines[*i]) > maxMarked {
		return false
	}
	m := adocAttributeRE.FindStringSubmatch(lines[*i])
	if m == nil {
		return false
	}
	value := m[2]
	for strings.HasSuffix(value, " \\") && *i+1 < len(lines) && len(value) < maxValue {
		*i++
		value = strings.TrimSuffix(value, "\\") + strings.TrimSpace(lines[*i])
	}
	name := strings.ToLower(strings.Trim(m[1], "!"))
	if strings.Contains(m[1], "!") {
		delete(a.names.text, name)
		return true
	}
	value = a.attributes(value)
	a.names.set(name, value)
	for field, to := range map[string]*string{"author": &a.meta.Creator, "revdate": &a.meta.Date, "date": &a.meta.Date, "description": &a.meta.Description,
		"keywords": &a.meta.Subject, "lang": &a.meta.Language, "copyright": &a.meta.Rights, "orgname": &a.meta.Publisher} {
		if name == field && value != "" {
			*to = value
		}
	}
	if name == "doctitle" || name == "title" {
		a.title = value
	}
	return true
}

// underlined returns the level of a title that is underlined, from 1, or 0.
func underlined(title, under string) int {
	if len(under) < 4 || len(title) > 1000 || title == "" || title[0] == ' ' || title[0] == '.' || title[0] == '|' || strings.HasPrefix(title, "//") {
		return 0
	}
	level := strings.IndexByte("=-~^+", under[0]) + 1
	if d := utf8.RuneCountInString(title) - len(under); level == 0 || strings.Trim(under, under[:1]) != "" || d < -2 || d > 2 ||
		blockAttrRE.MatchString(title) || delimiterOf(title) != "" {
		return 0
	}
	return level
}

// delimiterOf returns the line that ends a block, given the line that begins it, or "" if the line begins none.
func delimiterOf(l string) string {
	switch {
	case l == "--" || l == "|===" || l == ",===" || l == ":===" || l == "!===":
		return l
	case fenceRE.MatchString(l):
		return "```"
	case len(l) >= 4 && len(l) < 200 && strings.ContainsAny(l[:1], "-.=*_+/|") && strings.Trim(l, l[:1]) == "":
		return l
	case len(l) >= 4 && l[0] == '|' && strings.Trim(l[1:], "=") == "":
		return l
	}
	return ""
}

// body parses the lines of a block.
func (a *adoc) body(lines []string) {
	a.nest++
	defer func() { a.nest-- }()
	var lists []string // the markers of the open lists
	closeLists := func(n int) {
		for len(lists) > n {
			a.EndList()
			lists = lists[:len(lists)-1]
		}
	}
	defer closeLists(0)
	joined, blank := false, false // a plus sign joins the next block to the item; the line before is empty
	for i := 0; i < len(lines) && !a.Full() && a.ctx.Err() == nil; {
		l := lines[i]
		switch {
		case l == "":
			blank = true
			i++
			continue
		case l == "+" && len(lists) > 0:
			joined = true
			i++
			continue
		case a.aside(lines, &i):
			i++
			continue
		}
		if n := a.listItem(lines, i, &lists, closeLists); n > i {
			i, blank, joined = n, false, false
			continue
		}
		if blank && !joined && len(lists) > 0 && (l[0] != ' ' || delimiterOf(l) != "") {
			closeLists(0)
		}
		i = max(a.block(lines, i), i+1)
		blank, joined = false, false
		a.style = style{}
	}
	a.Lead("")
}

// aside handles a line outside of blocks: an attribute, a comment, a condition, or attributes and a title of the next block.
func (a *adoc) aside(lines []string, i *int) bool {
	l := lines[*i]
	switch {
	case len(l) > maxMarked:
		return false
	case strings.HasPrefix(l, "//") && !strings.HasPrefix(l, "////"), l == "'''", l == "<<<", l == "***", l == "---" && *i+1 < len(lines) && lines[*i+1] == "":
		return true
	case strings.HasPrefix(l, ":") && a.attribute(lines, i):
		return true
	case l[0] == '[' && blockAttrRE.MatchString(l):
		if !strings.HasPrefix(l, "[[") {
			a.style.attributes = strings.Trim(l, "[]")
		}
		return true
	case len(l) > 1 && l[0] == '.' && l[1] != '.' && l[1] != ' ':
		a.style.title = l[1:]
		return true
	}
	m := conditionRE.FindStringSubmatch(l)
	if m == nil {
		return false
	}
	if m[3] != "" && strings.HasPrefix(m[1], "if") && m[1] != "ifeval" {
		if a.attribute([]string{m[3]}, new(int)) {
			return true
		}
		text, links := a.inline(m[3])
		a.Text(text, links...)
	}
	return true
}

// listItem parses an item of a list at line i with the text that belongs to it, and returns the line after it.
func (a *adoc) listItem(lines []string, i int, lists *[]string, closeLists func(int)) int {
	l := lines[i]
	if len(l) > maxMarked || delimiterOf(l) != "" || i+1 < len(lines) && underlined(l, lines[i+1]) > 0 {
		return i
	}
	mark, term := "- ", ""
	var marker, text string
	if m := adocItemRE.FindStringSubmatch(l); m != nil {
		marker, text = m[1], m[2]
		switch c := marker[0]; {
		case c == '<': // a number in code before it
			text, links := a.inline(text)
			a.Text(strings.Trim(marker, "<>.")+". "+text, links...)
			return i + 1
		case c == '.' || c >= '0' && c <= '9':
			if marker = strings.TrimLeft(marker, "0123456789"); c != '.' {
				marker = "1" + marker // all numbers are of one list
			}
			mark = "#"
		case c != '*' && c != '-':
			marker, mark = "a", "#"
		}
	} else if m := adocTermRE.FindStringSubmatch(l); m != nil && !blockMacroRE.MatchString(l) {
		marker, term, text = m[2], m[1], m[3]
	} else {
		return i
	}
	if !slices.Contains(*lists, marker) {
		a.blockTitle()
	}
	if n := slices.Index(*lists, marker); n >= 0 {
		closeLists(n + 1)
	} else if len(*lists) < maxNest {
		*lists = append(*lists, marker)
		a.BeginList()
		a.counts = append(a.counts[:min(len(a.counts), a.Lists()-1)], 0)
	}
	if mark == "#" {
		if k := a.Lists() - 1; k >= 0 && k < len(a.counts) {
			a.counts[k]++
			mark = strconv.Itoa(a.counts[k]) + ". "
		}
	}
	a.Item(mark)
	if term != "" {
		term, _ := a.inline(term)
		a.Lead(term)
	}
	a.style = style{}
	end := i + 1
	for text == "" { // the text of a term may be after an empty line, or after other terms for the same
		for end < len(lines) && lines[end] == "" {
			end++
		}
		if end == len(lines) {
			return end
		}
		m := adocTermRE.FindStringSubmatch(lines[end][:min(len(lines[end]), maxMarked)])
		if m != nil && m[2] == marker && adocItemRE.FindString(lines[end]) == "" {
			also, _ := a.inline(m[1])
			a.Also(also)
			text = m[3]
			end++
			continue
		}
		if a.starts(lines, end) {
			return end
		}
		break
	}
	from := end
	for end < len(lines) && lines[end] != "" && !(end > from && a.starts(lines, end)) && !(text != "" && a.starts(lines, end)) {
		end++
	}
	text = strings.TrimSpace(text + "\n" + joinTrimmed(lines[from:end]))
	a.paragraph(text)
	return end
}

// starts reports whether a line begins another block than the text of an item.
func (a *adoc) starts(lines []string, i int) bool {
	l := lines[i]
	return l == "+" || delimiterOf(l) != "" || len(l) < maxMarked && (adocItemRE.MatchString(l) || adocTermRE.MatchString(l) || blockAttrRE.MatchString(l) ||
		strings.HasPrefix(l, "//") || conditionRE.MatchString(l) || blockMacroRE.MatchString(l))
}

func joinTrimmed(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimSpace(l))
		b.WriteByte('\n')
	}
	return b.String()
}

// blockTitle adds the title of the next block.
func (a *adoc) blockTitle() {
	if a.style.title != "" {
		text, links := a.inline(a.style.title)
		a.Text(text, links...)
		a.style.title = ""
	}
}

// paragraph adds lines of text. They are joined but for hard line breaks.
func (a *adoc) paragraph(s string) {
	if m := admonitionRE.FindStringSubmatch(s); m != nil {
		a.Lead(m[1][:1] + strings.ToLower(m[1][1:]))
		s = s[len(m[1])+1:]
	}
	if strings.Contains(s, " +\n") {
		parts := strings.Split(s, " +\n")
		for i, p := range parts {
			parts[i] = document.OneLine(p)
		}
		s = strings.Join(parts, "\n")
	} else {
		s = document.OneLine(s)
	}
	text, links := a.inline(s)
	a.Text(text, links...)
}
