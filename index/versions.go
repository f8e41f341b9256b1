package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Versions is the part of an index by which what was made from a collection is known to be current. All methods may be called
// at once, also beside those of [Reader] and [Writer].
type Versions interface {
	// Version gives a number that grows with each change to the collection's chunks and stays over restarts; 0 for a collection
	// that never held any. An index that was made anew has other numbers. A search that begins after Version sees at least the changes that it counts. New vectors of the same
	// texts are no change. It is quick: memory is read, once the collection is in use.
	Version(ctx context.Context, collection string) (uint64, error)
	// Hashes gives the hash of each document of ids that exists.
	Hashes(ctx context.Context, collection string, ids []corpus.DocumentID) (map[corpus.DocumentID]string, error)
}
