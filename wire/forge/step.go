package forge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/sse"
)

// step writes the payload of an event that is not a token and gives its name: empty for an event that the protocol does
// not show.
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
		return "query_analysis", QueryAnalysis{"query_analysis", p.state.Query, b.Complexity, b.Decomposed, b.Mode}
	case event.CacheChecked:
		if b.Hit {
			return "cache_hit", CacheHit{"cache_hit", round(b.Similarity), b.Query, timestamp(b.CachedAt)}
		}
		return "cache_miss", CacheMiss{"cache_miss"}
	case event.RetrievalStarted:
		return "retrieval_start", RetrievalStart{"retrieval_start", b.Call, b.Tool, b.Query, b.Iteration, clip(b.Reason, maxReason)}
	case event.RetrievalFinished:
		return "retrieval_result", p.retrievalResult(b)
	case event.ToolCalled:
		return "tool_call", ToolCall{"tool_call", b.Call, b.Tool, p.queryOf(b.Input), object(b.Input), b.Iteration, clip(b.Reason, maxReason)}
	case event.ToolReturned:
		return "tool_result", p.toolResult(b)
	case event.Graded:
		return "crag_evaluation", cragEvaluation(b)
	case event.Reranked:
		return "rerank_result", RerankResult{"rerank_result", b.Method, b.Inputs, len(b.Outputs), round(b.TopScore), b.Duration}
	case event.GenerationStarted:
		return "generation_start", GenerationStart{"generation_start", b.Chunks, b.Tokens, b.Model}
	case event.Cited:
		return "token", Token{"token", string(appendCitation(nil, b.N)), b.N}
	case event.Verified:
		return "verification", fitting(func(most int) any { return verification(b, most) })
	case event.Attributed:
		return "sources", fitting(func(most int) any { return Sources{"sources", sources(shownSources(&p.state), most)} })
	case event.Warned:
		return "error", Error{Type: "error", Message: b.Message, Code: string(b.Code), Recoverable: true}
	case event.RunFailed:
		return "error", ErrorOf(&fault.Error{Code: b.Code, Message: b.Message})
	case event.RunFinished:
		return "done", doneOf(&p.state)
	}
	return "", nil
}

// appendCitation appends a citation as the answer's text shows it.
func appendCitation(dst []byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, " ["...), int64(n), 10), ']')
}

// ErrorOf is the protocol's form of a failure that ends a stream or precedes it.
func ErrorOf(f *fault.Error) Error {
	return Error{Type: "error", Message: f.Message, Code: string(f.Code), Field: f.Field}
}

// queryOf gives the query of a tool's input, and the question where the input has none.
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

// shownSources gives the sources of a run, and none of one that abstained: its answer rests on nothing.
func shownSources(s *event.State) []event.Source {
	if s.Abstained() {
		return nil
	}
	return s.Sources
}

func (p *projection) retrievalResult(b event.RetrievalFinished) RetrievalResult {
	r := RetrievalResult{Type: "retrieval_result", CallID: b.Call, Tool: b.Tool, ChunksFound: len(b.Found), DurationMS: b.Duration,
		Levels: map[string]int{"L1": 0, "L2": 0, "L3": 0}, Chunks: []ChunkScore{}}
	for _, s := range p.state.Searches {
		if s.Call == b.Call {
			r.Query, r.Iteration = s.Query, s.Iteration
		}
	}
	for i, f := range b.Found {
		if i == 0 || f.Score > r.TopScore {
			r.TopScore = round(f.Score)
		}
		r.Levels[f.Level.String()]++
		r.Chunks = append(r.Chunks, ChunkScore{string(f.Chunk), f.Level.String(), round(f.Score)})
	}
	return r
}

func cragEvaluation(b event.Graded) CRAGEvaluation {
	r := CRAGEvaluation{"crag_evaluation", b.Correct, b.Ambiguous, b.Incorrect, b.Action, b.Expanded, []CRAGDetail{}}
	for _, g := range b.Grades {
		d := CRAGDetail{ChunkID: string(g.Chunk), Score: round(g.Score), Classification: g.Class, Expanded: g.Expanded}
		if g.Expanded {
			score := round(g.NewScore)
			d.NewScore = &score
		}
		r.Details = append(r.Details, d)
	}
	return r
}

// fitting gives the payload with the longest texts that fit into [maxData].
func fitting(payload func(most int) any) any {
	for most := maxSourceText; ; most = most * 3 / 4 {
		if p := payload(most); most <= minText || len(sse.AppendJSON(nil, p)) <= maxData {
			return p
		}
	}
}

// verification shows at most so many bytes of each claim.
func verification(b event.Verified, most int) Verification {
	r := Verification{"verification", len(b.Claims), b.Count(event.Supported), b.Count(event.PartiallySupported),
		b.Count(event.Unsupported), round(b.Confidence), []ClaimDetail{}, b.Flagged}
	for _, c := range b.Claims {
		r.Details = append(r.Details, ClaimDetail{clip(c.Text, most), c.Verdict})
	}
	return r
}

// sources shows at most so many bytes of each text, heading and title.
func sources(in []event.Source, most int) []Source {
	out := []Source{}
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
			path = append(path, clip(p, min(most, maxReason)))
		}
		out = append(out, Source{ChunkID: string(s.Chunk), DocumentID: string(s.Document), Text: clip(s.Text, most), Truncated: len(s.Text) > most, Level: level.String(),
			Score: round(s.Score), PageNumbers: pages, Heading: clip(s.Heading, most), Title: clip(s.Title, most),
			File: clip(cmp.Or(s.File, s.Name), min(most, maxReason)), Quote: clip(s.CitedText(), most), Weight: round(s.Weight), Cited: s.Cited,
			Path: path})
	}
	return out
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
	return Done{"done", event.MillisOf(s.Elapsed()), s.Tokens, s.Iterations, tools, len(shownSources(s)), round(s.Confidence()), mode, s.Cached(),
		s.Incomplete(), usageOf(s), s.Abstained()}
}

// usageOf gives what was spent on models; nil where none was asked.
func usageOf(s *event.State) *Usage {
	if len(s.Usage) == 0 {
		return nil
	}
	sum := s.Cost()
	u := &Usage{InputTokens: sum.Input, OutputTokens: sum.Output, Calls: sum.Calls, Estimated: sum.Estimated, Models: []string{}}
	for _, spent := range s.Usage {
		if !slices.Contains(u.Models, spent.Model) {
			u.Models = append(u.Models, spent.Model)
		}
	}
	return u
}

// clip cuts a text to at most so many bytes at a rune, with an ellipsis.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// object gives raw on one line, or an empty object where it is not one: a tool's input is from outside.
func object(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&buf, raw) != nil {
		return json.RawMessage("{}")
	}
	return buf.Bytes()
}
