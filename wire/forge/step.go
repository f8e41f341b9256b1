package forge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// step appends the payload of an event other than a token and returns the name of the event. The name is empty if the
// protocol has no such event.
func (p *projection) step(e event.Event) string {
	name, payload := p.payload(e.Body)
	if payload != nil {
		p.buf = sse.AppendJSON(p.buf, payload)
	}
	return name
}

func (p *projection) payload(body event.Body) (string, any) {
	switch b := body.(type) {
	case event.QueryAnalyzed:
		analysis := QueryAnalysis{Type: "query_analysis", Query: p.state.Query, Complexity: b.Complexity, Decomposed: b.Decomposed, EstimatedMode: b.Mode, StandaloneQuery: b.Standalone}
		if s := p.state.Summarized; s != nil {
			analysis.SummarizedTurns = s.Turns
		}
		return "query_analysis", analysis
	case event.CacheChecked:
		if b.Hit {
			return "cache_hit", CacheHit{"cache_hit", wire.Round(b.Similarity), b.Query, wire.Timestamp(b.CachedAt)}
		}
		return "cache_miss", CacheMiss{"cache_miss"}
	case event.RetrievalStarted:
		return "retrieval_start", RetrievalStart{"retrieval_start", b.Call, b.Tool, b.Query, b.Iteration, wire.Clip(b.Reason, maxReason)}
	case event.RetrievalFinished:
		return "retrieval_result", p.retrievalResult(b)
	case event.ToolCalled:
		return "tool_call", ToolCall{"tool_call", b.Call, b.Tool, p.queryOf(b.Input), object(b.Input), b.Iteration, wire.Clip(b.Reason, maxReason)}
	case event.ToolReturned:
		return "tool_result", p.toolResult(b)
	case event.Graded:
		return "crag_evaluation", cragEvaluation(b)
	case event.Reranked:
		return "rerank_result", RerankResult{"rerank_result", b.Method, b.Inputs, len(b.Outputs), wire.Round(b.TopScore), b.Duration}
	case event.GenerationStarted:
		return "generation_start", GenerationStart{"generation_start", b.Chunks, b.Tokens, b.Model}
	case event.Cited:
		return "token", Token{"token", string(appendCitation(nil, b.N)), b.N}
	case event.Verified:
		return "verification", fitting(func(limit int) any { return verification(b, limit) })
	case event.Attributed:
		return "sources", fitting(func(limit int) any { return Sources{"sources", sources(p.state.Sources, limit)} })
	case event.Warned:
		return "error", Error{Type: "error", Message: b.Message, Code: string(b.Code), Recoverable: true}
	case event.RunFailed:
		return "error", ErrorOf(&fault.Error{Code: b.Code, Message: b.Message})
	case event.RunFinished:
		return "done", doneOf(&p.state)
	}
	return "", nil
}

// appendCitation appends a citation in the form that it has in the answer.
func appendCitation(dst []byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, " ["...), int64(n), 10), ']')
}

// ErrorOf converts an error that ends a stream or precedes it.
func ErrorOf(f *fault.Error) Error {
	return Error{Type: "error", Message: f.Message, Code: string(f.Code), Field: f.Field}
}

// queryOf returns the query in the input of a tool, or the question if the input has none.
func (p *projection) queryOf(input json.RawMessage) string {
	var in struct {
		Query any `json:"query"`
	}
	if json.Unmarshal(input, &in) == nil {
		if query, ok := in.Query.(string); ok && query != "" {
			return query
		}
	}
	return p.state.Query
}

func (p *projection) toolResult(b event.ToolReturned) ToolResult {
	r := ToolResult{Type: "tool_result", CallID: b.Call, Tool: b.Tool, Result: object(b.Result), DurationMS: b.Duration}
	for _, c := range p.state.Calls {
		if c.Call == b.Call {
			r.Query, r.Iteration = p.queryOf(c.Input), c.Iteration
		}
	}
	return r
}

func (p *projection) retrievalResult(b event.RetrievalFinished) RetrievalResult {
	r := RetrievalResult{Type: "retrieval_result", CallID: b.Call, Tool: b.Tool, ChunksFound: len(b.Found), DurationMS: b.Duration,
		Levels: map[string]int{"L1": 0, "L2": 0, "L3": 0}, Chunks: []ChunkScore{}, Corrected: b.Corrected}
	for _, s := range p.state.Searches {
		if s.Call == b.Call {
			r.Query, r.Iteration = s.Query, s.Iteration
		}
	}
	for i, f := range b.Found {
		if i == 0 || f.Score > r.TopScore {
			r.TopScore = wire.Round(f.Score)
		}
		r.Levels[f.Level.String()]++
		r.Chunks = append(r.Chunks, ChunkScore{string(f.Chunk), f.Level.String(), wire.Round(f.Score)})
	}
	return r
}

