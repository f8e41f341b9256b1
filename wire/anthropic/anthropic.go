// Package anthropic implements the Messages protocol of Anthropic. The objects have the form of the types of Anthropic's SDK for TypeScript, version 1
// (https://github.com/anthropics/anthropic-sdk-typescript, src/resources/messages/messages.ts); the API reference describes them
// (https://platform.claude.com/docs/en/api/messages).
package anthropic

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "anthropic"

// Protocol implements [wire.Protocol], [wire.Heartbeater] and [wire.Replier]. The zero value has no reasoning of models.
type Protocol struct {
	sse.Encoding
	Thinking bool // the message has the reasoning of models
}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection { return newProjection(p.Thinking) }

// AppendHeartbeat implements [wire.Heartbeater]. The event has no id, so it does not move the position of a client.
func (Protocol) AppendHeartbeat(dst []byte, _ time.Time) []byte {
	return append(dst, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{}, Decode: Decode, Variant: variant, Reply: Protocol{}.Reply,
		Fault: func(f *fault.Error) any { return FaultOf(f, "") },
		Types: wire.Types{Request: Request{}, Reply: Message{}, Failed: Error{}, Fault: Error{}, Variant: parameters{}, Events: []any{MessageStart{}, TextStart{}, ThinkingStart{}, TextDelta{},
			ThinkingDelta{}, CitationsDelta{}, BlockStop{}, MessageDelta{}, MessageStop{}, Ping{}, Error{}}},
	}
}

// parameters are those of [variant].
type parameters struct {
	Thinking bool `query:"thinking" description:"For the protocol anthropic: whether the message has the reasoning of models."`
}

// variant returns the protocol with the parameter thinking.
func variant(p wire.Protocol, parameter func(name string) string) (wire.Protocol, error) {
	base, _ := p.(Protocol)
	if s := parameter("thinking"); s != "" {
		var err error
		if base.Thinking, err = strconv.ParseBool(s); err != nil {
			return nil, fault.Invalid("thinking", "want true or false")
		}
	}
	return base, nil
}

// FaultOf converts an error. The run is the one that failed; empty: none was started.
func FaultOf(f *fault.Error, run event.RunID) Error {
	e := Error{Type: "error", Error: ErrorBody{Message: cmp.Or(f.Message, string(f.Code))}}
	switch f.Code {
	case fault.InvalidRequest, fault.Conflict, fault.TooLarge, fault.NoDocuments, fault.Cancelled:
		e.Error.Type = "invalid_request_error"
	case fault.Unauthenticated:
		e.Error.Type = "authentication_error"
	case fault.Payment:
		e.Error.Type = "billing_error"
	case fault.Forbidden:
		e.Error.Type = "permission_error"
	case fault.NotFound:
		e.Error.Type = "not_found_error"
	case fault.Overloaded, fault.Quota:
		e.Error.Type = "rate_limit_error"
	case fault.Timeout:
		e.Error.Type = "timeout_error"
	case fault.Unavailable:
		e.Error.Type = "overloaded_error"
	default:
		e.Error.Type = "api_error"
	}
	if run != "" {
		e.RequestID = new(string(run))
	}
	return e
}

// echo is what a run keeps of a request for its projections.
type echo struct {
	Model string `json:"model,omitempty"`
}

// modelOf returns the model of a message: the requested one.
func modelOf(b *event.RunStarted) string {
	var asked echo
	if b.Protocol == Name && json.Unmarshal(b.Request, &asked) == nil && asked.Model != "" {
		return wire.Clip(asked.Model, MaxNameLength)
	}
	return wire.Clip(cmp.Or(b.Model, wire.ModelDefault), MaxNameLength)
}
