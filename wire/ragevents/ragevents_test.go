package ragevents_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/ragevents"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// payload holds the fields of all events.
type payload struct {
	Type, Phase, Event string
	Chunk              *string
	Data               struct {
		Chunk map[string]json.RawMessage
	}
}

// name returns the name of the event for [ragevents.Grammar].
func (p payload) name() string {
	switch {
	case p.Type == "progress":
		return p.Phase
	case p.Event == "on_chain_stream":
		for _, field := range []string{"context", "sourceRelevance", "answer"} {
			if p.Data.Chunk[field] != nil {
				return field
			}
		}
		return "unknown chunk"
	case p.Type == "event":
		return p.Event
	}
	return p.Type
}

// read checks the grammar and the form of each event. It joins the texts of results and of answers.
func read(frames []wire.Frame) ([]string, error) {
	var g ragevents.Grammar
	var out []string
	var results, answer strings.Builder
	for _, f := range frames {
		p, err := decode(f)
		if err == nil {
			err = g.Next(p.name())
		}
		if err != nil {
			return nil, fmt.Errorf("frame %s: %w", f.ID, err)
		}
		switch p.name() {
		case "results":
			results.WriteString(*p.Chunk)
		case "answer":
			var text string
			if err := json.Unmarshal(p.Data.Chunk["answer"], &text); err != nil {
				return nil, err
			}
			answer.WriteString(text)
		default:
			out = append(out, f.ID.String()+" "+string(f.Data))
		}
	}
	return append(out, "results: "+results.String(), "answer: "+answer.String()), nil
}

// decode decodes an event and checks what all have in common: the first and the last field, the size, and that encoded chunks are JSON.
func decode(f wire.Frame) (payload, error) {
	var p payload
	s := string(f.Data)
	last := strings.LastIndex(s, `,"timestamp":"`)
	if f.Event != "" || !strings.HasPrefix(s, `{"type":"`) || last < 0 {
		return p, fmt.Errorf("event %q with the data %.200s", f.Event, s)
	}
	at := strings.TrimSuffix(s[last+len(`,"timestamp":"`):], `"}`)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil {
		return p, err
	}
	if len(s) > 16<<10 {
		return p, fmt.Errorf("%d bytes: %.200s", len(s), s)
	}
	if err := json.Unmarshal(f.Data, &p); err != nil {
		return p, err
	}
	if encoded := strings.HasPrefix(p.Type, "events-") || p.Type == "transaction-summary"; encoded && (p.Chunk == nil || !json.Valid([]byte(*p.Chunk))) {
		return p, fmt.Errorf("the chunk of %.300s is not JSON", s)
	}
	return p, nil
}

