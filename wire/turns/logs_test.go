package turns_test

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	all := wiretest.Runs()
	failure := event.RunFailed{Code: fault.Model, Message: "the model did not answer"}
	for name, bodies := range map[string][]event.Body{
		"small_talk":        smallTalk(),
		"marks":             marks(),
		"failed_searching":  append(wiretest.Searched(), event.RunFailed{Code: fault.Index, Message: "the index did not answer"}),
		"failed_answering":  append(wiretest.Writing(), event.GenerationFinished{Reason: "error"}, failure),
		"failed_before":     append(wiretest.Generating(), event.GenerationFinished{Reason: "error"}, failure),
		"failed_after_text": append(wiretest.Written(), failure),
	} {
		all[name] = wiretest.LogOf(bodies...)
	}
	return all
}

func smallTalk() []event.Body {
	return append(wiretest.Opening(""), event.CacheChecked{}, event.GenerationStarted{Model: "local"}, event.Token{Text: "Hello!"},
		event.GenerationFinished{Reason: event.StopEnd}, event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: []event.Source{}}, event.RunFinished{})
}

// marks returns a run with the marks of the protocol in every text.
func marks() []event.Body {
	const m = "a\x1db\x1ec"
	src := event.Source{N: 1, Chunk: m, Document: m, Title: m, Name: m, Text: m, Score: 0.5, Cited: true}
	return []event.Body{
		event.RunStarted{Run: "run_1", Protocol: turns.Name, Question: event.Question{Query: m, Mode: event.Direct, Session: m}},
		event.QueryAnalyzed{Mode: event.Direct, By: m, Standalone: m}, event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: m, Input: json.RawMessage(`{"query":"a\u001db\u001ec"}`), Iteration: 1},
		event.ToolReturned{Call: 1, Tool: m, Result: json.RawMessage(`{"error":"a\u001db\u001ec"}`)},
		event.RetrievalStarted{Call: 2, Tool: m, Query: m, Iteration: 1},
		event.RetrievalFinished{Call: 2, Tool: m, Error: m}, event.Graded{Iteration: 1, Action: m},
		event.GenerationStarted{Model: m}, event.Token{Text: m}, event.Cited{N: 1, Chunk: m, Source: &src}, event.Token{Text: "\x1e"},
		event.GenerationFinished{Reason: event.StopEnd}, event.ModelUsed{Model: m, Calls: 1}, event.Verified{}, event.Attributed{Sources: []event.Source{src}},
		event.RunFinished{}}
}
