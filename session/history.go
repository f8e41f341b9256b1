package session

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/event"
)

// page is the number of messages or runs that one call of the store returns.
const page = 32

// history is the history of a question.
type history struct {
	summary  string // summary of the conversation before the messages
	messages []event.Message
	ids      []string // ids of the messages
	size     int      // of the texts, in bytes
}

// history returns the history of a question: the newest summary on its branch and the messages after it, within the limits of
// [event.Question]. It reads only these messages, so its duration does not depend on the length of the session.
func (s *Service) history(ctx context.Context, key Key, question string) (history, error) {
	var h history
	for last := question; last != ""; {
		messages, err := s.store.Branch(ctx, key, last, page)
		if err != nil {
			return h, public(err)
		}
		if err := s.complete(ctx, messages); err != nil {
			return h, err
		}
		last = ""
		for _, m := range messages {
			if m.ID != question && !h.prepend(m) {
				last = ""
				break
			}
			last = m.Parent
		}
	}
	slices.Reverse(h.messages)
	slices.Reverse(h.ids)
	return h, nil
}

// prepend adds the message before those that were added. It returns false if no earlier message is needed.
func (h *history) prepend(m Message) bool {
	if m.Summary != "" {
		h.summary = m.Summary
		return false
	}
	if m.Text == "" {
		return true // an answer that failed
	}
	if h.size += len(m.Text); len(h.messages) == event.MaxMessages || h.size > event.MaxHistory {
		return false
	}
	h.messages, h.ids = append(h.messages, event.Message{Role: m.Role, Text: m.Text}), append(h.ids, m.ID)
	return true
}
