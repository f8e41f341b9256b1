package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// ChatName is the name of Chat Completions in URLs and flags.
const ChatName = "openai-chat"

// Chat implements [wire.Protocol] for Chat Completions. The zero value streams without usage.
type Chat struct {
	sse.Encoding
	Usage  bool   // a chunk with the usage precedes the end of the stream
	Origin string // of the pages of documents without a URL, such as http://localhost:8000; empty: they are not cited
}

// Name implements [wire.Protocol].
func (Chat) Name() string { return ChatName }

// New implements [wire.Protocol].
func (c Chat) New() wire.Projection { return &chatProjection{usage: c.Usage, origin: c.Origin} }

// LinkTo implements [wire.Linked].
func (c Chat) LinkTo(origin string) wire.Protocol {
	c.Origin = origin
	return c
}

// ChatAPI returns the description of Chat Completions for a server.
func ChatAPI() wire.API {
	return wire.API{
		Protocol: Chat{}, Decode: DecodeChat, Variant: chatVariant,
		Reply: func(log []event.Event) any { return Chat{}.Reply(log) },
		Fault: func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: ChatRequest{}, Reply: Completion{}, Failed: Error{}, Fault: Error{}, Events: []any{Chunk{}, Error{}}, Variant: chatParams{}},
	}
}

// chatParams are the parameters of [chatVariant].
type chatParams struct {
	IncludeUsage bool `query:"include_usage" description:"For the protocol openai-chat: whether a chunk with the usage precedes the end of the stream."`
}

// chatVariant returns the protocol with the parameter include_usage.
func chatVariant(p wire.Protocol, parameter func(name string) string) (wire.Protocol, error) {
	base, _ := p.(Chat)
	if s := parameter("include_usage"); s != "" {
		var err error
		if base.Usage, err = strconv.ParseBool(s); err != nil {
			return nil, fault.Invalid("include_usage", "want true or false")
		}
	}
	return base, nil
}

// DecodeChat decodes and validates the body of a request. Unknown fields are ignored, because front ends send more than OpenAI documents. Errors
// have the code [fault.InvalidRequest] and name the field.
func DecodeChat(body []byte, maxQuery int) (wire.Request, error) {
	var r ChatRequest
	if err := wire.DecodeKnown(body, &r); err != nil {
		return wire.Request{}, err
	}
	q := wire.Request{NoStream: !r.Stream}
	var all []wire.ChatMessage
	for i, m := range r.Messages {
		read := readContent(fmt.Sprintf("messages[%d].content", i), m.Content)
		read.Role = m.Role
		switch m.Role {
		case event.RoleUser, event.RoleAssistant, wire.RoleSystem, wire.RoleDeveloper:
		case "tool", "function": // results of tools that other models called
		default:
			return q, fault.Invalid(fmt.Sprintf("messages[%d].role", i), "want system, developer, user, assistant or tool")
		}
		all = append(all, read)
	}
	if err := wire.SetMessages(&q.Question, "messages", all, maxQuery); err != nil {
		return q, err
	}
	format := ""
	if r.ResponseFormat != nil {
		format = r.ResponseFormat.Type
	}
	if r.N > 1 || r.N < 0 {
		return q, fault.Invalid("n", "want 1")
	}
	err := cmp.Or(wire.CheckText("model", r.Model, MaxNameLength), wire.CheckText("collection", r.Collection, MaxNameLength), checkFormat("response_format", format), checkChoice(r.ToolChoice, false),
		checkSettings(&q.Question, r.Temperature, map[string]int{"max_tokens": r.MaxTokens, "max_completion_tokens": r.MaxCompletionTokens}))
	if err != nil {
		return q, err
	}
	wire.SetModel(&q.Question, r.Model, r.Collection)
	q.Ephemeral = r.Store != nil && !*r.Store
	if r.StreamOptions != nil && r.StreamOptions.IncludeUsage {
		q.Variant = Chat{Usage: true}
	}
	q.Request, err = json.Marshal(echo{Model: r.Model})
	return q, err
}

// Reply implements [wire.Replier]. It returns the reply to a request without a stream: a [Completion], or an [Error] if the run failed.
func (c Chat) Reply(log []event.Event) any {
	p := chatProjection{origin: c.Origin}
	var text []byte
	for _, e := range log {
		p.state.Apply(e)
		text = append(text, p.say(e.Body)...)
	}
	if f := p.state.Failure; f != nil {
		return FaultOf(&fault.Error{Code: f.Code, Message: f.Message})
	}
	reason := p.reason()
	return Completion{ID: string(p.state.Run), Object: "chat.completion", Created: p.state.StartedAt.Unix(), Model: modelOf(p.state.RunStarted, ChatName), Usage: p.tokens(),
		Choices: []Choice{{Message: ChatMessage{Role: event.RoleAssistant, Content: string(text), Annotations: p.links()}, FinishReason: &reason}}}
}

