package agui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/agui"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

const maxQuery = 1000

func TestDecode(t *testing.T) {
	t.Parallel()
	turn := wire.Turn{Wait: true, Alone: true}
	wiretest.TestDecode(t, agui.Decode, maxQuery, map[string]wire.Request{
		`{"threadId":"t1","runId":"r1","tools":[],"context":[],"forwardedProps":{},"state":{},"messages":[{"id":"1","role":"user","content":"Why?"}],"protocolVersion":"1.0"}`: {
			Turn: turn, Question: event.Question{Query: "Why?", Session: "t1"}},
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Why?"},{"type":"text","text":"And how?"}]}],"context":null,"forwardedProps":null,"state":[1]}`: {
			Turn: turn, Question: event.Question{Query: "Why?\nAnd how?"}},
		// Strange parts of earlier messages are left out.
		`{"messages":[{"role":"user","content":["Who?",{"type":"text","text":7},{"type":"text","text":"Hm?"}]},{"role":"assistant","content":7},{"role":"user","content":"Why?"}]}`: {
			Turn: turn, Question: event.Question{Query: "Why?", History: []event.Message{{Role: "user", Text: "Hm?"}}}},
		// The messages of a client after an answer, with tools and properties of an application.
		`{"threadId":"t1","runId":7,"state":{"sources":[]},"tools":[{"name":"confetti","description":"","parameters":{}}],"resume":[],
		  "forwardedProps":{"collection":"vs_a","mode":"direct","model":"m","noCache":true,"theme":"dark"},"context":[{"description":"The page","value":"Harbour"}],"messages":[
		  {"id":"1","role":"system","content":"Be brief."},{"id":"2","role":"developer","content":""},
		  {"id":"3","role":"user","content":[{"type":"image","source":{"type":"url","value":"x"}},{"type":"text","text":"Who?"}]},
		  {"id":"4","role":"reasoning","content":"Hm"},{"id":"5","role":"activity","activityType":"grading","content":{"rounds":[]}},
		  {"id":"6","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"hybrid_search","arguments":"{}"}}]},{"id":"7","role":"tool","toolCallId":"c","content":"{}"},
		  {"id":"8","role":"assistant","content":"Zoë. "},{"id":"9","role":"user","content":"Since when?"}]}`: {Turn: turn, Question: event.Question{Query: "Since when?", Session: "t1",
			Collection: "vs_a", Mode: event.Direct, Model: "m", NoCache: true, Instructions: "Be brief.\n\nThe page: Harbour", History: []event.Message{{Role: "user", Text: "Who?"}, {Role: "assistant", Text: "Zoë."}}}},
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const asked = `"messages":[{"role":"user","content":"Why?"}]`
	long := strings.Repeat("x", maxQuery+1)
	wiretest.TestRefuses(t, agui.Decode, maxQuery, map[string]string{
		``:                 "body",
		`[]`:               "body",
		`{"messages":[]}`:  "messages",
		`{"threadId":"a"}`: "messages",
		`{"messages":[{"role":"assistant","content":"x"}]}`:                                                    "messages",
		`{"messages":[{"role":"owner","content":"x"}]}`:                                                        "messages[0].role",
		`{"messages":[{"role":"user"}]}`:                                                                       "messages[0].content",
		`{"messages":[{"role":"user","content":7}]}`:                                                           "messages[0].content",
		`{"messages":[{"role":"user","content":" "}]}`:                                                         "messages[0].content",
		`{"messages":[{"role":"user","content":"a\u0000"}]}`:                                                   "messages[0].content",
		`{"messages":[{"role":"user","content":"` + long + `"}]}`:                                              "messages[0].content",
		`{"messages":[{"role":"user","content":[{"type":"text","text":7}]}]}`:                                  "messages[0].content[0].text",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image","source":{}}]}]}`: "messages[0].content[1]",
		`{"messages":[{"role":"system","content":["See"]},` + asked[12:] + `}`:                                 "messages[0].content[0]",
		`{"messages":[{"role":"user","content":["See"]}]}`:                                                     "messages[0].content[0]",
		`{"messages":[{"role":"system","content":"` + strings.Repeat(long, 40) + `"},` + asked[12:] + `}`:      "messages[0].content",
		`{"context":[{"description":"x","value":"` + strings.Repeat(long, 40) + `"}],` + asked + `}`:           "context",
		`{"context":[{"description":1,"value":"x"}],` + asked + `}`:                                            "context[0].description",
		`{"threadId":"` + long + `",` + asked + `}`:                                                            "threadId",
		`{"threadId":"..",` + asked + `}`:                                                                      "threadId",
		`{"threadId":"a\nb",` + asked + `}`:                                                                    "threadId",
		`{"threadId":7,` + asked + `}`:                                                                         "threadId",
		`{"threadId":"a","threadId":"b",` + asked + `}`:                                                        "threadId",
		`{"resume":[{"interruptId":"i","status":"resolved"}],` + asked + `}`:                                   "resume",
		`{"forwardedProps":"x",` + asked + `}`:                                                                 "forwardedProps",
		`{"forwardedProps":{"mode":"quick"},` + asked + `}`:                                                    "forwardedProps.mode",
		`{"forwardedProps":{"collection":"` + long + `"},` + asked + `}`:                                       "forwardedProps.collection",
		`{"forwardedProps":{"model":"a\u0000"},` + asked + `}`:                                                 "forwardedProps.model",
		`{` + asked + `,"state":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`:                  "state",
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"threadId":"c1","forwardedProps":{"mode":"direct"},"context":[{"description":"a","value":"b"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"Why?"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := agui.Decode(body, maxQuery)
		if err != nil {
			if f := fault.Public(err); f.Code != fault.InvalidRequest || f.Field == "" || agui.FaultOf(f).Message == "" {
				t.Fatalf("%+v", f)
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
