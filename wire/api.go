package wire

import (
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Request is a decoded request: the question, and the form of the reply.
type Request struct {
	event.Question
	Turn     Turn     // the place of the question in its session
	OwnModel string   // the requested model if the caller pays it with a key of its own; otherwise ignored
	NoStream bool     // the reply is one JSON object
	Variant  Protocol // requested variant of the protocol, such as another rate; nil: the protocol of the [API]
}

// Turn is the place of a question in its session, as in package session. The zero value continues the active branch.
type Turn struct {
	Parent     string // id of the answer that the question follows
	Edit       string // id of the question that this question replaces; both are kept
	Regenerate string // id of a question or an answer; the question is asked again with its earlier parameters
	Wait       bool   // wait for the open turns of the session instead of failing
	Alone      bool   // the request has the whole history: the messages of the session are not added to it
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

// API describes a protocol to a server: the requests, and the JSON objects of the replies. Its functions are pure and safe for concurrent
// use. Protocols must be comparable: variants that are equal produce the same frames.
type API struct {
	Protocol
	// Decode decodes the JSON body of a request. A question of more than maxQuery bytes is an error. Errors have the code
	// [fault.InvalidRequest] and name the field.
	Decode func(body []byte, maxQuery int) (Request, error)
	// Variant returns the variant of a protocol that the query parameters of a request for the stream of a run select. Settings without a
	// parameter are those of p. It is nil if there is only one variant. Errors are like those of Decode.
	Variant func(p Protocol, parameter func(name string) string) (Protocol, error)
	// Reply returns the JSON object with the result of a run, for a reply without a stream.
	Reply func(log []event.Event) any
	// Fault returns the JSON object of an error that precedes a stream, or a [Text].
	Fault func(f *fault.Error) any
	Types Types
}

// Types has zero values of the types of the JSON objects, for the OpenAPI document.
type Types struct {
	Request, Reply, Fault any
	Events                []any // of the data of events
	Failed                any   // the JSON object that [API.Reply] returns for a run that failed; nil: that of Reply
	Variant               any   // parameters of [API.Variant], with query tags; nil: none
}

// Text is the body of a reply that is a plain text instead of a JSON object.
type Text string
