// Package analyze classifies a question before anything is searched: how complex it is and which sub-questions it has.
package analyze

import (
	"context"

	"github.com/sluice-rag/sluice/event"
)

// Analysis is the result of analyzing a question.
type Analysis struct {
	Complexity event.Complexity
	Parts      []string // sub-questions that are searched in addition to the question; empty if it is not decomposed
	Several    bool     // each part needs an answer of its own; otherwise the parts are steps towards one answer
	Chained    bool     // part of the question has to be answered first, as in "Where was the father of X born?"
	By         string   // who analyzed it: "rules" or the name of a model
}

// Analyzer analyzes questions. It is safe for concurrent use. An implementation that asks a model falls back to one that
// does not and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Analyzer interface {
	Analyze(ctx context.Context, question string) (Analysis, error)
}
