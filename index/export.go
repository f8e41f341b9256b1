package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// ExportChunks is the number of chunks after which [Exporter.Export] returns no further documents, so that a call needs little memory.
const ExportChunks = 2000

// Exporter is the part of an index that reads back what a [Writer] wrote, so that it can be written to another index. All methods may be called
// concurrently, also with those of [Reader] and [Writer]. They do not accept scopes.
type Exporter interface {
	// Export returns documents of a collection with their entries, in the order of their ids: those after the given id, at most limit, and fewer if they
	// have more than [ExportChunks] chunks. Entries are sorted by level, then by ordinal, then by id. They have the vectors of one space: an entry without Space
	// has no vector yet, and an entry with Space and an empty Vector is known to have none.
	Export(ctx context.Context, collection, space string, after corpus.DocumentID, limit int) ([]corpus.Document, [][]Entry, error)
	// Members returns the members of each set of a collection, sorted, also those that do not exist.
	Members(ctx context.Context, collection string) (map[string][]corpus.DocumentID, error)
}
