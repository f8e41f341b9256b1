package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// SnapshotTokens is how many tokens the measured answer has, at SnapshotRate a second.
const (
	SnapshotTokens = 1000
	SnapshotRate   = 50
)

// SnapshotRun is an answer of 1,000 tokens that cites five sources of 400 characters with its first words, so that every
// snapshot holds them. Both are of one English text, from its two ends.
func SnapshotRun(tb testing.TB) []event.Body {
	tb.Helper()
	b, err := os.ReadFile("../LICENSE")
	if err != nil {
		tb.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	words := strings.SplitAfter(text, " ")
	if len(words) < SnapshotTokens+100 {
		tb.Fatalf("%d words", len(words))
	}
	bodies := []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "what may I do with it?", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch, Duration: 12, Found: []event.Found{{Chunk: "c1", Level: corpus.Passage, Score: 0.8}}},
		event.GenerationStarted{Chunks: 5, Model: "local"}, event.Token{Text: words[0]},
	}
	var sources []event.Source
	for n := range 5 {
		from := len(text) - 400*(n+1)
		sources = append(sources, event.Source{N: n + 1, Ordinal: n, Chunk: corpus.ChunkID(fmt.Sprintf("c%d", n+1)), Document: corpus.DocumentID(fmt.Sprintf("6dce5827-0000-4000-8000-%012d", n)),
			Title: "A licence", Name: fmt.Sprintf("licence-%d.txt", n+1), Level: corpus.Passage, Text: text[from : from+400], Score: 0.8, Cited: true})
		bodies = append(bodies, event.Cited{N: n + 1, Chunk: sources[n].Chunk, Source: &sources[n]})
	}
	for _, w := range words[1:SnapshotTokens] {
		bodies = append(bodies, event.Token{Text: w})
	}
	return append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{By: "rules", Confidence: 1},
		event.Attributed{By: "rules", Sources: sources}, event.RunFinished{})
}
