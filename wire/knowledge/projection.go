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

// maxKept bounds what a projection that waits keeps room for besides what it shows, in bytes.
const maxKept = 32 << 10

// In the delta mode, joined is how many pieces of text that are due together share a frame, and joinedBytes the most text.
const (
	joined      = 5
	joinedBytes = 512
)

// noAnswer is what is said where a run has ended without a word.
const noAnswer = "No answer was found."

// modelName stands where no model was asked for.
const modelName = "sluice"

// projection folds a run to its response, whose text is kept in the form that it has in a snapshot. Every other part is encoded
// when it changes.
type projection struct {
	*drawing
	delta bool
	state event.State               // without texts and citations, which the drawing has
	calls map[event.CallID]*segment // by their numbers
	buf   []byte                    // what the frames of one call point into

	// Text that no frame has shown yet.
	due    event.Seq // its last event
	of     *segment
	pieces int
	from   int  // where it begins in the item's text
	grew   bool // some of it is another item's
}

func newProjection(delta bool, most int) *projection {
	return &projection{drawing: newDrawing(most), delta: delta, calls: map[event.CallID]*segment{}}
}

// Project implements [wire.Projection]. A frame of text costs copying the snapshot.
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	if cap(p.buf) > maxKept && cap(p.buf) > 2*len(p.buf) {
		p.buf = nil
	}
	p.buf = p.buf[:0]
	for _, e := range batch {
		switch b := e.Body.(type) {
		case event.Token:
			dst = p.writes(p.begun(dst, e.Seq, p.message()), e.Seq, p.answer, len(b.Text))
			p.answer.text.add(b.Text)
			p.fit()
		case event.Reasoned:
			dst = p.writes(p.begun(dst, e.Seq, p.thoughts()), e.Seq, p.thought, len(b.Text))
			p.thought.text.add(b.Text)
		case event.Cited:
			dst = p.cites(dst, e.Seq, b)
		default:
			if !(Protocol{}).Waits(b) {
				dst = p.flush(dst)
			}
			p.state.Apply(e)
			dst = p.step(dst, e)
		}
	}
	return p.flush(dst)
}

// begun shows in the delta mode an item that an event of text has added.
func (p *projection) begun(dst []wire.Frame, seq event.Seq, s *segment) []wire.Frame {
	if !p.delta || s.shown {
		return dst
	}
	return p.shows(p.flush(dst), wire.Cursor{Seq: seq, Frame: 1}, EventInProgress)
}

// writes says that an event adds a text to an item. In the delta mode, what was due goes out before it where both do not make one frame.
func (p *projection) writes(dst []wire.Frame, seq event.Seq, s *segment, size int) []wire.Frame {
	if p.delta && p.due > 0 && (p.of != s || p.pieces >= joined || len(s.text.esc)-p.from+size > joinedBytes) {
		dst = p.flush(dst)
	}
	if p.due == 0 || p.of != s {
		p.grew = p.due > 0 && p.grown()
		p.from = len(s.text.esc)
	}
	p.due, p.of = seq, s
	p.pieces++
	return dst
}

// grown tells whether a text that is due is one that can be seen: a piece may be empty, or lie behind where the text is cut off.
func (p *projection) grown() bool { return p.grew || len(p.of.text.esc) > p.from }

// cites adds a marker, and before it the annotation that it means.
func (p *projection) cites(dst []wire.Frame, seq event.Seq, b event.Cited) []wire.Frame {
	m := p.message()
	n, added := p.number(b)
	switch {
	case n == 0:
		return dst
	case !p.delta || !added:
	case !m.shown:
		dst = p.begun(dst, seq, m)
	default:
		dst = p.flush(dst)
		from := len(p.buf)
		p.buf = sse.AppendJSON(p.buf, AnnotationAdded{m.ID, m.place, 0, n - 1, p.brief(p.notes[n-1])})
		dst = append(dst, p.frame(wire.Cursor{Seq: seq, Frame: 1}, EventAnnotationAdded, from))
	}
	dst = p.writes(dst, seq, m, 0)
	m.text.mark(n)
	p.fit()
	return dst
}

