// Package events implements the events protocol: the events of a run as they are in its log, one server-sent event each. Its data is the event as
// [event.AppendJSON] writes it: the sequence number, the time, the kind and the body. The name of the server-sent event is the kind. The page of
// Sluice reads this protocol. It is only for reading: questions are asked in the other protocols.
package events

import (
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "events"

// Protocol implements [wire.Protocol]. The zero value is ready to use.
type Protocol struct{ sse.Encoding }

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (Protocol) New() wire.Projection { return new(projection) }

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{Protocol: Protocol{}, Fault: func(f *fault.Error) any { return Error{f.Code, f.Message, f.Field} },
		Types: wire.Types{Fault: Error{}, Events: []any{Event{}}}}
}

// Event is the data of a frame, for descriptions. docs/events.md describes the bodies.
type Event struct {
	Seq  event.Seq      `json:"seq" minimum:"1"`
	At   time.Time      `json:"at"`
	Kind event.Kind     `json:"kind" enum:"run_started,history_summarized,query_analyzed,cache_checked,tool_called,tool_returned,retrieval_started,retrieval_finished,graded,reranked,generation_started,reasoned,token,cited,generation_finished,verified,attributed,settled,model_used,warned,run_finished,run_failed"`
	Body map[string]any `json:"body"`
}

// Error is the reply to a request that was refused.
type Error struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Field   string     `json:"field,omitempty"` // the invalid field of the request, if it is known
}

// maxKept limits the capacity of the buffer that a projection keeps between calls, in bytes.
const maxKept = 16 << 10

type projection struct {
	buf []byte // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	if p.buf = p.buf[:0]; cap(p.buf) > maxKept {
		p.buf = nil
	}
	for _, e := range batch {
		from := len(p.buf)
		e.Body = public(e.Body)
		var err error
		if p.buf, err = event.AppendJSON(p.buf, e); err != nil {
			continue // an event of a log can be encoded
		}
		dst = append(dst, wire.Frame{ID: wire.Cursor{Seq: e.Seq}, Event: string(e.Body.Kind()), Data: p.buf[from:len(p.buf):len(p.buf)]})
	}
	return dst
}

// public returns a body without what only the continuation of a run after a crash, and other protocols, need.
func public(b event.Body) event.Body {
	switch b := b.(type) {
	case event.RunStarted:
		b.Request = nil
		return b
	case event.RetrievalStarted:
		b.Plan = nil
		return b
	case event.ToolCalled:
		b.Plan = nil
		return b
	case event.ToolReturned:
		b.Passages = nil
		return b
	}
	return b
}
