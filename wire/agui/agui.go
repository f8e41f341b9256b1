// Package agui implements the Agent-User Interaction protocol (AG-UI), version 1.0: server-sent events without names, each an event of one run of an
// agent. The events have the form of EventSchemas of the package @ag-ui/core for Node, version 1.0.0 (https://github.com/ag-ui-protocol/ag-ui,
// https://docs.ag-ui.com). Clients check their order: what begins must end before the run does.
package agui

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "agui"

// Version is the version of the protocol that streams declare: PROTOCOL_VERSION of the package @ag-ui/core.
const Version = "1.0"

// Protocol implements [wire.Protocol] and [wire.Linked]. The zero value is ready to use.
type Protocol struct {
	sse.Encoding
	Origin string // of the pages of documents without a URL, such as http://localhost:8000; empty: they have no link
}

var _ wire.Linked = Protocol{}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection { return &projection{origin: p.Origin, shown: map[int]bool{}} }

// LinkTo implements [wire.Linked].
func (Protocol) LinkTo(origin string) wire.Protocol { return Protocol{Origin: origin} }

// API returns the description of the protocol for a server. Each reply is a stream.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{}, Decode: Decode,
		Fault: func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: Request{}, Fault: Fault{}, Events: []any{RunStarted{}, RunFinished{}, RunError{}, Step{}, TextStart{}, TextContent{}, TextEnd{}, ReasoningStart{},
			Reasoning{}, ReasoningContent{}, ToolCallStart{}, ToolCallArgs{}, ToolCallEnd{}, ToolCallResult{}, StateSnapshot{}, StateDelta{}, ActivitySnapshot{}, ActivityDelta{}}},
	}
}

// projection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type projection struct {
	origin   string
	state    event.State
	stage    string       // the step that has begun and not ended
	writing  bool         // the text has begun and not ended
	written  bool         // the text has ended
	thinking bool         // a message with reasoning has begun and not ended
	thoughts int          // messages with reasoning so far
	rounds   int          // grades so far
	shown    map[int]bool // sources in the state, by number
	before   []byte       // JSON of the event for a piece of the text, up to the piece
	buf      []byte       // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		p.state.Apply(e)
		first := len(dst)
		if b, ok := e.Body.(event.Token); ok && p.writing && !p.thinking {
			dst = p.piece(dst, b.Text)
		} else {
			for _, payload := range p.step(e.Body) {
				start := len(p.buf)
				p.buf = sse.AppendJSON(p.buf, payload)
				dst = append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
			}
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// piece appends the frame of a piece of the text. It needs no allocation once the buffers have grown.
func (p *projection) piece(dst []wire.Frame, text string) []wire.Frame {
	if p.before == nil {
		p.before = append(event.AppendString([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":`), p.messageID()), `,"delta":`...)
	}
	start := len(p.buf)
	p.buf = append(p.buf, p.before...)
	p.buf = append(event.AppendString(p.buf, text), '}')
	return append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
}
