package openai_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/openai"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// An item is what a client knows of an item of a response.
type item struct {
	openai.Item
	text  string
	notes []openai.FileCitation
	ended int // texts, parts and items that have ended
}

// A client reads the events of a response and checks their order, as the stream of OpenAI's package does.
type client struct {
	items []*item
	last  string
	whole openai.Response
}

// texts are the names of the events of pieces of texts and of their ends.
var texts = map[string]string{"response.output_text.delta": openaiMessage, "response.reasoning_summary_text.delta": openaiReasoning}

const (
	openaiMessage   = "message"
	openaiReasoning = "reasoning"
)

func (c *client) read(i int, f wire.Frame) error {
	var e struct {
		openai.Numbered
		Type            string               `json:"type"`
		OutputIndex     *int                 `json:"output_index"`
		ItemID          string               `json:"item_id"`
		Item            *openai.Item         `json:"item"`
		Response        *openai.Response     `json:"response"`
		Delta           string               `json:"delta"`
		Text            *string              `json:"text"`
		Part            *openai.Part         `json:"part"`
		ContentIndex    int                  `json:"content_index"`
		SummaryIndex    int                  `json:"summary_index"`
		Logprobs        []struct{}           `json:"logprobs"`
		AnnotationIndex *int                 `json:"annotation_index"`
		Annotation      *openai.FileCitation `json:"annotation"`
	}
	if err := wiretest.Strict(f.Data, &e); err != nil {
		return err
	}
	if e.Type != f.Event || e.N != i {
		return fmt.Errorf("event %s has the type %s and the number %d, want %d", f.Event, e.Type, e.N, i)
	}
	if c.last == "response.completed" || c.last == "response.failed" || c.last == "response.incomplete" {
		return fmt.Errorf("%s follows the end", e.Type)
	}
	want := map[int]string{0: "response.created", 1: "response.in_progress"}[i]
	if want != "" && want != e.Type {
		return fmt.Errorf("event %d is %s", i, e.Type)
	}
	c.last = e.Type
	if e.Response != nil {
		c.whole = *e.Response
		return nil
	}
	if e.Type == "response.output_item.added" {
		if *e.OutputIndex != len(c.items) {
			return fmt.Errorf("item %d is added at %d", len(c.items), *e.OutputIndex)
		}
		c.items = append(c.items, &item{Item: *e.Item})
		return nil
	}
	if e.OutputIndex == nil || *e.OutputIndex >= len(c.items) {
		return fmt.Errorf("%s before its item", e.Type)
	}
	it := c.items[*e.OutputIndex]
	if e.Item != nil && e.Item.ID != it.ID || e.Item == nil && e.ItemID != it.ID || it.ended == 3 {
		return fmt.Errorf("%s of another item, or of one that has ended: %s", e.Type, f.Data)
	}
	switch {
	case texts[e.Type] != "":
		if texts[e.Type] != it.Type || it.ended > 0 {
			return fmt.Errorf("%s of an item of the type %s", e.Type, it.Type)
		}
		it.text += e.Delta
	case e.Annotation != nil:
		if *e.AnnotationIndex != len(it.notes) {
			return fmt.Errorf("annotation %d is added at %d", len(it.notes), *e.AnnotationIndex)
		}
		it.notes = append(it.notes, *e.Annotation)
	case e.Text != nil && *e.Text != it.text, strings.HasSuffix(e.Type, "part.done") && e.Part.Text != it.text:
		return fmt.Errorf("%s has another text than the pieces before", e.Type)
	case e.Text != nil, strings.HasSuffix(e.Type, "part.done"):
		it.ended++
	case e.Type == "response.output_item.done":
		if it.Type != "file_search_call" && it.ended != 2 {
			return fmt.Errorf("the item %s ends before its text", it.ID)
		}
		it.Item, it.ended = *e.Item, 3
	}
	return nil
}

// readResponses reads a stream from its begin.
func readResponses(frames []wire.Frame) ([]string, error) {
	var c client
	for i, f := range frames {
		if err := c.read(i, f); err != nil {
			return nil, fmt.Errorf("frame %s: %w", f.ID, err)
		}
	}
	if ended := slices.Contains([]string{"response.completed", "response.failed", "response.incomplete"}, c.last); ended {
		for i, it := range c.items {
			if it.ended != 3 {
				return nil, fmt.Errorf("the item %s has not ended", it.ID)
			}
			if diff := cmp.Diff(it.Item, c.whole.Output[i]); diff != "" {
				return nil, fmt.Errorf("the response has another item (-item +response): %s", diff)
			}
		}
	}
	var out []string
	for _, f := range frames {
		out = append(out, f.ID.String()+" "+string(f.Data))
	}
	return out, nil
}

func TestResponsesLaws(t *testing.T) {
	t.Parallel()
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: openai.Responses{Results: true}, Read: readResponses}, wiretest.WithRandom(logs()))
}

