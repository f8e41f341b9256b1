package forge_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// read joins tokens and checks the grammar.
func read(frames []wire.Frame) ([]string, error) {
	var g forge.Grammar
	var out []string
	text := ""
	for _, f := range frames {
		var p struct {
			Type, Tool, Content string
			Recoverable         bool
		}
		if err := json.Unmarshal(f.Data, &p); err != nil {
			return nil, fmt.Errorf("frame %s: %w", f.ID, err)
		}
		if p.Type != f.Event {
			return nil, fmt.Errorf("frame %s is %q and says %q", f.ID, f.Event, p.Type)
		}
		if err := g.Next(p.Type, p.Tool, p.Recoverable); err != nil {
			return nil, err
		}
		if p.Type == "token" {
			text += p.Content
			continue
		}
		if text != "" {
			out = append(out, "text: "+text)
			text = ""
		}
		out = append(out, f.ID.String()+" "+string(f.Data))
	}
	if text != "" {
		out = append(out, "text: "+text)
	}
	return out, nil
}

func TestLaws(t *testing.T) {
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: forge.Protocol{}, Read: read}, wiretest.WithRandom(logs()))
}

func logs() map[string][]event.Event {
	return map[string][]event.Event{"answered": answered(), "cached": cached(), "timeout": timedOut(), "follow-up": followUp()}
}

func TestGoldens(t *testing.T) {
	for name, log := range logs() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, event.CheckLog(log, true))
			golden.Check(t, filepath.Join("testdata", name+".sse"), wiretest.Golden(forge.Protocol{}, wiretest.Single(log)))
		})
	}
}

func TestTokensDueTogetherShareAnEvent(t *testing.T) {
	frames := wiretest.Project(forge.Protocol{}.New(), [][]event.Event{answered()})
	var tokens []string
	for _, f := range frames {
		if f.Event == "token" {
			tokens = append(tokens, f.ID.String()+string(f.Data))
		}
	}
	want := []string{
		`14{"type":"token","content":"Tokens \"may\" arrive <individually> or\nbatched."}`,
		`15{"type":"token","content":" [1]","citation":1}`,
		`16{"type":"token","content":" They append."}`,
		`17{"type":"token","content":" [2]","citation":2}`,
	}
	if diff := cmp.Diff(want, tokens); diff != "" {
		t.Error(diff)
	}
}

func TestGrammarRefuses(t *testing.T) {
	for _, stream := range []string{
		"cache_miss",
		"token",
		"query_analysis retrieval_start",
		"query_analysis cache_miss retrieval_result",
		"query_analysis cache_miss retrieval_start generation_start",
		"query_analysis cache_miss crag_evaluation",
		"query_analysis cache_miss generation_start token done",
		"query_analysis cache_miss generation_start token verification done",
		"query_analysis cache_miss generation_start sources done",
		"query_analysis cache_miss generation_start verification sources token",
		"query_analysis cache_hit verification",
		"query_analysis cache_hit sources done done",
		"query_analysis error token",
	} {
		var g forge.Grammar
		var err error
		for name := range strings.FieldsSeq(stream) {
			if err = g.Next(name, "", false); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%s: accepted", stream)
		}
	}
}

func BenchmarkProjectToken(b *testing.B) {
	p := forge.Protocol{}.New()
	p.Project(nil, answered()[:12])
	batch := []event.Event{{Seq: 13, At: time.Now(), Body: event.Token{Text: " retrieval"}}}
	var frames []wire.Frame
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		frames = p.Project(frames[:0], batch)
		buf = forge.Protocol{}.AppendFrame(buf[:0], frames[0])
	}
}

// followUp is a cached answer to a question that was rewritten, after a long conversation.
func followUp() []event.Event {
	return wiretest.LogOf(opening()[0], event.HistorySummarized{Turns: 6, Summary: "- What is a token? A word."},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules", Standalone: "How do tokens of an answer arrive?"},
		event.CacheChecked{Hit: true}, event.Token{Text: "One by one."}, event.Attributed{By: "cache"}, event.RunFinished{})
}

