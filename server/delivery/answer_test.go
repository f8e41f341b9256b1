package delivery

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// answerTokens is the number of tokens of the measured answer, and answerRate their number per second.
const (
	answerTokens = 1000
	answerRate   = 50
)

// sizeLimits are the most bytes that the body of the measured answer may have, by variant and compression.
var sizeLimits = map[string]map[string]int{
	"a snapshot each token": {"zstd": 35_000}, "10 snapshots a second": {"zstd": 12_000, "gzip": 20_000}, "deltas": {"zstd": 30_000},
}

// licence is an English text.
func licence(tb testing.TB) string {
	tb.Helper()
	b, err := os.ReadFile("../../LICENSE")
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// tokens cuts a text as models do, roughly: long words are two tokens, which makes about four of three words.
func tokens(text string) []string {
	const long = 6
	var all []string
	for _, w := range strings.SplitAfter(text, " ") {
		if half := len(w) / 2; len(w) > long+1 {
			for !utf8.RuneStart(w[half]) {
				half--
			}
			all = append(all, w[:half])
			w = w[half:]
		}
		all = append(all, w)
	}
	return all
}

// answerRun is an answer of 1,000 tokens that cites five sources of 400 characters with its first words, so that every
// snapshot holds them. Both are of one English text, from its two ends.
func answerRun(tb testing.TB) []event.Body { return answerOf(tb, licence(tb)) }

func answerOf(tb testing.TB, text string) []event.Body {
	tb.Helper()
	text = strings.Join(strings.Fields(text), " ")
	words := tokens(text)
	if len(words) < answerTokens+2000/4 {
		tb.Fatalf("%d tokens", len(words))
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
			Title: "A licence", Name: fmt.Sprintf("licence-%d.txt", n+1), Level: corpus.Passage, Text: strings.ToValidUTF8(text[from:from+400], ""), Score: 0.8, Cited: true})
		bodies = append(bodies, event.Cited{N: n + 1, Chunk: sources[n].Chunk, Source: &sources[n]})
	}
	for _, w := range words[1:answerTokens] {
		bodies = append(bodies, event.Token{Text: w})
	}
	return append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{By: "rules", Confidence: 1},
		event.Attributed{By: "rules", Sources: sources}, event.RunFinished{})
}
