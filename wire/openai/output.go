package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Limits of the output: texts in bytes, and elements of lists.
const (
	maxQueryShown = 4 << 10
	maxResults    = 50
)

// output is an item of a response.
type output struct {
	Item
	index int
	text  []byte // of reasoning or a message
	notes []FileCitation
	chars int // characters of the text
	done  bool
}

// responding is the projection of a run to the events of a response.
type responding struct {
	results bool
	quiet   bool // no frames are made, but the response is
	state   event.State
	items   []*output
	calls   map[event.CallID]*output
	answer  *output
	thought *output
	n       int // sequence number of the next frame
	buf     []byte
	frames  []wire.Frame // of the current event
}

func newResponding(results bool) *responding {
	return &responding{results: results, calls: map[event.CallID]*output{}}
}

// Project implements [wire.Projection].
func (p *responding) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		p.frames = p.frames[:0]
		p.apply(e)
		wire.NumberFrames(p.frames, e.Seq)
		dst = append(dst, p.frames...)
	}
	return dst
}

// apply makes the frames of an event. Texts are kept in the items, not in the state.
func (p *responding) apply(e event.Event) {
	switch b := e.Body.(type) {
	case event.Token:
		p.write(b.Text)
		return
	case event.Reasoned:
		p.think(b.Text)
		return
	case event.Cited:
		p.state.Apply(e)
		p.cite(b)
		return
	}
	p.state.Apply(e)
	switch b := e.Body.(type) {
	case event.RunStarted:
		p.whole("response.created")
		p.whole("response.in_progress")
	case event.CacheChecked:
		if b.Hit && p.results {
			p.search(event.RetrievalStarted{Call: cachedCall, Query: b.Query})
		}
	case event.RetrievalStarted:
		p.search(b)
	case event.RetrievalFinished:
		p.found(b)
	case event.GenerationFinished:
		p.closeTexts(statusCompleted)
	case event.Attributed:
		p.foundInCache(b.Sources)
	case event.RunFinished:
		p.foundInCache(nil)
		p.closeTexts(statusCompleted)
		if p.state.Incomplete() {
			p.whole("response.incomplete")
		} else {
			p.whole("response.completed")
		}
	case event.RunFailed:
		for _, it := range p.items {
			if it.Type == itemSearch && !it.done {
				p.end(it, statusIncomplete)
			}
		}
		p.closeTexts(statusIncomplete)
		if b.Code == fault.Cancelled {
			p.whole("response.incomplete")
		} else {
			p.whole("response.failed")
		}
	}
}

// emit appends a frame with the next sequence number. The payload embeds the result of next.
func (p *responding) emit(name string, payload any) {
	if p.quiet {
		return
	}
	start := len(p.buf)
	p.buf = sse.AppendJSON(p.buf, payload)
	p.frames = append(p.frames, wire.Frame{Event: name, Data: p.buf[start:len(p.buf):len(p.buf)]})
}

func (p *responding) next() Numbered {
	p.n++
	return Numbered{p.n - 1}
}

// whole appends a frame of the response.
func (p *responding) whole(name string) {
	n := p.next()
	if !p.quiet {
		p.emit(name, ResponseEvent{name, n, p.response()})
	}
}

// open adds an item and appends its frame.
func (p *responding) open(it Item) *output {
	o := &output{Item: it, index: len(p.items)}
	p.items = append(p.items, o)
	const name = "response.output_item.added"
	p.emit(name, ItemEvent{name, p.next(), o.index, o.snapshot()})
	return o
}

// end sets the final status of an item and appends its frame.
func (p *responding) end(o *output, status string) {
	o.Status, o.done = status, true
	const name = "response.output_item.done"
	p.emit(name, ItemEvent{name, p.next(), o.index, o.snapshot()})
}

func (o *output) place() place { return place{o.ID, o.index} }

// part returns the text of a message.
func (o *output) part() Part {
	notes := o.notes
	if notes == nil {
		notes = []FileCitation{}
	}
	return Part{partText, string(o.text), notes, []struct{}{}}
}

// snapshot returns the item with its text.
func (o *output) snapshot() Item {
	it := o.Item
	switch it.Type {
	case itemMessage:
		it.Content = &[]Part{}
		if len(o.text) > 0 || len(o.notes) > 0 || o.done {
			it.Content = &[]Part{o.part()}
		}
	case itemReasoning:
		it.Summary = &[]Summary{}
		if len(o.text) > 0 || o.done {
			it.Summary = &[]Summary{{partSummary, string(o.text)}}
		}
	}
	return it
}

