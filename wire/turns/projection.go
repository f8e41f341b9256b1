package turns

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// phase is how far a stream is.
type phase int

const (
	searching phase = iota
	answering       // after AnswerMark
	closing         // after TrailerMark
	ended           // after the trailer
)

// projection implements [wire.Projection]. It keeps the order of the phases for any events, also for those of a damaged log. Its state of the run does not
// contain the text of the answer.
type projection struct {
	inline bool
	skip   int64 // bytes that are still to be left out

	state event.State
	phase phase
	text  text
	cited []located
	buf   []byte // backs the data of the frames of one call
}

// located is a citation with the part of the text that it refers to, as in [Citation].
type located struct {
	event.Cited
	start, end int
}

// Project implements [wire.Projection]. Pieces of text that follow each other share a frame.
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	first, start, joins := len(dst), 0, false // joins: the last frame is text, and begins at start
	for _, e := range batch {
		from := len(p.buf)
		isText := p.event(e)
		if len(p.buf) == from {
			continue
		}
		if joins = joins && isText; joins {
			dst = dst[:len(dst)-1]
		} else {
			start = from
		}
		dst = append(dst, wire.Frame{ID: wire.Cursor{Seq: e.Seq}, Data: p.buf[start:len(p.buf):len(p.buf)]})
		joins = isText
	}
	return p.drop(dst, first)
}

// drop removes the bytes that are left out from the frames after the first ones.
func (p *projection) drop(frames []wire.Frame, first int) []wire.Frame {
	for p.skip > 0 && len(frames) > first {
		f := &frames[first]
		if p.skip < int64(len(f.Data)) {
			f.Data = f.Data[p.skip:]
			p.skip = 0
			break
		}
		p.skip -= int64(len(f.Data))
		frames = append(frames[:first], frames[first+1:]...)
	}
	return frames
}

// event appends what an event adds to the stream, and reports whether it is text of the answer.
func (p *projection) event(e event.Event) (isText bool) {
	if p.phase == ended {
		return false
	}
	switch b := e.Body.(type) {
	case event.Reasoned:
	case event.Token:
		p.state.Tokens++
		p.append(b.Text)
		return true
	case event.Cited:
		p.state.Apply(e)
		p.cite(b.N)
		return true
	case event.GenerationStarted:
		p.state.Apply(e)
		p.enter(answering)
		return true
	case event.GenerationFinished:
		p.state.Apply(e)
		if complete(b.Reason) {
			p.enter(closing)
		}
		return true
	case event.RunFinished, event.RunFailed:
		p.state.Apply(e)
		p.end()
	default:
		p.state.Apply(e)
		if line := p.line(e.Body); line != nil && p.phase == searching {
			p.buf = append(sse.AppendJSON(p.buf, line), '\n')
		}
	}
	return false
}

// complete reports whether nothing is added to the text after generation has ended for a reason. A run that was stopped during its answer gets
// a sentence that says so.
func complete(reason string) bool {
	switch reason {
	case event.StopEnd, event.StopLength, event.StopFiltered, event.StopIncomplete:
		return true
	}
	return false
}

// enter begins a phase and the ones before it, unless they have begun.
func (p *projection) enter(to phase) {
	if p.phase < answering && to >= answering {
		p.buf = append(p.buf, AnswerMark)
	}
	if p.phase < closing && to >= closing {
		p.buf = append(p.buf, TrailerMark)
	}
	p.phase = max(p.phase, to)
}

// append appends text to the answer.
func (p *projection) append(s string) {
	if p.enter(answering); p.phase != answering {
		return
	}
	s = clean(s)
	p.text.add(s)
	p.buf = append(p.buf, s...)
}

// cite adds the last citation, of a source with a number, for the text since the one before.
func (p *projection) cite(n int) {
	if p.phase > answering {
		return
	}
	start, end := p.text.cite()
	if len(p.cited) < maxCitations {
		p.cited = append(p.cited, located{p.state.Citations[len(p.state.Citations)-1].Cited, start, end})
	}
	if p.inline {
		p.enter(answering)
		mark := " [" + strconv.Itoa(n) + "]"
		p.text.length += len(mark)
		p.buf = append(p.buf, mark...)
	}
}

// end ends the text and appends the trailer.
func (p *projection) end() {
	if failed := p.state.Failure != nil; failed && p.phase < closing {
		if p.text.shown {
			p.append("\n\n" + textIncomplete)
		} else {
			p.append(textFailed)
		}
	}
	p.enter(closing)
	p.buf = sse.AppendJSON(p.buf, Trailer{outcomeOf(&p.state, p.cited), failureOf(p.state.Failure)})
	p.phase = ended
}

// line returns the line of the first phase for an event, or nil.
func (p *projection) line(body event.Body) any {
	switch b := body.(type) {
	case event.RetrievalStarted:
		return p.search(Started, b.Tool, b.Query, b.Iteration)
	case event.RetrievalFinished:
		return p.found(b)
	case event.ToolCalled:
		return p.search(Started, b.Tool, queryOf(b.Input, p.state.Query), b.Iteration)
	case event.ToolReturned:
		return p.returned(b)
	case event.Graded:
		return Review{"review", Completed, b.Correct, b.Ambiguous, b.Incorrect, event.Action(clean(string(b.Action))), b.Iteration}
	}
	return nil
}

func (p *projection) search(status Status, tool, query string, iteration int) Search {
	return Search{Type: "search", Status: status, Tool: clean(tool), Query: clip(query, maxQuery), Iteration: iteration}
}

func (p *projection) found(b event.RetrievalFinished) any {
	for _, s := range p.state.Searches {
		if s.Call == b.Call {
			top := 0.0
			for _, f := range b.Found {
				top = max(top, wire.Round(f.Score))
			}
			return p.search(Completed, s.Tool, s.Query, s.Iteration).with(len(b.Found), top, b.Duration, b.Error)
		}
	}
	return nil // the log is damaged
}

func (p *projection) returned(b event.ToolReturned) any {
	for _, c := range p.state.Calls {
		if c.Call == b.Call {
			top := 0.0
			for _, f := range b.Passages {
				top = max(top, wire.Round(f.Score))
			}
			return p.search(Completed, c.Tool, queryOf(c.Input, p.state.Query), c.Iteration).with(len(b.Passages), top, b.Duration, errorOf(b.Result))
		}
	}
	return nil
}

// with returns a search with its result. It failed if there is a message.
func (s Search) with(results int, topScore float64, took event.Millis, message string) Search {
	s.Results, s.TopScore, s.DurationMS = &results, &topScore, &took
	if message != "" {
		s.Status, s.Error = Failed, cmp.Or(clip(message, maxError), "the search failed")
	}
	return s
}

// text locates citations in the text of the answer, in code points.
type text struct {
	length     int
	shown      bool // the text is not only white space
	begun      bool // the text since the last citation is not only white space and the end of the sentence before
	ends       bool // there are only [wire.SentenceEnds] since the last citation
	start, end int  // that text without the white space around it or, before it has begun, the text of the last citation
}

func (t *text) add(s string) {
	for _, r := range s {
		t.ends = t.ends && strings.ContainsRune(wire.SentenceEnds, r)
		if !unicode.IsSpace(r) {
			t.shown = true
			if !t.begun && !t.ends {
				t.begun, t.start = true, t.length
			}
			t.end = t.length + 1
		}
		t.length++
	}
}

// cite returns the text since the last citation. Citations without text between them refer to the same text.
func (t *text) cite() (start, end int) {
	t.begun, t.ends = false, t.length > 0
	return t.start, t.end
}