// TestResponseIsStream: the reply without a stream is the response in the last event.
func TestResponseIsStream(t *testing.T) {
	t.Parallel()
	for name, log := range wiretest.WithRandom(logs()) {
		frames := wiretest.Project(openai.Responses{Results: true}.New(), [][]event.Event{log})
		var last openai.ResponseEvent
		require.NoError(t, json.Unmarshal(frames[len(frames)-1].Data, &last))
		if last.Response.ID == "" { // the random log does not end
			continue
		}
		want, _ := json.Marshal(last.Response)
		if got, _ := json.Marshal(openai.Responses{Results: true}.Reply(log)); string(got) != string(want) {
			t.Errorf("%s: the reply is %s, the stream ends with %s", name, got, want)
		}
	}
}

func TestResponsesGoldens(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		t.Run(name, func(t *testing.T) {
			p := openai.Responses{Results: true}
			reply, err := json.MarshalIndent(p.Reply(log), "", "  ")
			require.NoError(t, err)
			golden.Check(t, filepath.Join("testdata", "responses_"+name+".txt"), wiretest.Golden(p, [][]event.Event{log})+string(reply)+"\n")
		})
	}
}

// TestResultsOfCachedAnswer: a client that asks for what searches found gets the sources of a cached answer, which needed no search.
func TestResultsOfCachedAnswer(t *testing.T) {
	t.Parallel()
	log := wiretest.Runs()["cached"]
	for i, e := range log {
		if b, ok := e.Body.(event.Attributed); ok {
			b.Sources = slices.Insert(slices.Clone(b.Sources), 0, event.Source{N: 2, Chunk: "c_9", Document: "d_9", Name: "b.md", Level: corpus.Passage, Score: 0.2})
			b.Sources[1].Attributes = map[string]any{"team": "harbour"}
			log[i].Body = b
		}
	}
	for results, want := range map[bool]int{true: 2, false: 1} {
		r := openai.Responses{Results: results}.Reply(log).(openai.Response)
		if len(r.Output) != want || r.Output[want-1].Type != "message" {
			t.Errorf("results %v: %+v", results, r.Output)
		}
		if !results {
			continue
		}
		call := r.Output[0]
		if call.Type != "file_search_call" || call.Status != "completed" || !slices.Equal(call.Queries, []string{"Who keeps it?"}) || call.Results == nil {
			t.Fatalf("%+v", call)
		}
		if diff := cmp.Diff([]openai.Result{{FileID: "d_1", Filename: "farland.pdf", Score: 0.84, Attributes: map[string]any{"chunk_id": "c_1", "level": "L2", "team": "harbour"}},
			{FileID: "d_9", Filename: "b.md", Score: 0.2, Attributes: map[string]any{"chunk_id": "c_9", "level": "L2"}}}, *call.Results); diff != "" {
			t.Error(diff)
		}
	}
	none := slices.DeleteFunc(slices.Clone(log), func(e event.Event) bool { _, is := e.Body.(event.Attributed); return is })
	if r := (openai.Responses{Results: true}).Reply(none).(openai.Response); r.Output[0].Status != "completed" || len(*r.Output[0].Results) != 0 {
		t.Errorf("without sources: %+v", r.Output[0])
	}
}

// TestCitationsOfResponse: the citations are at the end of what they support.
func TestCitationsOfResponse(t *testing.T) {
	t.Parallel()
	r := openai.Responses{}.Reply(linked()).(openai.Response)
	m := (*r.Output[len(r.Output)-1].Content)[0]
	if len(m.Annotations) != 4 || string([]rune(m.Text)[:m.Annotations[0].Index]) != "Zoë keeps it 🕯." || m.Annotations[1].Filename != "keepers.md" || m.Annotations[3].FileID != "d_1" {
		t.Errorf("%+v", m)
	}
	if r.Status != "incomplete" || r.IncompleteDetails.Reason != "max_output_tokens" || r.Usage.InputDetails.CachedTokens != 100 {
		t.Errorf("%+v", r)
	}
}

