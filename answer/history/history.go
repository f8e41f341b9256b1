// Package history keeps the history of a question within a budget of tokens: a summary replaces the older messages of a long conversation.
package history

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// DefaultBudget is the budget of a history in tokens if no other is set.
const DefaultBudget = 2000

// summaryShare is the part of the budget that a summary may take: one of so many.
const summaryShare = 4

// Summarizer summarizes conversations. It is safe for concurrent use. An implementation that asks a model falls back to one that does not
// and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Summarizer interface {
	// Summarize returns a summary of messages, oldest first, and of the summary of the conversation before them, which may be empty. It has at
	// most the given number of tokens, by the estimate of [Tokens]. by is "rules" or the name of the model that wrote it.
	Summarize(ctx context.Context, earlier string, messages []event.Message, tokens int) (summary, by string, err error)
}

// Tokens returns an estimate of the tokens of a text: a token has about four ASCII characters or one and a third other bytes.
func Tokens(s string) int {
	ascii := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return (ascii + 3*(len(s)-ascii) + 3) / 4
}

// Shorten summarizes the older messages of a history that has more tokens than the budget (0: [DefaultBudget]) together with the earlier summary.
// It reports false if the history is within the budget. The newest messages stay: as many as fit, at least the last question with its answer. The
// summary has at most a quarter of the budget.
func Shorten(ctx context.Context, by Summarizer, earlier string, messages []event.Message, budget int) (event.HistorySummarized, bool, error) {
	if budget <= 0 {
		budget = DefaultBudget
	}
	n := older(earlier, messages, budget)
	if n == 0 {
		return event.HistorySummarized{}, false, nil
	}
	summary, name, err := by.Summarize(ctx, earlier, messages[:n], budget/summaryShare)
	summary = lang.Truncate(summary, event.MaxSummary)
	return event.HistorySummarized{Turns: n, Summary: summary, Tokens: total(summary, messages[n:]), By: name}, err == nil, err
}

// total returns the tokens of a summary and messages.
func total(summary string, messages []event.Message) int {
	sum := Tokens(summary)
	for _, t := range messages {
		sum += Tokens(t.Text)
	}
	return sum
}

// older returns the number of the first messages that a summary replaces.
func older(earlier string, messages []event.Message, budget int) int {
	if total(earlier, messages) <= budget {
		return 0
	}
	left := budget - budget/summaryShare
	first := len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		left -= Tokens(messages[i].Text)
		if messages[i].Role != event.RoleUser {
			continue
		}
		if left < 0 && first < len(messages) {
			break
		}
		first = i // the messages that stay begin with a question
	}
	if first == 0 && Tokens(earlier) > 0 { // the earlier summary is too long: the new one covers one more question with its answer
		first = 1 + slices.IndexFunc(messages[1:], func(t event.Message) bool { return t.Role == event.RoleUser })
	}
	if first == len(messages) {
		return 0 // there is no question
	}
	return first
}
