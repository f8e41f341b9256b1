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
	Timeout time.Duration // for an answer; default 8 s, and never more than an eighth of what is left of the run's time
}

const (
	maxTurns    = 8    // that a model is shown
	maxTurn     = 1200 // bytes of one
	maxQuestion = 4000 // bytes of a question: a longer one says all itself
	room        = 600  // bytes that a question may gain
)

// asking is the form that asks a model.
type asking struct {
	chat    model.Chat
	prompts *prompt.Set
	then    Condenser
	Options
}

// NewModel returns the [Condenser] that asks a model by the prompt condense.md; nil prompts are the program's own. Where the model
// fails or is late, then's question stands, and the trace is told. Without history, nobody is asked.
func NewModel(chat model.Chat, prompts *prompt.Set, then Condenser, o Options) Condenser {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &asking{chat, prompts, then, o}
}

type reply struct {
	Question string `json:"question"`
}

// Condense implements [Condenser].
func (m *asking) Condense(ctx context.Context, question string, history []event.Turn) (string, error) {
	if len(history) == 0 || len(question) > maxQuestion {
		return question, nil
	}
	share, cancel := prompt.Share(ctx, m.Timeout, 8)
	defer cancel()
	r, err := prompt.Ask(share, m.chat, m.prompts, prompt.Condensing{Question: question, History: said(history, maxTurns, maxTurn)},
		func(r *reply) error { return r.check(question) })
	if err != nil {
		err = prompt.Late(ctx, share, m.chat.Name(), err)
		if ctx.Err() != nil {
			return "", err
		}
		model.Failed(ctx, err, m.chat.Name(), "rules")
		return m.then.Condense(ctx, question, history)
	}
	if strings.EqualFold(plain(r.Question), plain(question)) {
		return question, nil
	}
	return plain(r.Question), nil
}

func plain(s string) string { return strings.Join(strings.Fields(lang.Clean(s)), " ") }

// check holds a question to what it may be.
func (r *reply) check(asked string) error {
	switch {
	case len(lang.Words(r.Question)) == 0:
		return errors.New("the question is empty")
	case len(r.Question) > len(asked)+room:
		return errors.New("the question is too long: it is to hold what is needed, and no answer")
	}
	return nil
}

// said gives the last turns of a conversation as prompts show them, at most so many and each of at most so many bytes. Turns
// without text are left out, and so are the marks of citations.
func said(history []event.Turn, turns, bytes int) []prompt.Said {
	var out []prompt.Said
	for _, t := range history[max(0, len(history)-turns):] {
		s := strings.TrimSpace(unmarked(lang.Head(t.Text, bytes)))
		if s != "" {
			out = append(out, prompt.Said{Role: t.Role, Text: s})
		}
	}
	return out
}
