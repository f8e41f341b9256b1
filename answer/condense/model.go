package condense

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout time.Duration // for a reply; default 8 s, and at most an eighth of the run's remaining time
}

const (
	maxQuestion = 4000 // bytes; longer questions are taken as self-contained
	maxGrowth   = 600  // bytes by which a question may grow
)

// modelCondenser is the [Condenser] that asks a model.
type modelCondenser struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Condenser
	Options
}

// NewModel returns the [Condenser] that asks a model with the prompt condense.md; nil prompts are the built-in ones. If
// the model fails or is late, the result of then is used and the failure is reported to the trace. Without history and summary, the
// question is returned unchanged.
func NewModel(chat model.Chat, prompts *prompt.Set, then Condenser, o Options) Condenser {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &modelCondenser{chat, prompts, then, o}
}

type reply struct {
	Question string `json:"question"`
}

// Condense implements [Condenser].
func (m *modelCondenser) Condense(ctx context.Context, question, summary string, history []event.Message) (string, error) {
	if len(history) == 0 && summary == "" || len(question) > maxQuestion {
		return question, nil
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 8)
	defer cancel()
	r, err := prompt.Ask(share, m.chat, m.prompts, prompt.Condensing{Question: question, History: messages(history), Summary: summary},
		func(r *reply) error { return r.check(question) })
	if err != nil {
		err = prompt.ShareError(ctx, share, m.chat.Name(), err)
		if ctx.Err() != nil {
			return "", err
		}
		model.Failed(ctx, err, m.chat.Name(), "rules")
		return m.fallback.Condense(ctx, question, summary, history)
	}
	if strings.EqualFold(singleLine(r.Question), singleLine(question)) {
		return question, nil
	}
	return singleLine(r.Question), nil
}

func singleLine(s string) string { return strings.Join(strings.Fields(lang.Clean(s)), " ") }

// check reports an error if a rewritten question is not acceptable.
func (r *reply) check(asked string) error {
	switch {
	case len(lang.Words(r.Question)) == 0:
		return errors.New("the question is empty")
	case len(r.Question) > len(asked)+maxGrowth:
		return errors.New("the question is too long: add only what it needs to be self-contained, and no answer")
	}
	return nil
}

// messages returns the messages of a conversation for a prompt, without empty ones and citation marks.
func messages(history []event.Message) []prompt.Message {
	var out []prompt.Message
	for _, t := range history {
		s := strings.TrimSpace(withoutMarks(t.Text))
		if s != "" {
			out = append(out, prompt.Message{Role: t.Role, Text: s})
		}
	}
	return out
}
