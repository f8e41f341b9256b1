package prepare

import (
	"cmp"
	"slices"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// SortEntries sorts the entries of a document as [index.Exporter] returns them.
func SortEntries(all []index.Entry) {
	slices.SortFunc(all, func(a, b index.Entry) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ID, b.ID))
	})
}

// SetVector sets the space and the vector of an entry. An empty vector means that the chunk is known to have none.
func SetVector(e *index.Entry, space string, v []float32) {
	if e.Space, e.Vector = space, v; v == nil {
		e.Vector = []float32{}
	}
}

// Limit checks the limit of an export.
func Limit(n int) error {
	if n < 1 {
		return fault.Invalid("limit", "want at least 1")
	}
	return nil
}