func logs() map[string][]event.Event {
	return map[string][]event.Event{"answered": answered(), "cached": cached(), "timeout": timedOut(), "abstained": abstained(), "small talk": smallTalk(),
		"flagged": flagged(), "unsettled": unsettled(), "failed": logOf(started(), event.RunFailed{Code: fault.NoDocuments, Message: "no documents are in default"})}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	wiretest.TestProtocol(t, wiretest.Subject{Protocol: ragevents.Protocol{}, Read: read}, wiretest.WithRandom(logs()))
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	wiretest.TestGoldens(t, ragevents.Protocol{}, ".sse", logs())
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 11, 26, 16, 29, 55, 910_999_000, time.FixedZone("", 3600))
	want := `data: {"type":"heartbeat","timestamp":"2025-11-26T15:29:55.910Z"}` + "\n\n"
	if got := string(ragevents.Protocol{}.AppendHeartbeat(nil, at)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGrammarRefuses(t *testing.T) {
	t.Parallel()
	opening := "first_event model_info stream_initializing vectorstore_initializing vectorstore_ready starting_rag_chain rag_chain_started on_chain_start "
	closing := "sourceRelevance on_chain_end events-sources-attention events-sources-data events-metadata-summary events-answer-confidence transaction-summary completed"
	for _, stream := range []string{
		"model_info", "error", "first_event error", "first_event results", opening + "answer", opening + "results results", opening + "results sourceRelevance",
		opening + "results answer on_chain_end", opening + "context context", opening + closing + " error", opening + closing + " completed",
		opening + "sourceRelevance on_chain_end events-sources-attention events-sources-no-contribution events-metadata-summary",
		opening + "events-sources-attention events-sources-no-contribution", opening + "events-sources-attention events-sources-data events-metadata-summary events-answer-confidence",
		opening + "error heartbeat2",
	} {
		if g, err := run(stream); err == nil {
			t.Errorf("%s: accepted, ended %v", stream, g.Ended())
		}
	}
	for _, stream := range []string{opening + closing, opening + "context results answer heartbeat results answer " + closing, opening + "error",
		opening + "results answer events-sources-attention events-sources-data events-metadata-summary error", "first_event model_info stream_initializing vectorstore_initializing error"} {
		if g, err := run(stream); err != nil || !g.Ended() {
			t.Errorf("%s: %v, ended %v", stream, err, g.Ended())
		}
	}
}

func run(stream string) (ragevents.Grammar, error) {
	var g ragevents.Grammar
	for name := range strings.FieldsSeq(stream) {
		if err := g.Next(name); err != nil {
			return g, err
		}
	}
	return g, nil
}

// TestFramesFitIntoChunk checks that events with many documents and long texts fit into the chunks that simple clients read.
func TestFramesFitIntoChunk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain ", "\"\\\" ", "é€😀 ", "\u0085\u2028\u0001 "} {
		for _, n := range []int{0, 5, 50} {
			log := answered()
			long := strings.Repeat(text, 1500)
			for i := range log {
				switch b := log[i].Body.(type) {
				case event.RunStarted:
					b.Query = long
					for range n {
						b.History = append(b.History, event.Message{Role: event.RoleUser, Text: long})
					}
					log[i].Body = b
				case event.Attributed:
					b.Sources = nil
					for k := range n {
						b.Sources = append(b.Sources, event.Source{N: k + 1, Chunk: corpus.ChunkID(fmt.Sprintf("c_%020d", k)), Document: corpus.DocumentID(fmt.Sprintf("d_%016d", k)),
							Text: long, Title: long, Heading: long, Name: fmt.Sprintf("%s %d.md", text, k), Pages: []int{1, 2}, Score: 0.1234, Weight: 1, Cited: true, QuoteEnd: len(long),
							Meta: &corpus.DublinCore{Title: long, Creator: long, Description: long}})
					}
					log[i].Body = b
				case event.Token:
					b.Text = strings.Repeat(text, 20)
					log[i].Body = b
				}
			}
			for _, f := range wiretest.Project(ragevents.Protocol{}.New(), [][]event.Event{log}) {
				if _, err := decode(f); err != nil {
					t.Errorf("%d sources with %q: %v", n, text, err)
				}
			}
		}
	}
}

// logOf returns events 250 ms apart.
func logOf(bodies ...event.Body) []event.Event {
	log := wiretest.LogOf(bodies...)
	at := time.Date(2025, 11, 26, 15, 29, 40, 910_000_000, time.UTC)
	for i := range log {
		log[i].At = at.Add(time.Duration(i) * 250 * time.Millisecond)
	}
	return log
}

func started() event.RunStarted {
	return event.RunStarted{Run: "run_1", Protocol: ragevents.Name, Account: "alice", Waited: 4, Writer: event.ModelInfo{Provider: "openai", Model: "gpt-4o-mini"},
		Question: event.Question{Query: "How do tokens arrive?", Mode: event.Direct, Method: event.SimilaritySearch, Collection: "default", TopK: 5,
			History: []event.Message{{Role: event.RoleUser, Text: "What is a token?"}, {Role: event.RoleAssistant, Text: "A piece of text."}}}}
}

func searched(best float64) []event.Body {
	return []event.Body{started(), event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolSemanticSearch, Query: "How do tokens arrive?", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolSemanticSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: best, Document: "d_1", Name: "tokens.md"},
			{Chunk: "c_2", Level: corpus.Sentence, Score: best / 2, Document: "d_2", Name: "display.md"},
			{Chunk: "c_3", Level: corpus.Passage, Score: best / 4, Document: "d_3", Name: "other.md"}}},
		event.Graded{Iteration: 1, Correct: 1, Action: event.Proceed, By: "rules", Grades: []event.Grade{
			{Chunk: "c_1", Score: best, Class: event.Correct}, {Chunk: "c_2", Score: best / 2, Class: event.Ambiguous, Expanded: true, NewScore: best * 0.8, Parent: "c_9"}}},
		event.Warned{Code: fault.Model, Message: "the first model did not answer", Step: "rerank"},
		event.GenerationStarted{Chunks: 2, Tokens: 342, Model: "gpt-4o-mini", Passages: []corpus.ChunkID{"c_1", "c_9"}}}
}

