package knowledge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// huge returns a run with many calls, sources and reasoning, and a text of so many pieces.
func huge(piece string, pieces, calls, sources int) []event.Event {
	long := strings.Repeat(piece, 600)
	bodies := started(`{"input":"x","effort":"dev","metadata":{"k":"` + strings.Repeat("é", 200) + `"}}`)
	start := bodies[0].(event.RunStarted)
	start.Query, start.Model = long, long
	bodies[0] = start
	bodies = append(bodies, event.Reasoned{Text: long}, event.CacheChecked{})
	for n := range calls {
		call := event.CallID(n + 1)
		if n%2 == 0 {
			bodies = append(bodies, event.RetrievalStarted{Call: call, Tool: event.ToolHybridSearch, Query: long, Iteration: n, Reason: long},
				event.RetrievalFinished{Call: call, Tool: event.ToolHybridSearch, Error: long})
			continue
		}
		input, err := json.Marshal(map[string]any{"document_id": long, "start_page": n, "sub_queries": []string{long, long}, "query": long})
		if err != nil {
			panic(err)
		}
		tool := []string{event.ToolReadPages, event.ToolListDocuments, event.ToolDecomposeQuery}[n%3]
		bodies = append(bodies, event.ToolCalled{Call: call, Tool: tool, Input: input, Iteration: n, Reason: long}, event.ToolReturned{Call: call, Tool: tool, Result: input})
	}
	bodies = append(bodies, event.GenerationStarted{})
	for i := range max(pieces, sources) {
		if i < pieces {
			bodies = append(bodies, event.Token{Text: piece + fmt.Sprintf(" %d", i)})
		}
		if i < sources {
			bodies = append(bodies, event.Cited{N: i + 1, Chunk: corpus.ChunkID(fmt.Sprint("c", i)), Source: &event.Source{N: i + 1, Document: corpus.DocumentID(fmt.Sprint("d", i)),
				Name: long, Title: long, Heading: long, Text: long, Score: 0.5,
				Meta: &corpus.DublinCore{Title: long, Creator: long, Description: long, Rights: long}}})
		}
	}
	return wiretest.LogOf(append(bodies, event.Token{Text: long}, event.RunFailed{Code: fault.Model, Message: long})...)
}

// TestSnapshotsStayBelowALine: every snapshot fits into a line and is valid, and both modes end in the same state.
func TestSnapshotsStayBelowALine(t *testing.T) {
	pieces := []string{"\"\\\"\\", "\U0010ffff", "\u2028\u0085", "⟦⟦1⟧⟧"}
	if race.Enabled {
		pieces = pieces[:1]
	}
	for _, piece := range pieces {
		for _, size := range []struct{ pieces, calls, sources int }{{10, 100, 100}, {4000, 60, 64}} {
			log := huge(piece, size.pieces, size.calls, size.sources)
			var batches [][]event.Event
			for chunk := range slices.Chunk(log, 500) {
				batches = append(batches, chunk)
			}
			var lasts []string
			for _, p := range forms {
				frames := wiretest.Project(p.New(), batches)
				for i, f := range frames {
					err := error(nil)
					if i%100 == 0 && strings.HasPrefix(string(f.Data), `{"id"`) || i == len(frames)-2 {
						err = validate(f.Data)
					}
					if err != nil || len(f.Data) > 120_000 {
						t.Fatalf("%q %+v: %s %s of %d bytes: %v", piece, size, f.ID, f.Event, len(f.Data), err)
					}
				}
				lasts = append(lasts, string(frames[len(frames)-2].Data))
			}
			one := wiretest.Project(forms["snapshots"].New(), [][]event.Event{log})
			if lasts[0] != lasts[1] || lasts[0] != string(one[len(one)-2].Data) {
				t.Errorf("%q %+v: the forms or the cuts end otherwise", piece, size)
			}
		}
	}
}

