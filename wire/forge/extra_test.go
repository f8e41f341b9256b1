package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/forge"
)

// TestShowsWhyAndHow: why a tool was chosen and how the graph led to a source are told, and cut where they are long.
func TestShowsWhyAndHow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []event.Event
	add := func(bodies ...event.Body) {
		for _, b := range bodies {
			log = append(log, event.Event{Seq: event.Seq(len(log) + 1), At: at, Body: b})
		}
	}
	long := strings.Repeat("why ", 500)
	add(event.RunStarted{Run: "run_1", Query: "who?", Mode: event.Agentic}, event.QueryAnalyzed{Complexity: event.Complex, Mode: event.Agentic},
		event.CacheChecked{}, event.ToolCalled{Call: 1, Tool: event.ToolGraphTraverse, Input: []byte("{}"), Iteration: 1, Reason: "the film's director is to be found"},
		event.ToolReturned{Call: 1, Tool: event.ToolGraphTraverse, Result: []byte("{}")},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "who?", Iteration: 2, Reason: long},
		event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch}, event.Graded{Iteration: 2, Action: event.Proceed},
		event.GenerationStarted{}, event.GenerationFinished{Reason: "stop"}, event.Verified{Flagged: true},
		event.Attributed{Sources: []event.Source{{N: 1, Path: []string{"The Film", "Ada Brook"}}, {N: 2}}}, event.RunFinished{})
	var out strings.Builder
	p := forge.Entry().Protocol
	for _, f := range p.New().Project(nil, log) {
		out.Write(p.AppendFrame(nil, f))
	}
	for _, want := range []string{`"reason":"the film's director is to be found"`, `"path":["The Film","Ada Brook"]`, `"flagged":true`, `"reason":"why why`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), long) || strings.Count(out.String(), `"path"`) != 1 {
		t.Errorf("too much is shown:\n%s", &out)
	}
}
