package knowledge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// TestUsageIsInEverySnapshot: every snapshot has the usage so far; all 0 if no model was called yet.
func TestUsageIsInEverySnapshot(t *testing.T) {
	for name, log := range logs(t, 8) {
		for form, p := range forms {
			for _, f := range wiretest.Project(p.New(), wiretest.Single(log)) {
				var r struct {
					Object string
					Usage  map[string]any
				}
				require.NoError(t, json.Unmarshal(f.Data, &r))
				if r.Object == "response" && len(r.Usage) != 5 {
					t.Fatalf("%s, %s: %s has the usage %v", name, form, f.Event, r.Usage)
				}
			}
		}
	}
	frames := wiretest.Project(knowledge.Protocol{}.New(), wiretest.Single(stories()["takeover"]))
	for _, f := range frames {
		if before := strings.Contains(string(f.Data), "may arrive"); f.Event == knowledge.EventTextDelta && !before && !strings.Contains(string(f.Data), `"input_tokens":90`) {
			t.Errorf("%s does not show what the grades cost: %s", f.Event, f.Data)
		}
	}
}

// TestTakeoverIsShown: all later snapshots name the model that failed and the one that replaced it, in a form that the
// public client shows.
func TestTakeoverIsShown(t *testing.T) {
	log := stories()["takeover"]
	r := knowledge.ResponseOf(log)
	const message = "gpt could not be reached; qwen3:8b takes over"
	if len(r.Warnings) != 1 || r.Warnings[0] != (knowledge.Warning{Code: string(fault.Model), Message: message}) {
		t.Errorf("warnings: %+v", r.Warnings)
	}
	notes := 0
	for _, it := range r.Output {
		if it.Type == knowledge.ItemReasoning {
			if notes++; it.Summary[0].Text != "Gpt could not be reached; qwen3:8b takes over." || it.Status != knowledge.StatusCompleted {
				t.Errorf("note: %+v", it)
			}
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
	shown := false
	for _, f := range wiretest.Project(knowledge.Protocol{}.New(), wiretest.Single(log)) {
		shown = shown || strings.Contains(string(f.Data), message)
		if f.Event == knowledge.EventTextDelta && !shown {
			t.Fatal("text of the second model comes before the takeover is shown")
		}
	}
	many := wiretest.LogOf(append(started(direct), event.CacheChecked{})...)
	for i := range 20 {
		many = append(many, event.Event{Seq: many[len(many)-1].Seq + 1, Body: event.Warned{Message: fmt.Sprint(i)}})
	}
	if n := len(knowledge.ResponseOf(many).Warnings); n != 8 {
		t.Errorf("%d warnings are shown", n)
	}
}

// TestFileSearchResults: a call shows the files that it found, without texts.
func TestFileSearchResults(t *testing.T) {
	for _, it := range knowledge.ResponseOf(stories()["direct"]).Output {
		if it.Type != knowledge.ItemFileSearch {
			continue
		}
		want := []knowledge.Result{
			{FileID: "file_1", Filename: "streams.md", Score: 0.8472, Attributes: map[string]any{"chunk_id": "c_1", "level": "L2"}},
			{FileID: "file_2", Filename: "file_2", Score: 0.5, Attributes: map[string]any{"chunk_id": "c_8", "level": "L3"}}}
		if fmt.Sprint(it.Results) != fmt.Sprint(want) || *it.ResultCount != 2 {
			t.Errorf("%+v", it.Results)
		}
		return
	}
	t.Error("there is no call")
}

// TestAttributesOfResults: results have the attributes of their documents, unless they are so long that the results of other calls would not fit.
func TestAttributesOfResults(t *testing.T) {
	found := []event.Found{{Chunk: "c_1", Level: corpus.Passage, Score: 0.5, Document: "d_1", Name: "a.md"}, {Chunk: "c_2", Level: corpus.Sentence, Score: 0.4, Document: "d_2", Name: "b.md"}}
	long := map[string]any{}
	for i := range 16 {
		long[fmt.Sprint("name", i)] = strings.Repeat("x", 500)
	}
	for name, c := range map[string]struct{ attributes, want map[string]any }{
		"some":     {map[string]any{"team": "harbour", "year": 1871.0, "level": "L9"}, map[string]any{"chunk_id": "c_1", "level": "L2", "team": "harbour", "year": 1871.0}},
		"too long": {long, map[string]any{"chunk_id": "c_1", "level": "L2"}},
	} {
		log := started(direct)
		for i := range event.CallID(10) {
			log = append(log, event.RetrievalStarted{Call: i + 1, Tool: event.ToolHybridSearch, Query: "How?", Iteration: 1},
				event.RetrievalFinished{Call: i + 1, Tool: event.ToolHybridSearch, Found: found, Attributes: map[corpus.DocumentID]map[string]any{"d_1": c.attributes}})
		}
		for i, it := range knowledge.ResponseOf(wiretest.LogOf(log...)).Output {
			if len(it.Results) != 2 {
				t.Fatalf("%s: call %d has %d results", name, i+1, len(it.Results))
			}
			if diff := cmp.Diff([]map[string]any{c.want, {"chunk_id": "c_2", "level": "L3"}}, []map[string]any{it.Results[0].Attributes, it.Results[1].Attributes}); diff != "" {
				t.Errorf("%s: call %d: %s", name, i+1, diff)
			}
		}
	}
}

// TestShortenedSnippetIsMarked checks the field truncated of annotations.
func TestShortenedSnippetIsMarked(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		quote int
		cut   bool
	}{"whole": {"Short. And whole.", 7, false}, "long": {strings.Repeat("word ", 100), 0, true}, "long, from its middle": {strings.Repeat("word ", 100), 450, true}} {
		s := source(1)
		s.Text, s.Quote = c.text, c.quote
		r := knowledge.ResponseOf(wiretest.LogOf(append(started(direct), event.CacheChecked{Hit: true}, event.Token{Text: "x"}, event.Cited{N: 1, Source: s})...))
		a := r.Output[0].Content[0].Annotations[0]
		if a.Truncated != c.cut || c.cut == (a.Snippet == c.text) {
			t.Errorf("%s: truncated is %v minOther %q", name, a.Truncated, a.Snippet)
		}
	}
}