func TestDecodeResponse(t *testing.T) {
	t.Parallel()
	wiretest.TestDecode(t, openai.DecodeResponse, maxQuery, map[string]wire.Request{
		`{"input":"Why?"}`: {NoStream: true, Question: event.Question{Query: "Why?", Request: json.RawMessage(`{}`)}},
		`{"model":"sluice-direct","input":[{"role":"developer","content":"Be brief."},{"role":"user","content":"And?"},{"type":"reasoning","summary":[]},
		  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]},{"role":"user","content":[{"type":"input_text","text":"Why?"}]}],
		  "instructions":"In French.","stream":true,"include":["file_search_call.results","reasoning.encrypted_content"],"max_output_tokens":100,"metadata":{"a":"b"},"store":true,"unknown":1,
		  "tools":[{"type":"web_search"},{"type":"file_search","vector_store_ids":["vs_a","vs_b"],"max_num_results":70,"filters":{"type":"eq","key":"author","value":"Zoë"}}]}`: {
			Variant: openai.Responses{Results: true}, Question: event.Question{Query: "Why?", Mode: event.Direct, Collection: "vs_a,vs_b", TopK: event.MaxTopK, MaxTokens: 100,
				Instructions: "In French.\n\nBe brief.", History: []event.Message{{Role: "user", Text: "And?"}, {Role: "assistant", Text: "Yes."}},
				Filter:  &filter.Filter{Type: "eq", Key: "author", Value: "Zoë"},
				Request: json.RawMessage(`{"model":"sluice-direct","tools":[{"type":"file_search","vector_store_ids":["vs_a","vs_b"],"max_num_results":50}],"metadata":{"a":"b"}}`)}},
		// The choices of tools that a search satisfies.
		`{"input":"Why?","tool_choice":{"type":"file_search"},"tools":[{"type":"file_search","vector_store_ids":["vs_a"]},{"type":"web_search"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Collection: "vs_a", Request: json.RawMessage(`{"tools":[{"type":"file_search","vector_store_ids":["vs_a"]}]}`)}},
		`{"input":"Why?","tool_choice":"required","tools":[{"type":"file_search","vector_store_ids":["vs_a"]}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Collection: "vs_a", Request: json.RawMessage(`{"tools":[{"type":"file_search","vector_store_ids":["vs_a"]}]}`)}},
		`{"input":"Why?","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Request: json.RawMessage(`{}`)}},
		`{"input":"Why?","previous_response_id":"run_12345678","collection":"x"}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Previous: "run_12345678", Collection: "x", Request: json.RawMessage(`{}`)}},
		`{"input":"Why?","conversation":{"id":"s 1"},"stream":true}`: {Question: event.Question{Query: "Why?", Session: "s 1", Request: json.RawMessage(`{}`)}},
		`{"input":"Why?","store":false,"stream":true}`:               {Question: event.Question{Query: "Why?", Ephemeral: true, Request: json.RawMessage(`{}`)}},
	})
}

func TestDecodeResponseRefuses(t *testing.T) {
	t.Parallel()
	wiretest.TestRefuses(t, openai.DecodeResponse, maxQuery, map[string]string{
		`{}`:                       "input",
		`{"input":7}`:              "input",
		`{"input":[]}`:             "input",
		`{"input":" "}`:            "input",
		`{"input":["x"]}`:          "input[0]",
		`{"input":[{"role":"x"}]}`: "input[0].role",
		`{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`: "input[0].content[0]",
		`{"input":"Why?","background":true}`:                             "background",
		`{"input":"Why?","prompt":{"id":"p"}}`:                           "prompt",
		`{"input":"Why?","text":{"format":{"type":"json_schema"}}}`:      "text.format",
		`{"input":"Why?","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]},"tools":[{"type":"function","name":"f"}]}`: "tool_choice",
		`{"input":"Why?","tool_choice":"required","tools":[{"type":"file_search","vector_store_ids":["vs_a"]},{"type":"function","name":"f"}]}`:                       "tool_choice",
		`{"input":"Why?","tool_choice":{"type":"web_search_preview"}}`:                                                                                                "tool_choice",
		`{"input":"Why?","tool_choice":"required"}`:                                                                         "tool_choice",
		`{"input":"Why?","max_output_tokens":-1}`:                                                                           "max_output_tokens",
		`{"input":"Why?","previous_response_id":"../x"}`:                                                                    "previous_response_id",
		`{"input":"Why?","conversation":7}`:                                                                                 "conversation",
		`{"input":"Why?","conversation":""}`:                                                                                "conversation",
		`{"input":"Why?","conversation":"s","previous_response_id":"run_12345678"}`:                                         "conversation",
		`{"input":"Why?","conversation":"s","store":false}`:                                                                 "store",
		`{"input":"Why?","metadata":{"a":1}}`:                                                                               "metadata.a",
		`{"input":"Why?","metadata":{"a":"` + strings.Repeat("x", 600) + `"}}`:                                              "metadata",
		`{"input":"Why?","tools":[{"type":"file_search","vector_store_ids":["a,b"]}]}`:                                      "tools[0].vector_store_ids[0]",
		`{"input":"Why?","tools":[{"type":"file_search","vector_store_ids":["a"],"filters":{"type":"near"}}]}`:              "tools[0].filters.type",
		`{"input":"Why?","tools":[{"type":"file_search","vector_store_ids":["a"],"filters":{"type":"eq","key":"author"}}]}`: "tools[0].filters.value",
		`{"input":"Why?","tools":[` + strings.Repeat(`{"type":"function"},`, 200) + `{"type":"function"}]}`:                 "tools",
	})
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(`{"model":"sluice/x","input":[{"role":"user","content":[{"type":"input_text","text":"Why?"}]}],"tools":[{"type":"file_search","vector_store_ids":["a"],"filters":{"type":"eq","key":"author","value":1}}],"conversation":{"id":"s"},"metadata":{"a":"b"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := openai.DecodeResponse(body, maxQuery)
		if err != nil {
			checkFault(t, err)
			return
		}
		q.SetDefaults()
		if err := q.Validate(); err != nil && fault.Public(err).Field != "collection" {
			t.Errorf("accepted, but not valid: %v", err)
		}
	})
}
