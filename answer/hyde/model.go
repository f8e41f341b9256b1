package hyde

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout time.Duration // for a passage; default 8 s, and at most an eighth of the run's remaining time
}

// Limits of the part of the model's passage that is used. The prompt asks for 120 words.
const (
	longest   = 160  // words
	maxPassed = 1500 // bytes
)

// modelWriter is the [Writer] that asks a model.
type modelWriter struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Writer
	Options
}

// NewModel returns the [Writer] that lets a model write the passage from the question alone: no document's text is in the
// prompt. The words for lexical search are those of then, because they occur in the documents. If the model fails or is
// late, the draft of then is used and the failure is reported to the trace.
func NewModel(chat model.Chat, prompts *prompt.Set, then Writer, o Options) Writer {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &modelWriter{chat, prompts, then, o}
}

// Write implements [Writer].
func (m *modelWriter) Write(ctx context.Context, question string, hits []index.Hit) (Draft, error) {
	draft, err := m.fallback.Write(ctx, question, hits)
	if err != nil {
		return Draft{}, err
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 8)
	defer cancel()
	own, by := model.TrackModel(share)
	said, err := prompt.Text(own, m.chat, m.prompts, prompt.Hypothesis{Question: question})
	if err != nil {
		err = prompt.ShareError(ctx, share, m.chat.Name(), err)
		if ctx.Err() != nil {
			return Draft{}, err
		}
		model.Failed(ctx, err, m.chat.Name(), draft.By)
		return draft, nil
	}
	words := strings.Fields(said)
	said = strings.Join(words[:min(len(words), longest)], " ")
	return Draft{Words: draft.Words, Passage: lang.Truncate(said, maxPassed), By: by(m.chat.Name())}, nil
}
