package documents_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/documents"
)

const rules = "# House rules\n\nQuiet begins at 22.\n"

// folder writes a folder with one document in a subfolder, indexes it, and returns the path of the document and of its original.
func (s *site) folder() (path, original string) {
	s.t.Helper()
	dir := filepath.Join(s.t.TempDir(), "docs")
	path = filepath.Join(dir, "house", "rules ä.md")
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(rules), 0o600))
	s.indexFolder(dir)
	return path, "/api/documents/" + get[documents.DocumentList](s, "/api/documents?q=rules").Documents[0].ID + "/original"
}

func (s *site) indexFolder(path string) {
	s.t.Helper()
	_, err := s.ingester.Ingest(s.t.Context(), ingest.Request{Collection: corpus.DefaultCollection, Paths: []string{path}}, nil)
	require.NoError(s.t, err)
}

// TestOriginalOfFolder: the file of a folder is a download like an upload.
func TestOriginalOfFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, original := s.folder()
	if d := get[documents.DocumentView](s, strings.TrimSuffix(original, "/original")); !d.Original || d.Folder == "" || d.Path != "docs/house/rules ä.md" {
		t.Errorf("%+v", d)
	}
	w := s.do("GET", original)
	if w.Code != http.StatusOK || w.Body.String() != rules {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
		"Cross-Origin-Resource-Policy": "same-origin", "Content-Disposition": "attachment; filename*=utf-8''rules%20%C3%A4.md", "Etag": ""} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if w := s.do("GET", original, "Range", "bytes=2-6"); w.Code != http.StatusPartialContent || w.Body.String() != "House" {
		t.Errorf("range: %d %s", w.Code, w.Body)
	}
	// A file that was named, and not its folder, may be a symbolic link, since the operator has chosen it.
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real.md"), []byte("# Pool\n\nThe pool is open.\n"), 0o600))
	require.NoError(t, os.Symlink("real.md", filepath.Join(dir, "pool.md")))
	s.indexFolder(filepath.Join(dir, "pool.md"))
	id := get[documents.DocumentList](s, "/api/documents?q=pool").Documents[0].ID
	if w := s.do("GET", "/api/documents/"+id+"/original"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "The pool is open.") {
		t.Errorf("a named file: %d %s", w.Code, w.Body)
	}
}

// TestOriginalHasChanged: only the bytes that were indexed are sent, whatever is at the path now.
func TestOriginalHasChanged(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "house"), 0o700))
	for _, name := range []string{"secret", "house/rules ä.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(rules), 0o600))
	}
	link := func(target, path string) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return os.Symlink(target, path)
	}
	for name, c := range map[string]struct {
		change func(path string) error
		status int
	}{
		"same size":                 {func(p string) error { return os.WriteFile(p, []byte(strings.ToUpper(rules)), 0o600) }, 409},
		"longer":                    {func(p string) error { return os.WriteFile(p, []byte(rules+"More.\n"), 0o600) }, 409},
		"empty":                     {func(p string) error { return os.WriteFile(p, nil, 0o600) }, 409},
		"deleted":                   {os.Remove, 404},
		"a link out of the folder":  {func(p string) error { return link(filepath.Join(outside, "secret"), p) }, 404},
		"a folder that leads out":   {func(p string) error { return link(filepath.Join(outside, "house"), filepath.Dir(p)) }, 404},
		"a relative link":           {func(p string) error { return link("../../../../../../etc/hostname", p) }, 404},
		"a link to itself":          {func(p string) error { return link(filepath.Base(p), p) }, 404},
		"a folder":                  {func(p string) error { return replaceByFolder(p) }, 404},
		"unchanged, written again":  {func(p string) error { return os.WriteFile(p, []byte(rules), 0o600) }, 200},
		"another file of that name": {func(p string) error { return os.Rename(writeBeside(p, "# Other\n\nThe words of another file.\n"), p) }, 409},
	} {
		s := newSite(t)
		path, original := s.folder()
		require.NoError(t, c.change(path))
		w := s.do("GET", original)
		if w.Code != c.status || (w.Body.String() == rules) != (c.status == 200) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), filepath.Dir(path)) {
			t.Errorf("%s: the message has the path of the server: %s", name, w.Body)
		}
		if c.status == 409 && !strings.Contains(w.Body.String(), "has changed since it was indexed") {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func replaceByFolder(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Mkdir(path, 0o700)
}

// writeBeside writes a file into the folder of another and returns its path. A failure is that of the caller, which finds no file.
func writeBeside(path, text string) string {
	at := path + ".new"
	_ = os.WriteFile(at, []byte(text), 0o600)
	return at
}
