package knowledge_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// forms are the tested variants.
var forms = map[string]knowledge.Protocol{"snapshots": {}, "deltas": {Delta: true}}

// client keeps the latest snapshot and applies deltas to it, like our clients.
type client struct {
	last knowledge.Response
	done bool
}

func (c *client) take(f wire.Frame) error {
	if c.done {
		return fmt.Errorf("%s follows done", f.Event)
	}
	switch {
	case f.Event == knowledge.EventDone:
		c.done = true
		return wiretest.Strict(f.Data, new(knowledge.Done))
	case bytes.HasPrefix(f.Data, []byte(`{"item_id"`)):
		return c.delta(f)
	}
	c.last = knowledge.Response{}
	return wiretest.Strict(f.Data, &c.last)
}

func (c *client) delta(f wire.Frame) error {
	switch f.Event {
	case knowledge.EventTextDelta:
		var d knowledge.TextDelta
		if err := wiretest.Strict(f.Data, &d); err != nil {
			return err
		}
		it, err := c.item(d.ItemID, d.OutputIndex, knowledge.ItemMessage)
		if err == nil {
			it.Content[d.ContentIndex].Text += d.Delta
			err = inRange(it.Content[d.ContentIndex].Text, len(it.Content[0].Annotations))
		}
		return err
	case knowledge.EventReasoningDelta:
		var d knowledge.ReasoningDelta
		if err := wiretest.Strict(f.Data, &d); err != nil {
			return err
		}
		it, err := c.item(d.ItemID, d.OutputIndex, knowledge.ItemReasoning)
		if err == nil {
			it.Summary[d.SummaryIndex].Text += d.Delta
		}
		return err
	case knowledge.EventAnnotationAdded:
		var d knowledge.AnnotationAdded
		if err := wiretest.Strict(f.Data, &d); err != nil {
			return err
		}
		it, err := c.item(d.ItemID, d.OutputIndex, knowledge.ItemMessage)
		if err == nil && len(it.Content[0].Annotations) != d.AnnotationIndex {
			return fmt.Errorf("annotation %d follows %d", d.AnnotationIndex, len(it.Content[0].Annotations))
		}
		if err == nil {
			it.Content[0].Annotations = append(it.Content[0].Annotations, d.Annotation)
		}
		return err
	}
	return fmt.Errorf("%s is no delta", f.Event)
}

// item returns the item of a delta, which must be in an earlier snapshot.
func (c *client) item(id string, place int, kind string) (*knowledge.Item, error) {
	if place >= len(c.last.Output) || c.last.Output[place].ID != id || c.last.Output[place].Type != kind {
		return nil, fmt.Errorf("a delta of %s, which is no %s at %d", id, kind, place)
	}
	return &c.last.Output[place], nil
}

// newest returns the final response of a client of snapshots. It uses the last two frames only.
func newest(frames []wire.Frame) ([]string, error) {
	if len(frames) < 2 {
		return nil, fmt.Errorf("%d frames", len(frames))
	}
	var c client
	for _, f := range frames[len(frames)-2:] {
		if err := c.take(f); err != nil {
			return nil, fmt.Errorf("frame %s %s: %w", f.ID, f.Event, err)
		}
	}
	if !c.done {
		return nil, errors.New("no done")
	}
	out, err := json.MarshalIndent(c.last, "", "\t")
	return strings.Split(string(out), "\n"), err
}

// added returns the final response of a client of deltas, and the joined deltas of each item.
func added(frames []wire.Frame) ([]string, error) {
	texts := map[string]string{}
	for _, f := range frames {
		if !bytes.HasPrefix(f.Data, []byte(`{"item_id"`)) {
			continue
		}
		var d struct {
			knowledge.TextDelta
			SummaryIndex    int                  `json:"summary_index"`
			AnnotationIndex int                  `json:"annotation_index"`
			Annotation      knowledge.Annotation `json:"annotation"`
		}
		if err := wiretest.Strict(f.Data, &d); err != nil {
			return nil, fmt.Errorf("frame %s %s: %w", f.ID, f.Event, err)
		}
		texts[d.ItemID] += d.Delta + d.Annotation.Filename
	}
	out, err := newest(frames)
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, id+": "+texts[id])
	}
	return out, err
}

