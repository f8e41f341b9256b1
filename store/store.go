// Package store is what is kept besides logs and indexes: files, vector stores, tasks. Back ends stand in folders of their own
// and pass storetest.
package store

import (
	"encoding/json"
	"errors"
	"time"
)

// The errors of a store, to be asked for with [errors.Is].
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
)

// Status is where a file, a task or a file's membership is.
type Status string

// The statuses. The last three are final.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final tells whether nothing follows.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// File is what is known of an upload. Its bytes are kept by their hash, its text by the index.
type File struct {
	ID        string
	Name      string // as uploaded, without folders
	MediaType string // as recognised, or as said where it was not
	Purpose   string
	Bytes     int64
	MD5       string // hex
	SHA256    string // hex
	URL       string // where it was fetched; empty: it was sent
	Status    Status // Completed: it is indexed
	Failure   string // why it failed, fit to be shown
	Options   json.RawMessage
	Fields    json.RawMessage // what people noted on it: an object
	CreatedAt time.Time
	UpdatedAt time.Time
}

// VectorStore is a named set of files.
type VectorStore struct {
	ID          string
	Name        string
	Description string
	Metadata    json.RawMessage // an object; nil: none
	CreatedAt   time.Time
	UpdatedAt   time.Time
	ExpiresAt   time.Time // zero: never
}

// Counts tell how many files of a vector store are where. They are those of one moment.
type Counts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

// Task is work in the background. Its id says what it does and to what: "upload-" with a file's id, "vectorize-", "create-",
// "delete-" with a vector store's.
type Task struct {
	ID        string
	Type      string
	Status    Status
	Progress  float64 // 0..100
	Resource  string  // the file or vector store
	Failure   string  // why it failed, fit to be shown
	CreatedAt time.Time
	UpdatedAt time.Time
}
