package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestVanished empties a folder, as the end of a mount does: its documents are kept until the removal is allowed.
func TestVanished(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	const n = 45
	names := make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf("%02d.md", i)
		f.put(names[i], "Text of "+names[i])
	}
	other := newTree(t)
	other.index, other.ingester = f.index, f.ingester
	other.put("x.md", "Another place.")
	ingestAll := func(allow bool, only ...string) ingest.Report {
		t.Helper()
		r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{f.dir, other.dir}, Only: only, AllowRemoval: allow}, nil)
		if err != nil || len(r.Failed) > 0 {
			t.Fatalf("%v, %+v", err, r.Failed)
		}
		return r
	}
	remove := func(from, to int) {
		t.Helper()
		for _, name := range names[from:to] {
			require.NoError(t, os.Remove(filepath.Join(f.dir, name)))
		}
	}
	check := func(step string, r ingest.Report, deleted, kept int) {
		t.Helper()
		if r.Deleted != deleted || r.NotRemoved != kept {
			t.Errorf("%s: removed %d and kept %d, want %d and %d", step, r.Deleted, r.NotRemoved, deleted, kept)
		}
	}
	if r := ingestAll(false); r.Added != n+1 {
		t.Fatalf("added %d", r.Added)
	}
	remove(0, 19) // 26 are left
	check("few", ingestAll(false), 19, 0)
	remove(19, 39)
	check("most of them", ingestAll(false), 0, 20)
	var only []string
	for _, name := range names[19:39] {
		only = append(only, f.dir+"/"+name)
	}
	check("most of them, noticed by a watch", ingestAll(false, only...), 0, 20)
	require.NoError(t, os.Rename(other.dir+"/x.md", other.dir+"/y.md"))
	check("a renamed one of another place", ingestAll(false), 1, 20)
	for i := range 20 { // as many new ones: the folder was reorganised
		f.put(fmt.Sprintf("new/%02d.md", i), "New text.")
	}
	check("moved", ingestAll(false), 20, 0)
	require.NoError(t, os.RemoveAll(filepath.Join(f.dir, "new")))
	remove(39, n)
	check("all", ingestAll(false), 0, 26)
	check("all, again", ingestAll(false), 0, 26)
	check("allowed", ingestAll(true), 26, 0)
	check("nothing is left", ingestAll(false), 0, 0)
	require.NoError(t, os.Remove(other.dir+"/y.md"))
	check("the only document", ingestAll(false), 1, 0)
}

func TestIncomplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		indexed, now, others int
		want                 bool
	}{
		{0, 0, 0, false},
		{1, 0, 0, false}, // a person has deleted the document
		{2, 0, 0, false},
		{3, 0, 0, true},  // an empty mount point
		{3, 1, 0, false}, // not mounted folders have no documents
		{3, 0, 1, false}, // such as a picture
		{19, 0, 1, false},
		{20, 0, 1, true},
		{39, 20, 0, false},
		{41, 21, 9, false},
		{41, 20, 9, true},
	} {
		if got := ingest.Incomplete(c.indexed, c.now, c.others); got != c.want {
			t.Errorf("%d indexed, %d now, %d others: %v", c.indexed, c.now, c.others, got)
		}
	}
}

// TestVanishedBesideOthers deletes all documents of a folder that has other files, and ingests only what a watch has noticed. The folder is not empty, so the documents are removed.
func TestVanishedBesideOthers(t *testing.T) {
	t.Parallel()
	for name, extensions := range map[string][]string{"pictures are ignored": nil, "pictures are read": {".png"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTree(t)
			f.ingester = ingest.New(f.index, nil, ingest.Options{Extensions: extensions})
			var only []string
			for _, name := range []string{"a.md", "b.md", "sub/c.md", "d.md"} {
				f.put(name, "Text of "+name)
				only = append(only, f.dir+"/"+name)
			}
			f.put("picture.png", "\x89PNG\r\n\x1a\n") // no text can be read of it
			ingestAll := func(only ...string) ingest.Report {
				t.Helper()
				r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{f.dir}, Only: only}, nil)
				require.NoError(t, err)
				return r
			}
			if r := ingestAll(); r.Added != 4 || len(r.Failed) != len(extensions) {
				t.Fatalf("%+v", r)
			}
			for _, path := range only {
				require.NoError(t, os.Remove(path))
			}
			if r := ingestAll(only...); r.Deleted != 4 || r.NotRemoved != 0 {
				t.Errorf("removed %d and kept %d", r.Deleted, r.NotRemoved)
			}
		})
	}
}

// TestRemove removes the documents of a folder, whether it exists or not, and only these.
func TestRemove(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	for _, name := range []string{"a.md", "tugs/b.md", "tugs/deep/c.md", "tugs2/d.md"} {
		f.put(name, "Text of "+name)
	}
	f.changed("")
	remove := func(path string, want int, left ...string) {
		t.Helper()
		r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{filepath.Join(f.dir, path)}, Remove: true}, nil)
		if err != nil || r.Deleted != want || len(r.Failed) > 0 {
			t.Errorf("%s: removed %d, want %d: %v, %+v", path, r.Deleted, want, err, r.Failed)
		}
		f.want(path, left...)
	}
	remove("none", 0, "a.md", "tugs/b.md", "tugs/deep/c.md", "tugs2/d.md")
	if err := os.RemoveAll(filepath.Join(f.dir, "tugs")); err != nil {
		t.Fatal(err)
	}
	remove("tugs", 2, "a.md", "tugs2/d.md")
	remove("a.md", 1, "tugs2/d.md")
	remove("", 1)
}

func TestRoot(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]corpus.Document{
		"/srv/docs":       {URI: "/srv/docs/a/b.md", Path: "docs/a/b.md"},
		"/srv/one.md":     {URI: "/srv/one.md", Path: "one.md"},
		"/srv/renamed.md": {URI: "/srv/renamed.md"},
		"":                {URI: "https://example.org/a.md", Path: "a.md"},
	} {
		if got := ingest.Root(d); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}
