// Package analyze tells what a question asks for before anything is searched: how much work it is, and which questions it
// is made of.
package analyze

import (
	"context"

	"github.com/sluice-rag/sluice/event"
)

// Analysis is what was made of a question.
type Analysis struct {
	Complexity event.Complexity
	Parts      []string // questions that are searched beside the whole one; empty where it is not taken apart
	Several    bool     // each part wants an answer of its own; otherwise they are on the way to one
	Chained    bool     // something is asked of what has to be found first, as where somebody's father was born
	By         string   // the form that judged: rules, or a model's name
}

// Analyzer judges questions. Calls may run at once. A form that asks a model falls back on one that does not and tells the
// trace of ctx (see [model.Failed]); its only error is then that of ctx.
type Analyzer interface {
	Analyze(ctx context.Context, question string) (Analysis, error)
}
