package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
)

// maxPassage is the maximum size of a shown passage in bytes.
const maxPassage = 64 << 10

func sources(ctx context.Context, s *conversation, args string) error {
	t, ok := s.last()
	if !ok {
		return errors.New("no answer yet")
	}
	all := t.answer.Citations
	if len(all) == 0 {
		s.ui.print("the last answer has no sources")
		return nil
	}
	if args == "" {
		var lines []string
		for _, c := range all {
			lines = append(lines, fmt.Sprintf("[%d] %s", c.N, place(c)), indented(display.Quote(c, 300)))
		}
		s.ui.print(strings.Join(lines, "\n"))
		return nil
	}
	n, err := strconv.Atoi(strings.Trim(args, "[]"))
	if err != nil || n < 1 || n > len(all) {
		return fmt.Errorf("the last answer has the sources 1 to %d", len(all))
	}
	c := all[n-1]
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := s.passage(ctx, c)
	if err != nil {
		return err
	}
	s.ui.print(fmt.Sprintf("[%d] %s\n\n%s", c.N, place(c), text))
	return nil
}

// indented wraps and indents a text below a source.
func indented(text string) string {
	return "    " + strings.ReplaceAll(xansi.Wrap(text, 72, ""), "\n", "\n    ")
}

// passage returns the whole passage of a citation, or its snippet if the server does not have the passage any more.
func (s *conversation) passage(ctx context.Context, c client.Citation) (string, error) {
	if c.Document == "" {
		return display.Clean(c.Snippet), nil
	}
	var d client.Document
	err := s.c.Get(ctx, "/v1/files/"+url.PathEscape(c.Document)+"/content?limit=1&start_segment="+strconv.Itoa(c.Segment), &d)
	if s.recordReply(err) == nil && d.Content != nil {
		for _, g := range d.Content.Segments {
			if g.Index == c.Segment && g.Content != "" {
				return display.Clean(strings.ToValidUTF8(g.Content[:min(len(g.Content), maxPassage)], "")), nil
			}
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return display.Clean(c.Snippet) + "\n(the server no longer has the whole passage)", nil
}

// place returns the file, heading and pages of a citation.
func place(c client.Citation) string {
	p := display.Shorten(cmp.Or(c.File, c.Title), 120)
	if h := display.Shorten(c.Heading, 120); h != "" && h != display.Shorten(c.Title, 120) {
		p += " › " + h
	}
	if len(c.Pages) > 0 {
		p += ", " + c.PageList()
	}
	return p
}

// export writes the session to a file as Markdown. It asks before it overwrites a file, and replaces it atomically.
func export(ctx context.Context, s *conversation, args string) error {
	all, err := words(args)
	if err != nil {
		return err
	}
	if len(all) != 1 {
		return errors.New("missing file: /export FILE")
	}
	id, err := s.stored()
	if err != nil {
		return err
	}
	file := home(all[0].text)
	info, err := os.Lstat(file)
	switch {
	case err == nil && info.IsDir():
		return errors.New(display.Shorten(file, 80) + " is a folder")
	case err == nil && !s.ui.ask(ctx, display.Shorten(file, 80)+" exists. Overwrite it?"):
		return errors.New(display.Shorten(file, 80) + " exists; nothing was written")
	}
	text, err := s.c.ExportSession(ctx, id, client.ExportMarkdown)
	if s.recordReply(err) != nil {
		return err
	}
	defer text.Close()
	if err := replace(file, text); err != nil {
		return fmt.Errorf("export to %s: %w", display.Shorten(file, 80), withoutPath(err))
	}
	s.ui.print("exported to " + display.Line(file))
	return nil
}

// replace writes a temporary file and renames it.
func replace(file string, text io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".chat*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
