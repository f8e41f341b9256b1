package wire

import (
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Request is a decoded request: the question, and how the client wants the reply.
type Request struct {
	event.Question
	Once bool // a request to [Entry.Stream] that wants one JSON object
	// As is the protocol in the form that the request wants, such as one at another pace; nil: the entry's own.
	As Protocol
}

// Throttled is also implemented by protocols that limit the rate of their frames. Each of their frames holds the whole state
// of the run, so one frame can replace several earlier ones.
type Throttled interface {
	// MinInterval returns the minimum time between two frames if all events since the first may be coalesced. 0: no limit.
	MinInterval() time.Duration
	// Coalesces reports whether the frame of an event may be delayed and merged with later ones. That is true of text, and
	// false of events that begin or end something.
	Coalesces(b event.Body) bool
}

// Entry is a protocol with its way in over HTTP. Protocols are comparable values. Its functions are pure and may be called at once.
type Entry struct {
	Protocol
	Stream string // path whose POST is answered with a stream
	Once   string // path whose POST is answered with one JSON object; empty: none
	// Decode reads a request's JSON body; a question over maxQuery bytes is an error. Errors are [fault.InvalidRequest]
	// and name the field.
	Decode func(body []byte, maxQuery int) (Request, error)
	// View gives the protocol in the form that parameters of a request for a run's stream ask for, by their names; nil: it has
	// but one. Forms that equal each other are the same form. Errors are as those of Decode.
	View func(parameter func(name string) string) (Protocol, error)
	// Tells says that a Reply tells of a run's failure itself, so that its HTTP status is 200 whatever became of the run.
	Tells bool
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
	View                  any   // the parameters that [Entry.View] asks for, in fields with a query tag; nil: none
}
