// Package hyde writes a hypothetical answer to search with, which finds passages that do not share words with the
// question: hypothetical document embeddings (Gao et al. 2022, arXiv:2212.10496).
package hyde

import (
	"context"

	"github.com/sluice-rag/sluice/index"
)

// Draft is a hypothetical answer.
type Draft struct {
	Words   string // for lexical search
	Passage string // for vector search: embedded as a passage
	By      string // who wrote it: "feedback" or the name of a model
}

// Writer writes drafts. It is safe for concurrent use. An implementation that asks a model falls back to one that does not
// and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Writer interface {
	// Write returns a draft. hits are the results for the question itself, best first.
	Write(ctx context.Context, question string, hits []index.Hit) (Draft, error)
}
