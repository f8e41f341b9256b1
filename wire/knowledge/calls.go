package knowledge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// maxListed is how many parts of a question are shown, and maxResults how many passages of a call.
const (
	maxListed  = 5
	maxResults = 10
)

// listedByDefault is how many documents a list of them shows where nobody says.
const listedByDefault = 10

// itemOf gives the type and the prefix of the ids of a tool's items. What finds passages is a file search, in whatever way.
func itemOf(tool string) (kind, prefix string) {
	switch tool {
	case event.ToolReadPages:
		return ItemPageReader, "pr_"
	case event.ToolListDocuments:
		return ItemListDocuments, "ld_"
	}
	return ItemFileSearch, "fs_"
}

// start adds the item of a call; nil where there are too many.
func (p *projection) start(call event.CallID, tool string, iteration int, reason string) *segment {
	if len(p.calls) >= maxCalls {
		return nil
	}
	kind, prefix := itemOf(tool)
	s := p.add(Item{Type: kind, ID: fmt.Sprintf("%s%s_%d", prefix, p.base, call), Status: StatusInProgress, Tool: short(tool, maxBrief), Iteration: iteration,
		Progress: new(0.0)}, nil)
	p.callSize += len(s.data)
	p.calls[call] = s
	p.trace(s, "round %d: %s", iteration, cmp.Or(short(reason, maxHeading), tool))
	return s
}

// trace adds a line to what a call tells of itself.
func (p *projection) trace(s *segment, format string, args ...any) {
	if p.r.Effort == EffortDev && s != nil {
		if s.ExecutionTrace != "" {
			s.ExecutionTrace += "\n"
		}
		s.ExecutionTrace = short(s.ExecutionTrace+fmt.Sprintf(format, args...), maxTrace)
	}
}

func (p *projection) searches(b event.RetrievalStarted) *segment {
	s := p.start(b.Call, b.Tool, b.Iteration, b.Reason)
	if s != nil {
		s.Queries = []string{short(b.Query, maxQuery)}
		p.trace(s, "%s: %s", b.Tool, short(b.Query, maxHeading))
		p.call(s)
	}
	return s
}

// found ends a search.
func (p *projection) found(b event.RetrievalFinished) *segment {
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
			continue // the log is from before searches told it
		}
		s.Results = append(s.Results, result(string(f.Document), f.Name, string(f.Chunk), f.Level.String(), f.Score))
	}
	p.ended(s, b.Error != "", new(len(b.Found)), b.Duration)
	return s
}

// result is a passage that was found.
func result(document, name, chunk, level string, score float64) Result {
	id := short(document, MaxNameLength)
	return Result{FileID: id, Filename: short(cmp.Or(name, id), MaxNameLength), Score: round(max(0, min(1, score))),
		Attributes: ResultAttributes{ChunkID: short(chunk, MaxNameLength), Level: level}}
}

// ended gives a call its last status.
func (p *projection) ended(s *segment, failed bool, results *int, took event.Millis) {
	s.Status, s.ResultCount, s.DurationMS = StatusCompleted, results, took
	if s.Progress = new(1.0); failed {
		s.Status, s.ResultCount = failedStatus(s.Type), nil
	}
	p.call(s)
}

// failedStatus is what a type of call says of one that failed.
func failedStatus(kind string) string {
	switch kind {
	case ItemListDocuments, ItemPageReader, ItemReasoning, ItemMessage:
		return StatusIncomplete
	}
	return StatusFailed
}

// input is what the tools are given and what they give, by the names that they use.
type input struct {
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

// inputOf reads what it can; the fields of a wrong type stay empty.
func inputOf(raw json.RawMessage) (in input) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return in
	}
	for name, v := range map[string]any{"query": &in.Query, "document": &in.Document, "document_id": &in.DocumentID, "start_page": &in.Start,
		"end_page": &in.End, "limit": &in.Limit, "title": &in.Title, "error": &in.Error, "sub_queries": &in.SubQueries, "passages": &in.Passages, "pages": &in.Pages,
		"documents": &in.Documents, "passages_found": &in.FoundPassages, "documents_found": &in.FoundDocuments} {
		_ = json.Unmarshal(fields[name], v) // one of another type is none
	}
	return in
}

