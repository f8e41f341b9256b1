// Package condense rewrites the questions of a conversation so that they are self-contained and can be searched for. It replaces
// the pronoun in "When was it built?" and completes "And in 2021?".
package condense

import (
	"context"

	"github.com/sluice-rag/sluice/event"
)

// Condenser makes a question self-contained. It is safe for concurrent use. An implementation that asks a model falls back
// to one that does not and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Condenser interface {
	// Condense returns the question with references to the earlier messages (oldest first) resolved. The summary is that of the conversation
	// before them, and may be empty. A question that is self-contained is returned unchanged.
	Condense(ctx context.Context, question, summary string, history []event.Message) (string, error)
}
