package session

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/event"
)

// page is the number of messages that are read at once.
const page = 32

// history is what a question follows.
type history struct {
	summary string // of the conversation before the turns
	turns   []event.Turn
	ids     []string // of the messages of the turns
	size    int      // of the turns, in bytes
}

// history returns the history of a question: the messages of its branch after the last summary, within the limits of [event.Question].
// It reads no more messages than that, however long the session is.
func (s *Service) history(ctx context.Context, key Key, question string) (history, error) {
	var h history
	for last := question; last != ""; {
		messages, err := s.store.Branch(ctx, key, last, page)
		if err != nil {
			return h, public(err)
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
	slices.Reverse(h.turns)
	slices.Reverse(h.ids)
	return h, nil
}

// prepend adds a message, the last one first. It returns false if no earlier message is needed.
func (h *history) prepend(m Message) bool {
	if m.Summary != "" {
		h.summary = m.Summary
		return false
	}
	if m.Text == "" {
		return true // an answer that failed
	}
	if h.size += len(m.Text); len(h.turns) == event.MaxTurns || h.size > event.MaxHistory {
		return false
	}
	h.turns, h.ids = append(h.turns, event.Turn{Role: m.Role, Text: m.Text}), append(h.ids, m.ID)
	return true
}
