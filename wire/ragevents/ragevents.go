// Package ragevents implements the RAG SSE events protocol: server-sent events without names, each a JSON object whose first field
// is the type and whose last is the time. [Grammar] defines the order of the events, and [Evidence] the confidence of an answer.
package ragevents

import (
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "ragevents"

// maxData is the preferred limit on the data of an event, in bytes: simple clients read a stream in chunks of 16 KiB and lose
// events that do not fit into one chunk. Texts are shortened to meet it, but not below minText bytes each.
const (
	maxData = 16<<10 - 128
	minText = 20
)

// Protocol implements [wire.Protocol] and [wire.Heartbeater]. The zero value is ready to use.
type Protocol struct{ sse.Encoding }

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (Protocol) New() wire.Projection { return new(projection) }

// AppendHeartbeat implements [wire.Heartbeater]. The event has no id, so it does not move the position of a client.
func (Protocol) AppendHeartbeat(dst []byte, at time.Time) []byte {
	dst = append(dst, "data: "...)
	dst = sse.AppendJSON(dst, Heartbeat{"heartbeat", wire.Timestamp(at)})
	return append(dst, "\n\n"...)
}

// projection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type projection struct {
	state event.State
	buf   []byte // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		if _, thought := e.Body.(event.Reasoned); thought {
			continue // the protocol has no event for it
		}
		p.state.Apply(e)
		first := len(dst)
		switch b := e.Body.(type) {
		case event.Token:
			dst = p.piece(dst, b.Text, 0, e.At)
		case event.Cited:
			dst = p.piece(dst, citation(b.N), b.N, e.At)
		default:
			for _, payload := range p.step(e) {
				start := len(p.buf)
				p.buf = sse.AppendJSON(p.buf, payload)
				dst = p.frame(dst, start)
			}
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// frame appends a frame with the data from start on.
func (p *projection) frame(dst []wire.Frame, start int) []wire.Frame {
	return append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// piece appends the two events of a piece of the answer. cited is the number of a citation, or 0. It needs no allocation once the
// buffers have grown.
func (p *projection) piece(dst []wire.Frame, text string, cited int, at time.Time) []wire.Frame {
	start := len(p.buf)
	p.buf = append(p.buf, `{"type":"results","chunk":`...)
	p.buf = event.AppendString(p.buf, text)
	if cited > 0 {
		p.buf = strconv.AppendInt(append(p.buf, `,"citation":`...), int64(cited), 10)
	}
	p.end(at)
	dst = p.frame(dst, start)
	start = len(p.buf)
	p.buf = append(p.buf, `{"type":"event","event":"on_chain_stream","data":{"chunk":{"answer":`...)
	p.buf = event.AppendString(p.buf, text)
	p.buf = append(p.buf, `}}`...)
	p.end(at)
	return p.frame(dst, start)
}

// end appends the last field of a payload.
func (p *projection) end(at time.Time) {
	p.buf = append(p.buf, `,"timestamp":"`...)
	p.buf = at.UTC().AppendFormat(p.buf, wire.TimeFormat)
	p.buf = append(p.buf, `"}`...)
}

// citation returns a citation in the form that it has in the answer.
func citation(n int) string { return " [" + strconv.Itoa(n) + "]" }

// fitting returns the payload with the longest texts, of at most limit bytes each, that fit into [maxData].
func fitting(limit int, payload func(limit int) any) any {
	for ; ; limit = limit * 3 / 4 {
		if p := payload(limit); limit <= minText || len(sse.AppendJSON(nil, p)) <= maxData {
			return p
		}
	}
}
