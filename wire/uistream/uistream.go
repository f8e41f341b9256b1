// Package uistream implements the UI message stream protocol of the Vercel AI SDK, version 1: server-sent events without names, each a chunk of
// a message of the assistant. The chunks have the form of uiMessageChunkSchema of the package ai for Node, versions 5 to 7
// (https://github.com/vercel/ai, packages/ai/src/ui-message-stream/ui-message-chunks.ts). That client stops at the first chunk of an unknown type.
package uistream

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "uistream"

// The header field of a stream, by which clients recognize the version of the protocol.
const (
	VersionHeader = "X-Vercel-Ai-Ui-Message-Stream"
	Version       = "v1"
)

// end is the data of the last frame of each stream.
const end = "[DONE]"

// Protocol implements [wire.Protocol], [wire.HeaderField] and [wire.Linked]. The zero value is ready to use.
type Protocol struct {
	sse.Encoding
	Origin string // of the pages of documents without a URL, such as http://localhost:8000; empty: they have no link
}

var (
	_ wire.HeaderField = Protocol{}
	_ wire.Linked      = Protocol{}
)

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// HeaderField implements [wire.HeaderField].
func (Protocol) HeaderField() (name, value string) { return VersionHeader, Version }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection {
	return &projection{origin: p.Origin, shown: map[int]bool{}}
}

// LinkTo implements [wire.Linked].
func (Protocol) LinkTo(origin string) wire.Protocol { return Protocol{Origin: origin} }

// API returns the description of the protocol for a server. Each reply is a stream.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{}, Decode: Decode,
		Fault: func(f *fault.Error) any { return wire.Text(f.Message) }, // the client shows the body as it is
		Types: wire.Types{Request: Request{}, Fault: wire.Text(""), Events: []any{Start{}, Step{}, TextStart{}, TextDelta{}, TextEnd{}, Reasoning{}, ReasoningDelta{},
			ToolInput{}, ToolOutput{}, ToolError{}, SourceURL{}, SourceDocument{}, ConfidencePart{}, CostPart{}, Finish{}, Error{}, Abort{}}},
	}
}

// textID is the id of the part with the text of the answer.
const textID = "text-1"

// projection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type projection struct {
	origin   string
	state    event.State
	writing  bool         // the text has begun and not ended
	written  bool         // the text has ended
	thinking bool         // a part with reasoning has begun and not ended
	thoughts int          // parts with reasoning so far
	shown    map[int]bool // sources that have a part, by number
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
				if payload == end {
					p.buf = append(p.buf, end...)
				} else {
					p.buf = sse.AppendJSON(p.buf, payload)
				}
				dst = append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
			}
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// piece appends the frame of a piece of the text. It needs no allocation once the buffers have grown.
func (p *projection) piece(dst []wire.Frame, text string) []wire.Frame {
	start := len(p.buf)
	p.buf = append(p.buf, `{"type":"text-delta","id":"`+textID+`","delta":`...)
	p.buf = append(event.AppendString(p.buf, text), '}')
	return append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
}
