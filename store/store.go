// Package store defines the storage of files, vector stores and tasks. Back ends are in sub-packages and pass the suite in storetest.
//
// All methods of its interfaces may be called concurrently. Each is one transaction, which is durable when the method returns. Lists are sorted by
// id, begin after the given id and have at most limit elements. Times have microsecond precision.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Errors of a store. Test for them with [errors.Is].
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already exists")
)

// NotFoundError is an [ErrNotFound] that names the missing object.
type NotFoundError struct{ What, ID string }

// Error implements error.
func (m *NotFoundError) Error() string { return fmt.Sprintf("%s %q: not found", m.What, m.ID) }

// Is reports whether target is [ErrNotFound].
func (m *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// NotDueError is the error if all pending tasks are delayed: see [Task.Delay].
type NotDueError struct{ Left time.Duration } // until the first one is due

// Error implements error.
func (d *NotDueError) Error() string { return fmt.Sprintf("no task is due for %v", d.Left) }

// Status is the status of a file, a task or a [Membership].
type Status string

// The statuses. The last three are final.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the status does not change any more.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// File is the record of an uploaded file. Its bytes are stored by their hash, its text is in the index.
type File struct {
	ID        string
	Name      string // as uploaded, without folders
	MediaType string // as detected or, if that fails, as stated by the sender
	Purpose   string
	Bytes     int64
	MD5       string // hex
	SHA256    string // hex; empty until the file is fetched
	URL       string // from which it was fetched; empty: it was uploaded
	Status    Status // Completed: it is indexed
	Failure   string // why it failed, or why its task is delayed, for users
	Options   json.RawMessage
	Fields    json.RawMessage // an object with the fields that users set
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

// Counts are the numbers of files of a vector store by status, in one snapshot.
type Counts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

// Task is work in the background. Its id consists of its type and its resource: "upload-" with the id of a file, or "vectorize-", "create-" or
// "delete-" with the id of a vector store.
type Task struct {
	ID       string
	Type     string
	Status   Status
	Progress float64 // 0..100
	Resource string  // the file or vector store
	Failure  string  // why it failed, or why it is delayed, for users
	Tries    int     // how often it was started
	// Delay is how long after UpdatedAt a pending task is not started. Until then, others are before it in the queue.
	Delay     time.Duration
	Server    string // that has started it last
	CreatedAt time.Time
	UpdatedAt time.Time
}

// VectorStoreInfo is a vector store with its counts, in one snapshot.
type VectorStoreInfo struct {
	VectorStore
	Counts Counts
	Bytes  int64 // of its files
}

// Membership is a file in a vector store. It has the status of the file if that is final and the index has applied the membership, and is
// [Pending] otherwise. Searches of the vector store find the file when the membership is [Completed].
type Membership struct {
	Store  string
	File   string
	Status Status
}

// IndexChange is an entry of the outbox: a change that may not have been applied to the index yet. It is added in the transaction of the change and
// removed by [Memberships.AcknowledgeChanges]. After a crash it is applied again.
type IndexChange struct {
	Seq     int64  // sequence number of the entry; a later change of the same file has another one
	Store   string // empty: the file itself was removed
	File    string // empty: the vector store itself was removed
	Present bool   // the present state in the store: the file is in the vector store, or exists
}

// Files stores the records of files.
type Files interface {
	// AddFile adds a file to the store and to vector stores, and adds or replaces the task that reads it. If the file exists, the error is
	// [ErrExists]; if a vector store does not, it is a [*NotFoundError].
	AddFile(ctx context.Context, f File, t Task, stores []string) error
	// File returns a file, or [ErrNotFound].
	File(ctx context.Context, id string) (File, error)
	// Files lists files.
	Files(ctx context.Context, after string, limit int) ([]File, error)
	// UpdateFile changes a file, except its id, and updates its memberships. If change returns an error, UpdateFile returns it and changes nothing.
	UpdateFile(ctx context.Context, id string, change func(*File) error) (File, error)
	// RemoveFile removes a file and its memberships and adds both to the outbox. Tasks of the file that are not final are cancelled at the time
	// at. RemoveFile reports whether the file was the last one with its bytes.
	RemoveFile(ctx context.Context, id string, at time.Time) (f File, last bool, err error)
}

// Finder finds files.
type Finder interface {
	// FileBySHA256 returns a file with a hash, or [ErrNotFound]. It prefers completed files, then files that have neither failed nor been
	// cancelled.
	FileBySHA256(ctx context.Context, sha256 string) (File, error)
	// FilesByID returns the files with these ids, sorted by id. It omits files that do not exist.
	FilesByID(ctx context.Context, ids []string) ([]File, error)
}

// VectorStores stores the records of vector stores.
type VectorStores interface {
	// AddStore adds a vector store with files, as [Memberships.Join] does. If the vector store exists, the error is [ErrExists]; if a file does
	// not, it is a [*NotFoundError]. After an error, nothing is added.
	AddStore(ctx context.Context, s VectorStore, files []string) error
	// Store returns a vector store, or [ErrNotFound].
	Store(ctx context.Context, id string) (VectorStoreInfo, error)
	// Stores lists vector stores.
	Stores(ctx context.Context, after string, limit int) ([]VectorStoreInfo, error)
	// UpdateStore changes a vector store, except its id. If change returns an error, UpdateStore returns it and changes nothing.
	UpdateStore(ctx context.Context, id string, change func(*VectorStore) error) (VectorStoreInfo, error)
	// RemoveStore removes a vector store with its memberships and adds the removal to the outbox.
	RemoveStore(ctx context.Context, id string) error
	// Expired lists the ids of vector stores that have expired at a time, in the order of expiry.
	Expired(ctx context.Context, at time.Time, limit int) ([]string, error)
}

// Memberships stores which files are in which vector stores.
type Memberships interface {
	// Join adds files to a vector store with the status [Pending], and adds each change to the outbox. Existing memberships do not change. If a
	// file or the vector store does not exist, the error is a [*NotFoundError] and nothing is changed.
	Join(ctx context.Context, store string, files []string) error
	// Leave removes files from a vector store and adds each to the outbox, even a file that is not in the vector store.
	Leave(ctx context.Context, store string, files []string) error
	// Members lists the memberships of a vector store. A vector store that does not exist has none.
	Members(ctx context.Context, store, after string, limit int) ([]Membership, error)
	// StoresOf lists the ids of the vector stores of a file, sorted.
	StoresOf(ctx context.Context, file string) ([]string, error)
	// PendingChanges lists the entries of the outbox with a higher Seq than after, the oldest first.
	PendingChanges(ctx context.Context, after int64, limit int) ([]IndexChange, error)
	// AcknowledgeChanges removes entries that the index has applied from the outbox, and updates the status of their memberships.
	AcknowledgeChanges(ctx context.Context, changes []IndexChange) error
}

// Tasks stores tasks.
type Tasks interface {
	// PutTask adds or replaces a task.
	PutTask(ctx context.Context, t Task) error
	// Task returns a task, or [ErrNotFound].
	Task(ctx context.Context, id string) (Task, error)
	// UpdateTask changes a task, except its id, and its file, which is nil if it does not exist. It updates the memberships of the file. If
	// change returns an error, UpdateTask returns it and changes nothing.
	UpdateTask(ctx context.Context, id string, change func(*Task, *File) error) (Task, error)
	// StartNext changes the pending task that has been due for the longest time to running and counts the try. A task is due when it is created, or after its
	// delay. If no task is pending, it returns [ErrNotFound]; if none is due, a [*NotDueError]. Tasks whose file must still be fetched, so that it has no hash, form
	// a queue of their own, which unfetched selects. The server is the one that runs it.
	StartNext(ctx context.Context, at time.Time, unfetched bool, server string) (Task, error)
	// Requeue changes the running tasks for which stopped returns true to pending, without a delay, and returns their number.
	Requeue(ctx context.Context, at time.Time, stopped func(Task) bool) (int, error)
	// DeleteOldTasks deletes final tasks that were last changed before a time and whose file does not exist, and returns their number.
	DeleteOldTasks(ctx context.Context, before time.Time) (int, error)
}

// Eraser erases deleted and replaced content from the disk.
type Eraser interface {
	// Erase overwrites the content. While the store is in use, it may do nothing.
	Erase(ctx context.Context) error
}

// Source is where documents come from, such as a folder.
type Source struct {
	ID         string
	Kind       string // of the connector, such as folder
	Location   string // absolute path or URL
	Collection string // of its documents
	Include    []string
	Exclude    []string
	// Credentials is a reference to credentials, not a secret; empty: none.
	Credentials string `json:",omitempty"`
	// Meta has elements of the Dublin Core by their names, such as dc_creator, and Contributor is an account. They are set on all documents.
	Meta         map[string]string `json:",omitempty"`
	Contributor  string            `json:",omitempty"`
	Attributes   map[string]any    `json:",omitempty"` // further metadata of all documents: texts, numbers and truth values
	Again        bool              `json:",omitempty"` // the next sync indexes all documents again
	State        SourceState
	Server       string          `json:",omitempty"` // that syncs the source, or has synced it last; empty: it shares no work with others
	Ingestion    string          `json:",omitempty"` // id of the sync in progress, or of the last one
	Attempt      int             `json:",omitempty"` // how often this sync was started
	Sync         json.RawMessage `json:",omitempty"` // the result of the last sync, as its service encodes it; nil: none
	SyncProgress json.RawMessage `json:",omitempty"` // of the sync in progress, for other servers, as its service encodes it; nil: none
	Schedule
	CreatedAt time.Time
}

// Schedule is when a source is synced.
type Schedule struct {
	Every   time.Duration `json:",omitempty"` // between two syncs; 0: they are not scheduled
	Watch   bool          `json:",omitempty"` // changes are noticed
	Next    time.Time     `json:",omitzero"`  // when the next sync is due; zero: none is
	Failing int           `json:",omitempty"` // syncs that have failed in succession
}

// SourceState is what is being done with a source. After a crash, the work is taken up again.
type SourceState string

// The states.
const (
	SourceIdle     SourceState = ""
	SourceSyncing  SourceState = "syncing"
	SourceRemoving SourceState = "removing"
)

// SourceDocument is a document of a source that is in the index.
type SourceDocument struct {
	ID      string // of the document
	URI     string
	Version string // changes when the bytes may have changed; empty: unknown
	Hash    string // of the document as it is indexed
	SHA256  string // of its bytes, hex; empty: unknown
}

// Sources stores sources and their documents.
type Sources interface {
	// AddSource adds a source. If it exists, the error is [ErrExists].
	AddSource(ctx context.Context, s Source) error
	// Sources lists all sources, sorted by id.
	Sources(ctx context.Context) ([]Source, error)
	// UpdateSource changes a source, except its id, and returns it, or [ErrNotFound]. If change returns an error, UpdateSource returns it and changes nothing.
	UpdateSource(ctx context.Context, id string, change func(*Source) error) (Source, error)
	// RemoveSource removes a source with its documents. One that does not exist is no error.
	RemoveSource(ctx context.Context, id string) error
	// SourceDocuments lists all documents of a source, sorted by id. A source that does not exist has none.
	SourceDocuments(ctx context.Context, source string) ([]SourceDocument, error)
	// ChangeSourceDocuments adds or replaces documents of a source, and removes others by their ids. The source must exist, otherwise the error is
	// [ErrNotFound].
	ChangeSourceDocuments(ctx context.Context, source string, put []SourceDocument, remove []string) error
}

// SourceFinder finds the sources of documents.
type SourceFinder interface {
	// SourcesOf returns the ids of the sources of documents by the ids of the documents. It omits documents that are of no source.
	SourcesOf(ctx context.Context, documents []string) (map[string]string, error)
}

// Ingestion is an ingestion of files and folders on the disk of a server that somebody has requested. After a crash, it is started again.
type Ingestion struct {
	ID           string
	Paths        []string
	Collection   string
	Retry        bool            `json:",omitempty"` // documents that exceeded a limit before are tried again
	AllowRemoval bool            `json:",omitempty"` // documents are removed although most of a folder has vanished
	Remove       bool            `json:",omitempty"` // the documents of the paths are removed instead
	Server       string          `json:",omitempty"` // that has the disk; empty: it shares no work with others
	Attempt      int             // how often it was started
	Tries        int             // how often it was started without a shutdown of the server in the middle
	Result       json.RawMessage `json:",omitempty"` // as its service encodes it; nil: it has not ended
	CreatedAt    time.Time
}

// Ingestions stores ingestions.
type Ingestions interface {
	// PutIngestion adds or replaces an ingestion.
	PutIngestion(ctx context.Context, i Ingestion) error
	// Ingestion returns an ingestion, or [ErrNotFound].
	Ingestion(ctx context.Context, id string) (Ingestion, error)
	// Ingestions lists all ingestions, the oldest first.
	Ingestions(ctx context.Context) ([]Ingestion, error)
	// RemoveIngestions removes ingestions by their ids. One that does not exist is no error.
	RemoveIngestions(ctx context.Context, ids []string) error
}
