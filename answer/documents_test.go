package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var topics = []string{"oak", "salt", "rivers", "bells", "cranes", "wool", "copper", "mills", "herring", "clocks"}

var trades = []string{"Trade in %s brought %d crowns to the harbour that year.", "Merchants who dealt with %s paid %d crowns of toll.", "A storm sank the ship with the %s, a loss of %d crowns.",
	"The guild of %s lent %d crowns to the mayor.", "Strangers bought more %s than ever, for %d crowns.", "At the autumn fair, %s sold for %d crowns a cart.", "Thieves took %s from a cellar: %d crowns were never found."}

// paged makes a document of pages with two passages each.
func paged(id, title, uri string, pages int, said func(page, k int) string) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: corpus.DefaultCollection, Title: title, URI: uri, Pages: pages, Hash: id}
	var entries []index.Entry
	at := 0
	for page := 1; page <= max(pages, 1); page++ {
		for k := range 2 {
			s := said(page, k)
			c := corpus.Chunk{ID: corpus.ChunkID(fmt.Sprintf("%s-%d", id, len(entries))), Document: d.ID, Level: corpus.Passage, Ordinal: len(entries), Title: title,
				Start: at, End: at + len(s), Text: s}
			if pages > 0 {
				c.Pages = []int{page}
			}
			at += len(s) + 1
			entries = append(entries, index.Entry{Chunk: c})
		}
	}
	return d, entries
}

// archive returns a pipeline over a report of 40 pages, some short documents, and more documents with other content.
func archive(t *testing.T, more int) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	var docs []corpus.Document
	var entries [][]index.Entry
	put := func(d corpus.Document, es []index.Entry) { docs, entries = append(docs, d), append(entries, es) }
	put(paged("doc_report1", "Annual Report", "in/annual_report-2021.pdf", 40, func(page, k int) string {
		topic := topics[page%len(topics)]
		return []string{fmt.Sprintf(trades[page%len(trades)], topic, 100+page), fmt.Sprintf("The fee for %s was raised by the council of Osterby.", topic)}[k]
	}))
	put(paged("doc_rye1", "Rye bread", "rye.md", 0, func(_, k int) string {
		return []string{"Rye bread is baked from sourdough.", "The sourdough starter is fed with rye flour every morning."}[k]
	}))
	put(paged("doc_tower1", "Farland tower", "tower.txt", 0, func(_, k int) string {
		return []string{"The Farland tower is the tallest building of the coast.", "Its keeper climbs the tower each morning."}[k]
	}))
	for i := range more {
		put(paged(fmt.Sprintf("doc_z%05d", i), fmt.Sprintf("Ledger %d", i), fmt.Sprintf("ledger_%d.csv", i), 0, func(_, k int) string {
			return fmt.Sprintf("Ledger %d has an entry of line %d.", i, k)
		}))
	}
	for i := 0; i < len(docs); i += 500 {
		require.NoError(t, ix.Put(t.Context(), docs[i:min(i+500, len(docs))], entries[i:min(i+500, len(docs))]))
	}
	p := library()
	p.Index, p.Graph = ix, nil
	return p
}

var bothTools = []string{event.ToolReadPages, event.ToolListDocuments}

// called returns the input and the result of the only call of a tool.
func called(t *testing.T, s event.State, tool string) (input, result map[string]any) {
	t.Helper()
	if len(s.Calls) != 1 || s.Calls[0].Tool != tool || s.Calls[0].Result == nil || len(s.Searches) != 0 {
		t.Fatalf("calls %+v, searches %+v", s.Calls, s.Searches)
	}
	require.NoError(t, errors.Join(json.Unmarshal(s.Calls[0].Input, &input), json.Unmarshal(s.Calls[0].Result.Result, &result)))
	return input, result
}

func pagesOf(s event.State) (out []int) {
	for _, src := range s.Sources {
		out = append(out, src.Pages...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPagesAreRead(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	for _, mode := range []event.Mode{event.Agentic, event.Direct} {
		for q, want := range map[string]struct {
			pages []int
			says  string
		}{
			"What is on page 3 of annual_report-2021.pdf?":                   {[]int{3}, "103 crowns"},
			"What is on page 3 of the ANNUAL REPORT 2021?":                   {[]int{3}, "103 crowns"},
			"Show me pages 17-18 of the Annual Report":                       {[]int{17, 18}, "118 crowns"},
			"What is on the last page of annual report?":                     {[]int{40}, "140 crowns"},
			"What does page 12 of annual_report-2021.pdf say about the fee?": {[]int{12}, "The fee for rivers was raised"},
			"Read page 1 of rye.md":                                          {nil, "baked from sourdough"},
			"What is on page 2 of doc_report1?":                              {[]int{2}, "102 crowns"},
		} {
			s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Mode: mode, Tools: bothTools}}))
			input, result := called(t, s, event.ToolReadPages)
			if !strings.Contains(string(s.Text), want.says) || s.ClaimSupport() < 0.9 || s.Check.Flagged {
				t.Errorf("%s: %q: %q, confidence %v", mode, q, s.Text, s.Confidence)
			}
			if d := cmp.Diff(want.pages, pagesOf(s)); d != "" {
				t.Errorf("%s: %q: %s", mode, q, d)
			}
			if input["document_id"] == "" || input["start_page"] == nil || result["passages_found"].(float64) < 1 {
				t.Errorf("%v: %v", input, result)
			}
		}
	}
}