func opening() []event.Body {
	return []event.Body{
		event.RunStarted{Run: "run_1", Protocol: "forge", Question: event.Question{Query: "How do tokens arrive?", Mode: event.Direct, Collection: "default", TopK: 5}},
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"},
	}
}

// TestFlagged checks that the verification reports an answer that its sources do not support.
func TestFlagged(t *testing.T) {
	for _, flagged := range []bool{false, true} {
		log := wiretest.LogOf(append(searched(), event.Token{Text: "x"}, event.GenerationFinished{Reason: "stop"}, event.Verified{Flagged: flagged})...)
		frames := wiretest.Project(forge.Protocol{}.New(), wiretest.Single(log))
		last := frames[len(frames)-1]
		if got := strings.Contains(string(last.Data), `"flagged":true`); last.Event != "verification" || got != flagged {
			t.Errorf("flagged %v: %s", flagged, last.Data)
		}
	}
}

func searched() []event.Body {
	return append(opening(),
		event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "How do tokens arrive?", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.84721}, {Chunk: "c_2", Level: corpus.Sentence, Score: 0.5}}},
		event.Graded{Iteration: 1, Correct: 1, Ambiguous: 1, Expanded: 1, Action: event.Proceed, By: "rules", Grades: []event.Grade{
			{Chunk: "c_1", Score: 0.87, Class: event.Correct},
			{Chunk: "c_2", Score: 0.62, Class: event.Ambiguous, Expanded: true, NewScore: 0.78, Parent: "c_9"}}},
		event.Warned{Code: fault.Model, Message: "the first model did not answer", Step: "rerank"},
		event.Reranked{Method: "colbert", Inputs: 2, TopScore: 4.23, Duration: 85, Outputs: []event.Found{{Chunk: "c_1", Score: 4.23}}},
		event.GenerationStarted{Chunks: 2, Tokens: 342, Model: "local"})
}

func answered() []event.Event {
	return wiretest.LogOf(append(searched(),
		event.Token{Text: "Tokens"}, event.Token{Text: ` "may"`}, event.Token{Text: " arrive"}, event.Token{Text: " <individually>"},
		event.Token{Text: " or\nbatched."}, event.Cited{N: 1, Chunk: "c_1"}, event.Token{Text: " They append."}, event.Cited{N: 2, Chunk: "c_9"},
		event.GenerationFinished{Reason: "stop"},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "Tokens may arrive individually.", Verdict: event.Supported}, {Text: "They append.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Confidence: 0.72, Sources: []event.Source{
			{N: 1, Chunk: "c_1", Document: "d_1", Title: "T", Heading: "4.2 Tokens", Level: corpus.Passage, Pages: []int{15, 16}, Text: "Tokens may…", Score: 0.87, Weight: 0.6, Cited: true,
				Attributes: map[string]any{"team": "docs", "year": 2024.0, "final": true}},
			{N: 2, Chunk: "c_9", Document: "d_1", Title: "T", Heading: "7 Display", Level: corpus.Section, Text: strings.Repeat("é", 2000), Score: 0.78, Weight: 0.4, Cited: true}}},
		event.RunFinished{})...)
}

func cached() []event.Event {
	return wiretest.LogOf(append(opening(),
		event.CacheChecked{Hit: true, Similarity: 0.97, Query: "How does a token arrive?", CachedAt: time.Date(2024, 12, 15, 10, 30, 0, 0, time.UTC)},
		event.Token{Text: "One by one."},
		event.Attributed{Sources: []event.Source{{N: 1, Chunk: "c_1", Document: "d_1", Level: corpus.Passage, Text: "x"}}, By: "cache"},
		event.RunFinished{})...)
}

func timedOut() []event.Event {
	return wiretest.LogOf(append(searched(),
		event.Token{Text: "Tokens may"}, event.GenerationFinished{Reason: "timeout"},
		event.Attributed{Sources: []event.Source{{N: 1, Chunk: "c_1", Document: "d_1", Level: corpus.Passage, Text: "x"}}, By: "retrieval"},
		event.RunFailed{Code: fault.Timeout, Message: "the time limit was reached"})...)
}