// logs returns the logs of the goldens and n random ones.
func logs(t *testing.T, n int) map[string][]event.Event {
	t.Helper()
	all := maps.Clone(stories())
	rng := rand.New(rand.NewPCG(5, 6))
	if race.Enabled { // more data would not find more races
		n /= 4
	}
	for i := range n {
		log := eventlogtest.RandomLog(rng, 100*i/n)
		if i%2 == 0 {
			complete(rng, log)
		}
		all[fmt.Sprintf("random %d", i)] = log
	}
	if !race.Enabled {
		all["long"] = eventlogtest.RandomLog(rng, 300)
	}
	return all
}

// complete adds to a random log what a pipeline adds: the sources of first citations, and the request of the run.
func complete(rng *rand.Rand, log []event.Event) {
	seen := map[int]bool{}
	for i, e := range log {
		switch b := e.Body.(type) {
		case event.Cited:
			if !seen[b.N] {
				seen[b.N] = true
				b.Source = &event.Source{N: b.N, Chunk: b.Chunk, Document: "file_1", Name: "a \u2028 ⟦⟦9⟧⟧.md", Title: "A", Ordinal: rng.IntN(9), Heading: "H",
					Text: strings.Repeat("größer \u0085", rng.IntN(200)), Score: rng.Float64(), Pages: []int{3, 4}}
				log[i].Body = b
			}
		case event.RunStarted:
			b.Protocol = knowledge.Name
			q, err := knowledge.Decode([]byte(`{"input":"x","effort":"dev","tools":[{"type":"web_search"},{"type":"file_search","vector_store_ids":["a"]},{"type":"page_reader"}],
				"metadata":{"a":"\u2028"},"tool_choice":{"type":"file_search"},"temperature":0.5,"text":{"format":{"type":"text"}}}`), 99)
			if err != nil {
				panic(err)
			}
			b.Request = q.Request
			log[i].Body = b
		}
	}
}

func TestLaws(t *testing.T) {
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: forms["snapshots"], Read: newest, FinalFrames: 2}, logs(t, 16))
}

func TestLawsOfDeltas(t *testing.T) {
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: forms["deltas"], Read: added}, logs(t, 10))
}

// ending maps the last event names to the status of the response.
var ending = map[string]string{knowledge.EventCompleted: "completed", knowledge.EventIncomplete: "incomplete", knowledge.EventFailed: "failed"}

// TestEverySnapshotIsStrict validates each frame of each variant.
func TestEverySnapshotIsStrict(t *testing.T) {
	for name, log := range logs(t, 16) {
		for form, p := range forms {
			var c client
			for _, f := range wiretest.Project(p.New(), wiretest.Single(log)) {
				err := c.take(f)
				if bytes.HasPrefix(f.Data, []byte(`{"id"`)) {
					err = errors.Join(err, validate(f.Data))
				}
				if want, status := ending[f.Event], c.last.Status; !c.done && status != cmp.Or(want, knowledge.StatusInProgress) {
					err = errors.Join(err, fmt.Errorf("its status is %s", status))
				}
				if c.done && c.last.Status == knowledge.StatusInProgress {
					err = errors.Join(err, errors.New("nothing says how it ended"))
				}
				if err != nil {
					t.Fatalf("%s, %s: frame %s %s: %v\n%s", name, form, f.ID, f.Event, err, f.Data)
				}
			}
		}
	}
}

