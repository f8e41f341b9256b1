// Package turns implements the turns protocol: plain text in three phases. The first phase has one JSON object per line, sent when a search
// or a review of its results happens. The byte 0x1d ends it. The second phase is the text of the answer as it is generated. The byte 0x1e
// ends it. The third phase is one JSON object, the trailer. [Grammar] defines the form of a stream.
//
// The bytes of a stream depend only on the log of the run. There are no heartbeats, and time and batches of events have no effect. So a client
// resumes a stream by the number of bytes that it has received.
package turns

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Name is the name of the protocol in URLs and flags.
const Name = "turns"

// ContentType is the media type of a stream.
const ContentType = "text/plain; charset=utf-8"

// The bytes between the phases. They occur nowhere else in a stream.
const (
	AnswerMark  = 0x1d // group separator of ASCII; before the text of the answer
	TrailerMark = 0x1e // record separator of ASCII; before the trailer
)

// Protocol implements [wire.ByteStream]. The zero value streams the whole run, with the citations only in the trailer.
type Protocol struct {
	Inline bool  // citations such as " [2]" follow the cited text
	Offset int64 // number of bytes at the start of the stream that are left out
}

var _ wire.ByteStream = Protocol{}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// ContentType implements [wire.Protocol].
func (Protocol) ContentType() string { return ContentType }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection { return &projection{inline: p.Inline, skip: p.Offset} }

// AppendFrame implements [wire.Protocol].
func (Protocol) AppendFrame(dst []byte, f wire.Frame) []byte { return append(dst, f.Data...) }

// From implements [wire.ByteStream].
func (p Protocol) From(offset int64) wire.Protocol {
	p.Offset = offset
	return p
}

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{}, Decode: Decode, Variant: Variant,
		Reply: func(log []event.Event) any { return AnswerOf(log) },
		Fault: func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: Request{}, Reply: Answer{}, Fault: Fault{}, Events: []any{Search{}, Review{}, Trailer{}}, Variant: variantParams{}},
	}
}