// TestMissingPages checks that questions for pages that no document has are searched for, since they may mean something else.
func TestMissingPages(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	for q, calls := range map[string]int{
		"What is on page 41 of annual_report-2021.pdf?": 1, "What is on page 2 of rye.md?": 1, "What is on page 3 of unknown.pdf?": 0, "What is on page 3?": 0,
	} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Tools: bothTools}}))
		if len(s.Calls) != calls || len(s.Searches) == 0 || len(s.Warnings) > 0 {
			t.Errorf("%q: %+v, %d searches, %v", q, s.Calls, len(s.Searches), s.Warnings)
		}
		if calls > 0 && !strings.Contains(string(s.Calls[0].Result.Result), "no such pages") {
			t.Errorf("%q: %s", q, s.Calls[0].Result.Result)
		}
	}
}

// TestToolsNotOffered checks that such questions are searched for if the client chose other tools, or the index does not read documents. A client that
// chose none gets the tool that the question asks for.
func TestToolsNotOffered(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	for _, q := range []string{"What is on page 3 of annual_report-2021.pdf?", "List the documents"} {
		if s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Tools: []string{}}})); len(s.Calls) != 0 || len(s.Searches) == 0 {
			t.Errorf("%q: %+v", q, s.Calls)
		}
		if s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q}})); len(s.Calls) != 1 || len(s.Searches) != 0 {
			t.Errorf("%q, without a choice of tools: %+v", q, s.Calls)
		}
		plain := *p
		plain.Index = struct{ index.Reader }{p.Index}
		if s := event.Fold(begin(t, &plain, event.RunStarted{Question: event.Question{Query: q, Tools: bothTools}})); len(s.Calls) != 0 || len(s.Searches) == 0 {
			t.Errorf("%q of such an index: %+v", q, s.Calls)
		}
	}
}

func TestDocumentsAreListed(t *testing.T) {
	t.Parallel()
	p := archive(t, 30)
	for _, mode := range []event.Mode{event.Agentic, event.Direct} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which documents do you have?", Mode: mode, Tools: bothTools}}))
		_, result := called(t, s, event.ToolListDocuments)
		want := "Documents (20 of 33):\n\n- Annual Report (annual_report-2021.pdf)\n- Rye bread (rye.md)\n- Farland tower (tower.txt)\n- Ledger 0 (ledger_0.csv)\n"
		if !strings.HasPrefix(string(s.Text), want) || strings.Count(string(s.Text), "\n- ") != 20 || len(s.Sources) != 20 || len(s.Citations) != 20 {
			t.Errorf("%s: %q, %d sources", mode, s.Text, len(s.Sources))
		}
		for i, c := range s.Citations {
			if src := s.Sources[c.N-1]; c.N != i+1 || src.Ordinal != 0 || !strings.Contains(string(s.Text[:c.At]), src.Title) || src.Name == "" {
				t.Errorf("citation %d: %+v", i, src)
			}
		}
		if result["documents_found"].(float64) != 33 || len(result["documents"].([]any)) != 20 || s.ClaimSupport() != 1 || s.Confidence < 0.5 || s.Check.By != "titles" {
			t.Errorf("%v, confidence %v by %s", result["documents_found"], s.Confidence, s.Check.By)
		}
	}
}

func TestDocumentsAboutSomethingAreListed(t *testing.T) {
	t.Parallel()
	p := archive(t, 30)
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which documents mention sourdough?", Tools: bothTools}}))
	input, _ := called(t, s, event.ToolListDocuments)
	if want := "Documents about sourdough (1):\n\n- Rye bread (rye.md)"; string(s.Text) != want || input["query"] != "sourdough" || len(s.Sources) != 1 || s.Confidence < 0.5 {
		t.Errorf("%q, %v, confidence %v", s.Text, input, s.Confidence)
	}
	s = event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which documents mention xenon isotopes?", Tools: bothTools}}))
	if len(s.Citations) != 0 || len(s.Searches) == 0 {
		t.Errorf("%q", s.Text)
	}
}

