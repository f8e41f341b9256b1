package forrst

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// maxPiece limits the text of a data event that joins several tokens, in bytes.
const maxPiece = 512

// maxQuery limits the query in a message, in bytes.
const maxQuery = 200

// The planned steps of a run by the number of those that are done. Searches and their like are steps that are added.
const (
	analyzed = 1 + iota
	cacheChecked
	evidenceFound
	written
	verified
	attributed
	planned = attributed
)

// projection implements [wire.Projection].
type projection struct {
	id    string
	state event.State
	done  int // planned steps
	added int // steps that were added and are done
	ended bool
	buf   []byte // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for len(batch) > 0 && !p.ended {
		if n := joinable(batch); n > 0 {
			dst = p.text(dst, batch[:n])
			batch = batch[n:]
			continue
		}
		dst = p.event(dst, batch[0])
		batch = batch[1:]
	}
	return dst
}

// joinable returns how many tokens at the start of the batch go into one frame.
func joinable(batch []event.Event) int {
	n, size := 0, 0
	for n < len(batch) {
		t, ok := batch[n].Body.(event.Token)
		if size += len(t.Text); !ok || n > 0 && size > maxPiece {
			break
		}
		n++
	}
	return n
}

// text appends the frame of some tokens.
func (p *projection) text(dst []wire.Frame, tokens []event.Event) []wire.Frame {
	start := len(p.buf)
	p.buf = append(p.buf, `{"content":"`...)
	for _, e := range tokens {
		p.state.Apply(e)
		p.buf = event.AppendEscaped(p.buf, e.Body.(event.Token).Text)
	}
	p.buf = append(p.buf, `"}`...)
	return append(dst, wire.Frame{ID: wire.Cursor{Seq: tokens[len(tokens)-1].Seq}, Event: EventData, Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// frame appends a frame with JSON data.
func (p *projection) frame(dst []wire.Frame, id wire.Cursor, name string, data any) []wire.Frame {
	start := len(p.buf)
	p.buf = sse.AppendJSON(p.buf, data)
	return append(dst, wire.Frame{ID: id, Event: name, Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// event appends the frames of an event other than a token.
func (p *projection) event(dst []wire.Frame, e event.Event) []wire.Frame {
	p.state.Apply(e)
	id := wire.Cursor{Seq: e.Seq}
	switch b := e.Body.(type) {
	case event.RunStarted:
		return p.frame(dst, id, EventData, Greeting{"connected"})
	case event.Cited:
		return p.frame(dst, id, EventData, Content{Citation: p.cited()})
	case event.RunFinished:
		p.ended = true
		dst = p.frame(dst, wire.Cursor{Seq: e.Seq, Frame: 1}, EventDone, answerOf(&p.state))
		return p.frame(dst, id, EventComplete, p.document(nil))
	case event.RunFailed:
		p.ended = true
		failed := ErrorOf(&fault.Error{Code: b.Code, Message: b.Message})
		dst = p.frame(dst, wire.Cursor{Seq: e.Seq, Frame: 1}, EventError, Failure(failed))
		return p.frame(dst, id, EventComplete, p.document(&failed))
	}
	if message := p.step(e.Body); message != "" {
		current, total := p.done+p.added, planned+p.added
		percent := int(math.Round(100 * float64(current) / float64(total)))
		return p.frame(dst, id, EventProgress, Progress{current, total, percent, message})
	}
	return dst
}

// document returns the response document at the end of the stream.
func (p *projection) document(failed *Error) Document {
	id := cmp.Or(p.id, string(p.state.Run))
	d := Document{Protocol: version, ID: &id, Result: map[string]bool{"streamed": true},
		Extensions: []Extension{{URN: "urn:forrst:ext:stream", Data: map[string]bool{"completed": failed == nil}}}}
	if failed != nil {
		d.Result, d.Errors = nil, []Error{*failed}
	}
	return d
}

// cited returns the last citation.
func (p *projection) cited() *Cited {
	c := p.state.Citations[len(p.state.Citations)-1]
	out := &Cited{Index: c.N, Place: Place{ChunkID: string(c.Chunk), PageNumbers: []int{}}}
	if source := c.Source; source != nil {
		out.Place, out.Quote = placeOf(source), wire.Clip(source.CitedText(), maxSourceText)
	}
	return out
}

// step counts what an event has completed, and returns the message of its frame. Empty: it has none.
func (p *projection) step(body event.Body) string {
	switch b := body.(type) {
	case event.QueryAnalyzed:
		return p.reached(analyzed, "Analyzed the question")
	case event.CacheChecked:
		if b.Hit {
			return p.reached(written, "Found the answer to an earlier question")
		}
		return p.reached(cacheChecked, "No earlier answer can be used")
	case event.GenerationStarted:
		return p.reached(evidenceFound, fmt.Sprintf("Writing the answer from %s", count(b.Chunks, "passage")))
	case event.GenerationFinished:
		if b.Reason == event.StopEnd || p.state.Incomplete() {
			return p.reached(written, "The answer is written")
		}
		return ""
	case event.Verified:
		return p.reached(verified, fmt.Sprintf("Checked the answer: %d of %s supported", b.Count(event.Supported), count(len(b.Claims), "statement")))
	case event.Attributed:
		return p.reached(attributed, "Listed "+count(len(b.Sources), "source"))
	case event.Warned:
		return "Continuing after a problem: " + clip(b.Message)
	}
	return p.search(body)
}

// search is step for the events of searches, which are not planned.
func (p *projection) search(body event.Body) string {
	switch b := body.(type) {
	case event.HistorySummarized:
		return p.add("Summarized the earlier conversation")
	case event.RetrievalStarted:
		return "Searching for: " + wire.Clip(b.Query, maxQuery)
	case event.RetrievalFinished:
		if b.Error != "" {
			return p.add("The search failed: " + clip(b.Error))
		}
		return p.add("Found " + count(len(b.Found), "passage"))
	case event.ToolCalled:
		return "Using the tool " + words(b.Tool)
	case event.ToolReturned:
		return p.add("Used the tool " + words(b.Tool))
	case event.Graded:
		return p.add(fmt.Sprintf("Graded the passages: %d relevant, %d partly relevant, %d not relevant", b.Correct, b.Ambiguous, b.Incorrect))
	case event.Reranked:
		return p.add("Selected " + count(len(b.Outputs), "passage"))
	}
	return ""
}

// reached records that the planned steps up to one are done.
func (p *projection) reached(step int, message string) string {
	p.done = max(p.done, step)
	return message
}

// add records that a step that was not planned is done.
func (p *projection) add(message string) string {
	p.added++
	return message
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// words returns the name of a tool for people.
func words(tool string) string { return clip(strings.ReplaceAll(tool, "_", " ")) }
