package prompt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// Planning is what plan.md is about. Its template is given .Question, the list .Parts and the number .Rounds. The other fields
// are for [Set.Converse].
type Planning struct {
	Question  string
	Parts     []string // questions that it may be made of
	Rounds    int      // of calls that are left
	Turns     []Turn   // what was called so far, oldest first
	Plain     bool     // the turns are told in the user's message, for servers that take only what their model itself called
	Complaint string   // what is wrong with what the model did last; empty: nothing
}

// Turn is what was called at once.
type Turn []Reply

// Reply is a call with what came of it.
type Reply struct {
	ID       string // of the call
	Tool     string // the program's name for it
	Input    any    // its arguments: an object of texts, lists of texts and whole numbers
	Note     string // what came of it, in words of the program
	Parts    []string
	Findings []Finding
}

// Finding is a passage that a call found.
type Finding struct {
	Passage
	Grade string   // the program's word for it
	Path  []string // the names by which a graph led to it
}

// The most of what is quoted of a call.
const (
	maxArgument = 1000 // bytes of a text
	maxListed   = 16   // texts of a list
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

// Converse writes the messages of a conversation with tools: those of [Set.Render], then each turn as a message with the calls
// and one for each reply, unless they are told plainly. What was found stands between the marks of the same request. A complaint ends the last message, as
// not every model takes a turn of the user's after those of tools.
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
		ask, err := write(s.or().recall, complaintView{f.harmless(p.Complaint, 2*maxComplaint)})
		if err != nil {
			return nil, fmt.Errorf("write prompt: %w", err)
		}
		messages[len(messages)-1].Text += "\n\n" + ask
	}
	return messages, nil
}

type complaintView struct{ Complaint string }

// fenced writes what came of a call.
func (r Reply) fenced(f fence) string {
	var b strings.Builder
	b.WriteString(f.harmless(r.Note, maxNote))
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
		path := oneLine(lang.Head(strings.Join(p.Path[:min(len(p.Path), maxListed)], " → "), maxPath))
		shown.Text = strings.TrimSpace("By way of " + path + "\n\n" + shown.Text)
	}
	attributes := ""
	if p.Grade != "" {
		attributes = fmt.Sprintf(" grade=%q", p.Grade)
	}
	return shown.quoted(f, attributes)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// shownInput gives the arguments of a call as they are repeated to a model.
func shownInput(f fence, input any) any {
	switch v := input.(type) {
	case int:
		return v
	case string:
		return f.harmless(v, maxArgument)
	case []string:
		out := []string{}
		for _, s := range v[:min(len(v), maxListed)] {
			out = append(out, f.harmless(s, maxArgument))
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
