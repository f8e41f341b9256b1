package agui

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of texts in events, in bytes unless noted. Clients send the messages and the state of earlier runs back with each question.
const (
	maxError = 300
	maxTitle = 300
	maxQuote = 400
	maxPages = 20 // numbers
)

// The stages of a run, which are its steps, and how it ends.
const (
	stageAnalyze  = "analyze"
	stageRetrieve = "retrieve"
	stageGenerate = "generate"
	stageVerify   = "verify"
)

// The kinds of activities.
const (
	grading      = "grading"
	reranking    = "reranking"
	verification = "verification"
)

// step returns the payloads of an event that the state includes.
func (p *projection) step(body event.Body) (out []any) {
	switch b := body.(type) {
	case event.RunStarted:
		return p.begin(b)
	case event.Reasoned:
		return p.reason(b.Text)
	case event.Token:
		return p.token(b.Text)
	case event.Cited:
		return patch(p.source(nil, b.N))
	case event.GenerationStarted:
		return append(p.endReasoning(), p.enter(stageGenerate)...)
	case event.GenerationFinished:
		return append(p.endText(), p.enter(stageVerify)...)
	case event.Attributed:
		return p.attributed()
	case event.RunFinished:
		return p.finish()
	case event.RunFailed:
		return p.fail(b)
	}
	if out = p.tool(body); len(out) > 0 && p.stage == stageAnalyze {
		out = append(p.enter(stageRetrieve), out...)
	}
	out = append(out, p.activity(body)...)
	if len(out) > 0 {
		out = append(p.endReasoning(), out...)
	}
	return out
}

// messageID returns the id of the answer.
func (p *projection) messageID() string { return p.state.Run.AnswerID() }

// id returns the id of another message or a tool call, which is unique in a thread.
func (p *projection) id(kind string, n int) string {
	return string(p.state.Run) + "-" + kind + "-" + strconv.Itoa(n)
}

// thread returns the id of the thread.
func (p *projection) thread() string { return cmp.Or(p.state.Session, string(p.state.Run)) }

func (p *projection) begin(b event.RunStarted) []any {
	p.stage = stageAnalyze
	return []any{RunStarted{"RUN_STARTED", p.state.UpdatedAt.UnixMilli(), p.thread(), b.Run, Version},
		StateSnapshot{"STATE_SNAPSHOT", State{RunID: b.Run, Stage: p.stage, Sources: []Source{}, Citations: []Citation{}}}, Step{"STEP_STARTED", p.stage}}
}

// patch returns the change of the state by the operations, if there are any.
func patch(operations []Operation) []any {
	if len(operations) == 0 {
		return nil
	}
	return []any{StateDelta{"STATE_DELTA", operations}}
}

func setStage(name string) Operation { return Operation{"replace", "/stage", name} }

// enter ends the step in progress and begins another one.
func (p *projection) enter(stage string) []any {
	if p.stage == stage {
		return nil
	}
	out := append(p.endStep(), Step{"STEP_STARTED", stage}, StateDelta{"STATE_DELTA", []Operation{setStage(stage)}})
	p.stage = stage
	return out
}

func (p *projection) endStep() []any {
	if p.stage == "" {
		return nil
	}
	out := []any{Step{"STEP_FINISHED", p.stage}}
	p.stage = ""
	return out
}

func (p *projection) reason(text string) (out []any) {
	if !p.thinking {
		p.thinking = true
		p.thoughts++
		id := p.id("reasoning", p.thoughts)
		out = append(out, Reasoning{"REASONING_START", id}, ReasoningStart{"REASONING_MESSAGE_START", id, "reasoning"})
	}
	return append(out, ReasoningContent{"REASONING_MESSAGE_CONTENT", p.id("reasoning", p.thoughts), text})
}

func (p *projection) endReasoning() []any {
	if !p.thinking {
		return nil
	}
	p.thinking = false
	id := p.id("reasoning", p.thoughts)
	return []any{Reasoning{"REASONING_MESSAGE_END", id}, Reasoning{"REASONING_END", id}}
}

func (p *projection) token(text string) []any {
	out := p.endReasoning()
	if p.written {
		return out // the log is damaged
	}
	if !p.writing {
		p.writing = true
		out = append(out, p.enter(stageGenerate)...)
		out = append(out, TextStart{"TEXT_MESSAGE_START", p.messageID(), "assistant"})
	}
	return append(out, TextContent{"TEXT_MESSAGE_CONTENT", p.messageID(), text})
}

// endText ends the messages that are open.
func (p *projection) endText() []any {
	out := p.endReasoning()
	if p.writing {
		p.writing, p.written = false, true
		out = append(out, TextEnd{"TEXT_MESSAGE_END", p.messageID()})
	}
	return out
}

// tool returns the payloads of an event of a search or of another tool.
func (p *projection) tool(body event.Body) []any {
	switch b := body.(type) {
	case event.RetrievalStarted:
		return p.call(b.Call, b.Tool, wire.SearchInput(b))
	case event.ToolCalled:
		return p.call(b.Call, b.Tool, wire.ToolInput(b.Input))
	case event.RetrievalFinished:
		out, failed := wire.FoundBy(b)
		return []any{p.result(b.Call, out, failed)}
	case event.ToolReturned:
		out, failed := wire.ReturnedBy(b)
		return []any{p.result(b.Call, out, failed)}
	}
	return nil
}

