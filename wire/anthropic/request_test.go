package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/anthropic"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

const maxQuery = 1000

func TestDecode(t *testing.T) {
	t.Parallel()
	half := 0.5
	wiretest.TestDecode(t, anthropic.Decode, maxQuery, map[string]wire.Request{
		// Strange parts of earlier messages are left out.
		`{"messages":[{"role":"user","content":["Who?",{"type":"text","text":"Hm?"}]},{"role":"assistant","content":7},{"role":"user","content":"Why?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", History: []event.Message{{Role: "user", Text: "Hm?"}}, Request: json.RawMessage(`{}`)}},
		`{"model":"sluice","max_tokens":1024,"messages":[{"role":"user","content":"Why?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", MaxTokens: 1024, Request: json.RawMessage(`{"model":"sluice"}`)}},
		`{"model":"sluice-direct/vs_a,vs_b","stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":[{"type":"text","text":"Why?","cache_control":{"type":"ephemeral"}},{"type":"text","text":"And how?"}]}]}`: {
			Variant:  anthropic.Protocol{Thinking: true},
			Question: event.Question{Query: "Why?\nAnd how?", Mode: event.Direct, Collection: "vs_a,vs_b", Request: json.RawMessage(`{"model":"sluice-direct/vs_a,vs_b"}`)}},
		`{"model":"sluice-agentic/x","collection":"file:a/b.md","stream":true,"thinking":{"type":"adaptive","display":"omitted"},"messages":[{"role":"user","content":"Why?"}]}`: {
			Question: event.Question{Query: "Why?", Mode: event.Agentic, Collection: "file:a/b.md", Request: json.RawMessage(`{"model":"sluice-agentic/x"}`)}},
		// A conversation with tools, in which the answer is divided at its citations.
		`{"model":"claude-opus-5","temperature":0.5,"max_tokens":1000,"top_k":3,"stop_sequences":["x"],"metadata":{"user_id":"u"},"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},
		  "output_config":{"effort":"low"},"thinking":{"type":"disabled"},"system":[{"type":"text","text":"Be brief."}],"messages":[
		  {"role":"user","content":[{"type":"text","text":"See"},{"type":"image","source":{"type":"url","url":"https://a.example"}}]},
		  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":""},{"type":"text","text":"A lamp.","citations":[]},{"type":"text","text":" It burns."},{"type":"tool_use","id":"t","name":"f","input":{}}]},
		  {"role":"system","content":"In French."},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"{}"}]},{"role":"assistant","content":"Well."},
		  {"role":"user","content":"Who keeps it?"},{"role":"system","content":"Now."}]}`: {NoStream: true,
			Question: event.Question{Query: "Who keeps it?", Model: "claude-opus-5", Temperature: &half, MaxTokens: 1000, Instructions: "Be brief.\n\nIn French.\n\nNow.",
				History: []event.Message{{Role: "user", Text: "See"}, {Role: "assistant", Text: "A lamp. It burns."}, {Role: "assistant", Text: "Well."}}, Request: json.RawMessage(`{"model":"claude-opus-5"}`)}},
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const asked = `"messages":[{"role":"user","content":"Why?"}]`
	long := strings.Repeat("x", event.MaxInstructions+1)
	wiretest.TestRefuses(t, anthropic.Decode, maxQuery, map[string]string{
		``:                       "body",
		`[]`:                     "body",
		`{`:                      "body",
		"{\"messages\":\"\xff\"": "body",
		`{"messages":[]}`:        "messages",
		`{"messages":null}`:      "messages",
		`{"messages":{}}`:        "messages",
		`{"messages":[{"role":"system","content":"Hi"}]}`:                                                                            "messages",
		`{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"The answer is ("}]}`:                             "messages.1.role",
		`{"messages":[{"role":"robot","content":"Hi"}]}`:                                                                             "messages.0.role",
		`{"messages":[{"role":7,"content":"Hi"}]}`:                                                                                   "messages.0.role",
		`{"messages":[{"role":"user","content":" "}]}`:                                                                               "messages.0.content",
		`{"messages":[{"role":"user","content":7}]}`:                                                                                 "messages.0.content",
		`{"messages":[{"role":"user","content":["x"]}]}`:                                                                             "messages.0.content.0",
		`{"messages":[{"role":"user","content":[{"type":7}]}]}`:                                                                      "messages.0.content.0.type",
		`{"messages":[{"role":"user","content":"A"},{"role":"user","content":[{"type":"text","text":"B"},{"type":"image"}]}]}`:       "messages.1.content.1.type",
		`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`:                                                                 "messages.0.content.0.text",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}`:                          "messages.0.content.0.type",
		`{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxQuery+1) + `"}]}`:                                         "messages.0.content",
		`{"messages":[{"role":"user","content":"a\u0000"}]}`:                                                                         "messages.0.content",
		`{"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 1000) + `{"type":"text"}]}]}`:      "messages.0.content",
		`{"messages":[{"role":"user","content":[{"type":"text","x":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}]}]}`: "messages",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}`:                                           "messages.0.content.0.text",
		`{` + asked + `,"system":7}`:                                                                                                 "system",
		`{` + asked + `,"system":[{"type":"image"}]}`:                                                                                "system.0.type",
		`{` + asked + `,"system":"` + long + `"}`:                                                                                    "system",
		`{` + asked + `,"temperature":1.5}`:                                                                                          "temperature",
		`{` + asked + `,"temperature":"hot"}`:                                                                                        "temperature",
		`{` + asked + `,"max_tokens":-1}`:                                                                                            "max_tokens",
		`{` + asked + `,"max_tokens":9000000}`:                                                                                       "max_tokens",
		`{` + asked + `,"output_config":{"format":{"type":"json_schema","schema":{}}}}`:                                              "output_config.format",
		`{` + asked + `,"tool_choice":{"type":"any"}}`:                                                                               "tool_choice.type",
		`{` + asked + `,"tool_choice":{"type":"tool","name":"f"}}`:                                                                   "tool_choice.type",
		`{` + asked + `,"model":"` + strings.Repeat("m", 300) + `"}`:                                                                 "model",
		`{` + asked + `,"stream":"yes"}`:                                                                                             "stream",
		`{` + asked + `,"stream":true,"stream":false}`:                                                                               "stream",
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"sluice/x","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"Why?"}]}],"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},"stream":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := anthropic.Decode(body, maxQuery)
		if err != nil {
			if e := fault.Public(err); e.Code != fault.InvalidRequest || e.Field == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		q.SetDefaults()
		if len(q.Query) > maxQuery || !utf8.ValidString(q.Query) {
			t.Errorf("question %q", q.Query)
		}
	})
}
