package openai_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/openai"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

const maxQuery = 1000

func TestDecodeChat(t *testing.T) {
	t.Parallel()
	half := 0.5
	wiretest.TestDecode(t, openai.DecodeChat, maxQuery, map[string]wire.Request{
		// Strange parts of earlier messages are left out.
		`{"messages":[{"role":"user","content":["Who?",{"type":"text","text":"Hm?"}]},{"role":"assistant","content":7},{"role":"user","content":"Why?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", History: []event.Message{{Role: "user", Text: "Hm?"}}, Request: json.RawMessage(`{}`)}},
		`{"model":"sluice","messages":[{"role":"user","content":"Why?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Request: json.RawMessage(`{"model":"sluice"}`)}},
		`{"model":"sluice-direct/vs_a,vs_b","stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},"messages":[{"role":"user","content":[{"type":"text","text":"Why?"}]}]}`: {
			Variant: openai.Chat{Usage: true}, Question: event.Question{Query: "Why?", Mode: event.Direct, Collection: "vs_a,vs_b", Request: json.RawMessage(`{"model":"sluice-direct/vs_a,vs_b"}`)}},
		`{"model":"sluice-agentic/x","collection":"file:a/b.md","stream":true,"messages":[{"role":"user","content":"Why?"}]}`: {
			Question: event.Question{Query: "Why?", Mode: event.Agentic, Collection: "file:a/b.md", Request: json.RawMessage(`{"model":"sluice-agentic/x"}`)}},
		`{"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}},"messages":[{"role":"user","content":"Why?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Why?", Request: json.RawMessage(`{}`)}},
		// What front ends send.
		`{"model":"gpt-3.5-turbo","temperature":0.5,"max_tokens":1000,"user":"u","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto","n":1,"response_format":{"type":"text"},"top_p":1,"presence_penalty":0,
		  "metadata":{"task":"title_generation"},"stop":null,"chat_id":"c","store":false,"messages":[
		  {"role":"system","content":"Be brief."},{"role":"developer","content":[{"type":"text","text":"In French."}]},{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"data:"}}]},
		  {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"{}"},
		  {"role":"assistant","content":"A lamp."},{"role":"user","name":"ada","content":"Who keeps it?"}]}`: {NoStream: true,
			Question: event.Question{Query: "Who keeps it?", Model: "gpt-3.5-turbo", Temperature: &half, MaxTokens: 1000, Instructions: "Be brief.\n\nIn French.", Ephemeral: true,
				History: []event.Message{{Role: "user", Text: "See"}, {Role: "assistant", Text: "A lamp."}}, Request: json.RawMessage(`{"model":"gpt-3.5-turbo"}`)}},
	})
}

func TestDecodeChatRefuses(t *testing.T) {
	t.Parallel()
	const asked = `"messages":[{"role":"user","content":"Why?"}]`
	wiretest.TestRefuses(t, openai.DecodeChat, maxQuery, map[string]string{
		``:                       "body",
		`[]`:                     "body",
		`{`:                      "body",
		`{"messages":[]}`:        "messages",
		`{"messages":null}`:      "messages",
		"{\"messages\":\"\xff\"": "body",
		`{"messages":{}}`:        "messages",
		`{"messages":[{"role":"assistant","content":"Hi"}]}`:                                                                                 "messages",
		`{"messages":[{"role":"robot","content":"Hi"}]}`:                                                                                     "messages[0].role",
		`{"messages":[{"role":"user","content":" "}]}`:                                                                                       "messages[0].content",
		`{"messages":[{"role":"user","content":7}]}`:                                                                                         "messages[0].content",
		`{"messages":[{"role":"user","content":["x"]}]}`:                                                                                     "messages[0].content[0]",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url"}]}]}`:                               "messages[0].content[1]",
		`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`:                                                                         "messages[0].content[0].text",
		`{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxQuery+1) + `"}]}`:                                                 "messages[0].content",
		`{"messages":[{"role":"user","content":"a\u0000"}]}`:                                                                                 "messages[0].content",
		`{"messages":[{"role":"system","content":"` + strings.Repeat("x", event.MaxInstructions+1) + `"},{"role":"user","content":"Why?"}]}`: "messages[0].content",
		`{` + asked + `,"n":2}`:                                                                      "n",
		`{` + asked + `,"temperature":3}`:                                                            "temperature",
		`{` + asked + `,"temperature":"hot"}`:                                                        "temperature",
		`{` + asked + `,"max_tokens":-1}`:                                                            "max_tokens",
		`{` + asked + `,"max_completion_tokens":9000000}`:                                            "max_completion_tokens",
		`{` + asked + `,"response_format":{"type":"json_object"}}`:                                   "response_format",
		`{` + asked + `,"tool_choice":"required"}`:                                                   "tool_choice",
		`{` + asked + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}}`: "tool_choice",
		`{` + asked + `,"tool_choice":{"type":"function"}}`:                                          "tool_choice",
		`{` + asked + `,"model":"` + strings.Repeat("m", 300) + `"}`:                                 "model",
		`{` + asked + `,"stream":"yes"}`:                                                             "stream",
		`{` + asked + `,"stream":true,"stream":false}`:                                               "stream",
		`{` + asked + `,"x":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`:            "x",
	})
}

func FuzzDecodeChat(f *testing.F) {
	f.Add([]byte(`{"model":"sluice/x","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"Why?"}]}],"tool_choice":"auto","stream":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := openai.DecodeChat(body, maxQuery)
		if err != nil {
			checkFault(t, err)
			return
		}
		q.SetDefaults()
		if len(q.Query) > maxQuery || !utf8.ValidString(q.Query) {
			t.Errorf("question %q", q.Query)
		}
	})
}

// checkFault checks that an error can be shown to a client.
func checkFault(t *testing.T, err error) {
	f := fault.Public(err)
	if f.Code != fault.InvalidRequest || f.Field == "" {
		t.Fatalf("%+v", f)
	}
	text, err := json.Marshal(openai.FaultOf(f))
	var back openai.Error
	if err != nil || wiretest.Strict(text, &back) != nil || back.Error.Code == nil || *back.Error.Code != "invalid_request" || back.Error.Param == nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]string{fault.Unauthenticated: "invalid_request_error invalid_api_key", fault.Quota: "insufficient_quota insufficient_quota",
		fault.Overloaded: "rate_limit_error rate_limit_exceeded", fault.Internal: "server_error internal", fault.NotFound: "invalid_request_error not_found",
		fault.Forbidden: "permission_error forbidden", fault.Model: "server_error llm_error"} {
		e := openai.FaultOf(fault.New(code, "no")).Error
		if got := e.Type + " " + *e.Code; got != want || e.Param != nil || e.Message != "no" {
			t.Errorf("%s: %s", code, got)
		}
	}
}
