package answer_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
)

// longTable returns a document with a table in several passages, each with the names of the columns. Prices fall from row to row, and text follows the last one.
func longTable(parts, rows int) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: "doc_widgets", Collection: corpus.DefaultCollection, Title: "Widgets", URI: "widgets.md", Hash: "1"}
	var entries []index.Entry
	at := 0
	for i := range parts {
		var b strings.Builder
		b.WriteString("Widget | Maker | Price (€)\n")
		for k := range rows {
			n := i*rows + k
			fmt.Fprintf(&b, "Widget no. %d | Vale | %d.50\n", n, 5000-n)
		}
		if i == parts-1 {
			b.WriteString("\nAll prices include tax.")
		}
		text := strings.TrimSpace(b.String())
		entries = append(entries, index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint("c_", i)), Document: d.ID, Level: corpus.Passage, Ordinal: i,
			Title: d.Title, Start: at, End: at + len(text), Text: text}})
		at += len(text) + 1
	}
	return d, entries
}

// TestLongTable checks that all parts of a table are compared, that those that are not cited are no sources, and that no part of a table is added that is too
// long to be read.
func TestLongTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parts, read int
		want        string
	}{{12, 12, "Widget no. 119"}, {30, 3, ""}} {
		ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ix.Close() })
		d, entries := longTable(c.parts, 10)
		if err := ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{entries}); err != nil {
			t.Fatal(err)
		}
		p := library()
		p.Index, p.Graph = ix, nil
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which is the cheapest widget?", Mode: event.Direct, TopK: 3}}))
		if n := len(s.Generation.Passages); n != c.read || !strings.Contains(string(s.Text), c.want) || len(s.Sources) > 4 {
			t.Errorf("%d parts: %d were read: %q, %d sources", c.parts, n, s.Text, len(s.Sources))
		}
	}
}