// TestFormsAgree: snapshots, deltas and the reply without a stream end in the same state, and the deltas add up to the
// text.
func TestFormsAgree(t *testing.T) {
	for name, log := range logs(t, 16) {
		snapshots := wiretest.Project(forms["snapshots"].New(), [][]event.Event{log})
		deltas := wiretest.Project(forms["deltas"].New(), wiretest.Single(log))
		last, end := snapshots[len(snapshots)-2], deltas[len(deltas)-2]
		if diff := gocmp.Diff(string(last.Data), string(end.Data)); diff != "" || last.ID != end.ID || last.Event != end.Event {
			t.Errorf("%s: the forms end otherwise (-snapshots +deltas): %s", name, diff)
		}
		var r knowledge.Response
		require.NoError(t, json.Unmarshal(last.Data, &r))
		if diff := gocmp.Diff(r, knowledge.ResponseOf(log)); diff != "" {
			t.Errorf("%s: the one object differs (-stream +object): %s", name, diff)
		}
		var text, thought strings.Builder
		for _, f := range deltas {
			var d knowledge.TextDelta
			require.NoError(t, json.Unmarshal(f.Data, &d))
			switch f.Event {
			case knowledge.EventTextDelta:
				text.WriteString(d.Delta)
			case knowledge.EventReasoningDelta:
				thought.WriteString(d.Delta)
			}
		}
		for _, it := range r.Output {
			if it.Type == knowledge.ItemMessage && !strings.HasSuffix(it.ID, "_note") && it.Content[0].Text != text.String() {
				t.Errorf("%s: the deltas add up to %q, want %q", name, text.String(), it.Content[0].Text)
			}
			if it.Type == knowledge.ItemReasoning && !strings.Contains(it.ID, "_note_") && !strings.HasSuffix(it.Summary[0].Text, "…") && it.Summary[0].Text != thought.String() {
				t.Errorf("%s: the thoughts add up to %q, want %q", name, thought.String(), it.Summary[0].Text)
			}
		}
	}
}

// TestReasoningPrecedesAnswer: reasoning and text of a generator are in the order of their events.
func TestReasoningPrecedesAnswer(t *testing.T) {
	var log []event.Event
	for i, b := range []event.Body{event.RunStarted{Run: "run_1"}, event.GenerationStarted{}, event.Reasoned{Text: "Hm."}, event.Token{Text: "Yes."},
		event.GenerationFinished{Reason: "stop"}, event.RunFinished{}} {
		log = append(log, event.Event{Seq: event.Seq(i + 1), Body: b})
	}
	for form, p := range forms {
		var c client
		for _, f := range wiretest.Project(p.New(), wiretest.Single(log)) {
			if err := c.take(f); err != nil {
				t.Fatalf("%s: %s: %v", form, f.Event, err)
			}
		}
		if out := c.last.Output; len(out) != 2 || out[0].Type != knowledge.ItemReasoning || out[1].Type != knowledge.ItemMessage {
			t.Errorf("%s: %+v", form, out)
		}
	}
}

// TestTextOfABatchIsOneFrame: the start and the end of items have their own frames; the text of a batch has one frame.
func TestTextOfABatchIsOneFrame(t *testing.T) {
	log := stories()["direct"]
	for cuts, want := range map[string]int{"one": 1, "single": 8} {
		batches := [][]event.Event{log}
		if cuts == "single" {
			batches = wiretest.Single(log)
		}
		var names []string
		texts := 0
		for _, f := range wiretest.Project(forms["snapshots"].New(), batches) {
			if f.Event == knowledge.EventTextDelta {
				texts++
				continue
			}
			names = append(names, f.Event)
		}
		if texts != want {
			t.Errorf("%s: %d frames of text, want %d", cuts, texts, want)
		}
		if diff := gocmp.Diff([]string{"response.created", "response.in_progress", "response.file_search_call.in_progress", "response.file_search_call.searching",
			"response.file_search_call.completed", "response.in_progress", "response.output_text.done", "response.in_progress", "response.completed", "done"}, names); diff != "" {
			t.Errorf("%s: %s", cuts, diff)
		}
	}
}

func TestGoldens(t *testing.T) {
	for name, log := range stories() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, event.CheckLog(log, true))
			p := knowledge.Protocol{Delta: strings.HasSuffix(name, "delta")}
			golden.Check(t, filepath.Join("testdata", name+".sse"), wiretest.Golden(p, wiretest.Single(log)))
		})
	}
}

// TestCoalesces: events that may be coalesced produce frames of text, or none.
func TestCoalesces(t *testing.T) {
	for name, log := range logs(t, 16) {
		shown := map[event.Seq]string{}
		for _, f := range wiretest.Project(forms["snapshots"].New(), wiretest.Single(log)) {
			shown[f.ID.Seq] = f.Event
		}
		for _, e := range log {
			text := slices.Contains([]string{"", knowledge.EventTextDelta, knowledge.EventReasoningDelta}, shown[e.Seq])
			if (knowledge.Protocol{}).Coalesces(e.Body) != text && len(shown) < 100 {
				t.Errorf("%s: %s shows %q", name, e.Body.Kind(), shown[e.Seq])
			}
		}
	}
}

