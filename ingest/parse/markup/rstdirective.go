package markup

import (
	"encoding/csv"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

var (
	directiveRE = regexp.MustCompile(`^\.\. ([a-zA-Z][\w.+:-]*)::(?:\s+(.*))?$`)
	footnoteRE  = regexp.MustCompile(`^\.\. \[([#*\w.-]+)\](?:\s+(.*))?$`)
	directOptRE = regexp.MustCompile(`^:([\w-]+):(?:\s+(.*))?$`)
)

// kinds of directives.
const (
	skippedDirective   = 's' // nothing of it is shown, or it is in another file
	codeDirective      = 'c'
	labelledDirective  = 'l' // the content under a label
	titledDirective    = 't' // the content under the argument
	contentDirective   = 'b' // the content; the argument is not shown
	pictureDirective   = 'p'
	argumentDirective  = 'a' // the argument begins the content
	tableDirective     = 'T'
	signatureDirective = 'd' // the arguments are terms, and the content says what they mean
)

var directives = func() map[string]byte {
	out := map[string]byte{}
	for kind, names := range map[byte]string{
		skippedDirective: "contents toctree include literalinclude raw meta highlight role default-role sectnum section-numbering target-notes header footer " +
			"title index module currentmodule program tabularcolumns graphviz digraph graph uml plot automodule autosummary " +
			"inheritance-diagram bibliography sectionauthor moduleauthor codeauthor restructuredtext-test-directive date unicode kernel-doc",
		codeDirective:     "code code-block sourcecode parsed-literal prompt ipython doctest testcode testoutput testsetup productionlist math terminal console literal-block flat-table-code",
		labelledDirective: "note warning tip hint important caution danger attention error seealso todo admonition-note versionadded versionchanged deprecated versionremoved deprecated-removed",
		titledDirective:   "admonition topic sidebar rubric tab tab-item dropdown card grid-item-card details collapse list-item table figure-md centered",
		contentDirective:  "only ifconfig container class compound epigraph highlights pull-quote hlist glossary tabs tab-set grid grid-item columns cssclass rst-class line-block parsed",
		pictureDirective:  "image figure kernel-figure kernel-image",
		argumentDirective: "replace",
		tableDirective:    "list-table flat-table csv-table",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = kind
		}
	}
	return out
}()

var labels = map[string]string{"seealso": "See also", "versionadded": "New in version", "versionchanged": "Changed in version",
	"deprecated": "Deprecated since version", "versionremoved": "Removed in version", "deprecated-removed": "Deprecated since version"}

// explicit parses a block that begins with two dots: a directive, a footnote, a target, a substitution or a comment.
func (r *rst) explicit(i, to, indent int) int {
	end, least := r.indented(i+1, to, indent)
	l := r.at(i, indent)
	if l == ".." && i+1 < to && r.lines[i+1] == "" { // an empty comment
		return i + 1
	}
	if m := footnoteRE.FindStringSubmatch(l); m != nil {
		r.Lead("[" + m[1] + "]")
		r.lines[i] = ""
		if m[2] != "" {
			least = min(least, indent+3)
			r.lines[i] = strings.Repeat(" ", least) + m[2]
		}
		r.body(i, end, least)
		r.Lead("")
		return end
	}
	m := directiveRE.FindStringSubmatch(l)
	if m == nil {
		return end
	}
	d := directive{name: strings.ToLower(m[1]), options: map[string]string{}}
	if m[2] != "" {
		d.arguments = append(d.arguments, strings.TrimSpace(m[2]))
	}
	d.name = d.name[strings.LastIndexByte(d.name, ':')+1:]
	from := i + 1
	for ; from < end && r.lines[from] != ""; from++ { // further arguments, and options
		l := r.at(from, least)
		if o := directOptRE.FindStringSubmatch(l); o != nil {
			d.options[o[1]] = o[2]
			continue
		}
		if len(d.options) > 0 {
			if indentOf(r.lines[from]) > least { // the option goes on
				continue
			}
			break
		}
		if len(d.arguments) == 0 || len(d.arguments) > 50 {
			break
		}
		d.arguments = append(d.arguments, l)
	}
	r.direct(d, from, end, least)
	r.Lead("")
	return end
}

type directive struct {
	name      string
	arguments []string // lines
	options   map[string]string
}

