package files

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

// Index is what the service asks of an index.
type Index interface {
	index.Index
	index.Sets
	index.Contents
}

// Ingester puts one file into the index, as [ingest.Ingester] does.
type Ingester interface {
	IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.Taken, error)
}

// Fetcher writes what a URL gives to w and says its media type. Its errors are fit to be shown and name no more of the URL than its host.
type Fetcher interface {
	Fetch(ctx context.Context, url string, w io.Writer) (mediaType string, err error)
}

// Options are a service's. Store, Index and Ingest are needed; without Fetch no URL is taken.
type Options struct {
	Store  store.Store
	Index  Index
	Ingest Ingester
	Fetch  Fetcher

	Workers      int           // files that are read at once; 2
	MaxFileBytes int64         // of one file; 64 MiB
	MaxJoin      int           // files that join or leave a vector store in one call; 10,000
	MaxListed    int           // files that a vector store lists, and passages that a document shows; 10,000
	Deadline     time.Duration // of one file's reading; 30 minutes
	Collections  []string      // collections of folders that [Service.Stores] lists besides; "default"

	Now    func() time.Time
	NewID  func() string // of files; UUIDs in the order of time
	Logger *slog.Logger
}

// Document is a file with its text.
type Document struct {
	File     store.File      // of a document from a folder, what is known of it
	Document corpus.Document // as the index has it; zero: it is not indexed (yet)
	Segments []corpus.Chunk  // its passages; at most Options.MaxListed of them
	More     bool            // there are more passages: [Service.Segments] gives them
	Stores   []string        // ids of the vector stores that it is in
}

// NewStore is a vector store to be made.
type NewStore struct {
	ID          string // empty: a new one
	Name        string // empty: the id
	Description string
	Metadata    json.RawMessage // an object; nil: none
	Files       []string        // to join
	Lifetime    time.Duration   // 0: for ever
}

// StoreChange is what is changed of a vector store; nil and empty fields stay.
type StoreChange struct {
	Name        *string
	Description *string
	Metadata    json.RawMessage // takes the place of what was
	Lifetime    *time.Duration  // from now; 0: for ever
	Join, Leave []string        // ids of files
}
