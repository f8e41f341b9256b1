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
	"unicode"

	"github.com/sluice-rag/sluice/auth"
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
