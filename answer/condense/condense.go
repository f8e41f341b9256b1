// Package condense makes questions of a conversation self-contained, so that they can be searched for: "When was it built?" is
// told what "it" is, and "And in 2021?" what is asked.
package condense

import (
	"context"

	"github.com/sluice-rag/sluice/event"
)

// Condenser makes a question self-contained. Calls may run at once. A form that asks a model falls back on one that does not
// and tells the trace of ctx (see [model.Failed]); its only error is then that of ctx.
type Condenser interface {
	// Condense gives the question with what it leaves to the turns before it, the oldest first, put in; and the question as it
	// is where it says all itself.
	Condense(ctx context.Context, question string, history []event.Turn) (string, error)
}
