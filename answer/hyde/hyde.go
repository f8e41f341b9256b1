// Package hyde writes what an answer might look like, so that passages which resemble it are found where the question's own
// words find none: hypothetical document embeddings (Gao et al. 2022, arXiv:2212.10496).
package hyde

import (
	"context"

	"github.com/sluice-rag/sluice/index"
)

// Draft stands in for the answer in a search.
type Draft struct {
	Words   string // searched for by words
	Passage string // embedded as a passage, and compared with passages
	By      string // the form that wrote it: feedback, or a model's name
}

// Writer writes drafts. Calls may run at once. A form that asks a model falls back on one that does not and tells the
// trace of ctx (see [model.Failed]); its only error is then that of ctx.
type Writer interface {
	// Write gives a draft. Hits are what the question itself found, best first.
	Write(ctx context.Context, question string, hits []index.Hit) (Draft, error)
}
