package forge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
)

// TestShowsWhyAndHow checks that reasons of tool calls and paths in the graph are shown, and shortened if they are long.
func TestShowsWhyAndHow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []event.Event
	add := func(bodies ...event.Body) {
		for _, b := range bodies {
			log = append(log, event.Event{Seq: event.Seq(len(log) + 1), At: at, Body: b})
		}
	}
	long := strings.Repeat("why ", 500)
	add(event.RunStarted{Run: "run_1", Question: event.Question{Query: "who?", Mode: event.Agentic}}, event.QueryAnalyzed{Complexity: event.Complex, Mode: event.Agentic},
		event.CacheChecked{}, event.ToolCalled{Call: 1, Tool: event.ToolGraphTraverse, Input: []byte("{}"), Iteration: 1, Reason: "the film's director is to be found"},
		event.ToolReturned{Call: 1, Tool: event.ToolGraphTraverse, Result: []byte("{}")},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "who?", Iteration: 2, Reason: long},
		event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch}, event.Graded{Iteration: 2, Action: event.Proceed},
		event.GenerationStarted{}, event.Cited{N: 1}, event.GenerationFinished{Reason: "stop"}, event.Verified{Flagged: true},
		event.Attributed{Sources: []event.Source{{N: 1, Path: []string{"The Film", "Ada Brook"}}, {N: 2}}}, event.RunFinished{})
	var out strings.Builder
	p := forge.API().Protocol
	for _, f := range p.New().Project(nil, log) {
		out.Write(p.AppendFrame(nil, f))
	}
	for _, want := range []string{`"type":"tool_result","call_id":1,"tool":"graph_traverse","query":"who?","iteration":1`,
		`"type":"retrieval_result","call_id":2,"tool":"hybrid_search","query":"who?","iteration":2`, `"reason":"the film's director is to be found"`, `"path":["The Film","Ada Brook"]`, `"flagged":true`, `"reason":"why why`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), long) || strings.Count(out.String(), `"path"`) != 1 {
		t.Errorf("too much is shown:\n%s", &out)
	}
}

// TestParallelCallsPair checks that results which arrive out of order name their own calls.
func TestParallelCallsPair(t *testing.T) {
	t.Parallel()
	var log []event.Event
	for _, b := range []event.Body{event.RunStarted{Run: "run_1", Question: event.Question{Query: "q", Mode: event.Agentic}}, event.QueryAnalyzed{}, event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: "t", Query: "one", Iteration: 1}, event.RetrievalStarted{Call: 2, Tool: "t", Query: "two", Iteration: 1},
		event.ToolCalled{Call: 3, Tool: "u", Input: []byte(`{"query":"three"}`), Iteration: 1}, event.ToolCalled{Call: 4, Tool: "u", Input: []byte(`{"query":4}`), Iteration: 1},
		event.ToolReturned{Call: 4, Tool: "u", Result: []byte("{}")}, event.RetrievalFinished{Call: 2, Tool: "t"},
		event.ToolReturned{Call: 3, Tool: "u", Result: []byte("{}")}, event.RetrievalFinished{Call: 1, Tool: "t"}} {
		log = append(log, event.Event{Seq: event.Seq(len(log) + 1), Body: b})
	}
	var got []string
	for _, f := range (forge.Protocol{}).New().Project(nil, log) {
		var p struct {
			CallID    int `json:"call_id"`
			Query     string
			Iteration int
		}
		require.NoError(t, json.Unmarshal(f.Data, &p))
		if p.CallID > 0 {
			got = append(got, fmt.Sprintf("%s %d %s %d", f.Event, p.CallID, p.Query, p.Iteration))
		}
	}
	want := []string{"retrieval_start 1 one 1", "retrieval_start 2 two 1", "tool_call 3 three 1", "tool_call 4 q 1",
		"tool_result 4 q 1", "retrieval_result 2 two 1", "tool_result 3 three 1", "retrieval_result 1 one 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSourcesOfAbstention checks that the sources of an abstention are those of the log, which are the passages that it names. A run that was stopped shows
// the passages that it found.
func TestSourcesOfAbstention(t *testing.T) {
	t.Parallel()
	read := event.Attributed{Sources: []event.Source{{N: 1, Chunk: "c"}}}
	begin := []event.Body{event.RunStarted{Run: "run_1", Question: event.Question{Query: "q"}}, event.QueryAnalyzed{}}
	for name, c := range map[string]struct {
		then  []event.Body
		shown int
	}{
		"abstained":         {[]event.Body{event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "No."}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{}, event.RunFinished{}}, 0},
		"abstained, near":   {[]event.Body{event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "No."}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, read, event.RunFinished{}}, 1},
		"answered":          {[]event.Body{event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "Yes."}, event.Cited{N: 1}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, read, event.RunFinished{}}, 1},
		"cached abstention": {[]event.Body{event.CacheChecked{Hit: true}, event.Token{Text: "No."}, read, event.RunFinished{}}, 1},
		"cached answer":     {[]event.Body{event.CacheChecked{Hit: true}, event.Token{Text: "Yes."}, event.Cited{N: 1}, read, event.RunFinished{}}, 1},
		"timeout":           {[]event.Body{event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "Maybe"}, event.GenerationFinished{Reason: "timeout"}, read, event.RunFailed{Code: "TIMEOUT"}}, 1},
		"cut off":           {[]event.Body{event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "Maybe"}, event.GenerationFinished{Reason: "length"}, event.Verified{}, read, event.RunFinished{}}, 1},
	} {
		var log []event.Event
		for _, b := range append(begin[:len(begin):len(begin)], c.then...) {
			log = append(log, event.Event{Seq: event.Seq(len(log) + 1), Body: b})
		}
		frames := forge.Protocol{}.New().Project(nil, log)
		var sources forge.Sources
		var done forge.Done
		for _, f := range frames {
			require.NoError(t, errors.Join(json.Unmarshal(f.Data, &sources), json.Unmarshal(f.Data, &done)))
		}
		if done.Type == "done" && done.SourcesCount != c.shown || len(sources.Sources) != c.shown || len(forge.AnswerOf(log).Sources) != c.shown {
			t.Errorf("%s: %d sources, done counts %d, the reply has %d; want %d", name, len(sources.Sources), done.SourcesCount, len(forge.AnswerOf(log).Sources), c.shown)
		}
		if !bytes.Contains(frames[len(frames)-2].Data, []byte(`"sources":[`)) {
			t.Errorf("%s: the list of sources is not an array: %s", name, frames[len(frames)-2].Data)
		}
	}
}

