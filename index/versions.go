package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Versions is the part of an index that shows whether data derived from a collection is still current. All methods may be
// called concurrently, also with those of [Reader] and [Writer].
type Versions interface {
	// Version returns a number that grows with each change to the collection's chunks and survives restarts; 0 for a collection
	// that never had any. New vectors of unchanged texts do not count as a change. A new index has other
	// numbers. A search that begins after Version returns sees at least the changes that it counts. The call is cheap: once
	// the collection is in use, it reads memory only.
	Version(ctx context.Context, collection string) (uint64, error)
	// Hashes returns the hash of each document of ids that exists.
	Hashes(ctx context.Context, collection string, ids []corpus.DocumentID) (map[corpus.DocumentID]string, error)
}
