package knowledge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

const maxQuery = 1000

// decode decodes a request and removes the echo.
func decode(t *testing.T, body string) wire.Request {
	t.Helper()
	q, err := knowledge.Decode([]byte(body), maxQuery)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	q.Request = nil
	return q
}

func TestDecode(t *testing.T) {
	t.Parallel()
	temperature := 0.7
	for name, c := range map[string]struct {
		body string
		want wire.Request
	}{
		"as the public client streams": {direct, wire.Request{Question: event.Question{Query: "How do tokens arrive?", Mode: event.Direct, Collection: "vs", TopK: 10, Model: "qwen-max-latest",
			Temperature: &temperature, MaxTokens: 1000, Tools: []string{}}}},
		"as it asks for one object": {`{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0.7,"max_tokens":5,"user":"u","tools":[{"type":"file_search",
			"vector_store_ids":["a"],"max_num_results":null,"filters":null,"ranking_options":null}],"tool_choice":"auto"}`,
			wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic, Iterations: 2, Collection: "a", Model: "m", Temperature: &temperature, MaxTokens: 5, Tools: []string{}}, NoStream: true}},
		"fields of OpenAI without effect": {`{"input":"q","effort":"low","background":false,"context_management":[],"conversation":null,"include":["file_search_call.results"],"max_tool_calls":3,
			"prompt":null,"prompt_cache_key":"k","prompt_cache_retention":"24h","safety_identifier":"s","top_logprobs":0,"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"x":1}}},
			"reasoning":{"effort":"low","generate_summary":"auto"},"stream_options":{"include_obfuscation":false},"tools":[{"type":"mcp","server_label":"x"},
			{"type":"file_search","vector_store_ids":["a"],"filters":{},"ranking_options":{"ranker":"auto"}}]}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, Collection: "a", Tools: []string{}}}},
		"items with fields of responses": {`{"effort":"low","input":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]},
			{"role":"user","content":"q","name":"n"}]}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, History: []event.Message{{Role: "assistant", Text: "a"}}}}},
		"a text":                   {`{"input":" q "}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic, Iterations: 2}}},
		"stream false":             {`{"input":"q","stream":false}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic, Iterations: 2}, NoStream: true}},
		"stream true":              {`{"messages":[{"role":"user","content":"q"}],"stream":true}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic, Iterations: 2}}},
		"high":                     {`{"input":"q","effort":"high"}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic}}},
		"dev":                      {`{"input":"q","effort":"dev"}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, NoCache: true}}},
		"effort of reasoning":      {`{"input":"q","reasoning":{"effort":"low"}}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct}}},
		"effort before reasoning":  {`{"input":"q","effort":"high","reasoning":{"effort":"low"}}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic}}},
		"deltas":                   {`{"input":"q","effort":"low","stream_options":{"mode":"delta","snapshots_per_second":3}}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct}, Variant: knowledge.Protocol{Delta: true}}},
		"a pace":                   {`{"input":"q","effort":"low","snapshots_per_second":2.5}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct}, Variant: knowledge.Protocol{PerSecond: 2.5}}},
		"the default pace is none": {`{"input":"q","effort":"low","stream_options":{"snapshots_per_second":10,"mode":"snapshot"}}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct}}},
		"history": {`{"effort":"low","instructions":"Be brief.","input":[{"role":"system","content":"Be kind."},{"role":"user","content":"one"},
			{"role":"assistant","content":"two ⟦⟦1⟧⟧ and ⟦⟦12⟧⟧⟦⟦3⟧⟧. ⟦⟦x⟧⟧"},{"role":"developer","content":[{"type":"input_text","text":"Be exact."}]},
			{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"three","annotations":[]}]},{"role":"user","content":"four"},
			{"role":"assistant","content":"five"}]}`,
			wire.Request{Question: event.Question{Query: "four", Mode: event.Direct, Instructions: "Be brief.\n\nBe kind.\n\nBe exact.", History: []event.Message{
				{Role: "user", Text: "one"}, {Role: "assistant", Text: "two and. ⟦⟦x⟧⟧"}, {Role: "assistant", Text: "three"}}}}},
		"a file": {`{"effort":"low","input":[{"id":"user_1","role":"user","content":[{"type":"input_file","file_id":"old"},{"type":"input_text","text":"old first"}]},
			{"role":"user","content":[{"type":"input_file","file_id":"doc_0a1b"},{"type":"input_text","text":"And doc_0a1b the first?"}]},
			{"id":"user_2","role":"user","content":[{"type":"input_file","file_id":"6dce5827-0a1b-4c2d-8e3f-0123456789ab"},{"type":"input_text","text":"6dce5827-0a1b-4c2d-8e3f-0123456789ab what is it?"}]}],
			"tools":[{"type":"file_search","vector_store_ids":["vs"]}]}`,
			wire.Request{Question: event.Question{Query: "what is it?", Mode: event.Direct, Collection: "file:6dce5827-0a1b-4c2d-8e3f-0123456789ab", Tools: []string{}, History: []event.Message{{Role: "user", Text: "old first"}, {Role: "user", Text: "And the first?"}}}}},
		"files without a word": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"a"},{"type":"input_file","file_id":"b"},{"type":"input_text","text":"a"}]}]}`,
			wire.Request{Question: event.Question{Query: "What is this document about?", Mode: event.Direct, Collection: "file:a,file:b"}}},
		"an id that only begins the text": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"a"},{"type":"input_text","text":"about it"}]}]}`,
			wire.Request{Question: event.Question{Query: "about it", Mode: event.Direct, Collection: "file:a"}}},
		"the word by which a file is named": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"contract"},{"type":"input_text","text":"What does the contract say?"}]}]}`,
			wire.Request{Question: event.Question{Query: "What does the contract say?", Mode: event.Direct, Collection: "file:contract"}}},
		"a question that begins with that word": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"contract"},{"type":"input_text","text":"contract terms?"}]}]}`,
			wire.Request{Question: event.Question{Query: "contract terms?", Mode: event.Direct, Collection: "file:contract"}}},
		"a word behind an @": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"contract"},{"type":"input_text","text":"What does @contract say of contracts, or@contract, @contracts and @contract?"}]}]}`,
			wire.Request{Question: event.Question{Query: "What does say of contracts, or@contract, @contracts and?", Mode: event.Direct, Collection: "file:contract"}}},
		"a generated id in longer words": {`{"effort":"low","input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1a"},{"type":"input_text","text":"Is file_1ab like my_file_1a or file_1a, and file_1a?"}]}]}`,
			wire.Request{Question: event.Question{Query: "Is file_1ab like my_file_1a or, and?", Mode: event.Direct, Collection: "file:file_1a"}}},
		"bare parts": {`{"effort":"low","input":[{"type":"input_file","file_id":"a"},{"type":"input_text","text":"q"}]}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, Collection: "file:a"}}},
		"tools": {`{"input":"q","effort":"low","tools":[{"type":"file_search","vector_store_ids":["a","b"],"max_num_results":99},{"type":"web_search"},{"type":"page_reader"},{"type":"mcp"},
			{"type":"list_documents","vector_store_ids":["b","c"]},{"type":"function","name":"f"},{"type":"file_reader"}]}`,
			wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, Collection: "a,b,c", TopK: 50, Tools: []string{event.ToolReadPages, event.ToolListDocuments}}}},
		"a filter": {`{"input":"q","effort":"low","tools":[{"type":"file_search","vector_store_ids":["a"],"filters":{"type":"gte","key":"year","value":2020}},{"type":"file_search","vector_store_ids":["b"]},
			{"type":"list_documents","filters":{"type":"gte","key":"year","value":2020}}]}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, Collection: "a,b",
			Filter: &filter.Filter{Type: filter.GreaterOrEqual, Key: "year", Value: 2020.0}, Tools: []string{event.ToolListDocuments}}}},
		"kept": {`{"input":"q","effort":"low","store":false,"previous_response_id":"run_1","no_cache":true}`,
			wire.Request{Question: event.Question{Query: "q", Mode: event.Direct, Ephemeral: true, Previous: "run_1", NoCache: true}}},
		"null is nothing": {`{"input":"q","effort":null,"stream":null,"tools":null,"temperature":null,"metadata":null,"text":null,"reasoning":null,"tool_choice":null,"model":null,
			"stream_options":null,"previous_response_id":null,"truncation":null,"messages":null}`, wire.Request{Question: event.Question{Query: "q", Mode: event.Agentic, Iterations: 2}}},
	} {
		if diff := gocmp.Diff(c.want, decode(t, c.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	wiretest.TestRefuses(t, knowledge.Decode, maxQuery, map[string]string{
		`{"input":"x","topk":5}`: "topk", `{"input":"x","INPUT":"y"}`: "INPUT", `{"input":"x","input":"y"}`: "input", `{"input":"x","zebra":null}`: "zebra",
		`{"input":"x","stream_options":{"modus":"delta"}}`: "stream_options.modus", `{"input":"x","reasoning":{"efort":"low"}}`: "reasoning.efort",
		`{"input":"x","text":{"formats":{}}}`: "text.formats", `{"input":"x","metadata":{"a":"1","a":"2"}}`: "metadata.a",
		`{"input":"x","tools":[{"type":"file_search","vector_store_id":["a"]}]}`: "tools[0].vector_store_id",
		`{"input":[{"role":"user","content":"x","content":"y"}]}`:                "input[0].content",
		``: "body", `[]`: "body", `{"input":"x"}{}`: "body", "{\"input\":\"\xff\"}": "body", `{`: "body",
		`{}`: "input", `{"input":[]}`: "input", `{"input":7}`: "input", `{"input":" "}`: "input", `{"input":"` + strings.Repeat("x", maxQuery+1) + `"}`: "input",
		`{"input":[null]}`: "input[0]", `{"input":["x"]}`: "input[0]", `{"input":[{"content":"x"}]}`: "input[0].role",
		`{"input":[{"role":"robot","content":"x"}]}`: "input[0].role", `{"input":[{"role":"user","content":7}]}`: "input[0].content",
		`{"input":[{"role":"user","content":"x"},{"role":"user"},{"role":"user","content":[{"type":"input_sound"}]}]}`: "input[2].content[0].type",
		`{"input":[{"role":"user","content":[{"type":"input_text","text":7}]}]}`:                                       "input[0].content[0].text",
		`{"input":[{"role":"user","content":[{"text":"x"}]}]}`:                                                         "input[0].content[0].type",
		`{"input":[{"role":"user","content":[{"type":"input_file","file_id":"a,b"}]}]}`:                                "input[0].content[0].file_id",
		`{"input":[{"type":"song"}]}`: "input[0].type", `{"input":"a\u0001"}`: "input", `{"messages":[{"role":"assistant","content":"x"}]}`: "messages",
		`{"input":"x","stream":"yes"}`: "stream", `{"input":"x","effort":"huge"}`: "effort", `{"input":"x","effort":1}`: "effort",
		`{"input":"x","temperature":3}`: "temperature", `{"input":"x","temperature":"1"}`: "temperature", `{"input":"x","top_p":1e400}`: "top_p",
		`{"input":"x","max_output_tokens":1.5}`: "max_output_tokens", `{"input":"x","max_tokens":0}`: "max_tokens", `{"input":"x","model":["a"]}`: "model",
		`{"input":"x","model":"` + strings.Repeat("m", 129) + `"}`: "model", `{"input":"x","tools":{}}`: "tools", `{"input":"x","tools":[7]}`: "tools[0]",
		`{"input":"x","tools":[{}]}`: "tools[0].type", `{"input":"x","tools":[{"type":"file_search","vector_store_ids":["a",1]}]}`: "tools[0].vector_store_ids[1]",
		`{"input":"x","tools":[{"type":"file_search","vector_store_ids":"a"}]}`:     "tools[0].vector_store_ids",
		`{"input":"x","tools":[{"type":"file_search","vector_store_ids":["a,b"]}]}`: "tools[0].vector_store_ids[0]",
		`{"input":"x","tools":[{"type":"file_search","max_num_results":"10"}]}`:     "tools[0].max_num_results",
		`{"input":"x","tools":[{"type":"file_search","filters":{"x":1}}]}`:          "tools[0].filters.type", `{"input":"x","tools":[{"type":"file_search","filters":[]}]}`: "tools[0].filters",
		`{"input":"x","tools":[{"type":"page_reader"},{"type":"file_search","filters":{"type":"eq","key":"page","value":1}}]}`:                                          "tools[1].filters.key",
		`{"input":"x","tools":[{"type":"file_search","filters":{"type":"eq","key":"a","value":1}},{"type":"file_search","filters":{"type":"eq","key":"a","value":2}}]}`: "tools[1].filters",
		`{"input":"x","tool_choice":"perhaps"}`: "tool_choice", `{"input":"x","stream_options":{"mode":"both"}}`: "stream_options.mode",
		`{"input":"x","stream_options":[]}`: "stream_options", `{"input":"x","stream_options":{"snapshots_per_second":0}}`: "stream_options.snapshots_per_second",
		`{"input":"x","snapshots_per_second":101}`: "snapshots_per_second", `{"input":"x","previous_response_id":"../x"}`: "previous_response_id",
		`{"input":"x","store":"no"}`: "store", `{"input":"x","metadata":[]}`: "metadata", `{"input":"x","metadata":{"a":1}}`: "metadata.a",
		`{"input":"x","reasoning":{"effort":"dev"}}`: "reasoning.effort", `{"input":"x","reasoning":7}`: "reasoning", `{"input":"x","text":{"format":{"type":"xml"}}}`: "text.format.type",
		`{"input":"x","truncation":"some"}`: "truncation", `{"input":"x","service_tier":"gold"}`: "service_tier", `{"input":"x","user":{}}`: "user",
		`{"input":"x","instructions":"` + strings.Repeat("i", knowledge.MaxInstructions+1) + `"}`: "instructions", `{"input":"x","parallel_tool_calls":1}`: "parallel_tool_calls",
	})
}

// TestLongHistoryLosesItsOldestTurns: clients send the whole history each time.
func TestLongHistoryLosesItsOldestTurns(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 5000} {
		var items []string
		for i := range 300 {
			items = append(items, fmt.Sprintf(`{"role":"user","content":"%d%s"},{"role":"assistant","content":"a"}`, i, strings.Repeat("x", size)))
		}
		q := decode(t, `{"input":[`+strings.Join(items, ",")+`,{"role":"user","content":"q"}]}`)
		n := 0
		for _, turn := range q.History {
			n += len(turn.Text)
		}
		if len(q.History) > 200 || n > 256<<10 || len(q.History) < 100 || !strings.HasPrefix(q.History[len(q.History)-2].Text, "299x") {
			t.Errorf("%d turns of %d bytes, the last %.5q", len(q.History), n, q.History[len(q.History)-2].Text)
		}
	}
}

// TestResponseRepeatsTheRequest: the response has the fields of the request that the client can read.
func TestResponseRepeatsTheRequest(t *testing.T) {
	t.Parallel()
	body := `{"input":"x","effort":"dev","tools":[{"type":"file_search","vector_store_ids":["a"],"max_num_results":7,"filters":{"type":"eq","key":"a","value":1}},{"type":"mcp","server":"x"},{"type":"web_search_preview"},
		{"type":"file_search"}],"tool_choice":{"type":"function","name":"f"},"temperature":0,"top_p":0.5,"metadata":{"b":"2","a":"1"},"text":{"format":{"type":"json_schema"}},
		"reasoning":{"effort":"high","summary":"auto"},"user":"u","truncation":"auto","service_tier":"flex","store":false,"parallel_tool_calls":false,"max_output_tokens":9,"previous_response_id":"run_0"}`
	r := knowledge.ResponseOf(wiretest.LogOf(started(body)...))
	got, err := json.Marshal(r.Echo)
	require.NoError(t, err)
	want := `{"parallel_tool_calls":false,"tool_choice":"auto","tools":[{"type":"file_search","vector_store_ids":["a"],"max_num_results":7},{"type":"web_search"},` +
		`{"type":"file_search","vector_store_ids":[]}],"temperature":0,"top_p":0.5,"max_output_tokens":9,"previous_response_id":"run_0","metadata":{"a":"1","b":"2"},` +
		`"reasoning":{"effort":"high","summary":"auto"},"text":{"format":{"type":"text"}},"truncation":"auto","service_tier":"flex","user":"u","effort":"dev","store":false}`
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	// What another protocol keeps of its request is not read.
	log := wiretest.LogOf(started(body)...)
	start := log[0].Body.(event.RunStarted)
	start.Protocol = "forge"
	log[0].Body = start
	if r := knowledge.ResponseOf(log); len(r.Tools) != 0 || r.User != "" {
		t.Errorf("%+v", r.Echo)
	}
}

func TestVariant(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]any{
		"": knowledge.Protocol{}, "mode=snapshot": knowledge.Protocol{}, "mode=delta": knowledge.Protocol{Delta: true}, "snapshots_per_second=10": knowledge.Protocol{},
		"snapshots_per_second=0.5": knowledge.Protocol{PerSecond: 0.5}, "mode=both": "mode", "snapshots_per_second=x": "snapshots_per_second",
		"snapshots_per_second=NaN": "snapshots_per_second", "snapshots_per_second=-1": "snapshots_per_second", "snapshots_per_second=1e9": "snapshots_per_second",
	} {
		p, err := knowledge.API().Variant(nil, func(name string) string {
			value, _ := strings.CutPrefix(query, name+"=")
			if value == query {
				return ""
			}
			return value
		})
		e, wrong := errors.AsType[*fault.Error](err)
		if field, ok := want.(string); ok && (!wrong || e.Field != field) || !ok && p != want {
			t.Errorf("%q: %v, %v", query, p, err)
		}
	}
}

// FuzzDecode: accepted requests are within the limits and produce valid snapshots; errors name a field.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{direct, `{"input":[{"role":"user","content":[{"type":"input_file","file_id":"a"}]}],"tools":[{"type":"x"}]}`, `{"messages":[{"role":"user","content":"x"}]}`, `null`,
		`{"input":"x","metadata":{"\u2028":"\u0000"}}`, `{"input":"x","INPUT":1,"tool_choice":{"type":"file_search"}}`, `{"input":"⟦⟦1⟧⟧","effort":"dev","input":"y"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := knowledge.Decode(body, maxQuery)
		if err != nil {
			e, ok := errors.AsType[*fault.Error](err)
			if !ok || e.Code != fault.InvalidRequest || e.Field == "" || !utf8.ValidString(e.Message) {
				t.Fatalf("%#v", err)
			}
			return
		}
		if strings.TrimSpace(q.Query) == "" || len(q.Query) > maxQuery || q.TopK < 0 || q.TopK > knowledge.MaxTopK || len(q.Request) > 16<<10 || len(q.History) > 200 ||
			len(q.Instructions) > knowledge.MaxInstructions || q.Mode == "" {
			t.Fatalf("%+v", q)
		}
		if strings.ContainsAny(q.Query+q.Collection+q.Model, "\x00\x1d\x1e\x1f\x7f") || slices.Contains(q.Tools, "") {
			t.Fatalf("%+v", q)
		}
		start := event.RunStarted{Run: "run_1", Protocol: knowledge.Name, Question: event.Question{Query: q.Query, Model: q.Model, Request: q.Request}}
		log := wiretest.LogOf(start, event.RunFailed{Code: fault.Cancelled, Message: "x"})
		for _, fr := range (knowledge.Protocol{}).New().Project(nil, log)[:2] {
			if err := validate(fr.Data); err != nil {
				t.Fatalf("%v\n%s", err, fr.Data)
			}
		}
	})
}
