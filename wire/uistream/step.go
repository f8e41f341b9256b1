package uistream

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of texts in chunks, in bytes unless noted. Clients send the chunks of earlier answers back with each question.
const (
	maxError = 300
	maxTitle = 300
	maxQuote = 400
	maxPages = 20 // numbers
)

// toolGrade is the name of the step that grades passages.
const toolGrade = "grade_passages"

// step returns the chunks of an event that the state includes.
func (p *projection) step(body event.Body) (out []any) {
	switch b := body.(type) {
	case event.Reasoned:
		if !p.thinking {
			p.thinking = true
			p.thoughts++
			out = append(out, Reasoning{"reasoning-start", p.thought()})
		}
		return append(out, ReasoningDelta{"reasoning-delta", p.thought(), b.Text})
	case event.Token:
		out = p.endReasoning()
		if p.written {
			return out // the log is damaged
		}
		if !p.writing {
			p.writing = true
			out = append(out, TextStart{"text-start", textID})
		}
		return append(out, TextDelta{"text-delta", textID, b.Text})
	case event.RunStarted:
		return []any{Start{"start", b.Run.AnswerID(), Metadata{b.Run}}, Step{"start-step"}}
	case event.Cited:
		return p.source(b.N)
	case event.GenerationFinished:
		return p.endText()
	case event.Attributed:
		return p.attributed()
	case event.RunFinished:
		return p.finish()
	case event.RunFailed:
		return p.fail(b)
	}
	if out = p.tool(body); len(out) > 0 {
		out = append(p.endReasoning(), out...)
	}
	return out
}

// thought returns the id of the last part with reasoning.
func (p *projection) thought() string { return "reasoning-" + strconv.Itoa(p.thoughts) }

func (p *projection) endReasoning() []any {
	if !p.thinking {
		return nil
	}
	p.thinking = false
	return []any{Reasoning{"reasoning-end", p.thought()}}
}

// endText ends the parts that are open.
func (p *projection) endText() []any {
	out := p.endReasoning()
	if p.writing {
		p.writing, p.written = false, true
		out = append(out, TextEnd{"text-end", textID, p.citations()})
	}
	return out
}

// call returns the id of a tool call, which is unique among the messages of a chat.
func (p *projection) call(kind string, n int) string {
	return string(p.state.Run) + "-" + kind + "-" + strconv.Itoa(n)
}

func (p *projection) callID(id event.CallID) string { return p.call("call", int(id)) }

func toolInput(id, name string, input json.RawMessage) ToolInput {
	return ToolInput{"tool-input-available", id, name, wire.ToolInput(input), true, true}
}

// tool returns the chunks of an event of a search or of another step.
func (p *projection) tool(body event.Body) []any {
	switch b := body.(type) {
	case event.RetrievalStarted:
		return []any{toolInput(p.callID(b.Call), b.Tool, wire.SearchInput(b))}
	case event.RetrievalFinished:
		return []any{p.found(b)}
	case event.ToolCalled:
		return []any{toolInput(p.callID(b.Call), b.Tool, b.Input)}
	case event.ToolReturned:
		return []any{p.returned(b)}
	case event.Graded:
		id := p.call("grades", len(p.state.Grades))
		return []any{toolInput(id, toolGrade, wire.ToolObject("iteration", b.Iteration)), toolOutput(id, Grades{b.Correct, b.Ambiguous, b.Incorrect, b.Action})}
	case event.Reranked:
		id := p.call("ranking", 1)
		return []any{toolInput(id, event.ToolRerank, wire.ToolObject("passages", b.Inputs)), toolOutput(id, Ranking{len(b.Outputs), b.Duration})}
	}
	return nil
}

func toolOutput(id string, output any) ToolOutput {
	return ToolOutput{"tool-output-available", id, output, true, true}
}

func toolError(id, message string) ToolError {
	return ToolError{"tool-output-error", id, message, true, true}
}

func (p *projection) found(b event.RetrievalFinished) any {
	out, failed := wire.FoundBy(b)
	if failed != "" {
		return toolError(p.callID(b.Call), failed)
	}
	return toolOutput(p.callID(b.Call), out)
}

func (p *projection) returned(b event.ToolReturned) any {
	out, failed := wire.ReturnedBy(b)
	if failed != "" {
		return toolError(p.callID(b.Call), failed)
	}
	return toolOutput(p.callID(b.Call), out)
}

// attributed returns the rest of the sources, and the confidence in a complete answer.
func (p *projection) attributed() []any {
	out := p.endText()
	for i := range p.state.Citations {
		out = append(out, p.source(p.state.Citations[i].N)...)
	}
	if c := wire.ConfidenceOf(&p.state); c != nil {
		out = append(out, ConfidencePart{"data-confidence", "confidence", *c})
	}
	return out
}

func (p *projection) finish() []any {
	out := p.endText()
	if c := wire.CostOf(&p.state); c != nil {
		out = append(out, CostPart{"data-cost", "cost", *c})
	}
	return append(out, Step{"finish-step"}, Finish{"finish", wire.FinishReason(&p.state)}, end)
}

// fail ends the parts that are open, so that clients do not show them as in progress.
func (p *projection) fail(b event.RunFailed) []any {
	out := p.endText()
	const unfinished = "the run ended first"
	for _, s := range p.state.Searches {
		if s.Result == nil {
			out = append(out, toolError(p.callID(s.Call), unfinished))
		}
	}
	for _, c := range p.state.Calls {
		if c.Result == nil {
			out = append(out, toolError(p.callID(c.Call), unfinished))
		}
	}
	message := wire.Clip(cmp.Or(b.Message, string(b.Code)), maxError)
	if b.Code == fault.Cancelled {
		return append(out, Abort{"abort", message}, end)
	}
	return append(out, Error{"error", message}, end)
}
