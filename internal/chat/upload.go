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

// maxUploads is how many files one command takes.
const maxUploads = 1000

// upload sends files, or has the server fetch addresses, waits until they are read, and puts them in the first collection in use. A file that
// fails keeps no other from coming.
func upload(ctx context.Context, s *session, args string) error {
	all, err := words(args)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("want files or an address: /upload PATH…")
	}
	sources, err := expand(all)
	if err != nil {
		return err
	}
	into := collection{"default", "default"}
	if stores := s.settings().stores; len(stores) > 0 {
		into = stores[0]
	}
	defer s.face.progress("", -1)
	var joined []string
	failed := 0
	for i, source := range sources {
		of := ""
		if len(sources) > 1 {
			of = fmt.Sprintf("%d of %d, ", i+1, len(sources))
		}
		f, err := s.bring(ctx, source, of)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			failed++
			s.face.print("! " + shown(source) + ": " + reason(err))
			continue
		}
		if _, err := s.c.AddFiles(ctx, into.id, f.ID); err != nil {
			return fmt.Errorf("join %s: %w", display.Line(into.name), err)
		}
		if joined = append(joined, f.Filename); len(sources) == 1 || len(joined) <= 10 {
			s.face.print("✓ " + display.Line(f.Filename) + ", " + bytesOf(f.Bytes))
		}
	}
	s.mu.Lock()
	s.names = append(s.names[:len(s.names):len(s.names)], joined...)
	s.mu.Unlock()
	if len(joined) > 0 {
		s.face.print(fmt.Sprintf("%s in %s", count(len(joined), "file"), display.Line(into.name)))
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

// isURL tells an address from a path.
func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// shown gives a source without what an address may hold besides its host and file.
func shown(source string) string {
	if !isURL(source) {
		return shorten(source, 80)
	}
	u, err := url.Parse(source)
	if err != nil {
		return "an address"
	}
	return shorten(u.Host+"/…/"+path.Base(u.Path), 80)
}

// bring uploads one file and waits until it is read.
func (s *session) bring(ctx context.Context, source, of string) (f client.File, err error) {
	name := shown(source)
	if isURL(source) {
		s.face.progress(of+name+": fetching", -1)
		f, err = s.c.UploadURL(ctx, source, "", client.UploadOptions{})
	} else {
		f, err = s.send(ctx, source, of+name)
	}
	if s.heard(err) != nil {
		return f, err
	}
	_, err = s.c.WaitForTask(ctx, f.TaskID, func(t client.Task) {
		_ = s.heard(nil)
		s.face.progress(of+name+": reading", t.Progress/100)
	})
	if err == nil && f.Bytes == 0 { // it was not fetched yet
		f, err = s.c.File(ctx, f.ID)
	}
	return f, err
}

// send sends a file's bytes. The same ones that the server has already are not kept twice.
func (s *session) send(ctx context.Context, file, name string) (f client.File, err error) {
	info, err := os.Stat(file) // before it is opened: a pipe would wait for its other end
	if err != nil {
		return f, plainly(err)
	}
	if !info.Mode().IsRegular() {
		return f, errors.New("is no file; for what is in a folder, write FOLDER/*")
	}
	r, err := os.Open(file)
	if err != nil {
		return f, plainly(err)
	}
	defer r.Close()
	size := max(info.Size(), 1)
	last := -1
	return s.c.Upload(ctx, filepath.Base(file), r, info.Size(), client.UploadOptions{SkipExists: true, Progress: func(sent int64) {
		if now := int(100 * sent / size); now != last { // each byte need not be told
			last = now
			s.face.progress(name+": sending", float64(sent)/float64(size))
		}
	}})
}

// plainly takes the path off an error, which stands before it anyway.
func plainly(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// expand gives the files and addresses that words name: ~ is the home folder, and *, ? and […] stand for names where they were not quoted.
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
			return nil, fmt.Errorf("%s is no pattern of files", shorten(w.text, 80))
		}
		before := len(out)
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				out = append(out, f)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("%s names no file", shorten(w.text, 80))
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxUploads {
		return nil, fmt.Errorf("these are %d files; one command takes %d", len(out), maxUploads)
	}
	return out, nil
}

// home puts the home folder in the place of ~.
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
