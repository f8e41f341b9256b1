package knowledge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the lists of a call: sub-queries, and passages found.
const (
	maxListed  = 5
	maxResults = 10
)

// listedByDefault is the number of documents that a list has by default.
const listedByDefault = 10

// itemType returns the type of the items of a tool, and the prefix of their ids. Every tool that finds passages is a file
// search.
func itemType(tool string) (kind, prefix string) {
	switch tool {
	case event.ToolReadPages:
		return ItemPageReader, "pr_"
	case event.ToolListDocuments:
		return ItemListDocuments, "ld_"
	}
	return ItemFileSearch, "fs_"
}

// startCall adds the item of a call. It returns nil if there are too many calls.
func (p *projection) startCall(call event.CallID, tool string, iteration int, reason string) *outputItem {
	if len(p.calls) >= maxCalls {
		return nil
	}
	kind, prefix := itemType(tool)
	s := p.add(Item{Type: kind, ID: fmt.Sprintf("%s%s_%d", prefix, p.idSuffix, call), Status: StatusInProgress, Tool: wire.Clip(tool, maxBrief), Iteration: iteration,
		Progress: new(0.0)}, nil)
	p.callSize += len(s.data)
	p.calls[call] = s
	p.trace(s, "round %d: %s", iteration, cmp.Or(wire.Clip(reason, maxHeading), tool))
	return s
}

// trace adds a line to the execution trace of a call.
func (p *projection) trace(s *outputItem, format string, args ...any) {
	if p.r.Effort == EffortDev && s != nil {
		if s.ExecutionTrace != "" {
			s.ExecutionTrace += "\n"
		}
		s.ExecutionTrace = wire.Clip(s.ExecutionTrace+fmt.Sprintf(format, args...), maxTrace)
	}
}

func (p *projection) startSearch(b event.RetrievalStarted) *outputItem {
	s := p.startCall(b.Call, b.Tool, b.Iteration, b.Reason)
	if s != nil {
		s.Queries = []string{wire.Clip(b.Query, maxQuery)}
		p.trace(s, "%s: %s", b.Tool, wire.Clip(b.Query, maxHeading))
		p.encodeCall(s)
	}
	return s
}

// finishSearch sets the results of a search.
func (p *projection) finishSearch(b event.RetrievalFinished) *outputItem {
	s := p.calls[b.Call]
	if s == nil {
		return nil
	}
	best := 0.0
	for _, f := range b.Found {
		best = max(best, f.Score)
	}
	if p.trace(s, "%d passages in %d ms, the best at %.2f", len(b.Found), b.Duration, best); b.Error != "" {
		p.trace(s, "%s", b.Error)
	}
	s.Results = []Result{}
	for _, f := range b.Found[:min(len(b.Found), maxResults)] {
		if f.Document == "" {
			continue // written by a version that did not record the document
		}
		s.Results = append(s.Results, result(string(f.Document), f.Name, string(f.Chunk), f.Level.String(), f.Score, b.Attributes[f.Document]))
	}
	p.finishCall(s, b.Error != "", new(len(b.Found)), b.Duration)
	return s
}

// result returns the result for a passage.
func result(document, name, chunk, level string, score float64, attributes map[string]any) Result {
	id := wire.Clip(document, MaxNameLength)
	return Result{FileID: id, Filename: wire.Clip(cmp.Or(name, id), MaxNameLength), Score: wire.Round(max(0, min(1, score))),
		Attributes: wire.ResultAttributes(wire.Clip(chunk, MaxNameLength), level, attributes)}
}

// finishCall sets the final status of a call.
func (p *projection) finishCall(s *outputItem, failed bool, results *int, took event.Millis) {
	s.Status, s.ResultCount, s.DurationMS = StatusCompleted, results, took
	if s.Progress = new(1.0); failed {
		s.Status, s.ResultCount = failedStatus(s.Type), nil
	}
	p.encodeCall(s)
}

// failedStatus returns the status that an item of a type has if it failed.
func failedStatus(kind string) string {
	switch kind {
	case ItemListDocuments, ItemPageReader, ItemReasoning, ItemMessage:
		return StatusIncomplete
	}
	return StatusFailed
}

// toolData holds the fields of the inputs and results of the tools.
type toolData struct {
	Query      string            `json:"query"`
	Document   string            `json:"document"`
	DocumentID string            `json:"document_id"`
	Start      float64           `json:"start_page"`
	End        float64           `json:"end_page"`
	Limit      float64           `json:"limit"`
	Title      string            `json:"title"`
	Error      string            `json:"error"`
	SubQueries []string          `json:"sub_queries"`
	Passages   []json.RawMessage `json:"passages"`
	Pages      []json.RawMessage `json:"pages"`
	Documents  []json.RawMessage `json:"documents"`

	FoundPassages  float64 `json:"passages_found"`
	FoundDocuments float64 `json:"documents_found"`
}

// parseToolData decodes the fields that have the expected types.
func parseToolData(raw json.RawMessage) (in toolData) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return in
	}
	for name, v := range map[string]any{"query": &in.Query, "document": &in.Document, "document_id": &in.DocumentID, "start_page": &in.Start,
		"end_page": &in.End, "limit": &in.Limit, "title": &in.Title, "error": &in.Error, "sub_queries": &in.SubQueries, "passages": &in.Passages, "pages": &in.Pages,
		"documents": &in.Documents, "passages_found": &in.FoundPassages, "documents_found": &in.FoundDocuments} {
		_ = json.Unmarshal(fields[name], v) // a field of another type stays empty
	}
	return in
}

