package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"unicode"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/wire"
)

// Generate are the arguments of ai.generate.
type Generate struct {
	Prompt      string   `json:"prompt" required:"true" minLength:"1" description:"What the model is to write."`
	System      string   `json:"system,omitempty" description:"Instructions to the model."`
	MaxTokens   int      `json:"max_tokens,omitempty" minimum:"1" maximum:"1000000" description:"Limit of the text. The limit for answers of the server if it is left out or greater."`
	Temperature *float64 `json:"temperature,omitempty" minimum:"0" maximum:"1"`
	Model       string   `json:"model,omitempty" maxLength:"128" description:"Name of a model of the server. It is asked first, and the others if it fails."`

	_ struct{} `additionalProperties:"false"` // for the schema
}

// Generated is the result of ai.generate. A data event has only the next piece of content.
type Generated struct {
	Content    string      `json:"content"`
	Model      string      `json:"model"` // that wrote the end of the text
	Incomplete bool        `json:"incomplete,omitempty"`
	Usage      *wire.Usage `json:"usage,omitempty"`
}

// piece is a data event of ai.generate.
type piece struct {
	Content string `json:"content"`
}

// maxPrompt limits the prompt and the instructions of ai.generate together, in bytes.
const maxPrompt = 256 << 10

// generateFunctions returns the function that asks the model without documents.
func (s *Server) generateFunctions() []function {
	if s.o.Chat == nil {
		return nil
	}
	f := forrst.StreamFunc[Generate, Generated]("ai.generate", "1.0.0", s.generate)
	f.Description = "Lets the language model write a text, without documents. The stream cannot be resumed."
	f.Prepare = s.admitGenerate
	if s.o.NoGenerate != "" {
		f.Description += " It is switched off here: " + s.o.NoGenerate + "."
	}
	return []function{{f, auth.Ask}}
}

// admitGenerate checks the arguments, counts the call against the quota of the key and takes one of the slots of runs.
func (s *Server) admitGenerate(ctx context.Context, call *forrst.Call) (context.Context, error) {
	if s.o.NoGenerate != "" { // Function.Unavailable would make the service degraded, but this is how it was set up
		return nil, forrst.Disabled("ai.generate", s.o.NoGenerate)
	}
	var in Generate
	if json.Unmarshal(call.Arguments, &in) != nil { // the schema has accepted them
		return nil, forrst.Errorf(forrst.InvalidArguments, "the arguments cannot be decoded").At("/call/arguments")
	}
	if err := s.check(in); err != nil {
		return nil, err
	}
	giveBack, err := s.o.Asker.Count(ctx)
	if err != nil {
		return nil, callError(err)
	}
	release, err := s.o.Limiter.Acquire(ctx, callerOf(ctx).Client)
	if err != nil {
		giveBack()
		return nil, callError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Deadline)
	context.AfterFunc(ctx, func() {
		cancel()
		release()
	})
	return ctx, nil
}

// generate yields the text of the model as it is written.
func (s *Server) generate(ctx context.Context, in Generate) iter.Seq2[forrst.Chunk, error] {
	return func(yield func(forrst.Chunk, error) bool) {
		chat := s.o.Chat(in.Model)
		used := &usage{model: chat.Name()}
		var text strings.Builder
		stop := model.StopEnd
		for p, err := range chat.Complete(model.WithTrace(ctx, &model.Trace{Used: used.add}), s.request(in)) {
			if err != nil {
				yield(forrst.Chunk{}, modelError(ctx, err))
				return
			}
			if p.Stop != "" {
				stop = p.Stop
			}
			if shown := printable(p.Text); shown != "" {
				text.WriteString(shown)
				if !yield(forrst.Data(piece{shown}), nil) {
					return
				}
			}
		}
		name, sum := used.result()
		yield(forrst.Done(Generated{Content: text.String(), Model: name, Incomplete: stop != model.StopEnd, Usage: sum}), nil)
	}
}

// check returns an error for arguments that the schema accepts and the function does not.
func (s *Server) check(in Generate) error {
	switch {
	case strings.TrimSpace(in.Prompt) == "":
		return forrst.Errorf(forrst.InvalidArguments, "want more than white space").At("/call/arguments/prompt")
	case len(in.Prompt)+len(in.System) > maxPrompt:
		return forrst.Errorf(forrst.InvalidArguments, "the prompt and the instructions have more than %d bytes", maxPrompt).At("/call/arguments/prompt")
	case s.o.Chat(in.Model) == nil:
		return forrst.Errorf(forrst.InvalidArguments, "the server has no model of this name").At("/call/arguments/model")
	}
	return nil
}

// request returns the request to the model.
func (s *Server) request(in Generate) (r model.Request) {
	if in.System != "" {
		r.Messages = append(r.Messages, model.Message{Role: model.System, Text: in.System})
	}
	r.Messages = append(r.Messages, model.Message{Role: model.User, Text: in.Prompt})
	r.Temperature, r.MaxTokens = in.Temperature, s.o.MaxTokens
	if in.MaxTokens > 0 && (r.MaxTokens == 0 || in.MaxTokens < r.MaxTokens) {
		r.MaxTokens = in.MaxTokens
	}
	return r
}

// modelError returns what the caller sees of the failure of a model.
func modelError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || ctx.Err() != nil {
		return err
	}
	return callError(fault.Wrap(fault.Model, err, "%s", e.Public()))
}

// printable removes control characters other than tab and newline.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// usage sums what the requests of a call used. Its methods may be called concurrently.
type usage struct {
	mu    sync.Mutex
	model string // the last one that wrote
	sum   wire.Usage
}

// add is called once for each request.
func (u *usage) add(name string, used model.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.model = name
	u.sum.Calls++
	u.sum.InputTokens += used.Input
	u.sum.OutputTokens += used.Output
	u.sum.Estimated = u.sum.Estimated || used.Estimated
	u.sum.AddModel(name)
}

// result returns the name of the model and the sum, or nil if no provider has reported anything.
func (u *usage) result() (string, *wire.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sum.Calls == 0 {
		return u.model, nil
	}
	sum := u.sum
	return u.model, &sum
}
