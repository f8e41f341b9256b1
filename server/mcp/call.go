package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/forrst"
	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
)

// streamURN is the extension that requests a stream.
const streamURN = "urn:forrst:ext:stream"

// callError is the error of a function.
type callError struct {
	Code, Message string
	Source        struct{ Pointer string }
}

// Error returns the message with the argument that it is about.
func (e *callError) Error() string {
	field, ok := strings.CutPrefix(e.Source.Pointer, "/call/arguments/")
	named, _, _ := strings.Cut(e.Message, ": ")
	if !ok || fieldToPointer.Replace(named) == field {
		return e.Message
	}
	return field + ": " + e.Message
}

// fieldToPointer turns the name of a nested field into a JSON pointer: filters[2].key into filters/2/key.
var fieldToPointer = strings.NewReplacer(".", "/", "[", "/", "]", "")

// call calls a function and returns its result. If events is not nil, the call streams, and events gets the name and the data of each event.
func (s *Server) call(ctx context.Context, session string, extra *mcp.RequestExtra, function string, arguments json.RawMessage, events func(name string, data []byte)) (json.RawMessage, error) {
	by, err := senderOf(extra)
	if err != nil {
		return nil, err
	}
	called, cancel := context.WithCancelCause(by.context)
	defer cancel(nil)
	withdraw := func() { cancel(forrst.Errorf(forrst.Cancelled, "the call was cancelled")) }
	defer context.AfterFunc(ctx, withdraw)() // the client has cancelled the call or ended the session
	defer s.presence.call(session, withdraw)()
	doc := wireforrst.Call{Protocol: wireforrst.Version{Name: "forrst", Version: "0.1.0"}, ID: "1"}
	doc.Call.Function = function
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &doc.Call.Arguments); err != nil {
			return nil, errors.New("arguments: want an object")
		}
	}
	if events != nil {
		doc.Extensions = []wireforrst.Asked{{URN: streamURN, Options: map[string]any{"accept": true}}}
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	w := &replyWriter{header: http.Header{}, events: events}
	s.calls.Call(called, by.caller, body, w)
	if err := context.Cause(called); err != nil && w.result == nil && w.failed == nil {
		return nil, err
	}
	return w.outcome()
}

// replyWriter implements [forrst.Writer].
type replyWriter struct {
	header http.Header
	events func(name string, data []byte)
	result json.RawMessage
	failed *callError
}

// outcome returns the result of the call.
func (w *replyWriter) outcome() (json.RawMessage, error) {
	switch {
	case w.failed != nil:
		return nil, w.failed
	case w.result == nil:
		return nil, errors.New("the call has ended without a result")
	}
	return w.result, nil
}

// Header implements [forrst.Writer].
func (w *replyWriter) Header() http.Header { return w.header }

// Begin implements [forrst.Writer].
func (w *replyWriter) Begin() error { return nil }

// Reply implements [forrst.Writer].
func (w *replyWriter) Reply(_ int, document []byte) error {
	var reply struct {
		Result json.RawMessage
		Errors []*callError
	}
	if err := json.Unmarshal(document, &reply); err != nil {
		return err
	}
	w.result = reply.Result
	if len(reply.Errors) > 0 {
		w.failed = reply.Errors[0]
	}
	return nil
}

// Event implements [forrst.Writer].
func (w *replyWriter) Event(event []byte, _ bool) error {
	var name string
	var data []byte
	for line := range bytes.SplitSeq(event, []byte("\n")) {
		if v, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = string(v)
		} else if v, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = v
		}
	}
	switch name {
	case wireforrst.EventDone:
		w.result = bytes.Clone(data)
	case wireforrst.EventError:
		w.failed = &callError{}
		return json.Unmarshal(data, w.failed)
	case wireforrst.EventData, wireforrst.EventProgress:
		w.events(name, data)
	}
	return nil
}