// TestShortenedSourceIsMarked checks the field truncated.
func TestShortenedSourceIsMarked(t *testing.T) {
	t.Parallel()
	log := []event.Event{{Seq: 1, Body: event.RunStarted{Run: "run_1"}}, {Seq: 2, Body: event.QueryAnalyzed{}}, {Seq: 3, Body: event.CacheChecked{Hit: true}},
		{Seq: 4, Body: event.Cited{N: 1}}, {Seq: 5, Body: event.Attributed{Sources: []event.Source{{N: 1, Text: strings.Repeat("long ", 400)}, {N: 2, Text: "short"}}}}}
	got := forge.AnswerOf(log).Sources
	if !got[0].Truncated || len(got[0].Text) > 1500 || got[1].Truncated {
		t.Errorf("%v of %d bytes, %v", got[0].Truncated, len(got[0].Text), got[1].Truncated)
	}
}

// TestSourcesHaveMetadata checks that sources show the metadata of their documents, unless the event would become too long.
func TestSourcesHaveMetadata(t *testing.T) {
	t.Parallel()
	sources := func(n int, meta *corpus.DublinCore) string {
		all := make([]event.Source, n)
		for i := range all {
			all[i] = event.Source{N: i + 1, Chunk: "c", Document: "d", Title: "T", Text: strings.Repeat("word ", 100), Cited: true, Meta: meta}
		}
		var log []event.Event
		for _, b := range []event.Body{event.RunStarted{Run: "run_1"}, event.QueryAnalyzed{}, event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "x"},
			event.Cited{N: 1, Chunk: "c"}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{Sources: all}} {
			log = append(log, event.Event{Seq: event.Seq(len(log) + 1), Body: b})
		}
		for _, f := range (forge.Protocol{}).New().Project(nil, log) {
			if f.Event == "sources" {
				return string(f.Data)
			}
		}
		return ""
	}
	if got := sources(1, &corpus.DublinCore{Creator: "Ada Brook", Date: "2021"}); !strings.Contains(got, `"dublin_core":{"dc_creator":"Ada Brook","dc_date":"2021"}`) {
		t.Error(got)
	}
	for _, meta := range []*corpus.DublinCore{nil, {}} {
		if got := sources(1, meta); got == "" || strings.Contains(got, "dublin_core") {
			t.Error(got)
		}
	}
	long := strings.Repeat("é", 1000)
	if got := sources(50, &corpus.DublinCore{Title: long, Creator: long, Description: long, Rights: long}); strings.Contains(got, "dublin_core") || len(got) > 16<<10 {
		t.Errorf("%d bytes: %.2000s", len(got), got)
	}
}
