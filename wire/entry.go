package wire

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Question is what a request asks, in whatever protocol. Zero fields stand for the defaults.
type Question struct {
	Query      string
	Mode       event.Mode
	Collection string
	TopK       int
	Session    string
	NoCache    bool
}

// Entry is a protocol with its way in over HTTP. Its functions are pure and may be called at once.
type Entry struct {
	Protocol
	Stream string // path whose POST is answered with a stream
	Once   string // path whose POST is answered with one JSON object; empty: none
	// Decode reads a request's JSON body; a question over maxQuery bytes is an error. Errors are [fault.InvalidRequest]
	// and name the field.
	Decode func(body []byte, maxQuery int) (Question, error)
	// Reply folds a log to the JSON object that a stream's events add up to.
	Reply func(log []event.Event) any
	// Fault is the JSON object of an error that precedes a stream.
	Fault func(f *fault.Error) any
	Types Types
}

// Types are zero values of an entry's JSON objects, for a document that describes them.
type Types struct {
	Request, Reply, Fault any
	Events                []any // the forms of an event's data
}
