package turns_test

import (
	"encoding/json"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
)

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	failure := event.RunFailed{Code: fault.Model, Message: "the model did not answer"}
	return map[string][]event.Event{
		"answered":          logOf(append(answered(), event.RunFinished{})...),
		"cached":            cached(),
		"abstained":         abstained(),
		"small_talk":        smallTalk(),
		"marks":             marks(),
		"failed_at_start":   logOf(append(opening(""), event.RunFailed{Code: fault.NoDocuments, Message: "no documents are in default"})...),
		"failed_searching":  logOf(append(searched(), event.RunFailed{Code: fault.Index, Message: "the index did not answer"})...),
		"failed_answering":  logOf(append(writing(), event.GenerationFinished{Reason: "error"}, failure)...),
		"failed_before":     logOf(append(generating(), event.GenerationFinished{Reason: "error"}, failure)...),
		"failed_after_text": logOf(append(answered()[:len(answered())-2], failure)...),
		"timeout":           timedOut(),
		"cancelled":         logOf(append(writing(), event.GenerationFinished{Reason: "cancelled"}, event.RunFailed{Code: fault.Cancelled, Message: "the run was cancelled"})...),
	}
}

// logOf returns events 10 ms apart.
func logOf(bodies ...event.Body) []event.Event {
	at := time.Date(2026, 2, 18, 9, 30, 0, 0, time.UTC)
	var log []event.Event
	for i, b := range bodies {
		log = append(log, event.Event{Seq: event.Seq(i + 1), At: at.Add(time.Duration(i) * 10 * time.Millisecond), Body: b})
	}
	return log
}

func opening(standalone string) []event.Body {
	return []event.Body{
		event.RunStarted{Run: "run_1", Protocol: turns.Name, Question: event.Question{Query: "And who keeps it?", Mode: event.Agentic, Collection: "default", TopK: 5, Session: "s_1"}},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Agentic, By: "rules", Standalone: standalone},
	}
}

// searched returns a tool, two searches at the same time, of which one fails, and a review.
func searched() []event.Body {
	return append(opening("Who keeps the lighthouse of Farland?"),
		event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: event.ToolListDocuments, Input: json.RawMessage(`{}`), Iteration: 1},
		event.ToolReturned{Call: 1, Tool: event.ToolListDocuments, Result: json.RawMessage(`{"error":"the list is not available"}`), Duration: 3},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "keeper of the lighthouse", Iteration: 1},
		event.RetrievalStarted{Call: 3, Tool: event.ToolSemanticSearch, Query: "lighthouse of Farland", Iteration: 1},
		event.RetrievalFinished{Call: 3, Tool: event.ToolSemanticSearch, Duration: 31, Error: "the index did not answer"},
		event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.84721}, {Chunk: "c_2", Level: corpus.Sentence, Score: 0.5}}},
		event.Warned{Code: fault.Index, Message: "the index did not answer", Step: event.ToolSemanticSearch},
		event.Graded{Iteration: 1, Correct: 1, Ambiguous: 1, Action: event.Proceed, By: "rules"})
}

func generating() []event.Body {
	return append(searched(), event.GenerationStarted{Chunks: 2, Tokens: 342, Model: "local"})
}

func writing() []event.Body {
	first, second := sources()[0], sources()[1]
	return append(generating(),
		event.Reasoned{Text: "The first passage names the keeper."},
		event.Token{Text: "Zoë"}, event.Token{Text: " keeps"}, event.Token{Text: " it 🕯."}, event.Cited{N: 1, Chunk: "c_1", Source: &first}, event.Cited{N: 2, Chunk: "c_2", Source: &second},
		event.Token{Text: "\n\n"}, event.Token{Text: "The lamp"})
}

// answered returns a run up to its sources.
func answered() []event.Body {
	return append(writing(),
		event.Token{Text: " burns oil."}, event.Cited{N: 1, Chunk: "c_1"},
		event.GenerationFinished{Reason: event.StopEnd, Answerability: 0.8},
		event.ModelUsed{Step: "generate", Model: "local", Calls: 1, Input: 342, Output: 9, Estimated: true},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "Zoë keeps it.", Verdict: event.Supported}, {Text: "The lamp burns oil.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Sources: sources()})
}

func sources() []event.Source {
	return []event.Source{
		{N: 1, Chunk: "c_1", Document: "d_1", Title: "Farland chronicle", Name: "farland.pdf", Pages: []int{4, 5}, Level: corpus.Passage,
			Text: "Zoë has kept the lighthouse since May. The lamp burns oil.", QuoteEnd: 39, Score: 0.84, Weight: 0.6, Cited: true},
		{N: 2, Chunk: "c_2", Document: "d_2", Name: "keepers.md", Level: corpus.Sentence, Text: "Keepers: Zoë <Farland>.", Score: 0.5, Weight: 0.4, Cited: true}}
}

func cached() []event.Event {
	return logOf(append(opening(""), event.CacheChecked{Hit: true, Similarity: 0.97, Query: "Who keeps it?", CachedAt: time.Date(2026, 2, 17, 0, 0, 0, 0, time.UTC), Confidence: 1},
		event.Token{Text: "Zoë keeps it."}, event.Cited{N: 1, Chunk: "c_1"}, event.Attributed{By: "cache", Sources: sources()[:1]}, event.RunFinished{})...)
}

func timedOut() []event.Event {
	return logOf(append(writing(), event.GenerationFinished{Reason: "timeout"}, event.Attributed{By: "rules", Sources: sources()},
		event.RunFailed{Code: fault.Timeout, Message: "the time limit was reached"})...)
}

func abstained() []event.Event {
	return logOf(append(generating(), event.Token{Text: "The documents do not say."}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: sources()}, event.RunFinished{})...)
}

func smallTalk() []event.Event {
	return logOf(append(opening(""), event.CacheChecked{}, event.GenerationStarted{Model: "local"}, event.Token{Text: "Hello!"},
		event.GenerationFinished{Reason: event.StopEnd}, event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: []event.Source{}}, event.RunFinished{})...)
}

// marks returns a run with the marks of the protocol in every text.
func marks() []event.Event {
	const m = "a\x1db\x1ec"
	src := event.Source{N: 1, Chunk: m, Document: m, Title: m, Name: m, Text: m, Score: 0.5, Cited: true}
	return logOf(
		event.RunStarted{Run: "run_1", Protocol: turns.Name, Question: event.Question{Query: m, Mode: event.Direct, Session: m}},
		event.QueryAnalyzed{Mode: event.Direct, By: m, Standalone: m}, event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: m, Input: json.RawMessage(`{"query":"a\u001db\u001ec"}`), Iteration: 1},
		event.ToolReturned{Call: 1, Tool: m, Result: json.RawMessage(`{"error":"a\u001db\u001ec"}`)},
		event.RetrievalStarted{Call: 2, Tool: m, Query: m, Iteration: 1},
		event.RetrievalFinished{Call: 2, Tool: m, Error: m}, event.Graded{Iteration: 1, Action: m},
		event.GenerationStarted{Model: m}, event.Token{Text: m}, event.Cited{N: 1, Chunk: m, Source: &src}, event.Token{Text: "\x1e"},
		event.GenerationFinished{Reason: event.StopEnd}, event.ModelUsed{Model: m, Calls: 1}, event.Verified{}, event.Attributed{Sources: []event.Source{src}},
		event.RunFinished{})
}