// chatProjection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type chatProjection struct {
	usage  bool
	origin string
	state  event.State
	notes  []URLAnnotation // in the order of the text
	urls   []string        // without repetitions
	chars  int             // characters of the text so far
	head   []byte          // the fields before the delta of a chunk
	buf    []byte          // backs the data of the frames of one call
}

// Project implements [wire.Projection].
func (p *chatProjection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		p.state.Apply(e)
		first := len(dst)
		switch b := e.Body.(type) {
		case event.RunStarted:
			p.begin()
			dst = p.delta(dst, Delta{Role: event.RoleAssistant, Content: new("")}, "")
		case event.Token, event.Cited:
			dst = p.piece(dst, p.say(b))
		case event.RunFinished:
			dst = p.finish(dst)
		case event.RunFailed:
			start := len(p.buf)
			p.buf = sse.AppendJSON(p.buf, FaultOf(&fault.Error{Code: b.Code, Message: b.Message}))
			dst = p.frame(dst, start)
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// begin encodes the fields that all chunks have in common.
func (p *chatProjection) begin() {
	p.head = append(p.head, `{"id":`...)
	p.head = event.AppendString(p.head, string(p.state.Run))
	p.head = append(p.head, `,"object":"chat.completion.chunk","created":`...)
	p.head = strconv.AppendInt(p.head, p.state.StartedAt.Unix(), 10)
	p.head = append(p.head, `,"model":`...)
	p.head = event.AppendString(p.head, modelOf(p.state.RunStarted, ChatName))
	p.head = append(p.head, `,"choices":[`...)
}

// say returns what an event adds to the text of the answer: a piece of it, or the marker of a citation whose source has a URL.
func (p *chatProjection) say(b event.Body) string {
	text := ""
	switch b := b.(type) {
	case event.Token:
		text = b.Text
	case event.Cited:
		text = p.cite(b)
	}
	p.chars += characters(text)
	return text
}

// frame appends a frame with the data from start on.
func (p *chatProjection) frame(dst []wire.Frame, start int) []wire.Frame {
	return append(dst, wire.Frame{Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// piece appends the chunk of a piece of the text. It needs no allocation once the buffers have grown.
func (p *chatProjection) piece(dst []wire.Frame, text string) []wire.Frame {
	if text == "" {
		return dst
	}
	start := len(p.buf)
	p.buf = append(append(p.buf, p.head...), `{"index":0,"delta":{"content":`...)
	p.buf = event.AppendString(p.buf, text)
	p.buf = append(p.buf, `},"finish_reason":null}]`...)
	return p.frame(dst, p.end(start))
}

// delta appends a chunk. The reason is empty except in the last chunk with a choice.
func (p *chatProjection) delta(dst []wire.Frame, d Delta, reason string) []wire.Frame {
	start := len(p.buf)
	p.buf = append(append(p.buf, p.head...), `{"index":0,"delta":`...)
	p.buf = sse.AppendJSON(p.buf, d)
	p.buf = append(p.buf, `,"finish_reason":`...)
	if reason == "" {
		p.buf = append(p.buf, `null}]`...)
	} else {
		p.buf = append(event.AppendString(p.buf, reason), `}]`...)
	}
	return p.frame(dst, p.end(start))
}

// end appends the last field of a chunk with a choice and returns start.
func (p *chatProjection) end(start int) int {
	if p.usage {
		p.buf = append(p.buf, `,"usage":null`...)
	}
	p.buf = append(p.buf, '}')
	return start
}

// finish appends the frames of the end of the run.
func (p *chatProjection) finish(dst []wire.Frame) []wire.Frame {
	if len(p.notes) > 0 {
		dst = p.delta(dst, Delta{Annotations: p.notes}, "")
	}
	dst = p.delta(dst, Delta{}, p.reason())
	if p.usage {
		start := len(p.buf)
		p.buf = append(append(p.buf, p.head...), `],"usage":`...)
		p.buf = append(sse.AppendJSON(p.buf, p.tokens()), '}')
		dst = p.frame(dst, start)
	}
	start := len(p.buf)
	p.buf = append(p.buf, "[DONE]"...)
	return p.frame(dst, start)
}

// reason returns why the text ended.
func (p *chatProjection) reason() string {
	switch p.state.Stop {
	case event.StopLength, event.StopIncomplete:
		return "length"
	case event.StopFiltered:
		return "content_filter"
	}
	return "stop"
}

// tokens returns what the run cost.
func (p *chatProjection) tokens() ChatUsage {
	sum := p.state.Cost()
	return ChatUsage{sum.Input, sum.Output, sum.Input + sum.Output, PromptDetails{sum.Cached}, CompletionDetails{sum.Reasoning}}
}
