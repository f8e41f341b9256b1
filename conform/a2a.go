package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/wire/a2a"
)

// Calls describes a protocol whose requests are calls of JSON-RPC at one path. Errors are replies with the status 200.
type Calls struct {
	Header       map[string]string
	Read, Cancel func(run string) any // the bodies of the requests that read a run and that cancel it
	Refused      []refusedCall
	// Canceled checks the result of the cancellation. It returns an errSkip if the run had ended.
	Canceled func(reply any) error
	// Ended is the code of the error for reading a run that has ended, from servers that do not keep such streams; 0: none.
	Ended int
}

// refusedCall is a call that must be refused.
type refusedCall struct {
	name, body string
	id         any   // of the request; nil: it cannot be read
	codes      []int // one of them is the code of the error
}

// callID is the id of all calls. It is the same for each, so that a stream that is read again is the same.
const callID = "conform"

// call returns the body of a call.
func call(method string, params any) any {
	return map[string]any{"jsonrpc": "2.0", "id": callID, "method": method, "params": params}
}

// callOf returns the body of a call about a run.
func callOf(method string) func(run string) any {
	return func(run string) any { return call(method, map[string]any{"id": run}) }
}

// codeOf returns the code of the error in a reply; 0: it has none.
func codeOf(reply any) (code int) {
	_, _ = fmt.Sscan(Frame{JSON: reply}.field("error.code"), &code)
	return code
}

// refusals sends calls that must be refused.
func (t *tester) refusals(ctx context.Context) error {
	for _, c := range t.Calls.Refused {
		res, err := t.send(ctx, http.MethodPost, t.Ask, []byte(c.body), "")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		var reply map[string]any
		if err := json.Unmarshal(text, &reply); err != nil {
			return fmt.Errorf("%s: want an error as a JSON object; got %.200q", c.name, text)
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: want the status 200; got %d: %.200s", c.name, res.StatusCode, text)
		}
		if code := codeOf(reply); !slices.Contains(c.codes, code) {
			return fmt.Errorf("%s: want an error with a code of %d; got %.200s", c.name, c.codes, text)
		}
		if reply["jsonrpc"] != "2.0" || reply["id"] != c.id || reply["result"] != nil || (Frame{JSON: any(reply)}).field("error.message") == "" {
			return fmt.Errorf("%s: want the version 2.0, the id %v, a message and no result; got %.200s", c.name, c.id, text)
		}
	}
	return nil
}

func a2aProtocol() Protocol {
	const ended = "the run had ended before it was cancelled"
	unknown := func(method string) string {
		data, _ := json.Marshal(callOf(method)("run_unknown")) // strings
		return string(data)
	}
	return Protocol{Name: a2a.Name, Ask: "/a2a", FreeIDs: true,
		Body: func(question string) any {
			return call("SendStreamingMessage", map[string]any{"message": map[string]any{"messageId": callID, "role": a2a.RoleUser, "parts": []any{map[string]any{"text": question}}}})
		},
		Run: func(f Frame) string { return cmp.Or(f.field("result.task.id"), f.field("result.statusUpdate.taskId")) },
		Calls: &Calls{Header: map[string]string{a2a.VersionHeader: a2a.Version}, Read: callOf("SubscribeToTask"), Cancel: callOf("CancelTask"), Ended: a2a.CodeUnsupportedOperation,
			Canceled: func(reply any) error {
				state := Frame{JSON: reply}.field("result.status.state")
				switch {
				case codeOf(reply) == a2a.CodeTaskNotCancelable, state == string(a2a.Completed), state == string(a2a.Failed):
					return errSkip(ended)
				case state != string(a2a.Canceled):
					data, _ := json.Marshal(reply) // it was decoded
					return fmt.Errorf("cancel: want a task with the state %s; got %.300s", a2a.Canceled, data)
				}
				return nil
			},
			Refused: []refusedCall{
				{"bad JSON", `{"`, nil, []int{a2a.CodeParse}},
				{"no call", `{}`, nil, []int{a2a.CodeRequest}},
				{"unknown method", `{"jsonrpc":"2.0","id":"conform","method":"NoSuchMethod"}`, callID, []int{a2a.CodeMethod}},
				{"missing parameters", `{"jsonrpc":"2.0","id":"conform","method":"SendStreamingMessage","params":{}}`, callID, []int{a2a.CodeParams}},
				{"unknown task", unknown("GetTask"), callID, []int{a2a.CodeTaskNotFound}},
				{"stream of an unknown task", unknown("SubscribeToTask"), callID, []int{a2a.CodeTaskNotFound}},
				{"cancel of an unknown task", unknown("CancelTask"), callID, []int{a2a.CodeTaskNotFound}},
			}},
		Grammar: func() Grammar {
			g := a2aGrammar{artifacts: map[string]bool{}}
			return stepped{g.next, func() bool { return g.ended }}
		},
		Text: func(f Frame) string {
			if f.field("result.artifactUpdate.append") == "true" && f.field("result.artifactUpdate.lastChunk") != "true" {
				return "result.artifactUpdate.artifact.parts.0.text"
			}
			return ""
		}}
}