// TestListsAreNotCached checks that lists are not cached: a new document would change them, and no search would find that.
func TestListsAreNotCached(t *testing.T) {
	t.Parallel()
	p := archive(t, 1)
	p.Cache = caching(t).Cache
	for _, q := range []string{"List the documents", "What is on page 3 of the Annual Report?", "Summarize this document"} {
		begin(t, p, event.RunStarted{Question: event.Question{Query: q, Tools: bothTools}})
		if p.Cache.Stats().Entries != 0 {
			t.Errorf("%q was kept", q)
		}
	}
}

// TestNewsAreReadFromTheSection checks that a question what is new in a version reads the passages below the heading of the version.
func TestNewsAreReadFromTheSection(t *testing.T) {
	t.Parallel()
	p := archive(t, 30)
	d, entries := paged("doc_notes1", "Lumo release notes", "lumo.md", 0, func(_, k int) string {
		return []string{"Reports can be sorted by colour.", "The lamp can be dimmed from the app."}[k]
	})
	entries[0].Chunk.Headings, entries[1].Chunk.Headings = []string{"3.0"}, []string{"3.1.0"}
	require.NoError(t, p.Index.(*embedded.Index).Put(t.Context(), []corpus.Document{d}, [][]index.Entry{entries}))
	for ask, want := range map[string]string{"What's new in Lumo 3.1?": "dimmed", "Was ist neu in Lumo 3.0?": "colour"} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: ask, Mode: event.Direct}}))
		if len(s.Searches) > 0 || len(s.Sources) != 1 || !strings.Contains(string(s.Text), want) {
			t.Errorf("%q: %q, %d sources, searches %v", ask, s.Text, len(s.Sources), s.Searches)
		}
	}
}

func TestSummaryOfWholeDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		more   int
		ask    string
		said   int // sentences at least
		only   corpus.DocumentID
		search bool
	}{
		{0, "Summarize this document", 4, "", false},
		{0, "Give me a summary", 4, "", false},
		{0, "What are these documents about?", 4, "", false},
		{30, "Summarize the Annual Report", 2, "doc_report1", false},
		{30, "Summarize annual_report-2021.pdf", 2, "doc_report1", false},
		{30, "Please summarise the tower of Farland", 1, "doc_tower1", false},
		{30, "Fass mir bitte das Rye bread zusammen", 2, "doc_rye1", false},
		{30, "Summarize this document", 0, "", true},
		{30, "Summarize the history of the tower", 0, "", true},
	} {
		p := archive(t, c.more)
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: c.ask, Mode: event.Direct}}))
		if (len(s.Searches) > 0) != c.search {
			t.Fatalf("%q of %d: searches %v", c.ask, c.more, s.Searches)
		}
		if c.search {
			continue
		}
		if n := strings.Count(string(s.Text), "."); n < c.said || n > 8 || len(s.Citations) < c.said || s.ClaimSupport() < 0.9 {
			t.Errorf("%q: %q, %d citations, confidence %v", c.ask, s.Text, len(s.Citations), s.Confidence)
		}
		seen := map[corpus.DocumentID]bool{}
		for _, src := range s.Sources {
			seen[src.Document] = seen[src.Document] || src.Cited
			if c.only != "" && src.Document != c.only {
				t.Errorf("%q reads %+v", c.ask, src)
			}
		}
		if c.only == "" && len(seen) != 3 {
			t.Errorf("%q speaks of %v", c.ask, seen)
		}
	}
}

// TestLongDocumentIsSampled checks that a summary reads a limited number of passages, from all parts of the document.
func TestLongDocumentIsSampled(t *testing.T) {
	t.Parallel()
	p := archive(t, 0)
	d, es := paged("doc_long1", "Long book", "long.pdf", 600, func(page, k int) string {
		return fmt.Sprintf(trades[page*len(trades)/601]+" So says page %d.", topics[page*len(topics)/601], 7*page+k, page)
	})
	require.NoError(t, p.Index.(*embedded.Index).Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	counted := &reading{Index: p.Index.(*embedded.Index)}
	p.Index = counted
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Summarize long.pdf"}}))
	if counted.chunks.Load() > 900 || len(s.Sources) == 0 || len(s.Citations) < 2 {
		t.Errorf("%d chunks were read: %q", counted.chunks.Load(), s.Text)
	}
	counted.chunks.Store(0)
	s = event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "What is on page 599 of long.pdf?", Tools: bothTools}}))
	if counted.chunks.Load() > 200 || !strings.Contains(string(s.Text), "4193 crowns") {
		t.Errorf("%d chunks were read: %q", counted.chunks.Load(), s.Text)
	}
}

// reading is an index that counts the chunks that are read.
type reading struct {
	*embedded.Index
	chunks atomic.Int64
	fails  error
}

func (r *reading) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	out, err := r.Index.DocumentChunks(ctx, collection, id, level, from, limit)
	r.chunks.Add(int64(len(out)))
	return out, errors.Join(err, r.fails)
}

