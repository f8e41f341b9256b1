package answer_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// The sentences of the PDF, in their order. The second begins on page 1 and ends on page 2.
const (
	onFirst  = "The Farholm lighthouse was built in 1874 by the mason Ada Brook."
	onBoth   = "The keeper moved his dog Bosun and the barrels of paraffin into the red boathouse before every winter storm."
	onSecond = "The lamp of Farholm burns whale oil from Bergen."
	onThird  = "The fog signal of Farholm sounds every ninety seconds."
)

// manual is a PDF whose pages hold little text, so that one passage spans all of them.
func manual(t *testing.T) []byte {
	t.Helper()
	f := fpdf.New("P", "mm", "A4", "")
	f.SetTitle("Farholm manual", true)
	at := strings.Index(onBoth, " paraffin")
	for i, lines := range [][]string{{onFirst, onBoth[:at]}, {onBoth[at+1:], onSecond}, {onThird}} {
		f.AddPage()
		f.SetFont("Times", "", 11)
		if i == 0 {
			f.SetY(260)
		}
		for _, line := range lines {
			f.CellFormat(0, 5, line, "", 1, "L", false, 0, "")
		}
	}
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	return b.Bytes()
}

// TestCitationsNameTheirPages checks in each protocol that a citation names the pages of the cited sentences and not all pages of the passage.
func TestCitationsNameTheirPages(t *testing.T) {
	t.Parallel()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	p := caching(t)
	p.Index, p.Graph = ix, nil
	if _, err := ingest.New(ix, nil, ingest.Options{}).IngestDocuments(t.Context(), corpus.DefaultCollection,
		[]ingest.Source{{URI: "manual.pdf", Data: manual(t)}}, nil); err != nil {
		t.Fatal(err)
	}
	p.Vectors = nil
	cite := model.Delta{Cite: 1}
	say := func(s string) model.Delta { return model.Delta{Text: s} }
	for name, c := range map[string]struct {
		deltas []model.Delta
		page   []int   // page_numbers in forge
		pages  [][]int // of the annotations in knowledge
		quote  string
		text   string // of the answer in knowledge
	}{
		"first page":            {[]model.Delta{say(onFirst), cite}, []int{1}, [][]int{{1}}, onFirst, onFirst + " ⟦⟦1⟧⟧"},
		"second page":           {[]model.Delta{say(onSecond), cite}, []int{2}, [][]int{{2}}, onSecond, onSecond + " ⟦⟦1⟧⟧"},
		"sentence on two pages": {[]model.Delta{say(onBoth), cite}, []int{1, 2}, [][]int{{1, 2}}, onBoth, onBoth + " ⟦⟦1⟧⟧"},
		"two sentences, one cite": {[]model.Delta{say(onFirst + " " + onThird), cite}, []int{1, 3}, [][]int{{1, 3}}, onFirst,
			onFirst + " " + onThird + " ⟦⟦1⟧⟧"},
		"two facts in a sentence": {[]model.Delta{say("Ada Brook was the mason that built the Farholm lighthouse in 1874, and its fog signal sounds every ninety seconds."), cite},
			[]int{1, 3}, [][]int{{1, 3}}, onFirst, ""},
		"cited twice": {[]model.Delta{say(onThird), cite, say(" " + onSecond), cite, say(" " + onThird), cite}, []int{2, 3}, [][]int{{3}, {2}}, onThird,
			onThird + " ⟦⟦1⟧⟧ " + onSecond + " ⟦⟦2⟧⟧ " + onThird + " ⟦⟦1⟧⟧"},
		"none of its words": {[]model.Delta{say("Zebras graze quietly."), cite}, []int{1, 2, 3}, [][]int{{1, 2, 3}}, "", ""},
	} {
		with := *p
		with.Setup, with.Generator = name, speaking(c.deltas...)
		for _, again := range []string{"", ", from the cache"} {
			log := ask(t, &with, "What is known of Farholm?")
			s := event.Fold(log)
			if again != "" && !s.Cached() && !s.Check.Flagged {
				t.Errorf("%s: not from the cache", name)
			}
			source := forgeSource(t, log)
			if d := cmp.Diff(c.page, source.PageNumbers); d != "" || source.Quote != c.quote {
				t.Errorf("%s%s: forge: %s\nquotes %q", name, again, d, source.Quote)
			}
			text, pages := annotated(knowledge.ResponseOf(log))
			if d := cmp.Diff(c.pages, pages); d != "" || c.text != "" && text != c.text {
				t.Errorf("%s%s: knowledge: %s\n%s", name, again, d, text)
			}
		}
	}
}

// forgeSource returns the only source that a run shows in the forge protocol.
func forgeSource(t *testing.T, log []event.Event) forge.Source {
	t.Helper()
	for _, f := range (forge.Protocol{}).New().Project(nil, log) {
		if f.Event == "sources" {
			var s forge.Sources
			if err := json.Unmarshal(f.Data, &s); err != nil || len(s.Sources) != 1 {
				t.Fatalf("%v: %s", err, f.Data)
			}
			return s.Sources[0]
		}
	}
	t.Fatal("no sources")
	return forge.Source{}
}

// annotated returns the text of a response and the pages of its annotations.
func annotated(r knowledge.Response) (text string, pages [][]int) {
	for _, item := range r.Output {
		for _, part := range item.Content {
			text = part.Text
			for _, a := range part.Annotations {
				if a.Pages == nil {
					a.Pages = []int{a.Page}
				}
				if a.Page != slices.Min(a.Pages) {
					a.Pages = nil
				}
				pages = append(pages, a.Pages)
			}
		}
	}
	return text, pages
}
