// Package contentline parses calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 2426 and 6350), which share the syntax of their lines.
// Lines that are not valid are left out.
package contentline

import (
	"io"
	"iter"
	"mime/quotedprintable"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// maxLine is the longest unfolded line that is read, in bytes. Longer ones are pictures.
const maxLine = 64 << 10

// maxParams limits the parameters of a line.
const maxParams = 50

// line is a content line: a property.
type line struct {
	name   string // in capitals, without its group
	params map[string]string
	value  string // escaped
}

// Looks reports whether data begins with a component.
func Looks(data []byte, component string) bool {
	s := strings.TrimLeft(strings.TrimPrefix(string(data[:min(len(data), 100)]), "\ufeff"), " \t\r\n")
	first, _, _ := strings.Cut(s, "\n")
	return strings.EqualFold(strings.TrimSpace(first), "BEGIN:"+component)
}

// lines returns the unfolded lines of a text.
func lines(s string) iter.Seq[line] {
	return func(yield func(line) bool) {
		var b strings.Builder
		soft := false // the line before ends with a soft line break of quoted-printable
		flush := func() bool {
			l, ok := parseLine(b.String())
			long := b.Len() > maxLine
			b.Reset()
			return long || !ok || yield(l)
		}
		for part := range strings.SplitSeq(s, "\n") {
			folded := part != "" && (part[0] == ' ' || part[0] == '\t')
			if !soft && !folded && !flush() {
				return
			}
			if folded && !soft {
				part = part[1:]
			}
			if b.Len() <= maxLine {
				b.WriteString(part)
			}
			soft = strings.HasSuffix(part, "=") && b.Len() <= maxLine && (soft || quoted(b.String()))
			if soft {
				b.WriteByte('\n')
			}
		}
		flush()
	}
}

func quoted(s string) bool {
	head, _, _ := strings.Cut(s[:min(len(s), 200)], ":")
	return strings.Contains(strings.ToUpper(head), "QUOTED-PRINTABLE")
}

func parseLine(s string) (line, bool) {
	at := valueAt(s)
	if at < 0 {
		return line{}, false
	}
	head, value := s[:at], s[at+1:]
	var fields []string
	for head != "" && len(fields) < maxParams {
		end := nextParam(head)
		fields = append(fields, head[:end])
		head = strings.TrimPrefix(head[end:], ";")
	}
	if len(fields) == 0 {
		return line{}, false
	}
	l := line{name: strings.ToUpper(strings.TrimSpace(fields[0])), params: map[string]string{}, value: value}
	if _, name, ok := strings.Cut(l.name, "."); ok {
		l.name = name
	}
	for _, f := range fields[1:] {
		key, v, ok := strings.Cut(f, "=")
		if !ok {
			key, v = "TYPE", f // vCard 2.1
			if strings.EqualFold(f, "QUOTED-PRINTABLE") || strings.EqualFold(f, "BASE64") {
				key = "ENCODING"
			}
		}
		key = strings.ToUpper(key)
		v = strings.ReplaceAll(v, `"`, "")
		if old := l.params[key]; old != "" {
			v = old + "," + v
		}
		l.params[key] = v
	}
	if strings.EqualFold(l.params["ENCODING"], "QUOTED-PRINTABLE") {
		if v, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value))); err == nil {
			l.value = string(v)
		}
	}
	return l, true
}

// valueAt returns the position of the colon before the value, or -1.
func valueAt(s string) int {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '"':
			inside = !inside
		case ':':
			if !inside {
				return i
			}
		}
	}
	return -1
}

// nextParam returns the end of the first parameter.
func nextParam(s string) int {
	inside := false
	for i := range len(s) {
		if s[i] == '"' {
			inside = !inside
		} else if s[i] == ';' && !inside {
			return i
		}
	}
	return len(s)
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";")

// text returns the value without escapes.
func (l line) text() string { return strings.TrimSpace(unescaper.Replace(l.value)) }

// parts returns the components of a value, such as those of an address, joined by commas.
func (l line) parts() string {
	var out []string
	for from, i := 0, 0; i <= len(l.value); i++ {
		switch {
		case i == len(l.value) || l.value[i] == ';':
			if s := document.OneLine(unescaper.Replace(l.value[from:i])); s != "" {
				out = append(out, s)
			}
			from = i + 1
		case l.value[i] == '\\':
			i++
			if i == len(l.value) {
				i--
			}
		}
	}
	return strings.Join(out, ", ")
}

// entry collects the properties of an event or a contact.
type entry struct {
	name  string
	kind  string // if there is no name
	lines []string
	notes []string
}

// maxField is the longest value of a property, in bytes; notes are not limited.
const maxField = 2000

func (e *entry) add(label, value string) {
	if value = document.Clip(document.OneLine(value), maxField); value != "" {
		e.lines = append(e.lines, label+": "+value)
	}
}

func (e *entry) note(s string) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if strings.TrimSpace(p) != "" {
			e.notes = append(e.notes, p)
		}
	}
}

func (e *entry) blocks() []document.Block {
	if e.name == "" && len(e.lines)+len(e.notes) == 0 {
		return nil
	}
	if e.name == "" {
		e.name = e.kind
	}
	out := []document.Block{{Kind: document.Heading, Level: 1, Text: e.name}}
	if len(e.lines) > 0 {
		out = append(out, document.Block{Kind: document.Paragraph, Text: strings.Join(e.lines, "\n")})
	} else if len(e.notes) == 0 {
		out = append(out, document.Block{Kind: document.Paragraph, Text: e.name}) // a name alone is all that is known
	}
	for _, n := range e.notes {
		out = append(out, document.Block{Kind: document.Paragraph, Text: n})
	}
	return out
}
