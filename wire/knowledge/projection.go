package knowledge

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// maxKept limits the unused capacity of the buffer that a projection keeps between calls, in bytes.
const maxKept = 32 << 10

// A frame of a delta has at most deltaTokens tokens and deltaBytes bytes of text.
const (
	deltaTokens = 5
	deltaBytes  = 512
)

// noAnswer is the text of the message if a run has ended without an answer.
const noAnswer = "No answer was found."

// modelName is the model of a response if the request names none.
const modelName = "sluice"

// projection implements [wire.Projection]. The text is kept in the form that it has in the JSON of a snapshot.
type projection struct {
	*builder
	delta bool
	state event.State                  // without texts and citations, which are in builder
	calls map[event.CallID]*outputItem // by their numbers
	buf   []byte                       // backs the data of the frames of one call

	// Text that no frame has shown yet.
	pending       event.Seq // sequence number of its last event; 0: no text is pending
	pendingItem   *outputItem
	pendingTokens int
	pendingFrom   int  // offset in the text of the item
	otherPending  bool // text of another item is pending too
}

func newProjection(delta bool, limit int) *projection {
	return &projection{builder: newBuilder(limit), delta: delta, calls: map[event.CallID]*outputItem{}}
}

// Project implements [wire.Projection]. A frame for new text copies the snapshot and encodes only the text.
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	if cap(p.buf) > maxKept && cap(p.buf) > 2*len(p.buf) {
		p.buf = nil
	}
	p.buf = p.buf[:0]
	for _, e := range batch {
		switch b := e.Body.(type) {
		case event.Token:
			dst = p.expectText(p.showItem(dst, e.Seq, p.answerItem()), e.Seq, p.answer, len(b.Text))
			p.answer.text.add(b.Text)
			p.makeRoom()
		case event.Reasoned:
			dst = p.expectText(p.showItem(dst, e.Seq, p.reasoningItem()), e.Seq, p.reasoning, len(b.Text))
			p.reasoning.text.add(b.Text)
		case event.Cited:
			dst = p.cite(dst, e.Seq, b)
		default:
			if !(Protocol{}).Coalesces(b) {
				dst = p.flush(dst)
			}
			p.state.Apply(e)
			dst = p.step(dst, e)
		}
	}
	return p.flush(dst)
}

// showItem appends a snapshot in delta mode if no frame has shown the item yet.
func (p *projection) showItem(dst []wire.Frame, seq event.Seq, s *outputItem) []wire.Frame {
	if !p.delta || s.shown {
		return dst
	}
	return p.appendSnapshot(p.flush(dst), wire.Cursor{Seq: seq, Frame: 1}, EventInProgress)
}

// expectText prepares for text that an event appends to an item. In delta mode, it flushes pending text that does not fit
// into the same frame.
func (p *projection) expectText(dst []wire.Frame, seq event.Seq, s *outputItem, size int) []wire.Frame {
	if p.delta && p.pending > 0 && (p.pendingItem != s || p.pendingTokens >= deltaTokens || len(s.text.esc)-p.pendingFrom+size > deltaBytes) {
		dst = p.flush(dst)
	}
	if p.pending == 0 || p.pendingItem != s {
		p.otherPending = p.pending > 0 && p.hasText()
		p.pendingFrom = len(s.text.esc)
	}
	p.pending, p.pendingItem = seq, s
	p.pendingTokens++
	return dst
}

// hasText reports whether the pending text is visible: a token may be empty, or exceed the limit of the text.
func (p *projection) hasText() bool {
	return p.otherPending || len(p.pendingItem.text.esc) > p.pendingFrom
}

// cite appends the marker of a citation, preceded by the annotation if it is new.
func (p *projection) cite(dst []wire.Frame, seq event.Seq, b event.Cited) []wire.Frame {
	m := p.answerItem()
	n, added := p.annotate(b)
	switch {
	case n == 0:
		return dst
	case !p.delta || !added:
	case !m.shown:
		dst = p.showItem(dst, seq, m)
	default:
		dst = p.flush(dst)
		from := len(p.buf)
		p.buf = sse.AppendJSON(p.buf, AnnotationAdded{m.ID, m.index, 0, n - 1, p.shortened(p.annotations[n-1])})
		dst = append(dst, p.frame(wire.Cursor{Seq: seq, Frame: 1}, EventAnnotationAdded, from))
	}
	dst = p.expectText(dst, seq, m, 0)
	m.text.mark(n)
	p.makeRoom()
	return dst
}

// flush appends a frame for the pending text.
func (p *projection) flush(dst []wire.Frame) []wire.Frame {
	if p.pending == 0 {
		return dst
	}
	name, from := EventTextDelta, len(p.buf)
	if p.pendingItem == p.reasoning {
		name = EventReasoningDelta
	}
	id := wire.Cursor{Seq: p.pending}
	p.pending, p.pendingTokens = 0, 0
	switch {
	case !p.hasText():
		return dst
	case p.delta:
		p.appendDelta(p.pendingItem, p.pendingItem.text.esc[p.pendingFrom:])
	default:
		p.buf = p.snapshot(p.buf)
	}
	return append(dst, p.frame(id, name, from))
}

