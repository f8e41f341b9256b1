package a2a_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/a2a"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// reader is a client: it checks the order of the events and joins the chunks of the artifact.
type reader struct {
	out    []string
	task   event.RunID
	state  a2a.State
	begun  bool // the artifact has a chunk
	closed bool // and its last one
	text   strings.Builder
}

func (r *reader) chunk(u *a2a.ArtifactUpdate) error {
	if r.closed || u.Append != r.begun || len(u.Artifact.Parts) != 1 {
		return fmt.Errorf("a chunk with append %v out of place", u.Append)
	}
	r.begun, r.closed = true, u.LastChunk
	if part := u.Artifact.Parts[0]; (part.Data != nil) != u.LastChunk || (part.Text != "") == u.LastChunk {
		return errors.New("only the last chunk has data")
	} else if part.Text != "" {
		r.text.WriteString(part.Text)
		return nil
	}
	return nil
}

func (r *reader) next(f wire.Frame) error {
	var frame a2a.Frame
	if err := wiretest.Strict(f.Data, &frame); err != nil {
		return err
	}
	task, status, artifact := frame.Result.Task, frame.Result.StatusUpdate, frame.Result.ArtifactUpdate
	if frame.JSONRPC != "2.0" || r.state != "" && r.state != a2a.Working || (task != nil) != (r.task == "") {
		return fmt.Errorf("out of place in the state %q", r.state)
	}
	var id event.RunID
	var context string
	switch {
	case task != nil && status == nil && artifact == nil:
		r.task, r.state = task.ID, task.Status.State
		id, context = task.ID, task.ContextID
	case status != nil && task == nil && artifact == nil:
		if r.state = status.Status.State; r.state == a2a.Completed && !r.closed {
			return errors.New("the artifact has no end")
		}
		id, context = status.TaskID, status.ContextID
	case artifact != nil && task == nil && status == nil:
		if err := r.chunk(artifact); err != nil {
			return err
		}
		id, context = artifact.TaskID, artifact.ContextID
		if !artifact.LastChunk {
			return nil
		}
	default:
		return errors.New("not one member")
	}
	if id != r.task || context == "" {
		return fmt.Errorf("the task %q in the context %q", id, context)
	}
	r.out = append(r.out, f.ID.String()+" "+string(f.Data))
	return nil
}

func read(frames []wire.Frame) ([]string, error) {
	var r reader
	for _, f := range frames {
		if err := r.next(f); err != nil {
			return nil, fmt.Errorf("frame %s: %w: %.200s", f.ID, err, f.Data)
		}
	}
	if r.state == a2a.Working || r.state == "" {
		return nil, fmt.Errorf("the stream ends in the state %q", r.state)
	}
	return append(r.out, "text: "+r.text.String()), nil
}

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	all := wiretest.Runs()
	all["linked"] = wiretest.Linked()
	all["searching"] = wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{}, event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "keeper", Iteration: 1},
		event.ToolCalled{Call: 2, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{"query":"And?"}`), Iteration: 1}, event.ToolReturned{Call: 2, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{"parts":["a","b"]}`)},
		event.RunFailed{Code: "CANCELLED", Message: "the run was cancelled"})...)
	return all
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, p := range []a2a.Protocol{{}, {ID: `"a\"\u0000"`, Origin: "http://localhost:8000"}} {
		wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, wiretest.WithRandom(logs()))
	}
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	wiretest.TestGoldens(t, a2a.Protocol{ID: "7"}, ".txt", logs())
}

// TestTask: the task after each event is what a stream up to there amounts to.
func TestTask(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		for n := 1; n <= len(log); n++ {
			var text strings.Builder
			var state a2a.State
			var answer any
			for _, f := range wiretest.Project(a2a.Protocol{}.New(), [][]event.Event{log[:n]}) {
				var frame a2a.Frame
				require.NoError(t, wiretest.Strict(f.Data, &frame))
				if r := frame.Result; r.Task != nil {
					state = r.Task.Status.State
				} else if r.StatusUpdate != nil {
					state = r.StatusUpdate.Status.State
				} else if part := r.ArtifactUpdate.Artifact.Parts[0]; part.Data != nil {
					answer = part.Data
				} else {
					text.WriteString(part.Text)
				}
			}
			encoded, err := json.Marshal(a2a.TaskOf(log[:n], ""))
			require.NoError(t, err)
			var task a2a.Task
			require.NoError(t, wiretest.Strict(encoded, &task))
			var got strings.Builder
			var data any
			for _, a := range task.Artifacts {
				for _, part := range a.Parts {
					got.WriteString(part.Text)
					if part.Data != nil {
						data = part.Data
					}
				}
			}
			if task.Status.State != state || got.String() != text.String() || fmt.Sprint(data) != fmt.Sprint(answer) {
				t.Errorf("%s, %d events: %s %q %v, want %s %q %v", name, n, task.Status.State, &got, data, state, &text, answer)
			}
		}
	}
}

// TestLargeInputs: what tools read and find does not make frames large.
func TestLargeInputs(t *testing.T) {
	t.Parallel()
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	log := wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: event.ToolReadPages, Input: large, Iteration: 1}, event.ToolReturned{Call: 1, Tool: event.ToolReadPages, Result: large},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: string(large), Iteration: 1}, event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch, Found: make([]event.Found, 500)},
		event.RunFailed{Code: "TIMEOUT", Message: string(large)})...)
	frames := wiretest.Project(a2a.Protocol{}.New(), [][]event.Event{log})
	if _, err := read(frames); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if len(f.Data) > 4<<10 {
			t.Errorf("frame %s has %d bytes", f.ID, len(f.Data))
		}
	}
}
