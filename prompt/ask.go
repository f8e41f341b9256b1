package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	headroom     = 1024 // tokens for what a model thinks before it answers
	maxComplaint = 1000 // bytes
	maxFaults    = 6    // of a schema that are told
	maxEcho      = 8 << 10
)

// Errors that are the causes of an [model.Error]. What a model said is in none of them.
var (
	errForm = errors.New("the answer is not of the form asked for, nor is a second one")
	errLong = errors.New("the answer is longer than any that was asked for")
)

// Ask gives what a model answers to a prompt that has a schema. It is asked for JSON of that schema at temperature 0; the
// JSON object in what it says is held against the schema and against check, which may be nil and whose errors are told to
// the model. Where it fits neither, the model is told so and asked once more. Errors are the chat's; a [*model.Error]
// that is [model.Malformed] where the second answer is no better, or [model.Truncated] or [model.Rejected] where the model broke off
// or was cut off by a filter; or that of a template. None of them holds what the model said. A [Judge] may be left alone.
func Ask[T any](ctx context.Context, chat model.Chat, set *Set, d Data, check func(*T) error) (T, error) {
	j, ok := chat.(*Judge)
	if !ok {
		return ask(ctx, chat, set, d, check)
	}
	if err := j.Skipped(); err != nil {
		var none T
		return none, err
	}
	out, err := ask(ctx, chat, set, d, check)
	j.Saw(err)
	return out, err
}

func ask[T any](ctx context.Context, chat model.Chat, set *Set, d Data, check func(*T) error) (T, error) {
	var none T
	p := set.or().prompts[d.name()]
	if p.schema == nil {
		return none, fmt.Errorf("ask a model: the prompt %s has no schema", d.name())
	}
	messages, err := set.Render(d)
	if err != nil {
		return none, err
	}
	r := request(ctx, chat, messages, d)
	r.Schema = p.schema
	said, stop, err := complete(ctx, chat, r)
	if err != nil {
		return none, err
	}
	out, complaint := read(said, p.form, check)
	if complaint == "" {
		return out, nil
	}
	if err := final(chat, stop); err != nil {
		return none, err
	}
	if stop == model.StopLength {
		complaint = "it broke off because it was too long. " + complaint
	}
	if r.Messages, err = set.or().again(messages, said, complaint, p.schema); err != nil {
		return none, err
	}
	if said, stop, err = complete(ctx, chat, r); err != nil {
		return none, err
	}
	if out, complaint = read(said, p.form, check); complaint == "" {
		return out, nil
	}
	if err := final(chat, stop); err != nil {
		return none, err
	}
	return none, &model.Error{Model: chat.Name(), Failure: model.Malformed, Cause: errForm}
}

// Text gives what a model answers to a prompt without a schema: valid UTF-8, trimmed, without control characters and without the
// brackets of citations, and not empty. Errors are those of [Ask], and [model.Empty].
func Text(ctx context.Context, chat model.Chat, set *Set, d Data) (string, error) {
	messages, err := set.Render(d)
	if err != nil {
		return "", err
	}
	said, stop, err := complete(ctx, chat, request(ctx, chat, messages, d))
	if err != nil {
		return "", err
	}
	if err := final(chat, stop); err != nil {
		return "", err
	}
	if said = strings.TrimSpace(harmless(said, maxReply)); said == "" {
		return "", &model.Error{Model: chat.Name(), Failure: model.Empty}
	}
	return said, nil
}

// request asks for an answer of bounded length that does not vary.
func request(ctx context.Context, chat model.Chat, messages []model.Message, d Data) model.Request {
	most := headroom + d.answer()
	limits := chat.Limits(ctx)
	if limits.Output > 0 {
		most = min(most, limits.Output)
	}
	if limits.Context > 0 {
		most = min(most, max(1, limits.Context/2))
	}
	return model.Request{Messages: messages, MaxTokens: most, Temperature: new(float64)}
}

// final is the error of an answer that ended in a way that asking again does not mend.
func final(chat model.Chat, stop model.StopReason) error {
	switch stop {
	case model.StopIncomplete:
		return &model.Error{Model: chat.Name(), Failure: model.Truncated}
	case model.StopFiltered:
		return &model.Error{Model: chat.Name(), Failure: model.Rejected}
	}
	return nil
}

// complete collects the text of an answer.
func complete(ctx context.Context, chat model.Chat, r model.Request) (said string, stop model.StopReason, err error) {
	var b strings.Builder
	thought := 0
	for p, err := range chat.Complete(ctx, r) {
		if err != nil {
			return "", "", err
		}
		b.WriteString(p.Text)
		thought += len(p.Reasoning)
		if b.Len() > maxReply || thought > maxThought {
			return "", "", &model.Error{Model: chat.Name(), Failure: model.Malformed, Cause: errLong}
		}
		if p.Stop != "" {
			stop = p.Stop
		}
	}
	return b.String(), stop, ctx.Err()
}

// read takes an answer apart. The complaint says to the model what is wrong with it, and is empty where nothing is.
func read[T any](said string, form *jsonschema.Schema, check func(*T) error) (out T, complaint string) {
	raw, ok := extract(said)
	if !ok {
		return out, "there is no JSON object in it."
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return out, "its JSON holds a number that is too large."
	}
	if err := form.Validate(doc); err != nil {
		return out, faults(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		var none T
		return none, "a value in its JSON has another type than is wanted."
	}
	if check != nil {
		if err := check(&out); err != nil {
			var none T
			return none, lang.Head(err.Error(), maxComplaint) + "."
		}
	}
	return out, ""
}

// faults says in words what a schema has against an answer.
func faults(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "its JSON does not fit the schema."
	}
	var out []string
	english := message.NewPrinter(language.English)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(out) == maxFaults {
			return
		}
		if len(e.Causes) == 0 {
			out = append(out, fmt.Sprintf("at %q: %s", "/"+strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(english)))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(invalid)
	return lang.Head("its JSON does not fit the schema: "+strings.Join(out, "; "), maxComplaint) + "."
}

// again is the conversation with what the model said and what is wrong with it. An answer without text, which no model
// takes as a message of its own, is left out.
func (s *Set) again(messages []model.Message, said, complaint string, schema *model.Schema) ([]model.Message, error) {
	ask, err := write(s.repair, repairView{harmless(complaint, 2*maxComplaint), string(schema.JSON)})
	if err != nil {
		return nil, fmt.Errorf("write prompt: %w", err)
	}
	said = strings.TrimSpace(harmless(said, maxEcho))
	if said == "" {
		system, user := messages[0], messages[1]
		user.Text += "\n\n" + ask
		return []model.Message{system, user}, nil
	}
	return append(messages[:len(messages):len(messages)], model.Message{Role: model.Assistant, Text: said}, model.Message{Role: model.User, Text: ask}), nil
}
