package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

const unknownContext = 8192 // tokens; assumed for models that do not report it

// modelSummarizer is the [Summarizer] that asks a model.
type modelSummarizer struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Summarizer
	Options
}

// NewModel returns the [Summarizer] that asks a model with the prompt summarize_history.md; nil prompts are the built-in ones. The model reads
// as many of the newest messages as fit into half of its context, and the others in the summary of the fallback. If the model fails or is late, the
// fallback summarizes everything and the failure is reported to the trace.
func NewModel(chat model.Chat, prompts *prompt.Set, fallback Summarizer, o Options) Summarizer {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &modelSummarizer{chat, prompts, fallback, o}
}

type reply struct {
	Summary string `json:"summary"`
}

// Summarize implements [Summarizer].
func (m *modelSummarizer) Summarize(ctx context.Context, earlier string, messages []event.Message, tokens int) (summary, by string, err error) {
	share, cancel := prompt.WithShare(ctx, m.Timeout, 8)
	defer cancel()
	room := cmp.Or(m.chat.Limits(share).Context, unknownContext)/2 - Tokens(earlier)
	first := len(messages)
	for i, t := range slices.Backward(messages) {
		if room -= Tokens(t.Text); room < 0 {
			break
		}
		first = i
	}
	before := earlier
	if first > 0 {
		if before, _, err = m.fallback.Summarize(ctx, earlier, messages[:first], tokens); err != nil {
			return "", "", err
		}
	}
	data := prompt.Summarizing{Summary: before, Words: max(tokens*2/3, 1)}
	for _, t := range messages[first:] {
		data.History = append(data.History, prompt.Message{Role: t.Role, Text: t.Text})
	}
	r, err := prompt.Ask(share, m.chat, m.prompts, data, func(r *reply) error { return r.check(tokens) })
	if err == nil {
		return strings.TrimSpace(lang.Clean(r.Summary)), m.chat.Name(), nil
	}
	err = prompt.ShareError(ctx, share, m.chat.Name(), err)
	if ctx.Err() != nil {
		return "", "", err
	}
	model.Failed(ctx, err, m.chat.Name(), rules)
	return m.fallback.Summarize(ctx, earlier, messages, tokens)
}

// check reports an error if a summary is not acceptable.
func (r *reply) check(tokens int) error {
	switch {
	case len(lang.Words(r.Summary)) == 0:
		return errors.New("the summary is empty")
	case Tokens(lang.Clean(r.Summary)) > tokens:
		return fmt.Errorf("the summary is too long: write at most %d words", max(tokens/2, 1))
	}
	return nil
}
