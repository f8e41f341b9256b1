package documents

import (
	"cmp"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
)

// Statuses of a document.
const (
	Waiting = "waiting" // accepted, not read yet
	Reading = "reading" // being read and indexed
	Ready   = "ready"   // questions find it
	Failed  = "failed"  // see the error
)

// Suggestions are questions that the documents answer.
type Suggestions struct {
	Questions []string `json:"questions" description:"At most 6. Empty if no question is answered well."`
}

// DocumentList is a page of documents.
type DocumentList struct {
	Documents []ListedDocument `json:"documents"`
	Total     int              `json:"total" description:"Documents on all pages."`
	Statuses  map[string]int   `json:"statuses" description:"Documents by status, without the filter of the status."`
	Types     map[string]int   `json:"types" description:"Documents by media type, without the filter of the type."`
}

// ListedDocument is a document in a list.
type ListedDocument struct {
	ID     string    `json:"id"`
	Name   string    `json:"name" description:"Name of the file."`
	Title  string    `json:"title"`
	Type   string    `json:"type" description:"Media type."`
	Bytes  int64     `json:"bytes"`
	Pages  int       `json:"pages,omitempty"`
	Status string    `json:"status" enum:"waiting,reading,ready,failed"`
	Error  string    `json:"error,omitempty" description:"Why the file could not be read."`
	Added  time.Time `json:"added"`
	Folder string    `json:"folder,omitempty" description:"Collection of a document from a folder of the server, which can only be changed there."`
	Path   string    `json:"path,omitempty" description:"Path of a document from a folder of the server."`
}

// DocumentView is a document with its outline.
type DocumentView struct {
	ListedDocument
	Collections []string          `json:"collections" description:"Vector stores that the document is in, or its folder's collection."`
	DublinCore  *wire.DublinCore  `json:"dublin_core,omitempty" description:"What users set and, where that is empty, what the file states."`
	Given       *wire.DublinCore  `json:"given,omitempty" description:"The part of it that users set."`
	Metadata    map[string]any    `json:"metadata,omitempty" description:"Attributes that users set for the source of the document."`
	Outline     []DocumentSection `json:"outline" description:"The headings in their order; at most 2,000."`
	Original    bool              `json:"original" description:"The bytes of the file can be downloaded, unless they have changed in its folder."`
}

// DocumentSection is a heading of a document.
type DocumentSection struct {
	ChunkID string `json:"chunk_id" description:"Of the text under the heading."`
	Heading string `json:"heading"`
	Depth   int    `json:"depth" description:"From 1."`
	Page    int    `json:"page,omitempty" description:"Where it begins."`
}

// DocumentText is a part of a document's text.
type DocumentText struct {
	Passages []DocumentPassage `json:"passages"`
	From     int               `json:"from" description:"Number of the first passage."`
	More     bool              `json:"more" description:"There are more passages."`
	// Start and End are those of the requested chunk. Both are 0 if there is no such chunk (any more).
	Start int `json:"start" description:"Where the requested chunk begins and ends: byte offsets into the document's extracted text. Both are 0 without one."`
	End   int `json:"end"`
}

// DocumentPassage is a passage as it is indexed.
type DocumentPassage struct {
	ChunkID  string   `json:"chunk_id"`
	Number   int      `json:"number" description:"From 0."`
	Headings []string `json:"headings" description:"The headings above it, outermost first."`
	Pages    []int    `json:"pages,omitempty"`
	Start    int      `json:"start" description:"Byte offsets into the document's extracted text."`
	End      int      `json:"end"`
	Text     string   `json:"text"`
}

func statusOf(s store.Status) string {
	switch s {
	case store.Pending:
		return Waiting
	case store.Running:
		return Reading
	case store.Failed, store.Cancelled:
		return Failed
	}
	return Ready
}

func titleOf(e files.Entry) string { return cmp.Or(e.Title, e.Name) }

func entryOf(e files.Entry) ListedDocument {
	return ListedDocument{ID: e.ID, Name: e.Name, Title: titleOf(e), Type: e.MediaType, Bytes: e.Bytes, Pages: e.Pages, Status: statusOf(e.Status), Error: e.Failure,
		Added: e.CreatedAt.UTC(), Folder: e.Folder, Path: e.Path}
}

func passageOf(c corpus.Chunk) DocumentPassage {
	return DocumentPassage{ChunkID: string(c.ID), Number: c.Ordinal, Headings: append([]string{}, c.Headings...), Pages: c.Pages, Start: c.Start, End: c.End, Text: c.Text}
}
