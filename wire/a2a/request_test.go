package a2a_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/a2a"
)

const maxQuery = 1000

func TestDecodeSend(t *testing.T) {
	t.Parallel()
	turn := wire.Turn{Wait: true}
	for params, want := range map[string]a2a.Send{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Why?"}]}}`: {Request: wire.Request{Turn: turn, Question: event.Question{Query: "Why?"}}},
		`{"tenant":"x","message":{"messageId":"m","contextId":"c 1","taskId":"t","role":"ROLE_USER","parts":[{"text":"Why?","mediaType":"text/plain"},{"text":"And how?"}],"extensions":[],"metadata":{"a":1}},
		  "configuration":{"acceptedOutputModes":["text/plain"],"historyLength":3,"returnImmediately":true,"taskPushNotificationConfig":null},
		  "metadata":{"model":{"x":1},"sluice":{"collection":"vs_a","mode":"direct","model":"m","noCache":true}}}`: {Task: "t", Immediately: true,
			Request: wire.Request{Turn: turn, Question: event.Question{Query: "Why?\nAnd how?", Session: "c 1", Collection: "vs_a", Mode: event.Direct, Model: "m", NoCache: true}}},
	} {
		got, err := a2a.DecodeSend([]byte(params), maxQuery)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", params, diff)
		}
	}
}

func TestDecodeSendRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxQuery+1)
	message := func(fields string) string { return `{"message":{"messageId":"m","role":"ROLE_USER",` + fields + `}}` }
	const asked = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Why?"}]}`
	for params, field := range map[string]string{
		``:               "params",
		`[]`:             "params",
		`{}`:             "message.messageId",
		`{"message":[]}`: "message",
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Why?"}]}}`: "message.role",
		message(`"parts":[]`):                                                       "message.parts",
		message(`"parts":[{"text":" \n"}]`):                                         "message.parts",
		message(`"parts":[{"text":7}]`):                                             "message.parts[0].text",
		message(`"parts":[{"metadata":{}}]`):                                        "message.parts[0]",
		message(`"parts":[{"text":"a\u0000"}]`):                                     "message.parts",
		message(`"parts":[{"text":"` + long + `"}]`):                                "message.parts",
		message(`"contextId":"..","parts":[{"text":"Why?"}]`):                       "message.contextId",
		message(`"contextId":"a\nb","parts":[{"text":"Why?"}]`):                     "message.contextId",
		message(`"contextId":"` + long + `","parts":[{"text":"Why?"}]`):             "message.contextId",
		message(`"role":"ROLE_USER","parts":[{"text":"Why?"}]`):                     "message.role",
		asked + `,"metadata":{"sluice":{"mode":"quick"}}}`:                          "metadata.sluice.mode",
		asked + `,"metadata":{"sluice":{"collection":"` + long + `"}}}`:             "metadata.sluice.collection",
		asked + `,"metadata":{"sluice":{"model":"a\u0000"}}}`:                       "metadata.sluice.model",
		asked + `,"x":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`: "x",
	} {
		_, err := a2a.DecodeSend([]byte(params), maxQuery)
		if err == nil || err.Code != a2a.CodeParams || len(err.Data) != 1 || err.Data[0].Reason != string(fault.InvalidRequest) {
			t.Errorf("%.100s: %+v", params, err)
			continue
		}
		if got := err.Data[0].Metadata["field"]; got != field && !strings.HasPrefix(got, field+"[") {
			t.Errorf("%.100s: the field %s, want %s", params, got, field)
		}
	}
	for params, code := range map[string]int{
		message(`"parts":[{"url":"https://x.example"}]`):                       a2a.CodeContentType,
		message(`"parts":[{"text":"Why?"},{"raw":"AA=="}]`):                    a2a.CodeContentType,
		message(`"parts":[{"data":{}}]`):                                       a2a.CodeContentType,
		asked + `,"configuration":{"taskPushNotificationConfig":{"url":"x"}}}`: a2a.CodePushNotSupported,
	} {
		if _, err := a2a.DecodeSend([]byte(params), maxQuery); err == nil || err.Code != code || len(err.Data) != 1 {
			t.Errorf("%s: %+v, want %d", params, err, code)
		}
	}
}

func TestDecodeCall(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"GetTask"}`:                                  0,
		`{"jsonrpc":"2.0","id":"a","method":"GetTask"}`:                                0,
		`{"jsonrpc":"2.0","id":-1.5,"method":"GetTask"}`:                               0,
		`{"jsonrpc":"2.0","id":null,"method":"GetTask"}`:                               a2a.CodeRequest,
		`{"jsonrpc":"2.0","id":[1],"method":"GetTask"}`:                                a2a.CodeRequest,
		`{"jsonrpc":"2.0","method":"GetTask"}`:                                         a2a.CodeRequest,
		`{"jsonrpc":"1.0","id":1,"method":"GetTask"}`:                                  a2a.CodeRequest,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`:                                 a2a.CodeRequest,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                          a2a.CodeRequest,
		`[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]`:                                a2a.CodeRequest,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask"} {}`:                               a2a.CodeParse,
		`{"jsonrpc":"2.0","id":1,`:                                                     a2a.CodeParse,
		``:                                                                             a2a.CodeParse,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"GetTask"}`: a2a.CodeRequest,
	} {
		_, err := a2a.DecodeCall([]byte(body))
		code := 0
		if err != nil {
			code = err.Code
		}
		if code != want {
			t.Errorf("%s: %+v, want %d", body, err, want)
		}
	}
	// The error has the id of the request if that could be read.
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":7}`:                              `"a"`,
		`{"jsonrpc":"1.0","id":7,"method":"GetTask"}`:                        `7`,
		`{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"a":1,"a":2}}`: `7`,
		`{"jsonrpc":"2.0","id":7,"id":8,"method":"GetTask"}`:                 ``,
		`{"jsonrpc":"2.0","id":{},"method":7}`:                               ``,
	} {
		if c, err := a2a.DecodeCall([]byte(body)); err == nil || string(c.ID) != want {
			t.Errorf("%s: the id %s and %v, want %s", body, c.ID, err, want)
		}
	}
}

// FuzzDecode: every request is decoded or refused with the code of an error, and every reply is JSON.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"SendMessage","params":{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"Why?"}]},"metadata":{"sluice":{"mode":"direct"}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"run_1"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, failed := a2a.DecodeCall(body)
		encoded, err := json.Marshal(a2a.Reply(string(c.ID), nil, failed))
		if err != nil || !json.Valid(encoded) {
			t.Fatal(err)
		}
		if failed != nil {
			return
		}
		for _, frame := range (a2a.Protocol{ID: string(c.ID)}).New().Project(nil, logs()["linked"]) {
			if !json.Valid(frame.Data) {
				t.Fatalf("%s", frame.Data)
			}
		}
		if q, failed := a2a.DecodeSend(c.Params, maxQuery); failed == nil {
			if strings.TrimSpace(q.Query) == "" || len(q.Query) > maxQuery || len(q.Session) > event.MaxSession {
				t.Fatalf("%+v", q)
			}
		} else if _, ok := errors.AsType[*a2a.ErrorObject](failed); !ok || failed.Message == "" {
			t.Fatalf("%+v", failed)
		}
	})
}
