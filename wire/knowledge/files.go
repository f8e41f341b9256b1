package knowledge

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/wire"
)

// Statuses of a file.
const (
	FileUploaded   = "uploaded"   // accepted, not processed yet
	FileProcessing = "processing" // being read and indexed
	FileProcessed  = "processed"  // can be found by searches
	FileError      = "error"      // see ProcessingError
	FileCancelled  = "cancelled"
)

// File is an uploaded file.
type File struct {
	ID              string          `json:"id"`
	Object          string          `json:"object" enum:"file"`
	Filename        string          `json:"filename"`
	Bytes           int64           `json:"bytes" description:"0 until a file was fetched from its URL."`
	Purpose         string          `json:"purpose"`
	CreatedAt       int64           `json:"created_at" description:"Unix seconds."`
	UpdatedAt       int64           `json:"updated_at"`
	ContentType     string          `json:"content_type"`
	MD5             string          `json:"md5"`
	Status          string          `json:"status" enum:"uploaded,processing,processed,error,cancelled"`
	TaskID          string          `json:"task_id" description:"\"upload-\" followed by the id of the file."`
	ProcessingError string          `json:"processing_error_message,omitempty"`
	URL             string          `json:"url,omitempty" description:"URL from which it was fetched."`
	Metadata        json.RawMessage `json:"metadata"`
	// The reply to GET /v1/files/{id} also has the elements that the file states.
	DublinCore  *wire.DublinCore `json:"dublin_core,omitempty" description:"Metadata that users set. A reply about one indexed file also has what the file states."`
	Contributor string           `json:"contributor,omitempty" description:"Account that earns a share of the answers that use the file."`
}

// FileList is a page of files.
type FileList struct {
	Object  string `json:"object" enum:"list"`
	Data    []File `json:"data"`
	FirstID string `json:"first_id,omitempty"`
	LastID  string `json:"last_id,omitempty" description:"Value of after for the next page."`
	HasMore bool   `json:"has_more"`
}

// Document is a file with its content. It has the fields that three different clients of GET /v1/files/{id}/content expect.
// Strings, lists and objects are never null.
type Document struct {
	ID              string `json:"id"`
	Object          string `json:"object" enum:"file"`
	Filename        string `json:"filename"`
	Bytes           int64  `json:"bytes"`
	Size            int64  `json:"size"`
	Purpose         string `json:"purpose"`
	ContentType     string `json:"content_type"`
	MD5             string `json:"md5"`
	Status          string `json:"status" enum:"uploaded,processing,processed,error,cancelled"`
	TaskID          string `json:"task_id"`
	ProcessingError string `json:"processing_error_message,omitempty"`

	CreatedAt      string           `json:"created_at" description:"ISO 8601 in UTC, with microseconds and without a time zone."`
	UpdatedAt      string           `json:"updated_at"`
	MD5Sum         string           `json:"md5sum"`
	MimeType       string           `json:"mime_type"`
	Title          string           `json:"title"`
	Author         string           `json:"author"`
	Owner          string           `json:"owner"`
	URL            string           `json:"url"`
	ReadProgress   float64          `json:"read_progress" minimum:"0" maximum:"1"`
	LastReadAt     string           `json:"last_read_at,omitempty"`
	Bookmarks      []int            `json:"bookmarks"`
	Highlights     []string         `json:"highlights"`
	Notes          []string         `json:"notes"`
	RelatedDocs    []string         `json:"related_docs"`
	Permissions    []string         `json:"permissions"`
	VectorStoreIDs []string         `json:"vector_store_ids"`
	IsFavorite     bool             `json:"is_favorite"`
	IsDelete       bool             `json:"is_delete"`
	Metadata       json.RawMessage  `json:"metadata"`
	DublinCore     *wire.DublinCore `json:"dublin_core,omitempty" description:"What users set and, where that is empty, what the file states."`
	Contributor    string           `json:"contributor,omitempty" description:"Account that earns a share of the answers that use the file; empty: that of the server."`
	Content        *Content         `json:"content,omitempty" description:"Set when the file is indexed."`
}

