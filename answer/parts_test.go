package answer_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
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
		require.NoError(t, err)
		t.Cleanup(func() { _ = ix.Close() })
		d, entries := longTable(c.parts, 10)
		require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{entries}))
		p := library()
		p.Index, p.Graph = ix, nil
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which is the cheapest widget?", Mode: event.Direct, TopK: 3}}))
		said := strings.Contains(string(s.Text), "Widget no.")
		if n := len(s.Generation.Passages); n != c.read || said != (c.want != "") || !strings.Contains(string(s.Text), c.want) || len(s.Sources) > 4 {
			t.Errorf("%d parts: %d were read: %q, %d sources", c.parts, n, s.Text, len(s.Sources))
		}
	}
}

// TestSectionOfTask checks that a question how to do something is answered with all steps of a section in several passages, and that a section that names no
// task is not read in whole.
func TestSectionOfTask(t *testing.T) {
	t.Parallel()
	var doc strings.Builder
	doc.WriteString("# Boiler\n\nThe boiler stands in the cellar.\n\n## Descaling the boiler\n\n")
	for i := range 9 {
		fmt.Fprintf(&doc, "%d. Valve %d is opened with the key that hangs beside the cellar door, and is closed again as soon as clear water without scale has run for a full minute. "+
			"Write the time in the book, and look after the hose meanwhile, since it slips from the drain if the pressure is high.\n", i+1, i+1)
	}
	doc.WriteString("\n## Faults\n\nIf the lamp blinks, ring the caretaker.\n")
	p := holding(t, "boiler.md", doc.String())
	s := event.Fold(askDirect(t, p, "How do I descale the boiler?"))
	at := 0
	for i := range 6 { // the answer is limited in length
		step := strings.Index(string(s.Text), fmt.Sprintf("Valve %d is opened", i+1))
		if step < at {
			t.Fatalf("step %d is not in its place: %q", i+1, s.Text)
		}
		at = step
	}
	if len(s.Sources) < 2 {
		t.Errorf("%d sources for steps of several passages", len(s.Sources))
	}
}

// TestDeadlineAmidLongTable lets the deadline pass while all parts of a long table are read: those that the answer does not cite are no sources.
func TestDeadlineAmidLongTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("hut,beds,price of a night,warden\n")
	for i := range 400 {
		fmt.Fprintf(&table, "Hut %d,%d,%d,Warden of hut %d\n", i, 10+i%7, 20+(i*37)%400, i)
	}
	p := holding(t, "huts.csv", table.String())
	const question = "Which hut has the lowest price of a night?"
	whole := askDirect(t, p, question)
	s := event.Fold(whole)
	if s.Generation == nil || s.Generation.Chunks < len(s.Sources)+3 {
		t.Fatalf("no more parts are read than are sources: %+v, %d sources", s.Generation, len(s.Sources))
	}
	var want []corpus.ChunkID
	for _, source := range s.Sources {
		want = append(want, source.Chunk)
	}
	ranked := slices.IndexFunc(whole, func(e event.Event) bool { return e.Body.Kind() == event.KindReranked })
	for _, e := range whole[ranked : len(whole)-2] {
		ctx := &deadline{Context: t.Context(), done: make(chan struct{})}
		log := runIn(t, ctx, event.Direct, p, stopping{eventlog.NewMemory(), e.Seq, func() { close(ctx.done) }}, question)
		got := event.Fold(log).Sources
		if len(got) == 0 || slices.ContainsFunc(got, func(source event.Source) bool { return !slices.Contains(want, source.Chunk) }) {
			t.Errorf("after %s there are %d sources; the whole run has %d", e.Body.Kind(), len(got), len(want))
		}
	}
}

// bisectManual answers from a document about git bisect, whose first passage has fewer words of a question about it than the others.
func bisectManual(t *testing.T) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	d := corpus.Document{ID: "doc_bisect", Collection: corpus.DefaultCollection, Title: "git-bisect(1)", URI: "bisect.md", Hash: "1"}
	var entries []index.Entry
	at := 0
	for i := range 60 {
		text := fmt.Sprintf("What git bisect does with option %d: git bisect reads it and git bisect obeys.", i)
		headings := []string{d.Title, "Options"}
		if i == 0 {
			text, headings[1] = "A binary search finds the commit that brought a fault.", "Name"
		}
		entries = append(entries, index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint("c_", i)), Document: d.ID, Level: corpus.Passage, Ordinal: i,
			Title: d.Title, Headings: headings, Start: at, End: at + len(text), Text: text}})
		at += len(text) + 1
	}
	require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{entries}))
	p := library()
	p.Index, p.Graph = ix, nil
	return p
}

// TestTopicOfLongDocument checks that the beginning of a document is found, first among the passages, and quoted if the question is about what it is named after.
func TestTopicOfLongDocument(t *testing.T) {
	t.Parallel()
	s := event.Fold(begin(t, bisectManual(t), event.RunStarted{Question: event.Question{Query: "What does git bisect do?", Mode: event.Direct, TopK: 3}}))
	if !strings.HasPrefix(string(s.Text), "A binary search finds the commit that brought a fault.") {
		t.Errorf("answered %q", s.Text)
	}
}
