package agui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/agui"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// payloads are the types of events by their name.
var payloads = map[string]func() any{
	"RUN_STARTED": new1[agui.RunStarted], "RUN_FINISHED": new1[agui.RunFinished], "RUN_ERROR": new1[agui.RunError], "STEP_STARTED": new1[agui.Step], "STEP_FINISHED": new1[agui.Step],
	"TEXT_MESSAGE_START": new1[agui.TextStart], "TEXT_MESSAGE_CONTENT": new1[agui.TextContent], "TEXT_MESSAGE_END": new1[agui.TextEnd],
	"REASONING_START": new1[agui.Reasoning], "REASONING_MESSAGE_START": new1[agui.ReasoningStart], "REASONING_MESSAGE_CONTENT": new1[agui.ReasoningContent],
	"REASONING_MESSAGE_END": new1[agui.Reasoning], "REASONING_END": new1[agui.Reasoning], "TOOL_CALL_START": new1[agui.ToolCallStart], "TOOL_CALL_ARGS": new1[agui.ToolCallArgs],
	"TOOL_CALL_END": new1[agui.ToolCallEnd], "TOOL_CALL_RESULT": new1[agui.ToolCallResult], "STATE_SNAPSHOT": new1[agui.StateSnapshot], "STATE_DELTA": new1[agui.StateDelta],
	"ACTIVITY_SNAPSHOT": new1[agui.ActivitySnapshot], "ACTIVITY_DELTA": new1[agui.ActivityDelta],
}

func new1[T any]() any { return new(T) }

// pairs are the events that end what others begin.
var pairs = map[string]string{"STEP_FINISHED": "STEP_STARTED", "TEXT_MESSAGE_END": "TEXT_MESSAGE_START", "REASONING_MESSAGE_END": "REASONING_MESSAGE_START",
	"REASONING_END": "REASONING_START", "TOOL_CALL_END": "TOOL_CALL_START", "TOOL_CALL_RESULT": "TOOL_CALL_END"}

// frame is any event.
type frame struct {
	Type, Delta, MessageID, ToolCallID, StepName string
	Snapshot, Content                            any
	Patch                                        []agui.Operation
}

// key names what the event is a part of.
func (f frame) key() string {
	switch {
	case strings.HasPrefix(f.Type, "TOOL_CALL"):
		return f.ToolCallID
	case strings.HasPrefix(f.Type, "STEP"):
		return f.StepName
	case strings.HasPrefix(f.Type, "REASONING_MESSAGE"):
		return f.MessageID + " message"
	}
	return f.MessageID
}

// reader is a client: it checks the order of the events as the package @ag-ui/client does, and more strictly.
type reader struct {
	out   []string
	last  string              // type of the last event
	open  map[string]string   // the last event of what has not ended
	texts map[string]string   // by the key of the message
	docs  map[string]any      // the state, and activities by their message
	ended map[string]struct{} // what cannot begin again
}

func (r *reader) next(f wire.Frame) error {
	var e frame
	var patch struct{ Delta json.RawMessage }
	if err := json.Unmarshal(f.Data, &patch); err != nil {
		return err
	}
	if bytes.HasPrefix(patch.Delta, []byte("[")) {
		var state struct {
			Type  string
			Delta []agui.Operation
		}
		if err := json.Unmarshal(f.Data, &state); err != nil {
			return err
		}
		e.Type, e.Patch = state.Type, state.Delta
	} else if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	typed, ok := payloads[e.Type]
	if !ok {
		return fmt.Errorf("an event of the type %q", e.Type)
	}
	d := json.NewDecoder(bytes.NewReader(f.Data))
	d.DisallowUnknownFields()
	if err := d.Decode(typed()); err != nil {
		return err
	}
	if err := r.check(e); err != nil {
		return fmt.Errorf("%s after %s: %w", e.Type, r.last, err)
	}
	if r.last = e.Type; e.Type == "TEXT_MESSAGE_CONTENT" {
		r.texts[e.key()] += e.Delta
		return nil
	}
	r.out = append(r.out, f.ID.String()+" "+string(f.Data))
	return nil
}

// check checks the place of an event.
func (r *reader) check(e frame) error {
	if r.last == "RUN_FINISHED" || r.last == "RUN_ERROR" || (e.Type == "RUN_STARTED") != (r.last == "") || (e.Type == "STATE_SNAPSHOT") != (r.last == "RUN_STARTED") {
		return errors.New("out of place")
	}
	k := e.key()
	if begins := pairs[e.Type]; begins != "" {
		if r.open[k] != begins && (e.Type != "TOOL_CALL_END" || r.open[k] != "TOOL_CALL_ARGS") {
			return fmt.Errorf("%s is not open: %s", k, r.open[k])
		}
		if delete(r.open, k); e.Type == "TOOL_CALL_END" {
			r.open[k] = e.Type
		}
		return nil
	}
	switch e.Type {
	case "STEP_STARTED", "TEXT_MESSAGE_START", "REASONING_START", "REASONING_MESSAGE_START", "TOOL_CALL_START":
		if _, again := r.ended[k]; again && e.Type != "STEP_STARTED" {
			return fmt.Errorf("%s begins again", k)
		}
		r.open[k], r.ended[k] = e.Type, struct{}{}
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS":
		if r.open[k] == "" || e.Delta == "" {
			return fmt.Errorf("%s is not open, or nothing is added", k)
		}
		if e.Type == "TOOL_CALL_ARGS" && !json.Valid([]byte(e.Delta)) {
			return fmt.Errorf("input %s", e.Delta)
		}
	case "STATE_SNAPSHOT":
		r.docs["state"] = e.Snapshot
	case "STATE_DELTA":
		return r.patch("state", e.Patch)
	case "ACTIVITY_SNAPSHOT":
		r.docs[k] = e.Content
	case "ACTIVITY_DELTA":
		return r.patch(k, e.Patch)
	case "RUN_FINISHED", "RUN_ERROR":
		if len(r.open) > 0 {
			return fmt.Errorf("open: %v", r.open)
		}
	}
	return nil
}

