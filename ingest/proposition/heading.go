package proposition

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Sizes in bytes.
const (
	maxLabel = 90  // of a heading that is put before a sentence
	maxField = 60  // of the key before a colon
	maxLine  = 160 // of a line that may be a fragment or a field
)

// withHeadings returns a sentence after the title and the innermost heading, unless it contains them. It returns "" if neither is left.
func (w *walker) withHeadings(s string) string {
	if l := w.label(s); l != "" {
		return l + " — " + s
	}
	return ""
}

func (w *walker) label(s string) string {
	title, heading := w.title, w.heading
	said := spaced(lang.Truncate(s, 4*maxLabel))
	if title.text != "" && strings.Contains(said, title.spaced) {
		title.text = ""
	}
	if heading.text != "" && strings.Contains(said, heading.spaced) {
		heading.text = ""
	}
	switch {
	case title.text == "":
		return heading.text
	case heading.text == "" || strings.Contains(title.spaced, heading.spaced):
		return title.text
	case strings.Contains(heading.spaced, title.spaced):
		return heading.text
	}
	return title.text + " › " + heading.text
}

// words is a title or heading that may be put before a sentence, and its words as spaced returns them. The text is empty if it may not.
type words struct{ text, spaced string }

func wordsOf(label string) words {
	if label == "" || len(label) > maxLabel {
		return words{}
	}
	return words{label, spaced(label)}
}

// inLine returns the beginning of a title or heading in one line.
func inLine(s string) string { return strings.Join(strings.Fields(lang.Truncate(s, 4*maxLabel)), " ") }

// isFileName reports whether a title is a generic file name.
func isFileName(title string) bool {
	stem, ending, ok := strings.Cut(strings.ToLower(title), ".")
	return ok && !strings.Contains(ending, " ") && (stem == "readme" || stem == "index")
}

// spaced returns the words of a text in lower case, each between spaces.
func spaced(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte(' ')
	for t := range lang.AllWords(s) {
		b.WriteString(t.Text)
		b.WriteByte(' ')
	}
	return b.String()
}

// trimMarker removes the marker of a list item. It keeps numbers, which show the order.
func trimMarker(s string) (body string, listed bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– ", "◦ ", "▪ "} {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			rest = strings.TrimSpace(rest)
			for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
				rest = strings.TrimPrefix(rest, box)
			}
			return rest, true
		}
	}
	digits := 0
	for digits < len(s) && digits < 4 && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits+1 < len(s) && (s[digits] == '.' || s[digits] == ')') && s[digits+1] == ' ' {
		return s, true
	}
	return s, false
}

// isField reports whether a line is a key and a value.
func isField(s string) bool {
	key, value, ok := strings.Cut(s, ":")
	if !ok || len(key) > maxField || len(s) > 4*maxLine || !strings.HasPrefix(value, " ") || strings.TrimSpace(value) == "" {
		return false
	}
	if len(s) > maxLine && closed(s) {
		return false
	}
	return !strings.ContainsAny(key, ".!?,;(\n") && strings.Count(key, " ") <= 4
}

// closed reports whether a text ends like a sentence, or is too long for a fragment.
func closed(s string) bool {
	if len(s) > maxLine {
		return true
	}
	s = strings.TrimRight(s, "\"'”’»)]*_` ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…:;。！？,", r)
}

// isCode reports whether a text is code: fenced, or with lines that begin or end like lines of code.
func isCode(s string) bool {
	if strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") {
		return true
	}
	s = lang.Truncate(s, maxChecked)
	lines, code := 0, 0
	for line := range strings.Lines(s) {
		lines++
		trimmed := strings.TrimRight(line, " \t\n")
		if trimmed == "" {
			continue
		}
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") || strings.HasSuffix(trimmed, "{") || strings.HasSuffix(trimmed, "}") || strings.HasSuffix(trimmed, ";") {
			code++
		}
	}
	return lines > 1 && 2*code >= lines
}

// row returns a table row with the names of the columns, if the first row is a header, after the headings.
func (w *walker) row(c *corpus.Chunk, s string) string {
	cells := lang.TableCells(s)
	if w.header == nil {
		w.header = cells
		if !isHeader(cells) {
			w.header = []string{}
		}
		return bounded(w.withHeadings(s), c)
	}
	if len(w.header) != len(cells) {
		return bounded(w.withHeadings(s), c)
	}
	var b strings.Builder
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if w.header[i] != "" {
			b.WriteString(w.header[i] + ": ")
		}
		b.WriteString(cell)
	}
	if l := w.label(s); l != "" {
		if out := bounded(l+" — "+b.String(), c); out != "" {
			return out
		}
	}
	if b.Len() <= len(c.Text)+MaxGrowth {
		return b.String()
	}
	return bounded(w.withHeadings(s), c)
}

func bounded(s string, c *corpus.Chunk) string {
	if len(s) > len(c.Text)+MaxGrowth {
		return ""
	}
	return s
}

// isHeader reports whether cells look like names of columns: short, without digits, and distinct.
func isHeader(cells []string) bool {
	if len(cells) < 2 || len(cells) > 12 {
		return false
	}
	seen := map[string]bool{}
	for i, cell := range cells {
		if cell == "" && i > 0 || len(cell) > 40 || strings.ContainsAny(cell, "0123456789") || seen[cell] || closed(cell) {
			return false
		}
		seen[cell] = true
	}
	return true
}
