package a2a

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of texts, in bytes unless noted.
const (
	maxQuery    = 500
	maxError    = 300
	maxTitle    = 300
	maxQuote    = 400
	maxInput    = 2 << 10
	maxPages    = 20 // numbers
	maxPassages = 10 // of a search
)

const (
	artifactID   = "answer"
	artifactName = "Answer"
	toolGrade    = "grade_passages"
	stepWarning  = "warning"
	mediaText    = "text/plain"
	mediaJSON    = "application/json"
)

func textPart(text string) Part { return Part{Text: text, MediaType: mediaText} }

func dataPart(data any) Part { return Part{Data: data, MediaType: mediaJSON} }

// contextOf returns the id of the context of a run.
func contextOf(s *event.State) string { return cmp.Or(s.Session, string(s.Run)) }

// step returns the results of an event that the state includes.
func (p *projection) step(e event.Event) []StreamResponse {
	s := &p.state
	switch b := e.Body.(type) {
	case event.RunStarted:
		return []StreamResponse{{Task: &Task{ID: s.Run, ContextID: contextOf(s), Status: Status{State: Working, Timestamp: wire.Timestamp(e.At)}}}}
	case event.Token:
		if p.ended || b.Text == "" {
			return nil // the log is damaged
		}
		p.written = true
		return []StreamResponse{p.chunk(textPart(b.Text), false, false)}
	case event.Attributed:
		return p.end()
	case event.RunFinished:
		return append(p.end(), p.update(statusOf(s), outcomeOf(s)))
	case event.RunFailed:
		return []StreamResponse{p.update(statusOf(s), outcomeOf(s))}
	}
	text, step := stepOf(e.Body)
	if text == "" {
		return nil
	}
	return []StreamResponse{p.update(Status{State: Working, Message: message(s, e.Seq, textPart(text), dataPart(step)), Timestamp: wire.Timestamp(e.At)}, nil)}
}

func (p *projection) update(status Status, about *Metadata) StreamResponse {
	return StreamResponse{StatusUpdate: &StatusUpdate{p.state.Run, contextOf(&p.state), status, about}}
}

// chunk returns a chunk of the artifact.
func (p *projection) chunk(part Part, more, last bool) StreamResponse {
	a := Artifact{ID: artifactID, Parts: []Part{part}}
	if !more {
		a.Name = artifactName
	}
	return StreamResponse{ArtifactUpdate: &ArtifactUpdate{p.state.Run, contextOf(&p.state), a, more, last}}
}

// end returns the last chunk of the artifact, unless it was returned before.
func (p *projection) end() []StreamResponse {
	if p.ended {
		return nil
	}
	p.ended = true
	return []StreamResponse{p.chunk(dataPart(answerOf(&p.state, p.Origin)), p.written, true)}
}

// message returns a message of the agent about the event with the number.
func message(s *event.State, seq event.Seq, parts ...Part) *Message {
	return &Message{string(s.Run) + "-" + strconv.FormatUint(uint64(seq), 10), contextOf(s), s.Run, RoleAgent, parts}
}

// statusOf returns the status of a run after its last event.
func statusOf(s *event.State) Status {
	status := Status{State: Working, Timestamp: wire.Timestamp(s.UpdatedAt)}
	switch s.Status {
	case event.Finished:
		status.State = Completed
	case event.Failed:
		status.State = Failed
	case event.Cancelled:
		status.State = Canceled
	case event.Running:
	}
	if s.Failure != nil {
		status.Message = message(s, s.Seq, textPart(wire.Clip(cmp.Or(s.Failure.Message, string(s.Failure.Code)), maxError)))
	}
	return status
}

// outcomeOf returns how a run ended and what it cost, or nil if there is nothing to say.
func outcomeOf(s *event.State) *Metadata {
	if s.Status == event.Running {
		return nil
	}
	o := Outcome{Stop: s.Stop}
	if s.Failure != nil && s.Failure.Code != fault.Cancelled {
		o.Code = string(s.Failure.Code)
	}
	usage := wire.UsageOf(s)
	if usage != nil {
		o.InputTokens, o.OutputTokens, o.Calls, o.Models, o.Estimated = usage.InputTokens, usage.OutputTokens, usage.Calls, usage.Models, usage.Estimated
	}
	if s.Settlement != nil && s.Settlement.Fee != 0 {
		o.Fee, o.Balance = &s.Settlement.Fee, &s.Settlement.After
	}
	if usage == nil && o.Fee == nil && o.Stop == "" && o.Code == "" {
		return nil
	}
	return &Metadata{o}
}

// stepOf returns the text and the data of the message about an event; empty: it has no message.
func stepOf(body event.Body) (text string, step Step) {
	switch b := body.(type) {
	case event.RetrievalStarted:
		query := wire.Clip(b.Query, maxQuery)
		return b.Tool + ": " + query, Step{Step: b.Tool, Call: b.Call, Query: query}
	case event.RetrievalFinished:
		step = Step{Step: b.Tool, Call: b.Call, Done: true, Total: len(b.Found), DurationMS: b.Duration, Error: wire.Clip(b.Error, maxError)}
		for _, f := range b.Found[:min(len(b.Found), maxPassages)] {
			step.Passages = append(step.Passages, Found{string(f.Chunk), string(f.Document), wire.Clip(f.Name, maxTitle), wire.Round(f.Score)})
		}
		if step.Error != "" {
			return b.Tool + ": " + step.Error, step
		}
		return fmt.Sprintf("%s: %d passages found", b.Tool, len(b.Found)), step
	case event.ToolCalled:
		step = Step{Step: b.Tool, Call: b.Call}
		if len(b.Input) <= maxInput && json.Valid(b.Input) {
			step.Input = b.Input
		}
		return b.Tool, step
	case event.ToolReturned:
		return b.Tool + ": done", Step{Step: b.Tool, Call: b.Call, Done: true, Total: len(b.Passages), DurationMS: b.Duration}
	case event.Graded:
		return fmt.Sprintf("%s: %d correct, %d ambiguous, %d incorrect", toolGrade, b.Correct, b.Ambiguous, b.Incorrect),
			Step{Step: toolGrade, Done: true, Grades: &Grades{b.Correct, b.Ambiguous, b.Incorrect, b.Action}}
	case event.Reranked:
		return fmt.Sprintf("%s: %d passages kept", event.ToolRerank, len(b.Outputs)), Step{Step: event.ToolRerank, Done: true, Total: len(b.Outputs), DurationMS: b.Duration}
	case event.Warned:
		why := wire.Clip(cmp.Or(b.Message, string(b.Code)), maxError)
		return stepWarning + ": " + why, Step{Step: stepWarning, Error: why}
	}
	return "", Step{}
}

// TaskOf returns the task of a run after the events of its log so far. Sources without a URL have links to pages at the origin, if it is not empty.
func TaskOf(log []event.Event, origin string) Task {
	s := event.Fold(log)
	t := Task{ID: s.Run, ContextID: contextOf(&s), Status: statusOf(&s), Metadata: outcomeOf(&s)}
	var parts []Part
	if len(s.Text) > 0 {
		parts = append(parts, textPart(string(s.Text)))
	}
	if s.Sources != nil || s.Status == event.Finished {
		parts = append(parts, dataPart(answerOf(&s, origin)))
	}
	if len(parts) > 0 {
		t.Artifacts = []Artifact{{ID: artifactID, Name: artifactName, Parts: parts}}
	}
	return t
}
