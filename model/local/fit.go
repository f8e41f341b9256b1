package local

import (
	"context"

	"github.com/sluice-rag/sluice/model"
)

// bytesPerToken is an estimate for English text, since the model has no tokenizer.
const bytesPerToken = 4

// Fit returns the task unchanged, as the model reads all passages. Tokens are estimated at four bytes each.
func (m *Model) Fit(_ context.Context, t model.Task) (model.Task, int) {
	size := 0
	for _, p := range t.Passages {
		size += len(p.Chunk.Text)
	}
	return t, (size + bytesPerToken - 1) / bytesPerToken
}