// flush shows the text that is due.
func (p *projection) flush(dst []wire.Frame) []wire.Frame {
	if p.due == 0 {
		return dst
	}
	name, from := EventTextDelta, len(p.buf)
	if p.of == p.thought {
		name = EventReasoningDelta
	}
	id := wire.Cursor{Seq: p.due}
	p.due, p.pieces = 0, 0
	switch {
	case !p.grown():
		return dst
	case p.delta:
		p.appendDelta(p.of, p.of.text.esc[p.from:])
	default:
		p.buf = p.snapshot(p.buf)
	}
	return append(dst, p.frame(id, name, from))
}

// appendDelta writes a [TextDelta] or a [ReasoningDelta].
func (p *projection) appendDelta(s *segment, written []byte) {
	p.buf = append(p.buf, `{"item_id":"`...)
	p.buf = append(p.buf, s.ID...)
	p.buf = append(p.buf, `","output_index":`...)
	p.buf = strconv.AppendInt(p.buf, int64(s.place), 10)
	if s == p.thought {
		p.buf = append(p.buf, `,"summary_index":0,"delta":"`...)
	} else {
		p.buf = append(p.buf, `,"content_index":0,"delta":"`...)
	}
	p.buf = append(append(p.buf, written...), `"}`...)
}

// frame is one whose data was written to the buffer.
func (p *projection) frame(id wire.Cursor, name string, from int) wire.Frame {
	return wire.Frame{ID: id, Event: name, Data: p.buf[from:len(p.buf):len(p.buf)]}
}

// shows adds a frame of the response as it is now.
func (p *projection) shows(dst []wire.Frame, id wire.Cursor, name string) []wire.Frame {
	from := len(p.buf)
	p.buf = p.snapshot(p.buf)
	return append(dst, p.frame(id, name, from))
}

// step takes up an event that is no text and shows what it changes.
func (p *projection) step(dst []wire.Frame, e event.Event) []wire.Frame {
	id := wire.Cursor{Seq: e.Seq}
	switch b := e.Body.(type) {
	case event.RunStarted:
		p.begins(b, e)
		return p.shows(dst, id, EventCreated)
	case event.QueryAnalyzed:
		p.refuseWeb()
	case event.CacheChecked:
		if !b.Hit {
			return dst
		}
		p.r.Cached, p.stale = true, true
		p.message()
	case event.RetrievalStarted:
		return p.called(dst, e.Seq, p.searches(b))
	case event.ToolCalled:
		return p.called(dst, e.Seq, p.uses(b))
	case event.RetrievalFinished:
		return p.returned(dst, id, p.found(b))
	case event.ToolReturned:
		return p.returned(dst, id, p.used(b))
	case event.Graded:
		p.graded(b)
		return dst
	case event.Attributed:
		p.complete(b.Sources)
		return dst
	case event.ModelUsed:
		if b.Step == "generate" && b.Output > 0 {
			p.writtenBy(b.Model)
		}
		p.spent()
		return dst
	case event.Warned:
		if len(p.r.Warnings) == maxWarnings {
			return dst
		}
		p.warn(b)
	case event.GenerationStarted:
		p.writtenBy(b.Model)
	case event.GenerationFinished:
		p.generated(b)
		return p.shows(dst, id, EventTextDone)
	case event.Verified:
		p.r.Verification = &Verification{len(b.Claims), b.Count(event.Supported), b.Count(event.PartiallySupported), b.Count(event.Unsupported), b.Flagged}
		p.r.Confidence, p.stale = new(round(b.Confidence)), true
	case event.RunFinished, event.RunFailed:
		dst = p.shows(dst, wire.Cursor{Seq: e.Seq, Frame: 1}, p.ends())
		from := len(p.buf)
		p.buf = append(p.buf, "{}"...)
		return append(dst, p.frame(id, EventDone, from))
	default:
		return dst
	}
	return p.shows(dst, id, EventInProgress)
}

// begins takes up what was asked. What other protocols keep of their requests is not ours to read.
func (p *projection) begins(b event.RunStarted, e event.Event) {
	p.base = strings.TrimPrefix(string(b.Run), "run_")
	p.r.ID, p.r.RunID, p.r.CreatedAt, p.r.Model = string(b.Run), string(b.Run), e.At.Unix(), short(b.Model, MaxNameLength)
	if b.Model == "" {
		p.r.Model = modelName
	}
	if b.Protocol == Name && len(b.Request) > 0 {
		asked := p.r.Echo
		if json.Unmarshal(b.Request, &asked) == nil && asked.Tools != nil && len(asked.ToolChoice) > 0 {
			p.r.Echo = asked
		}
	}
	p.spent()
}