func TestInterval(t *testing.T) {
	for p, want := range map[knowledge.Protocol]time.Duration{
		{}: 100 * time.Millisecond, {PerSecond: 0.1}: 10 * time.Second, {PerSecond: 100}: 10 * time.Millisecond, {Delta: true}: 0, {Delta: true, PerSecond: 5}: 0,
	} {
		if got := p.MinInterval(); got != want {
			t.Errorf("%+v: %s", p, got)
		}
	}
}

// started returns the start of a run that was requested in this protocol.
func started(body string) []event.Body {
	q, err := knowledge.Decode([]byte(body), 1000)
	if err != nil {
		panic(err)
	}
	start := event.RunStarted{Run: "run_1", Protocol: knowledge.Name, Question: event.Question{Query: q.Query, Mode: q.Mode, Collection: q.Collection, TopK: 5, Model: q.Model, Tools: q.Tools,
		Temperature: q.Temperature, Iterations: q.Iterations, Request: q.Request}}
	return []event.Body{start, event.QueryAnalyzed{Complexity: event.Simple, Mode: q.Mode, By: "rules"}}
}

const direct = `{"model":"qwen-max-latest","effort":"low","store":true,"temperature":0.7,"max_output_tokens":1000,"instructions":null,
	"input":[{"role":"user","content":"How do tokens arrive?"}],"tools":[{"type":"file_search","vector_store_ids":["vs"],"max_num_results":10}]}`

func source(n int) *event.Source {
	return &event.Source{N: n, Chunk: corpus.ChunkID(fmt.Sprintf("c_%d", n)), Document: corpus.DocumentID(fmt.Sprintf("file_%d", n)), Title: "Streams", Name: "streams.md",
		Ordinal: 3 * n, Heading: "4.2 Tokens", Level: corpus.Passage, Pages: []int{15, 16}, Text: "Tokens may arrive one by one.", Score: 0.87, Cited: true,
		Attributes: map[string]any{"team": "docs", "year": 2024.0, "final": true}}
}

// search returns the events of a search with results.
func search(call event.CallID, iteration int) []event.Body {
	return []event.Body{
		event.RetrievalStarted{Call: call, Tool: event.ToolHybridSearch, Query: "How do tokens arrive?", Iteration: iteration},
		event.RetrievalFinished{Call: call, Tool: event.ToolHybridSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.84721, Document: "file_1", Name: "streams.md"},
			{Chunk: "c_8", Level: corpus.Sentence, Score: 0.5, Document: "file_2"}}},
		event.Graded{Iteration: iteration, Correct: 1, Ambiguous: 1, Action: event.Proceed, By: "rules", Grades: []event.Grade{
			{Chunk: "c_1", Score: 0.87, Class: event.Correct}, {Chunk: "c_8", Score: 0.62, Class: event.Ambiguous, Expanded: true, NewScore: 0.78, Parent: "c_2"}}},
	}
}