// direct adds what a directive shows. Its content is from one line to another.
func (r *rst) direct(d directive, from, to, indent int) {
	kind := directives[d.name]
	argument := strings.Join(d.arguments, " ")
	switch kind {
	case skippedDirective:
	case codeDirective:
		if d.name == "math" || d.name == "productionlist" || from >= to {
			r.Code(strings.Join(d.arguments, "\n"))
		}
		if from < to {
			r.code(from, to, indent)
		}
	case labelledDirective:
		label, ok := labels[d.name]
		if !ok {
			label = strings.ToUpper(d.name[:1]) + d.name[1:]
		}
		if strings.Contains(label, "version") && len(d.arguments) > 0 {
			version, rest, _ := strings.Cut(d.arguments[0], " ")
			label += " " + version
			argument = strings.TrimSpace(strings.Join(append([]string{rest}, d.arguments[1:]...), " "))
		}
		r.Lead(label)
		text, links := r.inline(argument)
		r.Text(text, links...)
		r.body(from, to, indent)
	case titledDirective:
		text, links := r.inline(argument)
		r.Text(text, links...)
		r.body(from, to, indent)
	case contentDirective:
		r.body(from, to, indent)
	case argumentDirective:
	case pictureDirective:
		if alt := d.options["alt"]; alt != "" {
			r.Text(alt)
		}
		r.body(from, to, indent)
	case tableDirective:
		text, links := r.inline(argument)
		r.Text(text, links...)
		if d.name == "csv-table" {
			r.csvTable(d, from, to, indent)
		} else {
			r.listTable(from, to, indent)
		}
	default: // a description of an object, such as a function, or an unknown directive
		r.described(d, from, to, indent)
	}
}

// described adds the signatures of an object and its description.
func (r *rst) described(d directive, from, to, indent int) {
	if len(d.arguments) == 0 {
		r.body(from, to, indent)
		return
	}
	r.BeginList()
	defer r.EndList()
	r.Item("- ")
	terms := make([]string, len(d.arguments))
	for i, a := range d.arguments {
		terms[i] = strings.TrimSuffix(strings.ReplaceAll(a, `\`, ""), ":")
	}
	r.Lead(strings.Join(terms, ", "))
	r.body(from, to, indent)
}

// csvTable adds the rows of a csv-table.
func (r *rst) csvTable(d directive, from, to, indent int) {
	var b strings.Builder
	if h := d.options["header"]; h != "" {
		b.WriteString(h + "\n")
	}
	for i := from; i < to; i++ {
		b.WriteString(r.at(i, indent) + "\n")
	}
	comma := ','
	switch delimiter := d.options["delim"]; {
	case delimiter == "tab":
		comma = '\t'
	case len(delimiter) == 1 && strings.ContainsAny(delimiter, ";|:"):
		comma = rune(delimiter[0])
	}
	addValues(r, r.Builder, b.String(), comma)
}

// inliner reads the marks in text.
type inliner interface {
	inline(s string) (string, []document.Link)
}

// addValues adds the rows of comma-separated values whose cells are marked text.
func addValues(in inliner, to *document.Builder, s string, comma rune) {
	if strings.Count(s, string(comma))+strings.Count(s, "\n") > maxCells {
		to.Code(s)
		return
	}
	c := csv.NewReader(strings.NewReader(s))
	c.Comma, c.FieldsPerRecord, c.LazyQuotes, c.TrimLeadingSpace = comma, -1, true, comma != '\t'
	rows, err := c.ReadAll()
	if err != nil {
		to.Code(s)
		return
	}
	addRows(in, to, rows)
}

// addRows adds rows whose cells are marked text.
func addRows(in inliner, to *document.Builder, rows [][]string) {
	for _, row := range rows {
		for i, cell := range row {
			row[i], _ = in.inline(cell)
		}
	}
	to.Rows(rows)
}

// listTable adds the rows of a list whose items are lists of cells.
func (r *rst) listTable(from, to, indent int) {
	var rows [][]string
	column := -1 // of the marks of cells
	cells := 0
	for i := from; i < to && cells < maxCells; i++ {
		l := r.at(i, indent)
		if l == "" {
			continue
		}
		if (l[0] == '*' || l[0] == '-') && (len(l) == 1 || l[1] == ' ') {
			rows, column = append(rows, nil), -1
			l = " " + l[1:]
		}
		in := indentOf(l)
		n := len(rows) - 1
		if n < 0 {
			continue
		}
		rest := l[in:]
		if (rest == "-" || rest == "*" || strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "* ")) && (column < 0 || in == column) {
			column = in
			rows[n] = append(rows[n], strings.TrimSpace(rest[1:]))
			cells++
			continue
		}
		if k := len(rows[n]) - 1; k >= 0 && !strings.HasPrefix(rest, ".. ") {
			rows[n][k] = joinWith(rows[n][k], rest)
		}
	}
	addRows(r, r.Builder, rows)
}

// joinWith appends a line to a cell, of at most a bounded length so that joining takes linear time.
func joinWith(cell, line string) string {
	switch {
	case cell == "":
		return line
	case len(cell) > maxCell:
		return cell
	}
	return cell + " " + line
}
