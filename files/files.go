// Package files keeps the files that people upload: their bytes by their hash, their text in the index, and the vector stores that
// they are put in. What takes long is done in the background as tasks, which go on after a crash or end as failed.
//
// All files' chunks are in one collection of the index, [Collection]; a vector store is a set of its documents, so that a file in three stores is
// stored once. A document's id there is the file's.
package files

import (
	"encoding/json"
	"io"

	"github.com/sluice-rag/sluice/store"
)

// Collection is the collection of the index that holds the files.
const Collection = "files"

// Upload is a file to be taken. Of Body and URL, one is given.
type Upload struct {
	ID         string    // to be used as the file's; empty: a new UUID
	Name       string    // with or without folders, which are dropped
	MediaType  string    // as the sender says; the bytes and the name count first
	Purpose    string    // empty: "general"
	MD5        string    // that the bytes must have, in hex; empty: any
	Body       io.Reader // read once, to disk
	URL        string    // fetched in the background; http or https
	SkipExists bool      // a file of the same bytes that is there already is given instead
	Options    json.RawMessage
	Stores     []string // ids of vector stores to join
	// Rest, if set, is called once Body is read to its end and before anything else is done with the upload: it fills in the
	// fields that the sender gave behind the bytes, as forms may. Its error refuses the upload.
	Rest func(u *Upload) error
}

// Page is a page of a document's text: one of the format's own, or, where it has none, as much as fits one.
type Page struct {
	Number int // from 1
	Text   string
}

// StoreInfo is a vector store with its files.
type StoreInfo struct {
	store.VectorStore
	Files  []string // ids, by id
	Bytes  int64    // of its files
	Counts store.Counts
}
