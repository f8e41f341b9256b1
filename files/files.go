// Package files manages uploaded files: it stores their bytes by their hash, their text in the index, and the vector stores that they
// belong to. Files are fetched and indexed in the background as tasks. After a crash, tasks continue or end as failed.
//
// The chunks of all files are in one collection of the index, [Collection]. A vector store is a set of its documents, so a file in three vector
// stores is indexed once. The id of a document is that of its file.
package files

import (
	"encoding/json"
	"io"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/store"
)

// Collection is the collection of the index that holds the files.
const Collection = "files"

// Upload is a file to be added. Exactly one of Body and URL is set.
type Upload struct {
	ID         string    // of the file; empty: a new UUID
	Name       string    // folders in it are dropped
	MediaType  string    // as the sender states it; bytes and name take precedence
	Purpose    string    // empty: "general"
	MD5        string    // expected, in hex; empty: any
	Body       io.Reader // read once, to disk
	URL        string    // fetched in the background; http or https
	SkipExists bool      // if a file with the same bytes exists, return that file instead
	Options    json.RawMessage
	Stores     []string // ids of vector stores to join
	// Meta takes precedence over the metadata that the bytes state. Contributor is the account that earns a share of the answers that use
	// the file; empty: the one that the bytes name, or else that of the server's operator. Neither changes a file that exists.
	Meta        corpus.DublinCore
	Contributor string
	// Metadata is an object of at most 64 KiB that filters test. It does not change a file that exists.
	Metadata json.RawMessage
	// AfterBody, if set, is called when Body has been read to its end, before the upload is validated. It sets the fields that a form
	// sends after the bytes. Its error rejects the upload.
	AfterBody func(u *Upload) error
}

// Page is a page of a document's text: a page of its format or, if the format has no pages, a part of limited size.
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
