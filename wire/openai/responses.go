package openai

import (
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// ResponsesName is the name of Responses in URLs and flags.
const ResponsesName = "openai-responses"

// includeResults is the value of include that adds what searches found.
const includeResults = "file_search_call.results"

// Responses implements [wire.Protocol] for Responses. Each event of a run has its own frames, so the sequence number of a frame is its place in the
// stream, from 0. The zero value leaves out what searches found.
type Responses struct {
	sse.Encoding
	Results bool // searches have their results
}

var _ wire.Replier = Responses{}

// Name implements [wire.Protocol].
func (Responses) Name() string { return ResponsesName }

// New implements [wire.Protocol].
func (r Responses) New() wire.Projection { return newResponding(r.Results) }

// Reply implements [wire.Replier]: it returns a [Response].
func (r Responses) Reply(log []event.Event) any {
	p := newResponding(r.Results)
	p.quiet = true
	p.Project(nil, log)
	return p.response()
}

// ResponsesAPI returns the description of Responses for a server.
func ResponsesAPI() wire.API {
	return wire.API{
		Protocol: Responses{}, Decode: DecodeResponse, Variant: responsesVariant, Reply: Responses{}.Reply,
		Fault: func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: ResponseRequest{}, Reply: Response{}, Fault: Error{}, Variant: responsesParams{}, Events: []any{ResponseEvent{}, ItemEvent{}, CallEvent{}, PartEvent{},
			TextDelta{}, TextDone{}, AnnotationAdded{}, SummaryPart{}, SummaryDelta{}, SummaryDone{}}},
	}
}

// responsesParams are the parameters of [responsesVariant].
type responsesParams struct {
	Include string `query:"include" enum:"file_search_call.results" description:"For the protocol openai-responses: whether searches have their results. include[] is the same."`
}

// responsesVariant returns the protocol with the parameter include.
func responsesVariant(p wire.Protocol, parameter func(name string) string) (wire.Protocol, error) {
	base, _ := p.(Responses)
	for _, name := range []string{"include", "include[]"} {
		base.Results = base.Results || strings.Contains(parameter(name), includeResults)
	}
	return base, nil
}
