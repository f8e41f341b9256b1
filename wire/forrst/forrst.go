// Package forrst projects the events of a run to the stream of a Forrst call: server-sent events of the stream extension. [Grammar] defines
// their order. Package forrst at the root of the module implements the protocol itself.
package forrst

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "forrst"

// The names of the events. Data is used for the greeting too, which is the first event.
const (
	EventData     = "data"
	EventProgress = "progress"
	EventDone     = "done"
	EventError    = "error"
	EventComplete = "complete"
)

// Protocol implements [wire.Protocol].
type Protocol struct {
	sse.Encoding
	// ID is the id in the document of the last event: that of the request that the stream replies to. Empty: the id of the run.
	ID string
}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection { return &projection{id: p.ID} }

// API returns the description of the protocol for a server. It has no Decode: a question is a call of a function, whose arguments [Decode] decodes.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{},
		Reply:    func(log []event.Event) any { return AnswerOf(log) },
		Fault:    func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: Call{}, Reply: Document{}, Fault: Document{},
			Events: []any{Greeting{}, Content{}, Progress{}, Answer{}, Failure{}, Document{}}},
	}
}