func sources(cited bool) event.Attributed {
	weights := []float64{0, 0}
	if cited {
		weights = []float64{2.0 / 3, 1.0 / 3}
	}
	return event.Attributed{By: "rules", Confidence: 0.85, Sources: []event.Source{
		{N: 1, Chunk: "c_1", Document: "d_1", Title: "Tokens", Name: "tokens.md", Pages: []int{15, 16}, Text: "Tokens may arrive individually. They append.", QuoteEnd: 31,
			Score: 0.87, Weight: weights[0], Cited: cited, URI: "https://example.com/tokens", Contributor: "jane", Attributes: map[string]any{"team": "docs", "year": 2024.0, "final": true},
			Meta: &corpus.DublinCore{Title: "Tokens", Creator: "Jane Doe", Publisher: "Acme Corp", Date: "2025-01-15", Rights: "Confidential"}},
		{N: 2, Chunk: "c_9", Document: "d_2", Title: "Display", Name: "display.md", Text: "Append each token to the display.", Score: 0.7, Weight: weights[1], Cited: cited, Contributor: "alice"}}}
}

func settlement() event.Settled {
	return event.Settled{Transaction: "tx_1", Type: "query_usage", Fee: 23_600, Distributed: 9_440, Before: 99_976_400, After: 99_952_800, Duration: 3400,
		Shares: []event.Share{{Document: "d_1", Contributor: "jane", Name: "Jane Doe", Portion: 666_667, Earned: new(event.Credits(9_440)), Chunks: 1},
			{Document: "d_2", Contributor: "alice", Portion: 333_333, Chunks: 1}}}
}

func answeredBodies() []event.Body {
	return append(searched(0.87),
		event.Token{Text: "Tokens"}, event.Token{Text: ` "may"`}, event.Token{Text: " arrive <individually> or\nbatched."}, event.Cited{N: 1, Chunk: "c_1"},
		event.Token{Text: " They append."}, event.Cited{N: 2, Chunk: "c_9"}, event.GenerationFinished{Reason: event.StopEnd, Answerability: 0.8},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "Tokens may arrive individually.", Verdict: event.Supported}, {Text: "They append.", Verdict: event.PartiallySupported}}},
		sources(true))
}

func answered() []event.Event {
	return logOf(append(answeredBodies(), settlement(), event.RunFinished{})...)
}

// unsettled is a run of a version without a ledger.
func unsettled() []event.Event {
	bodies := append(answeredBodies(), event.RunFinished{})
	start := started()
	start.Account, start.Writer, start.Method = "", event.ModelInfo{}, ""
	bodies[0] = start
	return logOf(bodies...)
}

func cached() []event.Event {
	return logOf(started(), event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"},
		event.CacheChecked{Hit: true, Similarity: 0.97, Query: "How does a token arrive?", CachedAt: time.Date(2024, 12, 15, 10, 30, 0, 0, time.UTC), Confidence: 1, Answerability: 0.9},
		event.Token{Text: "One by one."}, event.Cited{N: 1, Chunk: "c_1"}, sources(true), settlement(), event.RunFinished{})
}

func timedOut() []event.Event {
	return logOf(append(searched(0.87), event.Token{Text: "Tokens may"}, event.GenerationFinished{Reason: "timeout"}, sources(false),
		event.RunFailed{Code: fault.Timeout, Message: "the time limit was reached"})...)
}

func abstained() []event.Event {
	none := settlement()
	none.Distributed, none.Shares = 0, []event.Share{}
	return logOf(append(searched(0.3), event.Token{Text: "The documents do not say."}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{By: "rules"}, lowScores(sources(false)), none, event.RunFinished{})...)
}

func lowScores(a event.Attributed) event.Attributed {
	for i := range a.Sources {
		a.Sources[i].Score = 0.3
	}
	return a
}

func smallTalk() []event.Event {
	return logOf(started(), event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{}, event.GenerationStarted{Model: "local"},
		event.Token{Text: "Hello!"}, event.GenerationFinished{Reason: event.StopEnd}, event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: []event.Source{}},
		event.RunFinished{})
}

func flagged() []event.Event {
	return logOf(append(searched(0.87), event.Token{Text: "Tokens never arrive."}, event.Cited{N: 1, Chunk: "c_1"}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{By: "rules", Flagged: true, Claims: []event.Claim{{Text: "Tokens never arrive.", Verdict: event.Unsupported}}}, sources(true), settlement(), event.RunFinished{})...)
}