func (p *projection) call(n event.CallID, name string, input json.RawMessage) []any {
	id := p.id("call", int(n))
	return []any{ToolCallStart{"TOOL_CALL_START", id, name, p.id("calls", 1)}, ToolCallArgs{"TOOL_CALL_ARGS", id, string(input)}, ToolCallEnd{"TOOL_CALL_END", id}}
}

// result returns the result of a tool call: the output, or an error if there is a message.
func (p *projection) result(n event.CallID, output any, failed string) any {
	content := wire.ToolObject("error", failed)
	if failed == "" {
		if text, err := json.Marshal(output); err == nil { // the result of a tool is valid JSON
			content = text
		}
	}
	return ToolCallResult{"TOOL_CALL_RESULT", p.id("result", int(n)), p.id("call", int(n)), string(content), "tool"}
}

// activity returns the payloads of an event of a step that is no tool call.
func (p *projection) activity(body event.Body) []any {
	snapshot := func(kind string, content any) []any {
		return []any{ActivitySnapshot{"ACTIVITY_SNAPSHOT", p.id(kind, 1), kind, content}}
	}
	switch b := body.(type) {
	case event.Graded:
		round := Round{b.Iteration, b.Correct, b.Ambiguous, b.Incorrect, b.Action}
		if p.rounds++; p.rounds > 1 {
			return []any{ActivityDelta{"ACTIVITY_DELTA", p.id(grading, 1), grading, []Operation{{"add", "/rounds/-", round}}}}
		}
		return snapshot(grading, Grading{[]Round{round}})
	case event.Reranked:
		return snapshot(reranking, Reranking{b.Method, b.Inputs, len(b.Outputs), b.Duration})
	case event.Verified:
		return snapshot(verification, Verification{len(b.Claims), b.Count(event.Supported), b.Count(event.PartiallySupported), b.Flagged})
	}
	return nil
}

// source adds the source with a number to the state, unless it is there or not known yet.
func (p *projection) source(operations []Operation, n int) []Operation {
	s := wire.SourceOf(&p.state, n)
	if s == nil || p.shown[n] {
		return operations
	}
	p.shown[n] = true
	return append(operations, Operation{"add", "/sources/-", Source{N: n, Title: wire.Clip(cmp.Or(s.Title, s.Name, string(s.Document)), maxTitle), URL: wire.LinkOf(p.origin, s),
		Name: wire.Clip(s.Name, maxTitle), ChunkID: string(s.Chunk), DocumentID: string(s.Document), Heading: wire.Clip(s.Heading, maxTitle),
		Pages: s.Pages[:min(len(s.Pages), maxPages)], Score: wire.Round(s.Score), Quote: wire.Clip(cmp.Or(s.CitedText(), s.Text), maxQuote)}})
}

// attributed adds the rest of the cited sources, the citations, and the confidence in a complete answer.
func (p *projection) attributed() []any {
	out := p.endText()
	var operations []Operation
	for i := range p.state.Citations {
		operations = p.source(operations, p.state.Citations[i].N)
	}
	citations := []Citation{}
	for _, part := range wire.CitedParts(&p.state) {
		citations = append(citations, Citation{part.Source.N, part.Start, part.End})
	}
	operations = append(operations, Operation{"replace", "/citations", citations})
	if c := wire.ConfidenceOf(&p.state); c != nil {
		operations = append(operations, Operation{"add", "/confidence", c})
	}
	return append(out, patch(operations)...)
}

// usage returns what each model used, in the order of their first calls.
func (p *projection) usage() (all []TokenUsage) {
	at := map[string]int{}
	for _, u := range p.state.Usage {
		i, ok := at[u.Model]
		if !ok {
			i, at[u.Model] = len(all), len(all)
			all = append(all, TokenUsage{Model: u.Model})
		}
		all[i].InputTokens += u.Input
		all[i].OutputTokens += u.Output
		all[i].TotalTokens = all[i].InputTokens + all[i].OutputTokens
	}
	return all
}

// end ends what is open, and sets the last stage and the cost in the state.
func (p *projection) end(stage string) []any {
	out := p.endText()
	const unfinished = "the run ended first"
	for _, s := range p.state.Searches {
		if s.Result == nil {
			out = append(out, p.result(s.Call, nil, unfinished))
		}
	}
	for _, c := range p.state.Calls {
		if c.Result == nil {
			out = append(out, p.result(c.Call, nil, unfinished))
		}
	}
	operations := []Operation{setStage(stage)}
	if c := wire.CostOf(&p.state); c != nil {
		operations = append(operations, Operation{"add", "/cost", c})
	}
	return append(append(out, p.endStep()...), patch(operations)...)
}

func (p *projection) finish() []any {
	return append(p.end("finished"), RunFinished{"RUN_FINISHED", p.state.UpdatedAt.UnixMilli(), p.thread(), p.state.Run,
		Result{p.messageID(), wire.FinishReason(&p.state)}, Outcome{"success"}, p.usage()})
}

// fail returns the end of a run that failed or was cancelled. Clients before version 1.0 reject the outcome cancelled of RUN_FINISHED.
func (p *projection) fail(b event.RunFailed) []any {
	stage := "failed"
	if b.Code == fault.Cancelled {
		stage = "cancelled"
	}
	return append(p.end(stage), RunError{"RUN_ERROR", p.state.UpdatedAt.UnixMilli(), wire.Clip(cmp.Or(b.Message, string(b.Code)), maxError), b.Code, p.usage()})
}
