package wiretest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/fault"
)

// LogOf returns events 10 ms apart.
func LogOf(bodies ...event.Body) []event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []event.Event
	for i, b := range bodies {
		log = append(log, event.Event{Seq: event.Seq(i + 1), At: at.Add(time.Duration(i) * 10 * time.Millisecond), Body: b})
	}
	return log
}

// Single puts each event into a batch of its own.
func Single(log []event.Event) [][]event.Event {
	var out [][]event.Event
	for i := range log {
		out = append(out, log[i:i+1])
	}
	return out
}

// WithRandom returns the logs with random ones added.
func WithRandom(logs map[string][]event.Event) map[string][]event.Event {
	all := maps.Clone(logs)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 12 {
		all[fmt.Sprintf("random %d", i)] = eventlogtest.RandomLog(rng, 8*i)
	}
	all["long"] = eventlogtest.RandomLog(rng, 300)
	return all
}

// Opening returns the start of a run. The standalone question may be empty.
func Opening(standalone string) []event.Body {
	return []event.Body{
		event.RunStarted{Run: "run_1", Protocol: "test", Question: event.Question{Query: "And who keeps it?", Mode: event.Agentic, Collection: "default", TopK: 5, Session: "s_1"}},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules", Standalone: standalone},
	}
}

// Searched returns a run with a tool, two searches at the same time, of which one fails, and grades.
func Searched() []event.Body {
	return append(Opening("Who keeps the lighthouse of Farland?"),
		event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: event.ToolListDocuments, Input: json.RawMessage(`{}`), Iteration: 1},
		event.ToolReturned{Call: 1, Tool: event.ToolListDocuments, Result: json.RawMessage(`{"error":"the list is not available"}`), Duration: 3},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "keeper of the\nlighthouse", Iteration: 1},
		event.RetrievalStarted{Call: 3, Tool: event.ToolSemanticSearch, Query: "lighthouse of Farland", Iteration: 1},
		event.RetrievalFinished{Call: 3, Tool: event.ToolSemanticSearch, Duration: 31, Error: "the index did not answer"},
		event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.84721}, {Chunk: "c_2", Level: corpus.Sentence, Score: 0.5}}},
		event.Warned{Code: fault.Index, Message: "the index did not answer", Step: event.ToolSemanticSearch},
		event.Graded{Iteration: 1, Correct: 1, Ambiguous: 1, Action: event.Proceed, By: "rules"})
}

// Generating returns a run whose answer is about to begin.
func Generating() []event.Body {
	return append(Searched(),
		event.Reranked{Method: "colbert", Inputs: 3, Outputs: []event.Found{{Chunk: "c_1"}, {Chunk: "c_2"}}},
		event.GenerationStarted{Chunks: 2, Tokens: 342, Model: "local"})
}

// Writing returns a run with a part of the answer.
func Writing() []event.Body {
	first, second := Sources()[0], Sources()[1]
	return append(Generating(),
		event.Reasoned{Text: "The first passage names the keeper."},
		event.Token{Text: "Zoë"}, event.Token{Text: " keeps"}, event.Token{Text: " it 🕯."}, event.Cited{N: 1, Chunk: "c_1", Source: &first}, event.Cited{N: 2, Chunk: "c_2", Source: &second},
		event.Token{Text: "\n\n"}, event.Token{Text: "The lamp\u2028"})
}

// Written returns a run with the whole answer and the use of models, before it is checked.
func Written() []event.Body {
	return append(Writing(),
		event.Token{Text: " burns oil."}, event.Cited{N: 1, Chunk: "c_1", Quote: 40, QuoteEnd: 59},
		event.GenerationFinished{Reason: event.StopEnd, Answerability: 0.8},
		event.ModelUsed{Step: "generate", Model: "gpt", Calls: 1, Input: 342, Output: 9, Estimated: true},
		event.ModelUsed{Step: "verify", Model: "gpt", Calls: 2, Input: 8, Output: 1})
}

// Answered returns a run up to its sources and fee.
func Answered() []event.Body {
	return append(Written(),
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "Zoë keeps it.", Verdict: event.Supported}, {Text: "The lamp burns oil.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Confidence: 0.7, Sources: Sources()},
		event.Settled{Transaction: "t_1", Type: "query_usage", Fee: 1_250_000, Before: 1_000_000, After: -250_000})
}

// Sources returns the sources of the answer.
func Sources() []event.Source {
	return []event.Source{
		{N: 1, Chunk: "c_1", Document: "d_1", Title: "Farland chronicle", Name: "farland.pdf", Heading: "Keepers", Pages: []int{4, 5}, Level: corpus.Passage,
			Text: "Zoë has kept the lighthouse since May. The lamp burns oil.", QuoteEnd: 39, Score: 0.84, Weight: 0.6, Cited: true},
		{N: 2, Chunk: "c_2", Document: "d_2", File: "docs/keepers.md", Name: "keepers.md", Level: corpus.Sentence, Text: "Keepers: Zoë <Farland>.", Score: 0.5, Weight: 0.4, Cited: true}}
}

// Runs returns whole runs: answered, cached, abstained, failed, timeout and cancelled.
func Runs() map[string][]event.Event {
	cached := append(Opening(""), event.CacheChecked{Hit: true, Similarity: 0.97, Query: "Who keeps it?", CachedAt: time.Date(2026, 2, 17, 0, 0, 0, 0, time.UTC), Confidence: 1},
		event.Token{Text: "Zoë keeps it."}, event.Cited{N: 1, Chunk: "c_1"}, event.Attributed{By: "cache", Confidence: 0.7, Sources: Sources()[:1]}, event.RunFinished{})
	abstained := append(Generating(), event.Token{Text: "The documents do not say."}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: Sources()}, event.RunFinished{})
	return map[string][]event.Event{
		"answered":  LogOf(append(Answered(), event.RunFinished{})...),
		"cached":    LogOf(cached...),
		"abstained": LogOf(abstained...),
		"failed":    LogOf(append(Opening(""), event.RunFailed{Code: fault.NoDocuments, Message: "no documents are in default"})...),
		"timeout": LogOf(append(Writing(), event.GenerationFinished{Reason: "timeout"}, event.Attributed{By: "rules", Sources: Sources()},
			event.RunFailed{Code: fault.Timeout, Message: "the time limit was reached"})...),
		"cancelled": LogOf(append(Writing(), event.GenerationFinished{Reason: "cancelled"}, event.RunFailed{Code: fault.Cancelled, Message: "the run was cancelled"})...),
	}
}

// Linked returns a run whose first source has a URL, whose second source is a file, and which cites both while it writes.
func Linked() []event.Event {
	sources := Sources()
	sources[0].URI, sources[1].URI = "https://farland.example/chronicle", "docs/keepers.md"
	return LogOf(append(Generating(), event.Token{Text: "Zoë keeps it 🕯."}, event.Cited{N: 1, Chunk: "c_1", Source: &sources[0]}, event.Cited{N: 2, Chunk: "c_2", Source: &sources[1]},
		event.Token{Text: " It burns oil."}, event.Cited{N: 1, Chunk: "c_1"}, event.GenerationFinished{Reason: event.StopLength}, event.Verified{By: "rules", Flagged: true},
		event.Attributed{By: "rules", Sources: sources}, event.RunFinished{})...)
}
