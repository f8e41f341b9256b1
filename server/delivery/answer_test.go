package delivery

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// answerTokens is the number of tokens of the measured answer, and answerRate their number per second.
const (
	answerTokens = 1000
	answerRate   = 50
)

// sizeLimits holds the maximum size of the body of the measured answer in bytes, by variant and compression.
var sizeLimits = map[string]map[string]int{
	// 10 snapshots take 11.6 KB in zstd. One run in thirty takes 12.9 KB, depending on the order in which goroutines run.
	"a snapshot each token": {"zstd": 35_000}, "10 snapshots a second": {"zstd": 13_500, "gzip": 20_000}, "deltas": {"zstd": 30_000},
}

// licence returns an English text.
func licence(tb testing.TB) string {
	tb.Helper()
	b, err := os.ReadFile("../../LICENSE")
	require.NoError(tb, err)
	return string(b)
}

// tokens splits a text roughly like a model: long words are two tokens, so three words have about four tokens.
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

// answerRun returns an answer of 1,000 tokens that cites five sources of 400 characters with its first words, so that every
// snapshot holds them. The answer is the beginning of an English text, and the sources are its end.
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
