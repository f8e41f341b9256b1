package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/events"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

func log() []event.Event {
	secret := json.RawMessage(`{"internal":true}`)
	return wiretest.LogOf(
		event.RunStarted{Run: "run_1", Protocol: "forge", Question: event.Question{Query: "Where <is> it?\u2028", Mode: event.Agentic, Collection: "default", TopK: 5, Request: secret}},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Agentic, By: "rules"},
		event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "where", Iteration: 1, Plan: secret},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch, Found: []event.Found{{Chunk: "c1", Level: corpus.Passage, Score: 0.5}}, Duration: 7},
		event.ToolCalled{Call: 2, Tool: event.ToolReadPages, Input: json.RawMessage(`{"from":1}`), Iteration: 1, Plan: secret},
		event.ToolReturned{Call: 2, Tool: event.ToolReadPages, Result: json.RawMessage(`{"pages":1}`), Passages: []event.Passage{{Chunk: "internal"}}},
		event.GenerationStarted{Chunks: 1, Model: "local"}, event.Token{Text: "There."}, event.Cited{N: 1, Chunk: "c1"}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{By: "rules", Confidence: 1}, event.Attributed{By: "rules"}, event.RunFinished{})
}

func read(frames []wire.Frame) (out []string, err error) {
	for _, f := range frames {
		e, err := event.ParseJSON(f.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, f.Event+" "+f.ID.String()+" "+string(e.Body.Kind())+" "+string(f.Data))
	}
	return out, nil
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: events.Protocol{}, Read: read}, wiretest.WithRandom(map[string][]event.Event{"answered": log()}))
}

// TestWholeLog checks that each event has its frame, equal to that in the log except for what only Sluice needs.
func TestWholeLog(t *testing.T) {
	t.Parallel()
	all := log()
	frames := wiretest.Project(events.Protocol{}.New(), [][]event.Event{all})
	if len(frames) != len(all) {
		t.Fatalf("%d frames of %d events", len(frames), len(all))
	}
	for i, f := range frames {
		if f.ID != (wire.Cursor{Seq: all[i].Seq}) || f.Event != string(all[i].Body.Kind()) {
			t.Errorf("frame %d: %v %s", i, f.ID, f.Event)
		}
		if strings.Contains(string(f.Data), "internal") {
			t.Errorf("frame %d shows what protocols do not: %s", i, f.Data)
		}
	}
	if got := string(frames[8].Data); got != `{"seq":9,"at":"2026-01-02T03:04:05.080000Z","kind":"token","body":{"text":"There."}}` {
		t.Error(got)
	}
	if start := all[0].Body.(event.RunStarted); start.Request == nil {
		t.Error("the projection has changed the log")
	}
}

// TestFault checks the reply to a request that was refused before the stream, such as that of a run that does not exist.
func TestFault(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(events.API().Fault(fault.New(fault.NotFound, "no such run")))
	if want := `{"code":"NOT_FOUND","message":"no such run"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