func cragEvaluation(b event.Graded) CRAGEvaluation {
	r := CRAGEvaluation{"crag_evaluation", b.Correct, b.Ambiguous, b.Incorrect, b.Action, b.Expanded, []CRAGDetail{}}
	for _, g := range b.Grades {
		d := CRAGDetail{ChunkID: string(g.Chunk), Score: wire.Round(g.Score), Classification: g.Class, Expanded: g.Expanded}
		if g.Expanded {
			score := wire.Round(g.NewScore)
			d.NewScore = &score
		}
		r.Details = append(r.Details, d)
	}
	return r
}

// fitting returns the payload with the longest texts that fit into [maxData].
func fitting(payload func(limit int) any) any {
	for limit := maxSourceText; ; limit = limit * 3 / 4 {
		if p := payload(limit); limit <= minText || len(sse.AppendJSON(nil, p)) <= maxData {
			return p
		}
	}
}

// verification returns the payload with at most limit bytes of each claim.
func verification(b event.Verified, limit int) Verification {
	r := Verification{"verification", len(b.Claims), b.Count(event.Supported), b.Count(event.PartiallySupported),
		b.Count(event.Unsupported), wire.Round(b.Confidence), []ClaimDetail{}, b.Flagged}
	for _, c := range b.Claims {
		r.Details = append(r.Details, ClaimDetail{wire.Clip(c.Text, limit), c.Verdict})
	}
	return r
}

// sources returns the sources with at most limit bytes of each text, heading and title.
func sources(in []event.Source, limit int) []Source {
	out := []Source{}
	metaLimit := maxReason
	if limit < maxReason {
		metaLimit = 0 // the text of a passage matters more than its metadata
	}
	for _, s := range in {
		pages := s.Pages
		if pages == nil {
			pages = []int{}
		}
		level := s.Level
		if level == 0 {
			level = corpus.Passage
		}
		var path []string
		for _, p := range s.Path[:min(len(s.Path), maxPath)] {
			path = append(path, wire.Clip(p, min(limit, maxReason)))
		}
		var also []string
		for _, a := range s.AlsoIn {
			also = append(also, wire.Clip(a, min(limit, maxReason)))
		}
		attributes := s.Attributes
		if metaLimit == 0 {
			attributes = nil
		}
		out = append(out, Source{ChunkID: string(s.Chunk), DocumentID: string(s.Document), Text: wire.Clip(s.Text, limit), Truncated: len(s.Text) > limit, Level: level.String(),
			Score: wire.Round(s.Score), PageNumbers: pages, Heading: wire.Clip(s.Heading, limit), Title: wire.Clip(s.Title, limit),
			File: wire.Clip(cmp.Or(s.File, s.Name), min(limit, maxReason)), URL: urlOf(s, min(limit, maxReason)), Quote: wire.Clip(s.CitedText(), limit), Weight: wire.Round(s.Weight), Cited: s.Cited,
			Path: path, AlsoIn: also, DublinCore: wire.DublinCoreOf(s.Meta, metaLimit), Attributes: attributes})
	}
	return out
}

// urlOf returns the URL of a source from the web, unless it is longer than limit: a part of a URL leads nowhere.
func urlOf(s event.Source, limit int) string {
	if u := wire.WebURL(&s); len(u) <= limit {
		return u
	}
	return ""
}

func doneOf(s *event.State) Done {
	tools := s.Tools
	if tools == nil {
		tools = []string{}
	}
	mode := s.Mode
	if s.Analysis != nil {
		mode = s.Analysis.Mode
	}
	return Done{"done", event.MillisOf(s.Elapsed()), s.Tokens, s.Iterations, tools, len(s.Sources), wire.Round(s.Confidence), mode, s.Cached(),
		s.Incomplete(), wire.UsageOf(s), s.Abstained()}
}

// usageOf returns the usage of a run, or nil if no model was called.
// object returns raw on one line, or an empty object if it is not an object: the input of a tool comes from a model.
func object(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&buf, raw) != nil {
		return json.RawMessage("{}")
	}
	return buf.Bytes()
}