// TestLongTextIsCutInSnapshotsOnly: snapshots show the beginning of a text of over 100 KB, with truncated set and shorter
// snippets; the reply without a stream has the whole text.
func TestLongTextIsCutInSnapshotsOnly(t *testing.T) {
	log := huge("plain text ", 12_000, 2, 5)
	whole := knowledge.ResponseOf(log)
	frames := wiretest.Project(forms["snapshots"].New(), [][]event.Event{log})
	var shown knowledge.Response
	require.NoError(t, json.Unmarshal(frames[len(frames)-2].Data, &shown))
	message := func(r knowledge.Response) knowledge.Part {
		for _, it := range r.Output {
			if it.Type == knowledge.ItemMessage {
				return it.Content[0]
			}
		}
		t.Fatal("no message")
		return knowledge.Part{}
	}
	w, s := message(whole), message(shown)
	cut, ended := strings.CutSuffix(s.Text, "…")
	if !s.Truncated || !ended || !strings.HasPrefix(w.Text, cut) || len(cut) < 100_000 || len(w.Text) < 140_000 || w.Truncated {
		t.Errorf("%d bytes of %d are shown, truncated %v and %v", len(s.Text), len(w.Text), s.Truncated, w.Truncated)
	}
	if a, b := len([]rune(w.Annotations[0].Snippet)), len([]rune(s.Annotations[0].Snippet)); a != 400 || b != 100 {
		t.Errorf("snippets of %d and %d characters", a, b)
	}
}

// TestLongReasoningIsCut checks that long reasoning ends with an ellipsis.
func TestLongReasoningIsCut(t *testing.T) {
	r := knowledge.ResponseOf(huge("plain text, long ", 10, 1, 1))
	for _, it := range r.Output {
		if it.Type == knowledge.ItemReasoning {
			if n := len(it.Summary[0].Text); n > 9000 || n < 8000 || !strings.HasSuffix(it.Summary[0].Text, "…") {
				t.Errorf("%d bytes of thoughts", n)
			}
		}
	}
}

// TestNoMarkerIsForged: text of a model never becomes a marker, however it is split into tokens.
func TestNoMarkerIsForged(t *testing.T) {
	log := wiretest.LogOf(append(started(direct), event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "a ⟦"}, event.Token{Text: "⟦1"}, event.Token{Text: "⟧⟧ b"},
		event.Cited{N: 1, Chunk: "c_1"}, event.Token{Text: "⟦⟦9⟧⟧"}, event.GenerationFinished{}, event.RunFailed{Code: fault.Internal, Message: "⟦⟦3⟧⟧"})...)
	r := knowledge.ResponseOf(log)
	if got, note := r.Output[0].Content[0].Text, r.Output[1].Content[0].Text; got != "a ⟦\u2060⟦1⟧⟧ b ⟦⟦1⟧⟧⟦\u2060⟦9⟧⟧" || note != "⟦\u2060⟦3⟧⟧." {
		t.Errorf("%q, %q", got, note)
	}
}

// TestLateSourceIsShown: the source of a citation may only be known from a later one.
func TestLateSourceIsShown(t *testing.T) {
	log := wiretest.LogOf(append(started(direct), event.CacheChecked{}, event.GenerationStarted{}, event.Cited{N: 1, Chunk: "c_1"}, event.Cited{N: 1, Chunk: "c_1", Source: source(1)})...)
	if a := knowledge.ResponseOf(log).Output[0].Content[0].Annotations; len(a) != 1 || a[0].FileID != "file_1" || a[0].Index != 3 {
		t.Errorf("%+v", a)
	}
}

// TestSourcesAreNumberedInOrderOfCitation: annotations are numbered in the order of citation, whatever the numbers of the
// sources are.
func TestSourcesAreNumberedInOrderOfCitation(t *testing.T) {
	log := wiretest.LogOf(append(started(direct), event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "a"}, event.Cited{N: 7, Chunk: "c_7"}, event.Token{Text: " b"},
		event.Cited{N: -1, Chunk: "c_0"}, event.Cited{N: 7, Chunk: "c_7"}, event.GenerationFinished{Reason: "stop"}, event.Verified{},
		event.Attributed{Sources: []event.Source{*source(7)}}, event.RunFinished{})...)
	part := knowledge.ResponseOf(log).Output[0].Content[0]
	if part.Text != "a ⟦⟦1⟧⟧ b ⟦⟦2⟧⟧⟦⟦1⟧⟧" || len(part.Annotations) != 2 || part.Annotations[0].FileID != "file_7" || part.Annotations[1].Filename != "c_0" {
		t.Errorf("%+v", part)
	}
}