// patch applies operations, whose paths are a field or the end of a list in a field.
func (r *reader) patch(name string, operations []agui.Operation) error {
	doc, ok := r.docs[name].(map[string]any)
	if !ok || len(operations) == 0 {
		return fmt.Errorf("a change of %s: %v", name, operations)
	}
	for _, o := range operations {
		field, end := strings.CutSuffix(strings.TrimPrefix(o.Path, "/"), "/-")
		old, found := doc[field]
		list, isList := old.([]any)
		switch {
		case end && isList && o.Op == "add":
			doc[field] = append(slices.Clone(list), o.Value)
		case !end && found == (o.Op == "replace"):
			doc[field] = o.Value
		default:
			return fmt.Errorf("operation %v", o)
		}
	}
	return nil
}

func follow(frames []wire.Frame) (*reader, error) {
	r := &reader{open: map[string]string{}, texts: map[string]string{}, docs: map[string]any{}, ended: map[string]struct{}{}}
	for _, f := range frames {
		if err := r.next(f); err != nil {
			return nil, fmt.Errorf("frame %s: %w: %.300s", f.ID, err, f.Data)
		}
	}
	if r.last != "RUN_FINISHED" && r.last != "RUN_ERROR" {
		return nil, fmt.Errorf("the stream ends with %s", r.last)
	}
	return r, nil
}

func read(frames []wire.Frame) ([]string, error) {
	r, err := follow(frames)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal([]any{r.texts, r.docs})
	return append(r.out, string(text)), err
}

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	all := wiretest.Runs()
	all["linked"] = wiretest.Linked()
	all["searching"] = wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{}, event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "keeper", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch}, event.Graded{Iteration: 1, Incorrect: 3, Action: event.ReRetrieve, By: "rules"},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "guard", Iteration: 2}, event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch}, event.Graded{Iteration: 2, Ambiguous: 1, Action: event.Proceed, By: "rules"},
		event.ToolCalled{Call: 3, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{"query":"And?"}`), Iteration: 2}, event.ToolReturned{Call: 3, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{"parts":["a","b"]}`)},
		event.ToolCalled{Call: 4, Tool: event.ToolListDocuments, Input: json.RawMessage(`{}`), Iteration: 2}, event.RunFailed{Code: "CANCELLED", Message: "the run was cancelled"})...)
	return all
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, p := range []agui.Protocol{{}, {Origin: "http://localhost:8000"}} {
		wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, wiretest.WithRandom(logs()))
	}
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	wiretest.TestGoldens(t, agui.Protocol{}, ".txt", logs())
}

// TestStates compares the state at the end of runs.
func TestStates(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"linked": `{"runId":"run_1","stage":"finished","sources":[
			{"n":1,"title":"Farland chronicle","url":"https://farland.example/chronicle","name":"farland.pdf","chunkId":"c_1","documentId":"d_1","heading":"Keepers","pages":[4,5],"score":0.84,"quote":"Zoë has kept the lighthouse since May."},
			{"n":2,"title":"keepers.md","url":"http://localhost:8000/documents/d_2?chunk=c_2","name":"keepers.md","chunkId":"c_2","documentId":"d_2","score":0.5,"quote":"Keepers: Zoë <Farland>."}],
			"citations":[{"n":1,"start":0,"end":16},{"n":2,"start":0,"end":16},{"n":1,"start":17,"end":30}],
			"confidence":{"probability":0,"claimSupport":0,"abstained":false,"flagged":true,"cached":false}}`,
		"failed":    `{"runId":"run_1","stage":"failed","sources":[],"citations":[]}`,
		"searching": `{"runId":"run_1","stage":"cancelled","sources":[],"citations":[]}`,
	} {
		r, err := follow(wiretest.Project(agui.Protocol{Origin: "http://localhost:8000"}.New(), [][]event.Event{logs()[name]}))
		require.NoError(t, err)
		var state any
		require.NoError(t, json.Unmarshal([]byte(want), &state))
		if diff := cmp.Diff(state, r.docs["state"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestThread: a question without a session is the only one of its thread.
func TestThread(t *testing.T) {
	t.Parallel()
	log := wiretest.LogOf(event.RunStarted{Run: "run_9", Question: event.Question{Query: "Who?"}}, event.RunFailed{Code: "INTERNAL"})
	got := wiretest.Golden(agui.Protocol{}, [][]event.Event{log})
	if !strings.Contains(got, `"threadId":"run_9","runId":"run_9"`) || !strings.Contains(got, `"message":"INTERNAL","code":"INTERNAL"`) {
		t.Error(got)
	}
}

// BenchmarkToken projects pieces of a text, one by one.
func BenchmarkToken(b *testing.B) {
	p := agui.Protocol{}.New()
	frames := p.Project(nil, wiretest.LogOf(append(wiretest.Generating(), event.Token{Text: "Zoë"})...))
	batch := []event.Event{{Seq: 100, Body: event.Token{Text: " keeps the lighthouse"}}}
	b.ReportAllocs()
	for b.Loop() {
		frames = p.Project(frames[:0], batch)
	}
}