// writtenBy sets the model that writes the answer.
func (p *projection) writtenBy(name string) {
	p.r.AnsweredBy, p.stale = short(name, MaxNameLength), true
}

// refuseWeb answers the wish for a search of the web, which there is none of.
func (p *projection) refuseWeb() {
	for _, t := range p.r.Tools {
		if t.Type == toolWebSearch {
			p.add(Item{Type: ItemWebSearch, ID: "ws_" + p.base, Status: StatusFailed, Queries: []string{short(p.state.Query, maxQuery)}}, nil)
			return
		}
	}
}

// called shows that a call begins and that it is under way.
func (p *projection) called(dst []wire.Frame, seq event.Seq, s *segment) []wire.Frame {
	if s == nil {
		return dst
	}
	dst = p.shows(dst, wire.Cursor{Seq: seq, Frame: 1}, "response."+s.Type+"."+StatusInProgress)
	s.Status = StatusSearching
	p.call(s)
	return p.shows(dst, wire.Cursor{Seq: seq}, "response."+s.Type+"."+StatusSearching)
}

func (p *projection) returned(dst []wire.Frame, id wire.Cursor, s *segment) []wire.Frame {
	if s == nil {
		return dst
	}
	return p.shows(dst, id, "response."+s.Type+"."+StatusCompleted)
}

// generated ends the answer's text.
func (p *projection) generated(b event.GenerationFinished) {
	status := StatusIncomplete
	if b.Reason == "stop" || b.Reason == "" {
		status = StatusCompleted
	}
	p.settle(p.message(), status)
	p.settle(p.thought, StatusCompleted)
}

// ends gives everything its last status and the name of the last snapshot's event.
func (p *projection) ends() string {
	name := p.concludes()
	p.stale = true
	if p.answer != nil {
		p.fit()
	}
	return name
}

// concludes does what [projection.ends] says.
func (p *projection) concludes() string {
	p.r.DurationMS = event.MillisOf(p.state.Elapsed())
	if p.state.Failure != nil {
		return p.fails(*p.state.Failure)
	}
	if p.r.Cached && p.state.Confidence() > 0 {
		p.r.Confidence = new(round(p.state.Confidence()))
	}
	p.r.Abstained = len(p.notes) == 0 && p.state.Abstained()
	p.settle(p.answer, StatusCompleted)
	p.settle(p.thought, StatusCompleted)
	if p.answer == nil || !p.answer.text.words {
		p.notice(noAnswer)
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

// spent shows what is known of the tokens that the run cost.
func (p *projection) spent() {
	sum := p.state.Cost()
	p.r.Usage = &Usage{InputTokens: sum.Input, InputTokensDetails: InputDetails{sum.Cached}, OutputTokens: sum.Output,
		OutputTokenDetails: OutputDetails{sum.Reasoning}, TotalTokens: sum.Input + sum.Output}
	p.stale = true
}

// fails ends a run that was stopped, and says why in a message: the only part of a failure that everybody is shown.
func (p *projection) fails(b event.RunFailed) string {
	if b.Code == fault.NoDocuments && len(p.calls) == 0 {
		p.add(Item{Type: ItemFileSearch, ID: "fs_" + p.base, Status: StatusFailed, Queries: []string{short(p.state.Query, maxQuery)}}, nil)
	}
	for _, s := range p.items {
		p.settle(s, failedStatus(s.Type))
	}
	p.notice(sentence(b.Message))
	if b.Code == fault.Cancelled {
		p.r.Status = StatusIncomplete
		return EventIncomplete
	}
	p.r.Status = StatusFailed
	p.r.Error = &ResponseError{Code: codeOf(b.Code), Message: short(b.Message, maxNotice), Reason: string(b.Code)}
	return EventFailed
}

// codeOf gives a code of the few that clients can read.
func codeOf(c fault.Code) string {
	switch c {
	case fault.InvalidRequest, fault.TooLarge:
		return "invalid_prompt"
	case fault.Overloaded:
		return "rate_limit_exceeded"
	}
	return "server_error"
}

// ResponseOf folds a run's events to the response that they add up to, with the whole text and the longest snippets.
func ResponseOf(log []event.Event) Response {
	p := newProjection(true, 0)
	p.Project(nil, log)
	var r Response
	if err := json.Unmarshal(p.snapshot(nil), &r); err != nil {
		panic("knowledge: read a snapshot: " + err.Error()) // it was written here
	}
	return r
}
