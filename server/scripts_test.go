package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// analysed returns the first events that every run has.
func analysed(more ...event.Body) []event.Body {
	return append([]event.Body{event.QueryAnalyzed{Complexity: event.Complex, Decomposed: true, Mode: event.Agentic, By: "rules"}}, more...)
}

// searching returns the events of a search and its grades.
func searching(call event.CallID) []event.Body {
	return []event.Body{
		event.RetrievalStarted{Call: call, Tool: event.ToolSemanticSearch, Query: "authentication", Iteration: int(call)},
		event.RetrievalFinished{Call: call, Tool: event.ToolSemanticSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.847}, {Chunk: "c_2", Level: corpus.Section, Score: 0.5}}},
		event.Graded{Iteration: int(call), Correct: 1, Ambiguous: 1, Expanded: 1, Action: event.Proceed, By: "rules", Grades: []event.Grade{
			{Chunk: "c_1", Score: 0.87, Class: event.Correct},
			{Chunk: "c_2", Score: 0.62, Class: event.Ambiguous, Expanded: true, NewScore: 0.78, Parent: "c_9"}}},
	}
}

// everything returns a run with each kind of event: n tokens, and sources with large texts.
func everything(n, sources int) []event.Body {
	out := analysed(
		event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{"query":"q"}`), Iteration: 1},
		event.ToolReturned{Call: 1, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{"sub_queries":["a","b"]}`), Duration: 320})
	out = append(out, searching(2)...)
	out = append(out, event.Warned{Code: fault.Model, Message: "the first model did not answer", Step: "rerank"},
		event.Reranked{Method: "colbert", Inputs: 2, TopScore: 4.23, Duration: 85, Outputs: []event.Found{{Chunk: "c_1", Score: 4.23}}},
		event.GenerationStarted{Chunks: sources, Tokens: 3420, Model: "local"})
	out = append(out, tokens(n)...)
	out = append(out, event.Cited{N: 1, Chunk: "c_1"}, event.GenerationFinished{Reason: "stop"},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "It uses “OAuth”.", Verdict: event.Supported}, {Text: "They append.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Sources: bigSources(sources)})
	return out
}

func tokens(n int) []event.Body {
	out := make([]event.Body, n)
	for i := range out {
		out[i] = event.Token{Text: fmt.Sprintf(" word%d", i*7919%1000)}
	}
	return out
}

// bigSources returns n sources with texts that are hard to compress and to escape.
func bigSources(n int) []event.Source {
	var out []event.Source
	for i := range n {
		var text strings.Builder
		for j := range 600 {
			fmt.Fprintf(&text, "%x é\u2028\"\u0085 ", (i+3)*(j+7)*2654435761)
		}
		out = append(out, event.Source{N: i + 1, Chunk: corpus.ChunkID(fmt.Sprintf("c_%d", i)), Document: "d_1", Title: "Title", Heading: "4.2 Tokens",
			Level: corpus.Passage, Pages: []int{15, 16}, Text: text.String(), Score: 0.87, Weight: 1 / float64(n), Cited: i == 0})
	}
	return out
}

func cachedRun() []event.Body {
	return analysed(
		event.CacheChecked{Hit: true, Similarity: 0.97, Query: "How?", CachedAt: time.Date(2024, 12, 15, 10, 30, 0, 0, time.UTC)},
		event.Token{Text: "One by one."}, event.Attributed{Sources: bigSources(5), By: "cache"})
}

// byQuestion selects the answer by the first word of the question.
func byQuestion(scripts map[string]script) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		word, _, _ := strings.Cut(r.State().Query, " ")
		return scripts[word](ctx, r)
	}
}

// waitFor returns a script that emits one body for each receive from steps.
func stepwise(steps <-chan struct{}, bodies []event.Body) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		for _, b := range bodies {
			select {
			case <-steps:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := r.Emit(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
}
