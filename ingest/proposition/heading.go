package proposition

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Sizes in bytes.
const (
	maxName  = 80  // of a name that takes a pronoun's place
	maxLabel = 90  // of a heading that is put before a sentence
	maxField = 60  // of what stands before a colon
	maxLine  = 160 // of a line without a full stop, or with a colon and one
)

// under gives a sentence with the title and the innermost heading before it, as far as it does not hold them itself; "" where
// there are none.
func (w *walker) under(c *corpus.Chunk, s string) string {
	if l := w.label(c, s); l != "" {
		return l + " — " + s
	}
	return ""
}

func (w *walker) label(c *corpus.Chunk, s string) string {
	title, heading := w.title, ""
	if n := len(c.Headings); n > 0 {
		heading = strings.TrimRight(strings.Join(strings.Fields(lang.Head(c.Headings[n-1], 4*maxLabel)), " "), ":—–- ")
	}
	if isFileName(title) {
		title = ""
	}
	said := spaced(lang.Head(s, 4*maxLabel))
	holds := func(label string) bool { return strings.Contains(said, spaced(label)) }
	if len(title) > maxLabel || holds(title) {
		title = ""
	}
	if len(heading) > maxLabel || holds(heading) {
		heading = ""
	}
	switch {
	case title == "":
		return heading
	case heading == "" || strings.Contains(spaced(title), spaced(heading)):
		return title
	case strings.Contains(spaced(heading), spaced(title)):
		return heading
	}
	return title + " › " + heading
}

// isFileName says whether a title is a file's name that tells nothing.
func isFileName(title string) bool {
	stem, ending, ok := strings.Cut(strings.ToLower(title), ".")
	return ok && !strings.Contains(ending, " ") && (stem == "readme" || stem == "index")
}

// spaced gives the words of a text in small letters, each between spaces.
func spaced(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, t := range lang.Words(s) {
		b.WriteString(t.Text)
		b.WriteByte(' ')
	}
	return b.String()
}

// unmark takes the mark off a list's item; a counter stays, as it tells the order.
func unmark(s string) (body string, listed bool) {
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

// isField says whether a line is one of key and value.
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

// closed says whether what should be a sentence ends like one, or is too long for a line without one's end.
func closed(s string) bool {
	if len(s) > maxLine {
		return true
	}
	s = strings.TrimRight(s, "\"'”’»)]*_` ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…:;。！？,", r)
}

// isCode says whether a text is code: in fences, or of lines that begin or end as lines of code do.
func isCode(s string) bool {
	if strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") {
		return true
	}
	s = lang.Head(s, readBytes)
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

// english says whether a text is English: by words that no other language has, or has many of.
func english(s string) bool {
	words := lang.Words(lang.Head(s, 2*readBytes))
	sure, fitting := 0, 0
	for _, t := range words {
		switch {
		case has(englishWords, t.Text):
			sure++
		case has(alsoEnglish, t.Text):
			fitting++
		}
	}
	return sure > 0 && (10*sure >= len(words) || 5*(sure+fitting) >= len(words))
}

// row gives a table's row with the names of its columns, where the table's first row looks like those, and headings before it.
func (w *walker) row(c *corpus.Chunk, s string) string {
	cells := lang.Cells(s)
	if w.header == nil {
		w.header = cells
		if !isHeader(cells) {
			w.header = []string{}
		}
		return bounded(w.under(c, s), c)
	}
	if len(w.header) != len(cells) {
		return bounded(w.under(c, s), c)
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
	if l := w.label(c, s); l != "" {
		if out := bounded(l+" — "+b.String(), c); out != "" {
			return out
		}
	}
	if b.Len() <= len(c.Text)+MaxGrowth {
		return b.String()
	}
	return bounded(w.under(c, s), c)
}

func bounded(s string, c *corpus.Chunk) string {
	if len(s) > len(c.Text)+MaxGrowth {
		return ""
	}
	return s
}

// isHeader says whether cells look like names of columns: short, without digits, and no two alike.
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