// answered returns the events of a complete answer.
func answered() []event.Body {
	return []event.Body{
		event.Reranked{Method: "colbert", Inputs: 2, TopScore: 4.23, Duration: 85, Outputs: []event.Found{{Chunk: "c_1", Score: 4.23}}},
		event.GenerationStarted{Chunks: 2, Tokens: 342, Model: "qwen3:8b"},
		event.Token{Text: "Tokens"}, event.Token{Text: ` "may"`}, event.Token{Text: " arrive ⟦⟦7⟧⟧"}, event.Cited{N: 1, Chunk: "c_1", Source: source(1)},
		event.Token{Text: " or\nbatched. "}, event.Cited{N: 2, Chunk: "c_2", Source: source(2)}, event.Cited{N: 1, Chunk: "c_1"}, event.Token{Text: "End."},
		event.GenerationFinished{Reason: "stop"},
		event.ModelUsed{Step: "generate", Model: "qwen3:8b", Calls: 1, Input: 400, Output: 20, Reasoning: 5, Cached: 100},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{{Text: "One.", Verdict: event.Supported}, {Text: "Two.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Confidence: 0.72, Sources: []event.Source{*source(1), *source(2)}}, event.RunFinished{},
	}
}

// stories returns the logs of the golden streams.
func stories() map[string][]event.Event {
	agentic := slices.Concat(started(`{"input":"How do tokens arrive?","effort":"dev","tools":[{"type":"web_search"},{"type":"page_reader"},{"type":"mcp"}]}`),
		[]event.Body{event.Reasoned{Text: "Let me "}, event.Reasoned{Text: "see."}, event.CacheChecked{}}, search(1, 1), []event.Body{
			event.ToolCalled{Call: 2, Tool: event.ToolDecomposeQuery, Input: []byte(`{"query":"How do tokens arrive?"}`), Iteration: 2, Reason: "the question is made of several"},
			event.ToolCalled{Call: 3, Tool: event.ToolReadPages, Input: []byte(`{"document_id":"file_1","start_page":2,"end_page":3}`), Iteration: 2},
			event.ToolReturned{Call: 3, Tool: event.ToolReadPages, Result: []byte(`{"error":"there is no such document"}`), Duration: 3},
			event.ToolReturned{Call: 2, Tool: event.ToolDecomposeQuery, Result: []byte(`{"sub_queries":["How?","When?"]}`), Duration: 4},
			event.ToolCalled{Call: 4, Tool: event.ToolListDocuments, Input: []byte(`{}`), Iteration: 2},
			event.ToolReturned{Call: 4, Tool: event.ToolListDocuments, Result: []byte(`{"documents":[{"document_id":"file_1"}],"documents_found":30}`), Duration: 4},
		}, search(5, 3), answered())
	cached := append(started(direct), event.CacheChecked{Hit: true, Similarity: 0.97, Query: "How?", Confidence: 0.8, CachedAt: time.Date(2024, 12, 15, 10, 30, 0, 0, time.UTC)},
		event.Token{Text: "One by one."}, event.Cited{N: 1, Chunk: "c_1"}, event.Attributed{Sources: []event.Source{*source(1)}, By: "cache", Confidence: 0.72}, event.RunFinished{})
	part := slices.Concat(started(direct), []event.Body{event.CacheChecked{}}, search(1, 1), []event.Body{event.GenerationStarted{Model: "qwen3:8b"}, event.Token{Text: "Tokens may"}})
	start := started(direct)
	followUp := slices.Concat(start[:1], []event.Body{event.HistorySummarized{Turns: 6, Summary: "- What is a token? A word."},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules", Standalone: "How do tokens arrive?"}})
	return map[string][]event.Event{
		"follow-up":    wiretest.LogOf(append(followUp, cached[len(start):]...)...),
		"direct":       wiretest.LogOf(slices.Concat(started(direct), []event.Body{event.CacheChecked{}}, search(1, 1), answered())...),
		"direct delta": wiretest.LogOf(slices.Concat(started(direct), []event.Body{event.CacheChecked{}}, search(1, 1), answered())...),
		"agentic":      wiretest.LogOf(agentic...),
		"cached":       wiretest.LogOf(cached...),
		"no documents": wiretest.LogOf(append(started(direct), event.CacheChecked{},
			event.RunFailed{Code: fault.NoDocuments, Message: "no documents are indexed in the collection"})...),
		"failed": wiretest.LogOf(append(part, event.GenerationFinished{Reason: "error"}, event.RunFailed{Code: fault.Model, Message: "the model failed"})...),
		"takeover": wiretest.LogOf(slices.Concat(started(direct), []event.Body{event.CacheChecked{}}, search(1, 1),
			[]event.Body{event.ModelUsed{Step: "grade", Model: "gpt", Calls: 1, Input: 90, Output: 10},
				event.Warned{Code: fault.Model, Message: "gpt could not be reached; qwen3:8b takes over", Step: "generate"}}, answered())...),
		"timeout": wiretest.LogOf(append(part, event.GenerationFinished{Reason: "timeout"}, event.Attributed{Sources: []event.Source{*source(1)}, By: "retrieval"},
			event.RunFailed{Code: fault.Timeout, Message: "the time limit was reached"})...),
		"cancelled": wiretest.LogOf(append(started(direct), event.CacheChecked{}, search(1, 1)[0], event.RunFailed{Code: fault.Cancelled, Message: "the run was cancelled"})...),
	}
}