// id returns the id of an item.
func (p *responding) id(prefix string) string {
	return prefix + strings.TrimPrefix(string(p.state.Run), "run_")
}

// search opens a search.
func (p *responding) search(b event.RetrievalStarted) {
	o := p.open(Item{ID: fmt.Sprintf("%s_%d", p.id("fs_"), b.Call), Type: itemSearch, Status: statusInProgress, Queries: []string{wire.Clip(b.Query, maxQueryShown)}})
	p.calls[b.Call] = o
	for _, state := range []string{statusInProgress, statusSearching} {
		name := "response.file_search_call." + state
		p.emit(name, CallEvent{name, p.next(), o.index, o.ID})
	}
	o.Status = statusSearching
}

// found ends a search.
func (p *responding) found(b event.RetrievalFinished) {
	o := p.calls[b.Call]
	if o == nil || o.done {
		return
	}
	if b.Error != "" {
		p.end(o, statusFailed)
		return
	}
	if p.results {
		list := []Result{}
		for _, f := range b.Found[:min(len(b.Found), maxResults)] {
			id := cmp.Or(string(f.Document), string(f.Chunk)) // logs of earlier versions have no documents
			list = append(list, Result{wire.Clip(id, MaxNameLength), wire.Clip(cmp.Or(f.Name, id), MaxNameLength), wire.Round(math.Max(0, math.Min(1, f.Score))),
				wire.ResultAttributes(string(f.Chunk), f.Level.String(), b.Attributes[f.Document])})
		}
		o.Results = &list
	}
	const name = "response.file_search_call.completed"
	p.emit(name, CallEvent{name, p.next(), o.index, o.ID})
	p.end(o, statusCompleted)
}

// cachedCall is the number of the search that stands for those of the run whose answer was cached. Its results are the sources of the answer.
const cachedCall event.CallID = 0

// foundInCache ends the search of a cached answer, if it has not ended.
func (p *responding) foundInCache(sources []event.Source) {
	b := event.RetrievalFinished{Call: cachedCall, Attributes: map[corpus.DocumentID]map[string]any{}}
	for _, s := range sources {
		b.Found = append(b.Found, event.Found{Chunk: s.Chunk, Level: s.Level, Score: s.Score, Document: s.Document, Name: cmp.Or(s.Name, s.Title)})
		b.Attributes[s.Document] = s.Attributes
	}
	slices.SortStableFunc(b.Found, func(a, c event.Found) int { return cmp.Compare(c.Score, a.Score) })
	p.found(b)
}

// message returns the item of the answer, and opens it if there is none.
func (p *responding) message() *output {
	if p.answer == nil {
		p.answer = p.open(Item{ID: p.id("msg_"), Type: itemMessage, Status: statusInProgress, Role: event.RoleAssistant})
		const name = "response.content_part.added"
		p.emit(name, PartEvent{name, p.next(), p.answer.place(), 0, p.answer.part()})
	}
	return p.answer
}