// a2aGrammar checks the order of the responses in a stream of A2A: a task, updates of its status and of its artifacts, and nothing after its end. See "Streaming
// Event Delivery" in its specification, https://a2a-protocol.org/v1.0.0/specification.
type a2aGrammar struct {
	task, context string
	artifacts     map[string]bool // by id; true: it has its last chunk
	ended         bool
}

func (g *a2aGrammar) next(f Frame) error {
	result, _ := f.JSON.(map[string]any)
	result, _ = result["result"].(map[string]any)
	switch {
	case g.ended:
		return errors.New("want nothing after the task has ended")
	case f.field("jsonrpc") != "2.0" || f.field("id") != callID:
		return fmt.Errorf("want a response of JSON-RPC to the request %q", callID)
	case len(result) != 1:
		return errors.New("want a result with one member")
	case (g.task == "") != (result["task"] != nil):
		return errors.New("want the task first, and only once")
	}
	ids := [2]string{f.field("result.task.id"), f.field("result.task.contextId")}
	status := "result.task.status.state"
	for kind := range result {
		switch kind {
		case "task":
			if g.task, g.context = ids[0], ids[1]; g.task == "" || g.context == "" {
				return errors.New("want a task with an id and a contextId")
			}
		case "statusUpdate":
			status = "result.statusUpdate.status.state"
			ids = [2]string{f.field("result.statusUpdate.taskId"), f.field("result.statusUpdate.contextId")}
		case "artifactUpdate":
			status = ""
			ids = [2]string{f.field("result.artifactUpdate.taskId"), f.field("result.artifactUpdate.contextId")}
			if err := g.chunk(f); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%q is no kind of the protocol", kind)
		}
	}
	if ids != [2]string{g.task, g.context} {
		return fmt.Errorf("want the task %.60q in the context %.60q", g.task, g.context)
	}
	if status != "" {
		switch state := f.field(status); state {
		case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED":
			g.ended = true
		case "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING":
		default:
			return fmt.Errorf("%q is no state of a task", state)
		}
	}
	return nil
}

// chunk checks a chunk of an artifact.
func (g *a2aGrammar) chunk(f Frame) error {
	id := f.field("result.artifactUpdate.artifact.artifactId")
	closed, begun := g.artifacts[id]
	switch more := f.field("result.artifactUpdate.append") == "true"; {
	case id == "":
		return errors.New("want an artifact with an id")
	case closed:
		return fmt.Errorf("want nothing after the last chunk of the artifact %.60q", id)
	case more && !begun:
		return fmt.Errorf("want a first chunk of the artifact %.60q before one that is appended", id)
	}
	g.artifacts[id] = f.field("result.artifactUpdate.lastChunk") == "true"
	return nil
}
