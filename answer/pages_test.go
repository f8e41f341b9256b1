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
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// slides returns a document of short pages, given by their sentences. Several pages share a passage.
func slides(pages ...[]string) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: "doc_slides", Collection: corpus.DefaultCollection, Title: "Harbour", URI: "harbour.pdf", Pages: len(pages), Hash: "1"}
	c := corpus.Chunk{ID: "c_all", Document: d.ID, Level: corpus.Passage, Title: d.Title}
	var sentences []index.Entry
	for i, page := range pages {
		c.Pages = append(c.Pages, i+1)
		for _, s := range page {
			at := len(c.Text)
			c.Text += s + " "
			sentences = append(sentences, index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint("c_", len(sentences))), Document: d.ID, Parent: c.ID,
				Level: corpus.Sentence, Ordinal: len(sentences), Title: d.Title, Pages: []int{i + 1}, Start: at, End: at + len(s), Text: s}})
		}
	}
	c.Text = strings.TrimSpace(c.Text)
	c.End = len(c.Text)
	return d, append([]index.Entry{{Chunk: c}}, sentences...)
}

// TestPassageIsTrimmedToPages checks that sentences on other pages are removed from a passage that extends over several pages.
func TestPassageIsTrimmedToPages(t *testing.T) {
	t.Parallel()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	d, entries := slides([]string{"The harbour master is Greta Olsen.", "She took office in 2019."},
		[]string{"In 2023 the harbour handled 4.2 million tonnes of cargo.", "Most of the cargo was timber and salt."},
		[]string{"Three accidents were recorded in 2024.", "None of them was fatal."})
	require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{entries}))
	p := library()
	p.Index, p.Graph = ix, nil
	for q, want := range map[string]struct{ has, not string }{
		"What is on page 1 of harbour.pdf?":            {"Greta Olsen", "tonnes"},
		"What is on page 2 of harbour.pdf?":            {"timber and salt", "Olsen"},
		"Read the last page of harbour.pdf":            {"Three accidents", "cargo"},
		"Show me pages 2-3 of harbour.pdf":             {"accidents", "Olsen"},
		"What does page 2 of harbour.pdf say of cargo": {"timber", "Olsen"},
		"Summarize harbour.pdf":                        {"Olsen", "nothing of this"},
	} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Mode: event.Direct, Tools: bothTools}}))
		if !strings.Contains(string(s.Text), want.has) || strings.Contains(string(s.Text), want.not) || len(s.Sources) != 1 {
			t.Errorf("%q: %q of %+v", q, s.Text, s.Sources)
			continue
		}
		src := s.Sources[0]
		if text := entries[0].Chunk.Text; src.Text != text[src.Start:src.End] || strings.Contains(src.Text, want.not) {
			t.Errorf("%q: reads %q of %d to %d", q, src.Text, src.Start, src.End)
		}
	}
}

// TestCountedPages checks that pages of a format without pages are counted as when the document is listed.
func TestCountedPages(t *testing.T) {
	t.Parallel()
	p := archive(t, 0)
	doc, entries := paged("doc_diary1", "Diary of a keeper", "diary.txt", 0, func(_, k int) string { // some 1,700 bytes a passage: one a page
		return strings.Repeat(fmt.Sprintf("On day %d the keeper wrote of nothing. ", k+1), 42) + fmt.Sprintf("The lamp burned %d litres of oil.", 300+k)
	})
	require.NoError(t, p.Index.(index.Index).Put(t.Context(), []corpus.Document{doc}, [][]index.Entry{entries}))
	for q, want := range map[string]string{
		"What does page 1 of diary.txt say about the lamp?":        "burned 300 litres",
		"What does page 2 of diary.txt say about the lamp?":        "burned 301 litres",
		"What does the last page of diary.txt say about the lamp?": "burned 301 litres",
	} {
		for _, mode := range []event.Mode{event.Agentic, event.Direct} {
			s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Mode: mode, Tools: bothTools}}))
			if called(t, s, event.ToolReadPages); !strings.Contains(string(s.Text), want) {
				t.Errorf("%s: %q: %q", mode, q, s.Text)
			}
		}
	}
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "What is on page 3 of diary.txt?", Tools: bothTools}}))
	if !strings.Contains(string(s.Calls[0].Result.Result), "no such pages") {
		t.Errorf("%s", s.Calls[0].Result.Result)
	}
}
