package prompt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// Planning is the data of plan.md: .Question, the list .Parts and the number .Rounds. The other fields are for
// [Set.Converse].
type Planning struct {
	Question  string
	Parts     []string    // possible sub-questions
	Rounds    int         // remaining rounds of calls
	Turns     []ToolRound // previous calls, oldest first
	Plain     bool        // the turns are described in the user's message, for servers that only accept tool calls of their own model
	Complaint string      // what is wrong with the model's last reply; may be empty
}

// ToolRound is a group of concurrent tool calls.
type ToolRound []ToolResult

// ToolResult is a tool call with its result.
type ToolResult struct {
	ID       string // of the call
	Tool     string // internal name of the tool
	Input    any    // arguments: an object of strings, lists of strings and integers
	Note     string // description of the result by the program
	Parts    []string
	Findings []Finding
}

// Finding is a passage that a call found.
type Finding struct {
	Passage
	Grade string   // the passage's class
	Path  []string // the names of the walk in the graph that found it
}

// Limits of the quoted parts of a call.
const (
	maxArgument = 1000 // bytes of a string
	maxListed   = 16   // elements of a list
	maxNote     = 500
	maxPath     = 600
)

func (Planning) name() string { return "plan" }
func (Planning) answer() int  { return 400 }
func (p Planning) fenced(f fence) any {
	view := planView{Question: f.question(p.Question), Rounds: p.Rounds}
	for _, s := range p.Parts[:min(len(p.Parts), maxListed)] {
		view.Parts = append(view.Parts, f.quote("question", "", s, maxArgument))
	}
	return view
}

type planView struct {
	Question Quote
	Parts    []Quote
	Rounds   int
}

// Converse returns the messages of a conversation with tools: those of [Set.Render], then each turn as a message with the
// calls and one message per result, unless Plain is set. Passages found are fenced with the same tag. A complaint ends the
// last message, because not every model accepts a user message after tool results.
func (s *Set) Converse(p Planning) ([]model.Message, error) {
	messages, f, err := s.render(p)
	if err != nil {
		return nil, err
	}
	user := &messages[len(messages)-1]
	for _, turn := range p.Turns {
		calls, replies := model.Message{Role: model.Assistant}, make([]model.Message, len(turn))
		for i, r := range turn {
			input, err := json.Marshal(shownInput(f, r.Input))
			if err != nil {
				return nil, fmt.Errorf("write prompt: %w", err)
			}
			calls.ToolCalls = append(calls.ToolCalls, model.ToolCall{ID: r.ID, Name: r.Tool, Input: input})
			replies[i] = model.Message{Role: model.ToolResult, ToolCallID: r.ID, Text: r.fenced(f)}
			if p.Plain {
				user.Text += fmt.Sprintf("\n\nCalled before: %s %s\n%s", r.Tool, input, replies[i].Text)
			}
		}
		if !p.Plain {
			messages = append(append(messages, calls), replies...)
		}
	}
	if p.Complaint != "" {
		ask, err := write(s.or().recall, complaintView{f.sanitize(p.Complaint, 2*maxComplaint)})
		if err != nil {
			return nil, fmt.Errorf("write prompt: %w", err)
		}
		messages[len(messages)-1].Text += "\n\n" + ask
	}
	return messages, nil
}

type complaintView struct{ Complaint string }

// fenced returns the result of a call.
func (r ToolResult) fenced(f fence) string {
	var b strings.Builder
	b.WriteString(f.sanitize(r.Note, maxNote))
	for _, s := range r.Parts[:min(len(r.Parts), maxListed)] {
		b.WriteString("\n" + string(f.quote("question", "", s, maxArgument)))
	}
	for _, p := range r.Findings {
		b.WriteString("\n" + string(p.fenced(f)))
	}
	return b.String()
}

func (p Finding) fenced(f fence) Quote {
	shown := p.Passage
	if len(p.Path) > 0 {
		path := oneLine(lang.Truncate(strings.Join(p.Path[:min(len(p.Path), maxListed)], " → "), maxPath))
		shown.Text = strings.TrimSpace("By way of " + path + "\n\n" + shown.Text)
	}
	attributes := ""
	if p.Grade != "" {
		attributes = fmt.Sprintf(" grade=%q", p.Grade)
	}
	return shown.quoted(f, attributes)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// shownInput returns the arguments of a call as they are shown to a model.
func shownInput(f fence, input any) any {
	switch v := input.(type) {
	case int:
		return v
	case string:
		return f.sanitize(v, maxArgument)
	case []string:
		out := []string{}
		for _, s := range v[:min(len(v), maxListed)] {
			out = append(out, f.sanitize(s, maxArgument))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, s := range v {
			out[k] = shownInput(f, s)
		}
		return out
	}
	return nil
}
