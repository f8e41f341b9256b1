package turns

import (
	"cmp"
	"strings"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the collection and the ids of messages in a request, in bytes.
const MaxNameLength = 128

// Values of the field and the parameter citations.
const (
	CitationsTrailer = "trailer" // only in the trailer
	CitationsInline  = "inline"  // in the text too
)

// Request is a question in a session.
type Request struct {
	Content    string         `json:"content,omitempty" description:"The question, in any language. Required unless regenerate is set."`
	Parent     string         `json:"parent,omitempty" maxLength:"128" description:"Id of the answer that the question follows. If it is left out, the question follows the last answer of the active branch."`
	Edit       string         `json:"edit,omitempty" maxLength:"128" description:"Id of the question that this question replaces. Both are kept, as branches of the session."`
	Regenerate string         `json:"regenerate,omitempty" maxLength:"128" description:"Id of a question or an answer. The question is asked again with its earlier parameters, without the cache."`
	Wait       bool           `json:"wait,omitempty" description:"Wait until the earlier questions of the session are answered. Without it, the reply is 409 while an answer is in progress."`
	Mode       event.Mode     `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Collection string         `json:"collection,omitempty" maxLength:"128" description:"Collection to search. Default: that of the server, and all uploaded files."`
	TopK       int            `json:"top_k,omitempty" minimum:"0" maximum:"50" description:"Number of passages for the generator. 0 or left out: 5."`
	Method     event.Method   `json:"method,omitempty" enum:"similarity,self_query,hybrid" default:"hybrid" description:"What is searched: vectors alone; words and vectors, among the documents that meet the conditions of the question; or words and vectors."`
	Filter     *filter.Filter `json:"filter,omitempty" description:"Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or."`
	NoCache    bool           `json:"no_cache,omitempty" description:"Do not use the cache, and do not share the run."`
	Citations  string         `json:"citations,omitempty" enum:"trailer,inline" default:"trailer" description:"inline: a citation such as [2] also follows the text that it refers to."`
}

// variantParams are the parameters of [Variant].
type variantParams struct {
	Citations string `query:"citations" enum:"trailer,inline" default:"trailer" description:"For the protocol turns: whether citations also follow the text that they refer to."`
}

// Variant returns the protocol with the parameter citations.
func Variant(p wire.Protocol, parameter func(name string) string) (wire.Protocol, error) {
	variant, _ := p.(Protocol)
	citations := parameter("citations")
	if citations != "" {
		variant.Inline = citations == CitationsInline
	}
	return variant, checkCitations(citations)
}

func checkCitations(value string) error {
	if value != "" && value != CitationsTrailer && value != CitationsInline {
		return fault.Invalid("citations", "want %s or %s", CitationsTrailer, CitationsInline)
	}
	return nil
}

// Decode decodes the body of a request for a server.
func Decode(body []byte, maxQuery int) (wire.Request, error) {
	r, err := DecodeRequest(body, maxQuery)
	if err != nil {
		return wire.Request{}, err
	}
	return wire.Request{
		Question: event.Question{Query: r.Content, Mode: r.Mode, Collection: r.Collection, TopK: r.TopK, Method: r.Method, Filter: r.Filter, NoCache: r.NoCache},
		Turn:     wire.Turn{Parent: r.Parent, Edit: r.Edit, Regenerate: r.Regenerate, Wait: r.Wait},
		Variant:  Protocol{Inline: r.Citations == CitationsInline},
	}, nil
}

// DecodeRequest decodes and validates the body of a request. The question may have maxQuery bytes. Unknown and repeated
// fields are errors. Errors have the code [fault.InvalidRequest] and name the field.
func DecodeRequest(body []byte, maxQuery int) (Request, error) {
	r := Request{Mode: event.Agentic}
	if err := wire.Decode(body, &r); err != nil {
		return r, err
	}
	return r, r.check(maxQuery)
}

func (r *Request) check(maxQuery int) error {
	switch {
	case r.Regenerate == "" && strings.TrimSpace(r.Content) == "":
		return fault.Invalid("content", "required, and not only white space")
	case r.Regenerate != "" && r.Content != "":
		return fault.Invalid("content", "not with regenerate, which asks the question as it was")
	case r.Regenerate != "" && (r.Parent != "" || r.Edit != ""):
		return fault.Invalid("regenerate", "not with parent or edit")
	case r.Edit != "" && r.Parent != "":
		return fault.Invalid("edit", "not with parent: the question follows the same message as the one that it replaces")
	case r.Mode != event.Agentic && r.Mode != event.Direct:
		return fault.Invalid("mode", "want agentic or direct")
	case r.Method != "" && r.Method != event.SimilaritySearch && r.Method != event.SelfQuery && r.Method != event.HybridSearch:
		return fault.Invalid("method", "want %s, %s or %s", event.SimilaritySearch, event.SelfQuery, event.HybridSearch)
	case r.TopK < 0 || r.TopK > event.MaxTopK:
		return fault.Invalid("top_k", "want 1 to %d, or 0 for the default", event.MaxTopK)
	}
	return cmp.Or(checkCitations(r.Citations), wire.CheckText("content", r.Content, maxQuery), wire.CheckText("collection", r.Collection, MaxNameLength),
		wire.CheckText("parent", r.Parent, MaxNameLength), wire.CheckText("edit", r.Edit, MaxNameLength), wire.CheckText("regenerate", r.Regenerate, MaxNameLength))
}

// AnswerOf converts the events of a run to the reply without a stream. The positions of citations are those in the content without
// citations.
func AnswerOf(log []event.Event) Answer {
	var g Grammar
	p := &projection{}
	for _, f := range p.Project(nil, log) {
		_, _ = g.Write(f.Data) // the projection keeps to the grammar
	}
	a := Answer{Outcome: outcomeOf(&p.state, p.cited), Content: string(g.Text)}
	if f := p.state.Failure; f != nil {
		a.Error, a.Message = ChatFailed, clip(f.Message, maxError)
	}
	return a
}
