package sessions

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
)

// exportPage is the number of messages that an export has in memory.
const exportPage = 50

// pageOf returns a page of messages that are exported, in their order; nil after the last one.
type pageOf func() ([]session.Message, error)

func (s routes) export(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, auth.Read)
	if err != nil {
		return err
	}
	format, err := choice(r.URL.Query(), "format", "markdown", "json")
	if err != nil {
		return err
	}
	found, err := s.sessions.Session(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	kind, extension, write, next := "text/markdown; charset=utf-8", ".md", writeMarkdown, s.branch(r, found)
	if format == "json" {
		kind, extension, write, next = "application/json", ".json", writeJSON, s.all(r, found)
	}
	first, err := next() // before the status is sent
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(found.Title) + extension}))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	out := bufio.NewWriter(w)
	if err := write(out, found, func() ([]session.Message, error) {
		if page := first; page != nil {
			first = nil
			return page, nil
		}
		return next()
	}); err != nil {
		return fmt.Errorf("export session: %w", err)
	}
	return out.Flush()
}

// all returns the messages of all branches.
func (s routes) all(r *http.Request, of session.Session) pageOf {
	offset := 0
	return func() ([]session.Message, error) {
		page, err := s.sessions.All(r.Context(), of.Account, of.ID, offset, exportPage)
		offset += len(page)
		if len(page) == 0 {
			return nil, err
		}
		return page, err
	}
}

// branch returns the messages of the active branch. A branch can only be read from its end, so the first call reads all of it to find where
// the pages end. A message and those before it do not change.
func (s routes) branch(r *http.Request, of session.Session) pageOf {
	var ends []string // ids of the last messages of the pages, the first page last
	read := func(last string, limit int) ([]session.Message, error) {
		return s.sessions.Branch(r.Context(), of.Account, of.ID, last, limit)
	}
	begun := false
	return func() ([]session.Message, error) {
		if !begun {
			begun = true
			for last := of.Head; last != ""; {
				page, err := read(last, exportPage)
				if err != nil || len(page) == 0 {
					return nil, err
				}
				ends = append(ends, last)
				last = page[len(page)-1].Parent
			}
		}
		if len(ends) == 0 {
			return nil, nil
		}
		page, err := read(ends[len(ends)-1], exportPage)
		ends = ends[:len(ends)-1]
		slices.Reverse(page)
		return page, err
	}
}

// fileName returns a name for a file from a title: letters, digits and dashes, at most 60 bytes.
func fileName(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return cmp.Or(strings.Trim(lang.Truncate(strings.Join(words, "-"), 60), "-"), "conversation")
}

// writeJSON writes the JSON of an [Export].
func writeJSON(w io.Writer, of session.Session, next pageOf) error {
	head, err := json.Marshal(sessionOf(of))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "{\"session\":%s,\"messages\":[", head); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for before := "\n"; ; {
		page, err := next()
		if err != nil {
			return err
		}
		for _, m := range page {
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if err := enc.Encode(messageOf(m)); err != nil {
				return err
			}
			before = ","
		}
		if page == nil {
			_, err := io.WriteString(w, "]}\n")
			return err
		}
	}
}

// writeMarkdown writes a branch as a page of Markdown.
func writeMarkdown(w io.Writer, of session.Session, next pageOf) error {
	_, err := fmt.Fprintf(w, "# %s\n\n*%s*\n", cmp.Or(line(of.Title), "Conversation"), moment(of.CreatedAt))
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
		fmt.Fprintf(&b, "\n## %s\n\n*%s*\n", lang.Truncate(line(q), 200), moment(m.At))
		if strings.ContainsRune(q, '\n') || len(line(q)) > 200 {
			b.WriteString("\n> " + strings.ReplaceAll(q, "\n", "\n> ") + "\n")
		}
		return b.String()
	}
	if text := strings.TrimSpace(lang.Clean(marked(m.Text, m.Citations))); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	switch {
	case m.Failure != nil:
		fmt.Fprintf(&b, "\n*%s: %s*\n", m.Status, line(m.Failure.Message))
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
		from = at
	}
	return b.String() + text[from:]
}

// place returns the title of a source with its heading and the name of its file.
func place(s event.Source) string {
	title, name := cmp.Or(line(s.Title), line(s.Name), "untitled"), line(s.Name)
	text := "**" + title
	if h := line(s.Heading); h != "" && h != title {
		text += " › " + h
	}
	if text += "**"; name != "" && name != title {
		text += " (" + name + ")"
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