// page gives a number of a page, or of documents, from 1; 0 for what is none.
func page(f float64) int {
	if f != math.Trunc(f) || f < 1 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

func (p *projection) uses(b event.ToolCalled) *segment {
	s := p.start(b.Call, b.Tool, b.Iteration, b.Reason)
	if s == nil {
		return nil
	}
	in := inputOf(b.Input)
	switch s.Type {
	case ItemPageReader:
		s.DocumentID = short(cmp.Or(in.DocumentID, in.Document), MaxNameLength)
		s.DocumentTitle = new(string)
		s.StartPage, s.EndPage = page(in.Start), page(in.End)
	case ItemListDocuments:
		s.Count = cmp.Or(page(in.Limit), listedByDefault)
		fallthrough
	default:
		s.Queries = []string{short(cmp.Or(in.Query, p.state.Query), maxQuery)}
	}
	p.call(s)
	return s
}

func (p *projection) used(b event.ToolReturned) *segment {
	s := p.calls[b.Call]
	if s == nil {
		return nil
	}
	in := inputOf(b.Result)
	if len(in.SubQueries) > 0 {
		s.Queries = nil
		for _, q := range in.SubQueries[:min(len(in.SubQueries), maxListed)] {
			s.Queries = append(s.Queries, short(q, maxQuery))
		}
	}
	var results *int
	n := cmp.Or(page(in.FoundDocuments), page(in.FoundPassages), len(in.Documents), len(in.Passages), len(in.Pages))
	if n > 0 || len(in.SubQueries) == 0 {
		results = &n
	}
	if s.Type == ItemFileSearch && len(in.Passages) > 0 {
		s.Results = reached(in.Passages)
	}
	if s.Type == ItemPageReader {
		title := short(in.Title, MaxNameLength)
		s.DocumentTitle = &title
	}
	p.trace(s, "%s in %d ms", b.Tool, b.Duration)
	p.ended(s, in.Error != "", results, b.Duration)
	return s
}

// reached gives what a walk of the graph found.
func reached(passages []json.RawMessage) []Result {
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
			out = append(out, result(passage.Document, passage.Title, passage.Chunk, level(passage.Level), passage.Score))
		}
	}
	return out
}

// level gives the name of a level, and nothing for what is none.
func level(s string) string {
	switch s {
	case corpus.Section.String(), corpus.Passage.String(), corpus.Sentence.String():
		return s
	}
	return ""
}

// graded tells the calls of a round how what they found was judged.
func (p *projection) graded(b event.Graded) {
	for _, s := range p.items {
		if p.r.Effort == EffortDev && s.Tool != "" && s.Iteration == b.Iteration && s.Status == StatusCompleted {
			p.trace(s, "graded: %d correct, %d ambiguous, %d incorrect; %s", b.Correct, b.Ambiguous, b.Incorrect, b.Action)
			p.call(s)
		}
	}
}

// annotation is a source as a citation of its file.
func annotation(s event.Source) Annotation {
	a := Annotation{Type: "file_citation", FileID: string(s.Document), Index: max(s.Ordinal, 0), Filename: short(cmp.Or(s.Name, s.Title, string(s.Document)), maxFile),
		Snippet: snippet(s), Heading: short(s.Heading, maxHeading), Score: round(s.Score)}
	a.Truncated = a.Snippet != s.Text
	a.Quote, a.Path = clip(s.CitedText(), snippets[0]), short(s.File, maxFile)
	if len(s.Pages) > 0 {
		a.Page = max(s.Pages[0], 0)
	}
	if len(s.Pages) > 1 {
		a.Pages = s.Pages[:min(len(s.Pages), maxPages)]
	}
	return a
}

// snippet gives a source's text, which begins with what it is cited for unless all of it fits.
func snippet(s event.Source) string {
	at := s.Quote
	for at > 0 && at < len(s.Text) && !utf8.RuneStart(s.Text[at]) {
		at++
	}
	if all := clip(s.Text, snippets[0]); at <= 0 || at >= len(s.Text) || all == s.Text {
		return all
	}
	return clip(ellipsis+s.Text[at:], snippets[0])
}

// round keeps four decimals.
func round(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return math.Round(f*1e4) / 1e4
}
