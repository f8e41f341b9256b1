package local

import (
	"context"

	"github.com/sluice-rag/sluice/model"
)

// bytesPerToken is about what a token of English text has, for an estimate: the model cuts no tokens.
const bytesPerToken = 4

// Fit gives the task as it is: every passage is read, however many there are. Their tokens are estimated at four bytes each,
// rounded up over all of them.
func (m *Model) Fit(_ context.Context, t model.Task) (model.Task, int) {
	size := 0
	for _, p := range t.Passages {
		size += len(p.Chunk.Text)
	}
	return t, (size + bytesPerToken - 1) / bytesPerToken
}
