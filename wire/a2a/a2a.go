// Package a2a implements the Agent2Agent protocol, version 1.0, in its binding to JSON-RPC 2.0: a run is a task, and its stream is server-sent events
// whose data are responses to the request. The messages have the JSON form of a2a.proto, package lf.a2a.v1 (https://a2a-protocol.org/v1.0.0/specification).
package a2a

import (
	"bytes"
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "a2a"

// Version is the version of the protocol, as in the header [VersionHeader] and in agent cards.
const (
	VersionHeader = "A2A-Version"
	Version       = "1.0"
)

// Protocol implements [wire.Protocol] and [wire.Linked]. The zero value is ready to use.
type Protocol struct {
	sse.Encoding
	ID     string // JSON text of the id of the request that the stream replies to; empty: null
	Origin string // of the pages of documents without a URL, such as http://localhost:8000; empty: they have no link
}

var _ wire.Linked = Protocol{}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection {
	if p.ID == "" {
		p.ID = "null"
	}
	return &projection{Protocol: p}
}

// LinkTo implements [wire.Linked].
func (p Protocol) LinkTo(origin string) wire.Protocol { return Protocol{ID: p.ID, Origin: origin} }

// API returns the description of the protocol for a server. It has no Decode: a question is a call of a method, whose parameters [DecodeSend] decodes.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{},
		Reply:    func(log []event.Event) any { return TaskOf(log, "") },
		Fault:    func(f *fault.Error) any { return FaultOf(f) },
		Types:    wire.Types{Request: Call{}, Reply: Response{}, Fault: Refusal{}, Events: []any{Frame{}}},
	}
}

// projection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type projection struct {
	Protocol
	state   event.State
	written bool   // the artifact has begun
	ended   bool   // the artifact has its last chunk
	opening []byte // what precedes the text in the frame of a piece of the answer
	closing []byte // what follows it
	buf     []byte // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		p.state.Apply(e)
		first := len(dst)
		if b, ok := e.Body.(event.Token); ok && p.written && !p.ended {
			dst = p.piece(dst, b.Text)
		} else {
			for _, r := range p.step(e) {
				start := len(p.buf)
				p.buf = sse.AppendJSON(p.buf, Frame{version, json.RawMessage(p.ID), r})
				dst = append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
			}
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// piece appends the frame of a piece of the text after the first. It needs no allocation once the buffers have grown.
func (p *projection) piece(dst []wire.Frame, text string) []wire.Frame {
	if p.opening == nil {
		p.opening, p.closing = p.around()
	}
	start := len(p.buf)
	p.buf = append(p.buf, p.opening...)
	p.buf = append(event.AppendString(p.buf, text), p.closing...)
	return append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// around returns what precedes and follows the JSON text of a piece in its frame.
func (p *projection) around() (opening, closing []byte) {
	const mark = `"\u0000"` // no id contains it
	frame := sse.AppendJSON(nil, Frame{version, json.RawMessage(p.ID), p.chunk(textPart("\x00"), true, false)})
	opening, closing, _ = bytes.Cut(frame, []byte(mark))
	return opening, closing
}
