package sessions

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
)

// writeMarkdown writes a branch as a page of Markdown.
func writeMarkdown(w io.Writer, of session.Session, next pageOf) error {
	_, err := fmt.Fprintf(w, "# %s\n\n*%s*\n", cmp.Or(inline(line(of.Title)), "Conversation"), moment(of.CreatedAt))
	for err == nil {
		var page []session.Message
		if page, err = next(); err != nil || page == nil {
			break
		}
		for _, m := range page {
			if _, err = io.WriteString(w, markdownOf(m)); err != nil {
				break
			}
		}
	}
	return err
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// line returns a text on one line.
func line(s string) string { return strings.Join(strings.Fields(lang.Clean(s)), " ") }

func markdownOf(m session.Message) string {
	var b strings.Builder
	if m.Role == event.RoleUser {
		q := strings.TrimSpace(lang.Clean(m.Text))
		fmt.Fprintf(&b, "\n## %s\n\n*%s*\n", inline(lang.Truncate(line(q), 200)), moment(m.At))
		if strings.ContainsRune(q, '\n') || len(line(q)) > 200 {
			b.WriteString("\n> " + strings.ReplaceAll(contained(q), "\n", "\n> ") + "\n")
		}
		return b.String()
	}
	if text := strings.TrimSpace(lang.Clean(marked(m.Text, m.Citations))); text != "" {
		b.WriteString("\n" + contained(text) + "\n")
	}
	switch {
	case m.Failure != nil:
		fmt.Fprintf(&b, "\n*%s: %s*\n", m.Status, inline(line(m.Failure.Message)))
	case m.Status != session.Completed:
		fmt.Fprintf(&b, "\n*%s*\n", m.Status)
	}
	sources := slices.Clone(m.Citations)
	slices.SortStableFunc(sources, func(x, y session.Citation) int { return cmp.Compare(x.N, y.N) })
	sources = slices.CompactFunc(sources, func(x, y session.Citation) bool { return x.N == y.N })
	if len(sources) > 0 {
		b.WriteString("\n### Sources\n\n")
	}
	for _, c := range sources {
		fmt.Fprintf(&b, "%d. %s%s\n", c.N, place(c.Source), pages(c.Source.Pages))
	}
	return b.String()
}

// marked returns a text with the numbers of its citations.
func marked(text string, citations []session.Citation) string {
	sorted := slices.Clone(citations)
	slices.SortStableFunc(sorted, func(x, y session.Citation) int { return cmp.Compare(x.At, y.At) })
	var b strings.Builder
	from := 0
	for _, c := range sorted {
		at := min(max(c.At, from), len(text))
		fmt.Fprintf(&b, "%s [%d]", strings.TrimRight(text[from:at], " "), c.N)
		if from = at; strings.IndexAny(text[from:], "([") == 0 {
			b.WriteByte('\\') // otherwise the number would be the text of a link
		}
	}
	return b.String() + text[from:]
}

// place returns the title of a source with its heading and the name of its file.
func place(s event.Source) string {
	title, name := cmp.Or(line(s.Title), line(s.Name), "untitled"), line(s.Name)
	text := "**" + inline(title)
	if h := line(s.Heading); h != "" && h != title {
		text += " › " + inline(h)
	}
	if text += "**"; name != "" && name != title {
		text += " (" + inline(name) + ")"
	}
	return text
}

func pages(numbers []int) string {
	switch len(numbers) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", page %d", numbers[0])
	}
	return ", pages " + strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

var (
	special = regexp.MustCompile("[\\\\`*_\\[\\]<~]|&[#\\w]")
	heading = regexp.MustCompile(`^( {0,3})(#{1,6})([ \t].*)?$`)
	rule    = regexp.MustCompile(`^ {0,3}(-+|=+)[ \t]*$`)
	fence   = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})(.*)$")
	// inner is a fence after the marker of a list or a quote.
	inner = regexp.MustCompile("^([ \t]*(?:(?:[-+*>]|\\d{1,9}[.)])[ \t]*)+)(`{3,}|~{3,})")
	// active is what begins an HTML tag or an image, and what ends the label of a link definition, which would have effect on the whole page;
	// after the backslashes before it.
	active = regexp.MustCompile(`(\\*)(<[A-Za-z/!?]|!\[|\]:)`)
)

// inline returns a line as text without any markup.
func inline(s string) string { return special.ReplaceAllString(s, `\$0`) }

// contained returns a text of a model or a user so that it keeps its place on a page of Markdown: its headings are below those of the page, its
// code blocks end with it, it has no HTML and no images, and it defines no links for the page. Other markup stays. The rules look at single lines:
// they also escape harmless text, for example a tag in a code span, and take linear time, which parsers of Markdown do not for some texts.
func contained(text string) string {
	lines := strings.Split(text, "\n")
	var open string // the fence of the code block that the line is in
	var indent int  // of the fence
	for i, l := range lines {
		f := fence.FindStringSubmatch(l)
		switch {
		case open != "" && f != nil && strings.HasPrefix(f[2], open) && strings.Trim(f[3], " \t") == "" && (len(f[1]) < 4 || indent > 0):
			lines[i], open = f[2], ""
		case open != "":
			lines[i] = l[min(indent, len(l)-len(strings.TrimLeft(l, " \t"))):]
		case f != nil && (f[2][0] == '~' || !strings.Contains(f[3], "`")):
			// Without its indent, the block does not belong to a list, whose end would also be that of the block.
			lines[i], open, indent = f[2]+f[3], f[2], len(f[1])
		default:
			lines[i] = passive(l)
		}
	}
	if open != "" {
		lines = append(lines, open)
	}
	return strings.Join(lines, "\n")
}

// passive returns a line that is not code.
func passive(l string) string {
	switch m := rule.FindStringSubmatch(l); {
	case m == nil:
	case len(m[1]) > 2 && m[1][0] == '-':
		return "***" // a line, and not the mark of a heading above it
	default:
		return strings.Replace(l, m[1], `\`+m[1], 1)
	}
	if m := heading.FindStringSubmatch(l); m != nil {
		l = m[1] + strings.Repeat("#", min(len(m[2])+3, 6)) + m[3]
	}
	if m := inner.FindStringSubmatch(l); m != nil {
		l = m[1] + strings.Repeat(`\`+m[2][:1], len(m[2])) + l[len(m[0]):]
	}
	return active.ReplaceAllStringFunc(l, func(s string) string {
		at := strings.LastIndexByte(s, '\\') + 1
		switch {
		case at%2 == 1: // it is escaped
			return s
		case s[at] != '<':
			at++
		}
		return s[:at] + `\` + s[at:]
	})
}