// appendDelta appends a [TextDelta] or a [ReasoningDelta] to the buffer.
func (p *projection) appendDelta(s *outputItem, written []byte) {
	p.buf = append(p.buf, `{"item_id":"`...)
	p.buf = append(p.buf, s.ID...)
	p.buf = append(p.buf, `","output_index":`...)
	p.buf = strconv.AppendInt(p.buf, int64(s.index), 10)
	if s == p.reasoning {
		p.buf = append(p.buf, `,"summary_index":0,"delta":"`...)
	} else {
		p.buf = append(p.buf, `,"content_index":0,"delta":"`...)
	}
	p.buf = append(append(p.buf, written...), `"}`...)
}

// frame returns a frame whose data is the buffer from an offset on.
func (p *projection) frame(id wire.Cursor, name string, from int) wire.Frame {
	return wire.Frame{ID: id, Event: name, Data: p.buf[from:len(p.buf):len(p.buf)]}
}

// appendSnapshot appends a frame of the response.
func (p *projection) appendSnapshot(dst []wire.Frame, id wire.Cursor, name string) []wire.Frame {
	from := len(p.buf)
	p.buf = p.snapshot(p.buf)
	return append(dst, p.frame(id, name, from))
}

// step applies an event that adds no text and appends the frames of the change.
func (p *projection) step(dst []wire.Frame, e event.Event) []wire.Frame {
	id := wire.Cursor{Seq: e.Seq}
	switch b := e.Body.(type) {
	case event.RunStarted:
		p.start(b, e)
		return p.appendSnapshot(dst, id, EventCreated)
	case event.QueryAnalyzed:
		p.r.StandaloneQuery, p.dirty = wire.Clip(b.Standalone, maxQuery), true
		if s := p.state.Summarized; s != nil {
			p.r.SummarizedTurns = s.Turns
		}
		p.refuseWebSearch()
	case event.CacheChecked:
		if !b.Hit {
			return dst
		}
		p.r.Cached, p.dirty = true, true
		p.answerItem()
	case event.RetrievalStarted:
		return p.showCall(dst, e.Seq, p.startSearch(b))
	case event.ToolCalled:
		return p.showCall(dst, e.Seq, p.startTool(b))
	case event.RetrievalFinished:
		return p.showResult(dst, id, p.finishSearch(b))
	case event.ToolReturned:
		return p.showResult(dst, id, p.finishTool(b))
	case event.Graded:
		p.traceGrades(b)
		return dst
	case event.Attributed:
		p.completeAnnotations(b.Sources)
		if p.state.Check != nil || b.Confidence > 0 {
			p.r.Confidence, p.dirty = new(wire.Round(b.Confidence)), true
		}
		return dst
	case event.ModelUsed:
		if b.Step == event.StepGenerate && b.Output > 0 {
			p.setModel(b.Model)
		}
		p.setUsage()
		return dst
	case event.Warned:
		if len(p.r.Warnings) == maxWarnings {
			return dst
		}
		p.warn(b)
	case event.GenerationStarted:
		p.setModel(b.Model)
	case event.GenerationFinished:
		p.finishText(b)
		return p.appendSnapshot(dst, id, EventTextDone)
	case event.Verified:
		p.r.Verification, p.dirty = &Verification{len(b.Claims), b.Count(event.Supported), b.Count(event.PartiallySupported), b.Count(event.Unsupported), b.Flagged}, true
		p.r.ClaimSupport = new(wire.Round(b.Confidence))
	case event.RunFinished, event.RunFailed:
		dst = p.appendSnapshot(dst, wire.Cursor{Seq: e.Seq, Frame: 1}, p.finish())
		from := len(p.buf)
		p.buf = append(p.buf, "{}"...)
		return append(dst, p.frame(id, EventDone, from))
	default:
		return dst
	}
	return p.appendSnapshot(dst, id, EventInProgress)
}

// start applies the start of a run. The request is only used if it was made in this protocol.
func (p *projection) start(b event.RunStarted, e event.Event) {
	p.idSuffix = strings.TrimPrefix(string(b.Run), "run_")
	p.r.ID, p.r.RunID, p.r.CreatedAt, p.r.Model = string(b.Run), string(b.Run), e.At.Unix(), wire.Clip(b.Model, MaxNameLength)
	if b.Model == "" {
		p.r.Model = modelName
	}
	if b.Session != "" {
		p.r.Conversation = &Conversation{wire.Clip(b.Session, event.MaxSession)}
	}
	if b.Protocol == Name && len(b.Request) > 0 {
		asked := p.r.Echo
		if json.Unmarshal(b.Request, &asked) == nil && asked.Tools != nil && len(asked.ToolChoice) > 0 {
			p.r.Echo = asked
		}
	}
	p.setUsage()
}

// setModel sets the model that writes the answer.
func (p *projection) setModel(name string) {
	p.r.AnsweredBy, p.dirty = wire.Clip(name, MaxNameLength), true
}

