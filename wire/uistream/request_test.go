package uistream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/uistream"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

const maxQuery = 1000

func TestDecode(t *testing.T) {
	t.Parallel()
	turn := wire.Turn{Wait: true, Alone: true}
	wiretest.TestDecode(t, uistream.Decode, maxQuery, map[string]wire.Request{
		`{"id":"c1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Why?"}]}],"trigger":"submit-message"}`: {Turn: turn, Question: event.Question{Query: "Why?", Session: "c1"}},
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"Why?"},{"type":"data-page","data":{"text":7}},{"type":"text","text":"And how?"}]}],"messageId":null}`: {
			Turn: turn, Question: event.Question{Query: "Why?\nAnd how?"}},
		// Strange parts of earlier messages are left out.
		`{"messages":[{"role":"user","parts":["Who?",{"type":7},null,{"type":"text","text":7},{"type":"text","text":"Hm?"}]},{"role":"user","parts":[{"type":"text","text":"Why?"}]}]}`: {
			Turn: turn, Question: event.Question{Query: "Why?", History: []event.Message{{Role: "user", Text: "Hm?"}}}},
		// A message of the client with the parts of an answer, and the fields that the option body adds.
		`{"collection":"vs_a","mode":"direct","model":"m","temperature":1,"id":"c1","trigger":"regenerate-message","messageId":"msg_1","messages":[
		  {"role":"system","parts":[{"type":"text","text":"Be brief."}]},{"id":"u","role":"user","metadata":{},"parts":[{"type":"file","mediaType":"image/png","url":"data:"},{"type":"text","text":"Who?"}]},
		  {"id":"msg_1","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"Hm","state":"done"},{"type":"dynamic-tool","toolName":"hybrid_search","toolCallId":"r-call-1","state":"output-available","input":{},"output":{"text":[1]}},
		  {"type":"text","text":"Zoë.","state":"done"},{"type":"source-url","sourceId":"source-1","url":"https://x.example"}]},{"role":"assistant","parts":[]},
		  {"role":"user","parts":[{"type":"text","text":"Since when?"}]}]}`: {Turn: turn, Question: event.Question{Query: "Since when?", Session: "c1", Collection: "vs_a", Mode: event.Direct, Model: "m", NoCache: true,
			Instructions: "Be brief.", History: []event.Message{{Role: "user", Text: "Who?"}, {Role: "assistant", Text: "Zoë."}}}},
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const asked = `"messages":[{"role":"user","parts":[{"type":"text","text":"Why?"}]}]`
	long := strings.Repeat("x", maxQuery+1)
	wiretest.TestRefuses(t, uistream.Decode, maxQuery, map[string]string{
		``:                "body",
		`[]`:              "body",
		`{"messages":[]}`: "messages",
		`{"id":"c1"}`:     "messages",
		`{"messages":[{"role":"assistant","parts":[]}]}`:                                                                         "messages",
		`{"messages":[{"role":"tool","parts":[]}]}`:                                                                              "messages[0].role",
		`{"messages":[{"role":"user","parts":[]}]}`:                                                                              "messages[0].parts",
		`{"messages":[{"role":"user","content":"Why?"}]}`:                                                                        "messages[0].parts",
		`{"messages":[{"role":"user","parts":"Why?"}]}`:                                                                          "messages[0].parts",
		`{"messages":[{"role":"user","parts":["Why?"]}]}`:                                                                        "messages[0].parts[0]",
		`{"messages":[{"role":"system","parts":[{"type":7}]},` + asked[12:] + `}`:                                                "messages[0].parts[0]",
		`{"messages":[{"role":"user","parts":[{"type":"text"}]}]}`:                                                               "messages[0].parts[0].text",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":" "}]}]}`:                                                    "messages[0].parts",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"` + long + `"}]}]}`:                                         "messages[0].parts",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"a\u0000"}]}]}`:                                              "messages[0].parts",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"See"},{"type":"file","url":"data:"}]}]}`:                    "messages[0].parts[1]",
		`{"messages":[{"role":"system","parts":[{"type":"text","text":"` + strings.Repeat(long, 40) + `"}]},` + asked[12:] + `}`: "messages[0].parts",
		`{"id":"` + long + `",` + asked + `}`:                                                                                    "id",
		`{"id":"..",` + asked + `}`:                                                                                              "id",
		`{"id":"a\nb",` + asked + `}`:                                                                                            "id",
		`{"id":7,` + asked + `}`:                                                                                                 "id",
		`{"trigger":"resume-stream",` + asked + `}`:                                                                              "trigger",
		`{"mode":"quick",` + asked + `}`:                                                                                         "mode",
		`{"collection":"` + long + `",` + asked + `}`:                                                                            "collection",
		`{"model":"a\u0000",` + asked + `}`:                                                                                      "model",
		`{"id":"a","id":"b",` + asked + `}`:                                                                                      "id",
		`{` + asked + `,"x":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`:                                        "x",
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"c1","trigger":"submit-message","messages":[{"role":"system","parts":[{"type":"text","text":"s"}]},{"role":"user","parts":[{"type":"text","text":"Why?"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := uistream.Decode(body, maxQuery)
		if err != nil {
			f := fault.Public(err)
			text, ok := uistream.API().Fault(f).(wire.Text)
			if f.Code != fault.InvalidRequest || f.Field == "" || !ok || !utf8.ValidString(string(text)) || !strings.HasPrefix(string(text), f.Field) {
				t.Fatalf("%+v: %q", f, text)
			}
			return
		}
		q.SetDefaults()
		if err := q.Validate(); err != nil || len(q.Query) > maxQuery {
			text, _ := json.Marshal(q)
			t.Errorf("%v: %s", err, text)
		}
	})
}
