package anthropic

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Limits of texts in citations, in bytes.
const (
	maxTitle  = 300
	maxSource = 2 << 10
	maxCited  = 2 << 10
)

// projection folds the run. Each event of a run has its own frames, so that every frame can be resumed.
type projection struct {
	thinking bool // the reasoning of models is projected
	state    event.State
	sent     int              // bytes of the text that were sent
	noted    int              // citations of the text that were sent or left out
	block    string           // type of the open block; empty: none
	index    int              // of the open block, or of the next one
	cited    bool             // the open block has a citation, so that it only gets the end of the sentence
	quotes   map[int][]string // cited sentences by the number of their source
	buf      []byte           // backs the data of the frames of one call
}

func newProjection(thinking bool) *projection {
	return &projection{thinking: thinking, quotes: map[int][]string{}}
}

// Project implements [wire.Projection].
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for _, e := range batch {
		p.state.Apply(e)
		first := len(dst)
		if b, ok := e.Body.(event.Token); ok && p.block == blockText && !p.cited && p.noted == len(p.state.Citations) {
			p.sent = len(p.state.Text)
			dst = p.piece(dst, b.Text)
		} else {
			for _, payload := range p.step(e.Body) {
				start := len(p.buf)
				p.buf = sse.AppendJSON(p.buf, payload)
				dst = append(dst, wire.Frame{Event: nameOf(payload), Data: p.buf[start:len(p.buf):len(p.buf)]})
			}
		}
		wire.NumberFrames(dst[first:], e.Seq)
	}
	return dst
}

// piece appends the frame of a piece of the text. It needs no allocation once the buffers have grown.
func (p *projection) piece(dst []wire.Frame, text string) []wire.Frame {
	if text == "" {
		return dst
	}
	start := len(p.buf)
	p.buf = strconv.AppendInt(append(p.buf, `{"type":"content_block_delta","index":`...), int64(p.index), 10)
	p.buf = append(p.buf, `,"delta":{"type":"text_delta","text":`...)
	p.buf = append(event.AppendString(p.buf, text), "}}"...)
	return append(dst, wire.Frame{Event: "content_block_delta", Data: p.buf[start:len(p.buf):len(p.buf)]})
}

// nameOf returns the name of an event, which is its type.
func nameOf(payload any) string {
	switch b := payload.(type) {
	case MessageStart:
		return b.Type
	case TextStart:
		return b.Type
	case ThinkingStart:
		return b.Type
	case BlockStop:
		return b.Type
	case MessageDelta:
		return b.Type
	case MessageStop:
		return b.Type
	case Error:
		return b.Type
	}
	return "content_block_delta"
}

// step returns the events of the protocol for an event that the state includes.
func (p *projection) step(body event.Body) []any {
	switch b := body.(type) {
	case event.RunStarted:
		return []any{MessageStart{"message_start", Message{ID: string(b.Run), Type: "message", Role: event.RoleAssistant, Model: modelOf(&b), Content: []any{}}}}
	case event.Reasoned:
		return p.think(b.Text)
	case event.Token, event.Cited:
		return p.write(false)
	case event.Attributed:
		return p.write(true)
	case event.RunFinished:
		out := append(p.write(true), p.stop()...)
		return append(out, MessageDelta{Type: "message_delta", Delta: Stop{StopReason: p.reason()}, Usage: p.counts()}, MessageStop{"message_stop"})
	case event.RunFailed:
		out := append(p.write(true), p.stop()...)
		return append(out, FaultOf(&fault.Error{Code: b.Code, Message: b.Message}, p.state.Run))
	}
	return nil
}

// stop ends the open block.
func (p *projection) stop() []any {
	if p.block == "" {
		return nil
	}
	p.block, p.cited = "", false
	p.index++
	return []any{BlockStop{"content_block_stop", p.index - 1}}
}

// think returns a piece of the reasoning of a model. Reasoning after the text has begun is left out: a block of its own would divide the text from its citations.
func (p *projection) think(text string) (out []any) {
	if !p.thinking || text == "" || len(p.state.Text) > 0 {
		return nil
	}
	if p.block == "" {
		p.block = blockThinking
		out = append(out, ThinkingStart{"content_block_start", p.index, ThinkingBlock{Type: blockThinking}})
	}
	d := ThinkingDelta{Type: "content_block_delta", Index: p.index}
	d.Delta.Type, d.Delta.Thinking = "thinking_delta", text
	return append(out, d)
}

