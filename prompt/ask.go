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
	headroom     = 1024    // tokens for reasoning before the reply
	maxComplaint = 1000    // bytes
	maxFaults    = 6       // schema violations that are reported to the model
	maxEcho      = 8 << 10 // bytes of an invalid reply that are shown to the model
)

// Causes of a [model.Error]. None of them contains text of the model.
var (
	errInvalid = errors.New("two replies do not match the schema")
	errLong    = errors.New("the reply is too long")
)

// Ask returns the reply of a model to a prompt that has a schema. It requests JSON of that schema at temperature 0. The
// JSON object in the reply is validated against the schema and by check, which may be nil and whose errors are shown to
// the model. An invalid reply is described to the model, which is asked once more. Errors are those of the chat; a
// [*model.Error] that is [model.Malformed] if the second reply is invalid too, [model.Truncated] if it was cut off, or
// [model.Rejected] if a filter stopped it; or that of a template. No error contains the reply. A [Judge] may be suspended.
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
	j.Record(err)
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
	return none, &model.Error{Model: chat.Name(), Failure: model.Malformed, Cause: errInvalid}
}

// Text returns the reply of a model to a prompt without a schema: valid UTF-8, trimmed, without control characters and
// citation brackets, and not empty. Errors are those of [Ask], and [model.Empty].
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
	if said = strings.TrimSpace(sanitize(said, maxReply)); said == "" {
		return "", &model.Error{Model: chat.Name(), Failure: model.Empty}
	}
	return said, nil
}

// request returns a request for a deterministic reply of bounded length.
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

// final returns the error of a reply that ended in a way that a second request would not change.
func final(chat model.Chat, stop model.StopReason) error {
	switch stop {
	case model.StopIncomplete:
		return &model.Error{Model: chat.Name(), Failure: model.Truncated}
	case model.StopFiltered:
		return &model.Error{Model: chat.Name(), Failure: model.Rejected}
	}
	return nil
}

// complete collects the text of a reply.
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

// read parses a reply. The complaint describes to the model what is wrong with it, and is empty if it is valid.
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
			return none, lang.Truncate(err.Error(), maxComplaint) + "."
		}
	}
	return out, ""
}

// faults describes in words how a reply violates a schema.
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
	return lang.Truncate("its JSON does not fit the schema: "+strings.Join(out, "; "), maxComplaint) + "."
}

// again appends the reply and the complaint to the conversation. An empty reply is left out, because no model accepts an
// empty message of its own.
func (s *Set) again(messages []model.Message, said, complaint string, schema *model.Schema) ([]model.Message, error) {
	ask, err := write(s.repair, repairView{sanitize(complaint, 2*maxComplaint), string(schema.JSON)})
	if err != nil {
		return nil, fmt.Errorf("write prompt: %w", err)
	}
	said = strings.TrimSpace(sanitize(said, maxEcho))
	if said == "" {
		system, user := messages[0], messages[1]
		user.Text += "\n\n" + ask
		return []model.Message{system, user}, nil
	}
	return append(messages[:len(messages):len(messages)], model.Message{Role: model.Assistant, Text: said}, model.Message{Role: model.User, Text: ask}), nil
}
