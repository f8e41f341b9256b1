package chat

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
)

// maxUploads is the maximum number of files of one command.
const maxUploads = 1000

// upload uploads files, or makes the server fetch URLs, waits until they are indexed, and adds them to the first selected collection. It
// continues after a file that fails.
func upload(ctx context.Context, s *conversation, args string) error {
	all, err := words(args)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("missing file or URL: /upload PATH…")
	}
	sources, err := expand(all)
	if err != nil {
		return err
	}
	into := collection{"default", "default"}
	if stores := s.settings().stores; len(stores) > 0 {
		into = stores[0]
	}
	defer s.ui.progress("", -1)
	var joined []string
	failed := 0
	for i, source := range sources {
		of := ""
		if len(sources) > 1 {
			of = fmt.Sprintf("%d of %d, ", i+1, len(sources))
		}
		f, err := s.uploadOne(ctx, source, of)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			failed++
			s.ui.print("! " + displayName(source) + ": " + reason(err))
			continue
		}
		if _, err := s.c.AddFiles(ctx, into.id, f.ID); err != nil {
			return fmt.Errorf("add to %s: %w", display.Line(into.name), err)
		}
		if joined = append(joined, f.Filename); len(sources) == 1 || len(joined) <= 10 {
			s.ui.print("✓ " + display.Line(f.Filename) + ", " + bytesOf(f.Bytes))
		}
	}
	s.mu.Lock()
	s.names = append(s.names[:len(s.names):len(s.names)], joined...)
	s.mu.Unlock()
	if len(joined) > 0 {
		s.ui.print(fmt.Sprintf("%s in %s", count(len(joined), "file"), display.Line(into.name)))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed > 0 {
		return fmt.Errorf("%s not uploaded", count(failed, "file"))
	}
	return nil
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func bytesOf(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// isURL reports whether s is a URL and not a path.
func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// displayName returns a path, or the host and file name of a URL, for display.
func displayName(source string) string {
	if !isURL(source) {
		return display.Shorten(source, 80)
	}
	u, err := url.Parse(source)
	if err != nil {
		return "URL"
	}
	return display.Shorten(u.Host+"/…/"+path.Base(u.Path), 80)
}

// uploadOne uploads one file and waits until it is indexed.
func (s *conversation) uploadOne(ctx context.Context, source, of string) (f client.File, err error) {
	name := displayName(source)
	if isURL(source) {
		s.ui.progress(of+name+": fetching", -1)
		f, err = s.c.UploadURL(ctx, source, "", client.UploadOptions{})
	} else {
		f, err = s.send(ctx, source, of+name)
	}
	if s.recordReply(err) != nil {
		return f, err
	}
	_, err = s.c.WaitForTask(ctx, f.TaskID, func(t client.Task) {
		_ = s.recordReply(nil)
		s.ui.progress(of+name+": indexing", t.Progress/100)
	})
	if err == nil && f.Bytes == 0 { // the size was unknown before the server fetched the file
		f, err = s.c.File(ctx, f.ID)
	}
	return f, err
}

// send uploads a local file.
func (s *conversation) send(ctx context.Context, file, name string) (f client.File, err error) {
	info, err := os.Stat(file) // checked before opening, because opening a pipe blocks
	if err != nil {
		return f, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return f, errors.New("is not a file; for the files of a folder use FOLDER/*")
	}
	r, err := os.Open(file)
	if err != nil {
		return f, withoutPath(err)
	}
	defer r.Close()
	size := max(info.Size(), 1)
	last := -1
	return s.c.Upload(ctx, filepath.Base(file), r, info.Size(), client.UploadOptions{SkipExists: true, Progress: func(sent int64) {
		if now := int(100 * sent / size); now != last { // one update per percent
			last = now
			s.ui.progress(name+": sending", float64(sent)/float64(size))
		}
	}})
}

// withoutPath removes the path from an error whose message names it already.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// expand returns the files and URLs of words. It expands ~, and the patterns *, ? and […] in unquoted words.
func expand(all []word) (out []string, err error) {
	for _, w := range all {
		switch {
		case isURL(w.text):
			out = append(out, w.text)
			continue
		case !w.plain || !strings.ContainsAny(w.text, "*?["):
			out = append(out, home(w.text))
			continue
		}
		found, err := filepath.Glob(home(w.text))
		if err != nil {
			return nil, fmt.Errorf("%s is not a valid file pattern", display.Shorten(w.text, 80))
		}
		before := len(out)
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				out = append(out, f)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("%s matches no file", display.Shorten(w.text, 80))
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxUploads {
		return nil, fmt.Errorf("%d files; the limit of one command is %d", len(out), maxUploads)
	}
	return out, nil
}

// home expands ~.
func home(p string) string {
	if p != "~" && !strings.HasPrefix(p, "~/") {
		return p
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return p
	}
	return dir + p[1:]
}
