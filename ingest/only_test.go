package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// tree is a folder that is ingested.
type tree struct {
	*testing.T
	dir      string
	index    *embedded.Index
	ingester *ingest.Ingester
}

func newTree(t *testing.T) *tree {
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	require.CloseAfter(t, ix)
	return &tree{t, filepath.ToSlash(t.TempDir()), ix, ingest.New(ix, nil, ingest.Options{})}
}

func (f *tree) put(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// changed ingests what has changed: all of the folder, or only these parts of it.
func (f *tree) changed(only ...string) ingest.Report {
	f.Helper()
	var parts []string
	for _, o := range only {
		parts = append(parts, f.dir+o)
	}
	r, err := f.ingester.Ingest(f.Context(), ingest.Request{Paths: []string{f.dir}, Only: parts}, nil)
	if err != nil || len(r.Failed) > 0 {
		f.Fatalf("%v: %v, %+v", only, err, r.Failed)
	}
	return r
}

// want checks which files are indexed.
func (f *tree) want(step string, names ...string) {
	f.Helper()
	docs, err := f.index.Documents(f.Context(), corpus.DefaultCollection, "", 0)
	if err != nil {
		f.Fatal(err)
	}
	got := []string{}
	for _, d := range docs {
		got = append(got, strings.TrimPrefix(d.URI, f.dir+"/"))
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		f.Errorf("%s: indexed %v, want %v", step, got, names)
	}
}

// TestOnly ingests parts of a folder. What is elsewhere stays as it is, whether it has changed or not.
func TestOnly(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	for _, name := range []string{"a.md", "b.md", "sub/c.md", "sub/deep/d.md"} {
		f.put(name, "Text of "+name)
	}
	f.changed()
	all := []string{"a.md", "b.md", "sub/c.md", "sub/deep/d.md"}
	f.want("all", all...)

	f.put("a.md", "Another text.")
	f.put("b.md", "Another text.")
	if r := f.changed("/a.md"); r.Updated != 1 || r.Unchanged+r.Added+r.Deleted != 0 {
		t.Errorf("one changed: %+v", r)
	}
	for _, path := range []string{"b.md", "sub/deep"} {
		require.NoError(t, os.RemoveAll(filepath.Join(f.dir, path)))
	}
	f.put("sub/e.md", "New.")
	f.put("sub.md", "Its name begins like that of a folder.")
	f.changed("/sub/deep")
	f.want("a folder is gone", "a.md", "b.md", "sub/c.md")
	f.changed("/sub")
	f.want("a folder has changed", "a.md", "b.md", "sub/c.md", "sub/e.md")
	f.changed("/b.md", "/sub.md")
	f.want("a file is gone, and one is new", "a.md", "sub.md", "sub/c.md", "sub/e.md")

	// A file in the place of a folder, and parts that are outside or no paths.
	require.NoError(t, os.RemoveAll(filepath.Join(f.dir, "sub")))
	f.put("sub", "A file without an extension.")
	f.changed("/sub/c.md", "/sub/e.md", "x", "/../other.md", "/./a.md", "/sub//c.md")
	f.want("the folder is a file", "a.md", "sub.md")
	f.changed("")
	f.want("the folder itself", "a.md", "sub", "sub.md")
}

// TestOnlySkips checks that parts are skipped as they are in the whole folder, and that links lead nowhere.
func TestOnlySkips(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.md"), []byte("Secret."), 0o600))
	names := []string{".hidden.md", ".git/a.md", "sub/.hidden/a.md", "node_modules/a.md", "picture.png", "~$a.md"}
	for _, name := range names {
		f.put(name, "No document.")
	}
	for link, to := range map[string]string{"link.md": filepath.Join(outside, "secret.md"), "out": outside} {
		require.NoError(t, os.Symlink(to, filepath.Join(f.dir, link)))
	}
	for _, name := range append(names, "link.md", "out", "out/secret.md", "node_modules", ".git", "sub/.hidden") {
		if r := f.changed("/" + name); r.Added > 0 {
			t.Errorf("%s was indexed", name)
		}
	}
	f.want("skipped")
}

// TestGiven checks that unchanged documents get what users state about them.
func TestGiven(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	set := func(again bool, creator, contributor string) (ingest.Report, corpus.Document) {
		t.Helper()
		it := ingest.Item{URI: "a.md", Given: corpus.DublinCore{Creator: creator}, Contributor: contributor, Again: again,
			Read: func(context.Context, int64) ([]byte, error) {
				return []byte("---\ncontributor: eve\n---\nThe text."), nil
			}}
		r, err := f.ingester.IngestItems(t.Context(), "c", []ingest.Item{it}, func(ingest.Indexed) {}, nil)
		require.NoError(t, err)
		docs, err := f.index.Documents(t.Context(), "c", "", 0)
		if err != nil || len(docs) != 1 {
			t.Fatalf("%+v, %v", docs, err)
		}
		return r, docs[0]
	}
	for _, step := range []struct {
		name, creator, contributor, wantContributor string
		again                                       bool
		added, updated                              int
	}{
		{name: "new", creator: "Ada", wantContributor: "eve", added: 1},
		{name: "another creator", creator: "Bea", wantContributor: "eve"},
		{name: "a contributor", creator: "Bea", contributor: "bob", wantContributor: "bob"},
		{name: "none is stated any more", wantContributor: "bob"},
		{name: "indexed again", again: true, wantContributor: "eve", updated: 1},
	} {
		r, d := set(step.again, step.creator, step.contributor)
		if d.Given.Creator != step.creator || d.Contributor != step.wantContributor || r.Added != step.added || r.Updated != step.updated {
			t.Errorf("%s: creator %q, contributor %q, %+v", step.name, d.Given.Creator, d.Contributor, r)
		}
	}
}

// TestProgressOfFailures checks that the progress has each failure once.
func TestProgressOfFailures(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	f.put("a.md", "Text.")
	f.put("bad.pdf", "%PDF-1.7 and nothing else")
	f.put("c.md", "Text.")
	var failed []string
	calls := 0
	_, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{f.dir}}, func(p ingest.Progress) {
		if calls++; p.Failure != nil {
			failed = append(failed, p.Failure.Path)
		}
	})
	if err != nil || calls != 3 || !slices.Equal(failed, []string{f.dir + "/bad.pdf"}) {
		t.Errorf("%d calls, failures %v, %v", calls, failed, err)
	}
}
