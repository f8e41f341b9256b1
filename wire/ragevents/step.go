package ragevents

import (
	"cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// The limits of texts, in bytes, before they are shortened to fit into an event.
const (
	maxText   = 16 << 10 // question, messages and answer
	maxSource = 1500     // passages and metadata
)

// step returns the payloads of an event other than a piece of the answer.
func (p *projection) step(e event.Event) []any {
	at, s := wire.Timestamp(e.At), &p.state
	progress := func(phase string, d ProgressDetail) any { return Progress{"progress", phase, d, at} }
	switch b := e.Body.(type) {
	case event.RunStarted:
		return []any{progress("first_event", ProgressDetail{TTF: &b.Waited}), modelInfo(b.Writer, at), progress("stream_initializing", ProgressDetail{}),
			progress("vectorstore_initializing", ProgressDetail{Method: methodName(b.Method)})}
	case event.QueryAnalyzed:
		return []any{progress("vectorstore_ready", ProgressDetail{Method: methodName(s.Method)}), progress("starting_rag_chain", ProgressDetail{})}
	case event.CacheChecked:
		return []any{progress("rag_chain_started", ProgressDetail{}), fitting(maxText, func(limit int) any {
			return Chain{"event", "on_chain_start", ChainData{Input: &ChainInput{wire.Clip(s.Query, limit)}}, at}
		})}
	case event.GenerationStarted:
		return []any{fitting(maxSource, func(limit int) any {
			return Chain{"event", "on_chain_stream", ChainData{Chunk: context(s, b.Passages, limit)}, at}
		})}
	case event.Attributed:
		return attributed(s, at)
	case event.Settled:
		return []any{settled(s, at)}
	case event.RunFinished:
		duration := s.Waited + event.MillisOf(s.Elapsed())
		completed := progress("completed", ProgressDetail{Duration: &duration})
		if s.Settlement == nil {
			return []any{settled(s, at), completed}
		}
		return []any{completed}
	case event.RunFailed:
		return []any{Error{Type: "error", Message: b.Message, Code: string(b.Code), Timestamp: at}}
	}
	return nil
}

// attributed returns the payloads that follow the answer. An answer without its end only has the sources that were found.
func attributed(s *event.State, at string) []any {
	docs := documentsOf(s)
	encoded := func(name string, content func(limit int) any) any {
		return fitting(maxSource, func(limit int) any { return Encoded{name, string(sse.AppendJSON(nil, content(limit))), at} })
	}
	weights := encoded("events-sources-attention", func(int) any { return attention(docs) })
	data := encoded("events-sources-data", func(limit int) any { return sourcesData(docs, limit) })
	about := encoded("events-metadata-summary", func(limit int) any { return summary(docs, limit) })
	if !assessed(s) {
		return []any{weights, data, about}
	}
	a := assess(s)
	relevance := Relevance{a.SourcesContributed, a.Confidence, a.Reasoning}
	out := []any{
		Chain{"event", "on_chain_stream", ChainData{Chunk: &ChainChunk{SourceRelevance: &relevance}}, at},
		fitting(maxText, func(limit int) any {
			return Chain{"event", "on_chain_end", ChainData{Output: output(s, relevance, limit)}, at}
		}), weights}
	if a.SourcesContributed {
		out = append(out, data)
	} else {
		message := messages[a.Reason]
		out = append(out, encoded("events-sources-no-contribution", func(int) any {
			return NoContribution{false, a.SourcesFound, a.Confidence, a.Reasoning, message}
		}), encoded("events-sources-message", func(int) any { return SourcesMessage{message, a.Reason, a.Confidence, a.Reasoning} }))
	}
	return append(out, about, encoded("events-answer-confidence", func(int) any { return a.AnswerConfidence }))
}

func settled(s *event.State, at string) any {
	docs := documentsOf(s)
	return fitting(maxSource, func(limit int) any {
		return Encoded{"transaction-summary", string(sse.AppendJSON(nil, transaction(s, docs, limit))), at}
	})
}

// modelInfo describes the model. Logs of earlier versions do not name it.
func modelInfo(m event.ModelInfo, at string) ModelInfo {
	mode := "platform"
	if m.OwnKey {
		mode = "byok"
	}
	return ModelInfo{"model_info", cmp.Or(m.Provider, "unknown"), cmp.Or(m.Model, "unknown"), mode, at}
}

// context returns the chunk with the passages that the generator reads and the conversation.
func context(s *event.State, passages []corpus.ChunkID, limit int) *ChainChunk {
	found := retrieved(s)
	for _, graded := range s.Grades {
		for _, g := range graded.Grades {
			if f, ok := found[g.Chunk]; ok && g.Parent != "" {
				f.Chunk, f.Score = g.Parent, max(g.Score, g.NewScore)
				found[g.Parent] = f // the parent is read in place of the chunk
			}
		}
	}
	c := &ChainChunk{ChatHistory: history(s, limit), Context: []Document{}, Pairs: []ScoredChunk{}}
	for _, id := range passages {
		f := found[id]
		c.Context = append(c.Context, Document{Metadata: DocumentMetadata{ChunkID: string(id), DocumentID: string(f.Document), Source: wire.Clip(f.Name, limit), Score: wire.Round(f.Score)}})
		c.Pairs = append(c.Pairs, ScoredChunk{string(id), wire.Round(f.Score)})
	}
	return c
}

// output returns the result of the chain. The passages and the conversation have at most a quarter of the answer's limit.
func output(s *event.State, relevance Relevance, limit int) *ChainOutput {
	o := &ChainOutput{Input: wire.Clip(s.Query, limit), Answer: wire.Clip(answerOf(s), limit), Context: []Document{}, SourceRelevance: relevance}
	limit = max(min(limit/4, maxSource), minText)
	o.ChatHistory = history(s, limit)
	for _, src := range s.Sources {
		url := wire.Clip(cmp.Or(src.URI, src.File, src.Name, string(src.Document)), min(limit, maxURL))
		o.Context = append(o.Context, Document{wire.Clip(src.Text, limit), DocumentMetadata{string(src.Chunk), string(src.Document), url, wire.Clip(src.Title, limit), src.Pages, wire.Round(src.Score)}})
	}
	return o
}

// maxHistory limits the number of messages that are shown: the last ones.
const maxHistory = 10

func history(s *event.State, limit int) []Message {
	var out []Message
	for _, t := range s.History[max(len(s.History)-maxHistory, 0):] {
		out = append(out, Message{t.Role, wire.Clip(t.Text, limit)})
	}
	return out
}

// answerOf returns the answer with its citations.
func answerOf(s *event.State) string {
	text, from := []byte(nil), 0
	for _, c := range s.Citations {
		text = append(append(text, s.Text[from:c.At]...), citation(c.N)...)
		from = c.At
	}
	return string(append(text, s.Text[from:]...))
}

// methods are the names of the search methods in the protocol.
var methods = map[event.Method]string{event.SimilaritySearch: "SimilaritySearch", event.SelfQuery: "SelfQuery", event.HybridSearch: "HybridSearch"}

// methodName returns the name of a method. Runs that were started in other protocols may have none, which stands for the default.
func methodName(m event.Method) string { return methods[cmp.Or(m, event.HybridSearch)] }