// positive converts a number to an integer of at least 1. It returns 0 for other numbers.
func positive(f float64) int {
	if f != math.Trunc(f) || f < 1 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

func (p *projection) startTool(b event.ToolCalled) *outputItem {
	s := p.startCall(b.Call, b.Tool, b.Iteration, b.Reason)
	if s == nil {
		return nil
	}
	in := parseToolData(b.Input)
	switch s.Type {
	case ItemPageReader:
		s.DocumentID = wire.Clip(cmp.Or(in.DocumentID, in.Document), MaxNameLength)
		s.DocumentTitle = new(string)
		s.StartPage, s.EndPage = positive(in.Start), positive(in.End)
	case ItemListDocuments:
		s.Count = cmp.Or(positive(in.Limit), listedByDefault)
		fallthrough
	default:
		s.Queries = []string{wire.Clip(cmp.Or(in.Query, p.state.Query), maxQuery)}
	}
	p.encodeCall(s)
	return s
}

func (p *projection) finishTool(b event.ToolReturned) *outputItem {
	s := p.calls[b.Call]
	if s == nil {
		return nil
	}
	in := parseToolData(b.Result)
	if len(in.SubQueries) > 0 {
		s.Queries = nil
		for _, q := range in.SubQueries[:min(len(in.SubQueries), maxListed)] {
			s.Queries = append(s.Queries, wire.Clip(q, maxQuery))
		}
	}
	var results *int
	n := cmp.Or(positive(in.FoundDocuments), positive(in.FoundPassages), len(in.Documents), len(in.Passages), len(in.Pages))
	if n > 0 || len(in.SubQueries) == 0 {
		results = &n
	}
	if s.Type == ItemFileSearch && len(in.Passages) > 0 {
		s.Results = graphResults(in.Passages)
	}
	if s.Type == ItemPageReader {
		title := wire.Clip(in.Title, MaxNameLength)
		s.DocumentTitle = &title
	}
	p.trace(s, "%s in %d ms", b.Tool, b.Duration)
	p.finishCall(s, in.Error != "", results, b.Duration)
	return s
}

// graphResults returns the passages that a traversal of the graph found.
func graphResults(passages []json.RawMessage) []Result {
	out := []Result{}
	for _, raw := range passages[:min(len(passages), maxResults)] {
		var passage struct {
			Chunk    string  `json:"chunk_id"`
			Document string  `json:"document_id"`
			Title    string  `json:"title"`
			Level    string  `json:"level"`
			Score    float64 `json:"score"`
		}
		if json.Unmarshal(raw, &passage) == nil && passage.Document != "" {
			out = append(out, result(passage.Document, passage.Title, passage.Chunk, level(passage.Level), passage.Score, nil))
		}
	}
	return out
}

// level returns s if it is the name of a level, and otherwise nothing.
func level(s string) string {
	switch s {
	case corpus.Section.String(), corpus.Passage.String(), corpus.Sentence.String():
		return s
	}
	return ""
}

// traceGrades adds the grades of a round to the traces of its calls.
func (p *projection) traceGrades(b event.Graded) {
	for _, s := range p.items {
		if p.r.Effort == EffortDev && s.Tool != "" && s.Iteration == b.Iteration && s.Status == StatusCompleted {
			p.trace(s, "graded: %d correct, %d ambiguous, %d incorrect; %s", b.Correct, b.Ambiguous, b.Incorrect, b.Action)
			p.encodeCall(s)
		}
	}
}

// annotation returns the annotation for a source.
func annotation(s event.Source) Annotation {
	a := Annotation{Type: "file_citation", FileID: string(s.Document), Index: max(s.Ordinal, 0), Filename: wire.Clip(cmp.Or(s.Name, s.Title, string(s.Document)), maxFile),
		Snippet: snippet(s), Heading: wire.Clip(s.Heading, maxHeading), Score: wire.Round(s.Score)}
	a.Truncated = a.Snippet != s.Text
	a.DublinCore, a.Attributes = wire.DublinCoreOf(s.Meta, snippetLimits[0]), s.Attributes
	a.Quote, a.Path = clip(s.CitedText(), snippetLimits[0]), wire.Clip(s.File, maxFile)
	if u := wire.WebURL(&s); len(u) <= maxFile {
		a.URL = u
	}
	if len(s.Pages) > 0 {
		a.Page = max(s.Pages[0], 0)
	}
	if len(s.Pages) > 1 {
		a.Pages = s.Pages[:min(len(s.Pages), maxPages)]
	}
	return a
}

// snippet returns the beginning of a source's text or, if that is too long, the text from the cited sentence on.
func snippet(s event.Source) string {
	at := s.Quote
	for at > 0 && at < len(s.Text) && !utf8.RuneStart(s.Text[at]) {
		at++
	}
	if all := clip(s.Text, snippetLimits[0]); at <= 0 || at >= len(s.Text) || all == s.Text {
		return all
	}
	return clip(ellipsis+s.Text[at:], snippetLimits[0])
}