// refuseWebSearch adds a failed call if a web search was requested, since there is none.
func (p *projection) refuseWebSearch() {
	for _, t := range p.r.Tools {
		if t.Type == toolWebSearch {
			p.add(Item{Type: ItemWebSearch, ID: "ws_" + p.idSuffix, Status: StatusFailed, Queries: []string{wire.Clip(p.state.Query, maxQuery)}}, nil)
			return
		}
	}
}

// showCall appends the two frames of the start of a call.
func (p *projection) showCall(dst []wire.Frame, seq event.Seq, s *outputItem) []wire.Frame {
	if s == nil {
		return dst
	}
	dst = p.appendSnapshot(dst, wire.Cursor{Seq: seq, Frame: 1}, "response."+s.Type+"."+StatusInProgress)
	s.Status = StatusSearching
	p.encodeCall(s)
	return p.appendSnapshot(dst, wire.Cursor{Seq: seq}, "response."+s.Type+"."+StatusSearching)
}

func (p *projection) showResult(dst []wire.Frame, id wire.Cursor, s *outputItem) []wire.Frame {
	if s == nil {
		return dst
	}
	return p.appendSnapshot(dst, id, "response."+s.Type+"."+StatusCompleted)
}

// finishText sets the status of the answer when its text is complete.
func (p *projection) finishText(b event.GenerationFinished) {
	status := StatusIncomplete
	if b.Reason == "stop" || b.Reason == "" {
		status = StatusCompleted
	}
	p.finishItem(p.answerItem(), status)
	p.finishItem(p.reasoning, StatusCompleted)
}

// finish sets the final status of all items and returns the name of the last snapshot's event.
func (p *projection) finish() string {
	name := p.setStatus()
	p.dirty = true
	if p.answer != nil {
		p.makeRoom()
	}
	return name
}

// setStatus sets the final status of the response and of its items.
func (p *projection) setStatus() string {
	p.r.DurationMS = event.MillisOf(p.state.Elapsed())
	if p.state.Failure != nil {
		return p.fail(*p.state.Failure)
	}
	if p.r.Cached && p.state.ClaimSupport() > 0 {
		p.r.ClaimSupport = new(wire.Round(p.state.ClaimSupport()))
	}
	p.r.Abstained = len(p.annotations) == 0 && p.state.Abstained()
	p.finishItem(p.answer, StatusCompleted)
	p.finishItem(p.reasoning, StatusCompleted)
	if p.answer == nil || !p.answer.text.nonBlank {
		p.addNotice(noAnswer)
	}
	switch {
	case p.state.Stop == event.StopLength:
		p.r.Incomplete = &IncompleteDetails{"max_output_tokens"}
	case p.state.Stop == event.StopFiltered:
		p.r.Incomplete = &IncompleteDetails{"content_filter"}
	case p.answer == nil || p.answer.Status == StatusCompleted:
		p.r.Status = StatusCompleted
		return EventCompleted
	}
	p.r.Status = StatusIncomplete
	return EventIncomplete
}

// setUsage sets the usage as far as it is known.
func (p *projection) setUsage() {
	sum := p.state.Cost()
	p.r.Usage = &Usage{InputTokens: sum.Input, InputTokensDetails: InputDetails{sum.Cached}, OutputTokens: sum.Output,
		OutputTokenDetails: OutputDetails{sum.Reasoning}, TotalTokens: sum.Input + sum.Output}
	p.dirty = true
}

// fail sets the status of a run that failed or was cancelled. It adds a message with the reason, because some clients show
// no other part of a failure.
func (p *projection) fail(b event.RunFailed) string {
	if b.Code == fault.NoDocuments && len(p.calls) == 0 {
		p.add(Item{Type: ItemFileSearch, ID: "fs_" + p.idSuffix, Status: StatusFailed, Queries: []string{wire.Clip(p.state.Query, maxQuery)}}, nil)
	}
	for _, s := range p.items {
		p.finishItem(s, failedStatus(s.Type))
	}
	p.addNotice(sentence(b.Message))
	if b.Code == fault.Cancelled {
		p.r.Status = StatusIncomplete
		return EventIncomplete
	}
	p.r.Status = StatusFailed
	p.r.Error = &ResponseError{Code: codeOf(b.Code), Message: wire.Clip(b.Message, maxNotice), Reason: string(b.Code)}
	return EventFailed
}

// codeOf converts an error code to one of those that the protocol has.
func codeOf(c fault.Code) string {
	switch c {
	case fault.InvalidRequest, fault.TooLarge:
		return "invalid_prompt"
	case fault.Overloaded:
		return "rate_limit_exceeded"
	}
	return "server_error"
}

// ResponseOf folds the events of a run to a response, with the whole text and the longest snippets.
func ResponseOf(log []event.Event) Response {
	p := newProjection(true, 0)
	p.Project(nil, log)
	var r Response
	if err := json.Unmarshal(p.snapshot(nil), &r); err != nil {
		panic("knowledge: read a snapshot: " + err.Error()) // the JSON was encoded by this package
	}
	return r
}