// write returns the text and the citations that were not sent yet. A citation whose source is not known yet, as in an answer of the cache, holds back itself and the text
// after it, because the citations of a block cannot follow the next block. all is set if no more sources will be known.
func (p *projection) write(all bool) (out []any) {
	s := &p.state
	for ; p.noted < len(s.Citations); p.noted++ {
		c := s.Citations[p.noted]
		out = append(out, p.say(s.Text[p.sent:c.At])...)
		src := c.Source
		if src == nil {
			src = wire.SourceOf(s, c.N)
		}
		if src == nil && !all {
			return out
		}
		if src != nil && p.block == blockText {
			p.cited = true
			d := CitationsDelta{Type: "content_block_delta", Index: p.index}
			d.Delta.Type, d.Delta.Citation = "citations_delta", p.citation(c.Cited, src)
			out = append(out, d)
		}
	}
	return append(out, p.say(s.Text[p.sent:])...)
}

// say returns the next piece of the text. Text after a citation begins a new block, except for the end of the sentence: models write citations before or after it.
func (p *projection) say(text []byte) (out []any) {
	p.sent += len(text)
	if p.cited {
		rest := bytes.TrimLeft(text, wire.SentenceEnds)
		out = p.piecesOf(text[:len(text)-len(rest)])
		text = rest
	}
	if len(text) > 0 && (p.block != blockText || p.cited) {
		out = append(out, p.stop()...)
		p.block = blockText
		out = append(out, TextStart{"content_block_start", p.index, TextBlock{Type: blockText, Citations: []Citation{}}})
	}
	return append(out, p.piecesOf(text)...)
}

// piecesOf returns a piece of the open block; none if the text is empty.
func (p *projection) piecesOf(text []byte) []any {
	if len(text) == 0 {
		return nil
	}
	d := TextDelta{Type: "content_block_delta", Index: p.index}
	d.Delta.Type, d.Delta.Text = "text_delta", string(text)
	return []any{d}
}

// citation returns a citation of a source. One whose sentence is not known repeats the last sentence of the source that was cited.
func (p *projection) citation(c event.Cited, s *event.Source) Citation {
	quotes := p.quotes[c.N]
	n := len(quotes) - 1
	if c.Source != nil || n < 0 {
		text := wire.Clip(cmp.Or(s.CitedText(), s.Text), maxCited)
		if n = slices.Index(quotes, text); n < 0 {
			n, quotes = len(quotes), append(quotes, text)
			p.quotes[c.N] = quotes
		}
	}
	return Citation{Type: "search_result_location", SearchResultIndex: c.N - 1, StartBlockIndex: n, EndBlockIndex: n + 1, CitedText: quotes[n],
		Source: wire.Clip(cmp.Or(wire.WebURL(s), s.File, s.URI, s.Name, string(s.Document)), maxSource), Title: wire.Clip(cmp.Or(s.Title, s.Name, string(s.Document)), maxTitle)}
}

// reason returns why the text ended.
func (p *projection) reason() string {
	switch p.state.Stop {
	case event.StopLength, event.StopIncomplete:
		return "max_tokens"
	case event.StopFiltered:
		return "refusal"
	}
	return "end_turn"
}

// counts returns what the run cost.
func (p *projection) counts() Counts {
	sum := p.state.Cost()
	c := Counts{InputTokens: max(sum.Input-sum.Cached, 0), OutputTokens: sum.Output}
	if sum.Cached > 0 {
		c.CacheRead = &sum.Cached
	}
	if sum.Reasoning > 0 {
		c.OutputDetails = &OutputDetails{sum.Reasoning}
	}
	return c
}

// Reply implements [wire.Replier]. It returns the [Message] that the events of a stream add up to, or an [Error] if the run failed.
func (p Protocol) Reply(log []event.Event) any {
	var m Message
	fold := newProjection(p.Thinking)
	for _, e := range log {
		fold.state.Apply(e)
		for _, payload := range fold.step(e.Body) {
			switch b := payload.(type) {
			case MessageStart:
				m = b.Message
			case TextStart:
				m.Content = append(m.Content, b.ContentBlock)
			case ThinkingStart:
				m.Content = append(m.Content, b.ContentBlock)
			case TextDelta:
				block, _ := m.Content[b.Index].(TextBlock)
				block.Text += b.Delta.Text
				m.Content[b.Index] = block
			case ThinkingDelta:
				block, _ := m.Content[b.Index].(ThinkingBlock)
				block.Thinking += b.Delta.Thinking
				m.Content[b.Index] = block
			case CitationsDelta:
				block, _ := m.Content[b.Index].(TextBlock)
				block.Citations = append(block.Citations, b.Delta.Citation)
				m.Content[b.Index] = block
			case MessageDelta:
				m.StopReason, m.Usage.Counts = &b.Delta.StopReason, b.Usage
			case Error:
				return b
			}
		}
	}
	return m
}