// TestUnreadableDocuments checks that the run warns and searches. The searches find nothing useful, so it fails.
func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	p.Index = &reading{Index: p.Index.(*embedded.Index), fails: errors.New("secret")}
	for _, q := range []string{"What is on page 3 of the Annual Report?", "List the documents", "Summarize the Annual Report"} {
		s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: q, Tools: bothTools}}))
		if s.Failure == nil || s.Failure.Code != fault.Index || len(s.Warnings) == 0 || len(s.Searches) == 0 || strings.Contains(fmt.Sprint(s.Warnings), "secret") {
			t.Errorf("%q: %s, %v, %d searches", q, s.Status, s.Warnings, len(s.Searches))
		}
	}
}

// TestSizeOfManyDocuments finds a document by its name among more documents than are listed.
func TestSizeOfManyDocuments(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	p := archive(t, 2100)
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "What is on page 1 of ledger 2071?", Tools: bothTools}}))
	if !strings.Contains(string(s.Text), "Ledger 2071 has") {
		t.Errorf("%q", s.Text)
	}
	s = event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "List all documents", Tools: bothTools}}))
	if !strings.HasPrefix(string(s.Text), "Documents (20 of over 2000):") {
		t.Errorf("%.60q", s.Text)
	}
}

// TestPlannerReadsDocuments checks that pages and lists which a planner requests reach the generator and the log, and that failures are warnings.
func TestPlannerReadsDocuments(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	p.Planner = plans{{{Tool: event.ToolListDocuments, Query: "sourdough"}, {Tool: event.ToolReadPages, Document: "annual_report-2021.pdf", From: 17, To: 18},
		{Tool: event.ToolReadPages, Document: "nothing.pdf", From: 1, To: 1}, {Tool: event.ToolReadPages, Document: "rye", From: 3, To: 2}}}
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which storm sank the ship?", Tools: bothTools}}))
	if len(s.Calls) != 3 || len(s.Searches) != 0 || len(s.Warnings) != 0 {
		t.Fatalf("%+v, %d searches, %v", s.Calls, len(s.Searches), s.Warnings)
	}
	var got []int
	for _, c := range chunksRead(t, p, s) {
		got = append(got, c.Pages...)
	}
	if !slices.Contains(got, 17) || !slices.Contains(got, 18) {
		t.Errorf("reads pages %v", got)
	}
	for i, want := range []string{`"title":"Rye bread"`, `"pages":[17,18]`, "no such document"} {
		if !strings.Contains(string(s.Calls[i].Result.Result), want) {
			t.Errorf("%s: %s", s.Calls[i].Input, s.Calls[i].Result.Result)
		}
	}
	if s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "Which storm sank the ship?"}})); len(s.Calls) != 0 {
		t.Errorf("not offered: %+v", s.Calls)
	}
}

// TestReadPagesArePinned checks that the generator reads the pages that a planner requested, whatever their grade.
func TestReadPagesArePinned(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	p.Planner = plans{{{Tool: event.ToolHybridSearch, Query: "rye bread sourdough"}, {Tool: event.ToolReadPages, Document: "annual report", From: 30, To: 30}}}
	s := event.Fold(begin(t, p, event.RunStarted{Question: event.Question{Query: "What is rye bread baked from?", Tools: bothTools}}))
	if got := pagesOf(s); !slices.Equal(got, []int{30}) || !strings.Contains(string(s.Text), "sourdough") {
		t.Errorf("reads pages %v: %q", got, s.Text)
	}
}

// TestAnyReadProducesValidLog checks that the log is valid whatever a planner wants to read.
func TestAnyReadProducesValidLog(t *testing.T) {
	t.Parallel()
	p := archive(t, 3)
	names := []string{"rye.md", "", "Annual Report", "\xff\x00", "doc_tower1", strings.Repeat("x", 9000)}
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var rounds plans
		for range 1 + rng.IntN(4) {
			var round []agent.Action
			for range rng.IntN(7) {
				round = append(round, agent.Action{Tool: []string{event.ToolReadPages, event.ToolListDocuments, event.ToolHybridSearch}[rng.IntN(3)], Query: names[rng.IntN(len(names))],
					Document: names[rng.IntN(len(names))], From: rng.IntN(50) - 2, To: []int{rng.IntN(50), math.MaxInt}[rng.IntN(2)]})
			}
			rounds = append(rounds, round)
		}
		with := *p
		with.Planner = rounds
		if seed%4 == 0 {
			with.Index = &reading{Index: p.Index.(*embedded.Index), fails: errors.New("secret")}
		}
		log := begin(t, &with, event.RunStarted{Question: event.Question{Query: "Which storm sank the ship?", Tools: bothTools}})
		if code(log) != "" && seed%4 != 0 {
			t.Errorf("seed %d: %s", seed, code(log))
		}
	}
}
