package ingest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// unlistable is an index whose documents must not be listed.
type unlistable struct{ *memory }

func (u unlistable) Documents(context.Context, string, corpus.DocumentID, int) ([]corpus.Document, error) {
	panic("the whole collection is listed")
}

func TestIngestFile(t *testing.T) {
	dir, ix := t.TempDir(), newMemory()
	body := strings.Repeat("Alpha is a letter, and so are the others.\n\n", 60)
	write(t, dir, map[string]string{"blob": "# Heading\n\n" + body, "empty": "", "bin": "a\x00b"})
	g := ingest.New(unlistable{ix}, lengths{name: "a"}, ingest.Options{EmbedBatch: 1})
	var told []string
	f := ingest.File{Collection: "files", ID: "file_1", Path: filepath.Join(dir, "blob"), Name: "letters.md"}
	got, err := g.IngestFile(t.Context(), f, func(s ingest.Stage, share float64) { told = append(told, fmt.Sprintf("%d %.2f", s, share)) })
	require.NoError(t, err)
	d := ix.docs["files"]["file_1"]
	if d.ID != got.Document.ID || d.Title != "Heading" || d.URI != "letters.md" || d.MediaType != "text/markdown" || got.Chunks != len(ix.entries["file_1"]) || got.Chunks == 0 {
		t.Errorf("document %+v of %d chunks", d, got.Chunks)
	}
	for _, e := range ix.entries["file_1"] {
		if e.Document != "file_1" || e.Space != "a" {
			t.Errorf("chunk %+v", e)
		}
	}
	if !slices.IsSorted(told) || len(told) < 6 || told[0] != "0 0.00" || told[len(told)-1] != "3 1.00" || !slices.Contains(told, "2 1.00") {
		t.Errorf("progress %v", told)
	}
	// With another name and title, it replaces the first document.
	f.Title, f.URI = "Titled", "https://example.org/l.md"
	if _, err := g.IngestFile(t.Context(), f, nil); err != nil {
		t.Fatal(err)
	}
	if d := ix.docs["files"]["file_1"]; d.Title != "Titled" || d.URI != "https://example.org/l.md" || len(ix.docs["files"]) != 1 {
		t.Errorf("again %+v", d)
	}
	for name, want := range map[string]string{"empty": "the file is empty", "bin": "a binary file cannot be read", "gone": "does not exist"} {
		_, err := g.IngestFile(t.Context(), ingest.File{Collection: "files", ID: "x", Path: filepath.Join(dir, name), Name: name + ".txt"}, nil)
		if e := fault.Public(err); e == nil || e.Message != want {
			t.Errorf("%s: %v", name, e)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.ID = "late"
	if _, err := g.IngestFile(ctx, f, func(s ingest.Stage, share float64) {
		if s == ingest.Indexing {
			cancel()
		}
	}); err == nil || len(ix.docs["files"]) != 1 {
		t.Errorf("put after its context ended: %v", err)
	}
}