// Content is the text of a document in segments. The index of a citation is the index of a segment.
type Content struct {
	ID             string          `json:"id" description:"MD5 of the file."`
	Abstract       string          `json:"abstract"`
	Summary        string          `json:"summary"`
	Outline        string          `json:"outline" description:"The headings, one per line."`
	Language       string          `json:"language"`
	FileType       string          `json:"file_type"`
	URL            string          `json:"url"`
	Encoding       string          `json:"encoding"`
	Status         string          `json:"status"`
	PageCount      int             `json:"page_count"`
	Keywords       []string        `json:"keywords"`
	Metadata       json.RawMessage `json:"metadata"`
	VectorStoreIDs []string        `json:"vector_store_ids"`
	Contexts       []string        `json:"contexts"`
	Images         []string        `json:"images"`
	Segments       []Segment       `json:"segments"`
	HasMore        bool            `json:"has_more" description:"There are more segments."`
	NextSegment    int             `json:"next_segment,omitempty" description:"Value of start_segment for the next segments."`
}

// Segment is a passage of a document.
type Segment struct {
	ID       string          `json:"id"`
	Content  string          `json:"content"`
	Index    int             `json:"index" description:"From 0."`
	URL      string          `json:"url"`
	Metadata SegmentMetadata `json:"metadata"`
}

// SegmentMetadata is the position of a segment.
type SegmentMetadata struct {
	ChunkID string `json:"chunk_id"`
	Heading string `json:"heading,omitempty"`
	Pages   []int  `json:"pages,omitempty"`
	Start   int    `json:"start" description:"Byte offsets into the document's extracted text."`
	End     int    `json:"end"`
}

// DocumentUpdate sets fields of a file. Fields that are left out do not change.
type DocumentUpdate struct {
	Title          *string          `json:"title,omitempty"`
	Author         *string          `json:"author,omitempty"`
	Owner          *string          `json:"owner,omitempty"`
	ReadProgress   *float64         `json:"read_progress,omitempty" minimum:"0" maximum:"1"`
	Bookmarks      []int            `json:"bookmarks,omitempty"`
	Highlights     []string         `json:"highlights,omitempty"`
	Notes          []string         `json:"notes,omitempty"`
	RelatedDocs    []string         `json:"related_docs,omitempty"`
	Permissions    []string         `json:"permissions,omitempty"`
	IsFavorite     *bool            `json:"is_favorite,omitempty"`
	Metadata       json.RawMessage  `json:"metadata,omitempty" description:"An object. It replaces the previous one."`
	VectorStoreIDs []string         `json:"vector_store_ids,omitempty" description:"The vector stores that the file is to belong to."`
	DublinCore     *wire.DublinCore `json:"dublin_core,omitempty" description:"Metadata that takes precedence over what the file states. It replaces what was set before."`
	Contributor    *string          `json:"contributor,omitempty" maxLength:"128" description:"Only the present contributor and administrators can change it."`
}

// Pages are pages of a document's text.
type Pages struct {
	Object   string `json:"object" enum:"list"`
	FileID   string `json:"file_id"`
	Pages    []Page `json:"pages"`
	HasMore  bool   `json:"has_more" description:"There are more pages."`
	NextPage int    `json:"next_page,omitempty" description:"Value of start_page for the next pages."`
}

// Page is a page of the document. Formats without pages are divided into pages of a typical size.
type Page struct {
	Number  int    `json:"page_number" description:"From 1."`
	Content string `json:"content"`
}

// Deleted is the reply to a deletion.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
	TaskID  string `json:"task_id,omitempty"`
}

// Task is a background task.
type Task struct {
	ID            string          `json:"id"`
	Object        string          `json:"object" enum:"task"`
	Type          string          `json:"type"`
	Status        string          `json:"status" enum:"pending,in_progress,completed,failed,cancelled"`
	Progress      float64         `json:"progress" minimum:"0" maximum:"100"`
	ResourceID    string          `json:"resource_id"`
	CreatedAt     int64           `json:"created_at" description:"Unix seconds."`
	UpdatedAt     int64           `json:"updated_at"`
	FailureReason string          `json:"failure_reason,omitempty"`
	ErrorMessage  string          `json:"error_message,omitempty" description:"The same as failure_reason."`
	Data          json.RawMessage `json:"data"`
}

// ServerStatus is the status of the server.
type ServerStatus struct {
	Status    string            `json:"status" enum:"healthy,degraded,unhealthy"`
	Version   string            `json:"version"`
	Timestamp int64             `json:"timestamp" description:"Unix seconds."`
	Uptime    int64             `json:"uptime" description:"Seconds."`
	Services  map[string]string `json:"services"`
	Metrics   map[string]int64  `json:"metrics"`
	Features  map[string]bool   `json:"features"`
}

// ServerHealth is the short form of [ServerStatus].
type ServerHealth struct {
	Status    string   `json:"status" enum:"healthy,degraded,unhealthy"`
	Timestamp int64    `json:"timestamp" description:"Unix seconds."`
	Issues    []string `json:"issues,omitempty"`
}