// write adds a piece of the answer. The fields of its frame are written as those of [TextDelta], without reflection.
func (p *responding) write(text string) {
	if text == "" {
		return
	}
	o := p.message()
	o.text, o.chars = append(o.text, text...), o.chars+characters(text)
	const name = "response.output_text.delta"
	n := p.next()
	if p.quiet {
		return
	}
	start := len(p.buf)
	p.buf = append(p.buf, `{"type":"`+name+`","sequence_number":`...)
	p.buf = append(strconv.AppendInt(p.buf, int64(n.N), 10), `,"item_id":`...)
	p.buf = append(event.AppendString(p.buf, o.ID), `,"output_index":`...)
	p.buf = append(strconv.AppendInt(p.buf, int64(o.index), 10), `,"content_index":0,"delta":`...)
	p.buf = append(event.AppendString(p.buf, text), `,"logprobs":[]}`...)
	p.frames = append(p.frames, wire.Frame{Event: name, Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// cite adds a citation. One of a source that the log does not describe is left out.
func (p *responding) cite(b event.Cited) {
	s := b.Source
	if s == nil && b.N > 0 && b.N <= len(p.state.Quoted) {
		s = &p.state.Quoted[b.N-1]
	}
	if s == nil {
		return
	}
	o := p.message()
	note := FileCitation{"file_citation", wire.Clip(string(s.Document), MaxNameLength), wire.Clip(cmp.Or(s.Name, s.Title, string(s.Document)), maxTitle), o.chars}
	o.notes = append(o.notes, note)
	const name = "response.output_text.annotation.added"
	p.emit(name, AnnotationAdded{name, p.next(), o.place(), 0, len(o.notes) - 1, note})
}

// think adds a piece of the reasoning.
func (p *responding) think(text string) {
	if text == "" {
		return
	}
	if p.thought == nil {
		p.thought = p.open(Item{ID: p.id("rs_"), Type: itemReasoning, Status: statusInProgress})
		const name = "response.reasoning_summary_part.added"
		p.emit(name, SummaryPart{name, p.next(), p.thought.place(), 0, Summary{partSummary, ""}})
	}
	p.thought.text = append(p.thought.text, text...)
	const name = "response.reasoning_summary_text.delta"
	p.emit(name, SummaryDelta{name, p.next(), p.thought.place(), 0, text})
}

// closeTexts ends the reasoning and the answer.
func (p *responding) closeTexts(status string) {
	if o := p.thought; o != nil && !o.done {
		const text, part = "response.reasoning_summary_text.done", "response.reasoning_summary_part.done"
		p.emit(text, SummaryDone{text, p.next(), o.place(), 0, string(o.text)})
		p.emit(part, SummaryPart{part, p.next(), o.place(), 0, Summary{partSummary, string(o.text)}})
		p.end(o, status)
	}
	if o := p.answer; o != nil && !o.done {
		const text, part = "response.output_text.done", "response.content_part.done"
		p.emit(text, TextDone{text, p.next(), o.place(), 0, string(o.text), []struct{}{}})
		p.emit(part, PartEvent{part, p.next(), o.place(), 0, o.part()})
		if p.state.Incomplete() || p.state.Stop != "" && p.state.Stop != event.StopEnd {
			status = statusIncomplete
		}
		p.end(o, status)
	}
}

// response returns the response so far.
func (p *responding) response() Response {
	s := &p.state
	r := Response{ID: string(s.Run), Object: "response", CreatedAt: s.StartedAt.Unix(), Status: statusInProgress, Model: modelOf(s.RunStarted, ResponsesName), Output: []Item{}, ParallelToolCalls: true,
		Temperature: s.Temperature, Text: TextConfig{&Format{"text"}}, ToolChoice: "auto", Tools: []Tool{}, Truncation: "disabled", Metadata: map[string]string{}}
	if s.MaxTokens > 0 {
		r.MaxOutputTokens = &s.MaxTokens
	}
	if s.Previous != "" {
		r.PreviousResponseID = new(string(s.Previous))
	}
	if s.Session != "" {
		r.Conversation = &Conversation{wire.Clip(s.Session, event.MaxSession)}
	}
	var asked echo
	if s.Protocol == ResponsesName && json.Unmarshal(s.Request, &asked) == nil {
		maps.Copy(r.Metadata, asked.Metadata)
		if asked.Tools != nil {
			r.Tools = asked.Tools
		}
	}
	for _, o := range p.items {
		r.Output = append(r.Output, o.snapshot())
	}
	if s.Status != event.Running {
		sum := s.Cost()
		r.Usage = &ResponseUsage{sum.Input, InputDetails{CachedTokens: sum.Cached}, sum.Output, OutputDetails{sum.Reasoning}, sum.Input + sum.Output}
	}
	switch s.Status {
	case event.Finished:
		p.finished(&r)
	case event.Cancelled:
		r.Status = statusCancelled
	case event.Failed:
		r.Status, r.Error = statusFailed, &ResponseError{codeOf(s.Failure.Code), s.Failure.Message}
	}
	return r
}

// finished sets the status of the response to a run that has finished.
func (p *responding) finished(r *Response) {
	switch p.state.Stop {
	case event.StopLength:
		r.Status, r.IncompleteDetails = statusIncomplete, &IncompleteDetails{"max_output_tokens"}
	case event.StopFiltered:
		r.Status, r.IncompleteDetails = statusIncomplete, &IncompleteDetails{"content_filter"}
	case event.StopIncomplete:
		r.Status, r.IncompleteDetails = statusIncomplete, &IncompleteDetails{}
	default:
		at := p.state.UpdatedAt.Unix()
		r.Status, r.CompletedAt = statusCompleted, &at
	}
}

// codeOf returns the code of a failed run among those that OpenAI's types list.
func codeOf(code fault.Code) string {
	switch code {
	case fault.InvalidRequest, fault.NoDocuments, fault.NotFound, fault.TooLarge:
		return "invalid_prompt"
	case fault.Overloaded, fault.Quota:
		return codeRate
	}
	return typeServer
}
