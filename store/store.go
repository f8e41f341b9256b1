// Package store defines the storage of files, vector stores and tasks. Back ends are in sub-packages and pass the suite in storetest.
//
// All methods of its interfaces may be called at once; each is one transaction, durable when it returns. Listings are in the order of ids,
// begin after the given one, and hold at most limit. Times are kept to the microsecond.
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
	ErrExists   = errors.New("exists already")
)

// NotFoundError is an [ErrNotFound] that names what is missing.
type NotFoundError struct{ What, ID string }

// Error names what is missing.
func (m *NotFoundError) Error() string { return fmt.Sprintf("%s %q: not found", m.What, m.ID) }

// Is reports whether target is [ErrNotFound].
func (m *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Status is the status of a file, a task or a membership.
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
	SHA256    string // hex
	URL       string // from which it was fetched; empty: the bytes were sent
	Status    Status // Completed: it is indexed
	Failure   string // why it failed, fit to be shown
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

// Task is work in the background. Its id consists of its type and its resource: "upload-" with a file's id, "vectorize-", "create-",
// "delete-" with a vector store's.
type Task struct {
	ID        string
	Type      string
	Status    Status
	Progress  float64 // 0..100
	Resource  string  // the file or vector store
	Failure   string  // why it failed, fit to be shown
	Tries     int     // how often it was started
	CreatedAt time.Time
	UpdatedAt time.Time
}

// VectorStoreInfo is a vector store with its counts, in one snapshot.
type VectorStoreInfo struct {
	VectorStore
	Counts Counts
	Bytes  int64 // of its files
}

// Membership is a file in a vector store. It is [Completed] when the file is completed and the index knows the membership: then searches of the
// vector store find the file. Until the file is final, the membership is [Pending].
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
	// AddFile adds a file and the task that reads it, and joins it to vector stores; a task of that id is replaced. An
	// id that is there is [ErrExists], a vector store that is not a [*Missing].
	AddFile(ctx context.Context, f File, t Task, stores []string) error
	// File returns a file, or [ErrNotFound].
	File(ctx context.Context, id string) (File, error)
	// Files lists files.
	Files(ctx context.Context, after string, limit int) ([]File, error)
	// UpdateFile changes a file but its id. Its memberships follow its status and size. If change returns an error, it is returned and nothing is changed.
	UpdateFile(ctx context.Context, id string, change func(*File) error) (File, error)
	// RemoveFile removes a file and its memberships and notes both as changes. A task of it that is not final is cancelled as of at.
	// Last: no other file has its bytes.
	RemoveFile(ctx context.Context, id string, at time.Time) (f File, last bool, err error)
}

// Finder finds files.
type Finder interface {
	// FileBySHA256 gives a file with the bytes of a hash: a completed one before others, one that failed or was cancelled after all others. None: [ErrNotFound].
	FileBySHA256(ctx context.Context, sha256 string) (File, error)
	// FilesByID returns files by their ids, in the order of ids; those that are not there are left out.
	FilesByID(ctx context.Context, ids []string) ([]File, error)
}

// VectorStores keeps vector stores.
type VectorStores interface {
	// AddStore adds one with files in it, as [Memberships.Join] puts them. An id that is there is [ErrExists], a file that is not a
	// [*Missing], and then nothing is added.
	AddStore(ctx context.Context, s VectorStore, files []string) error
	// Store returns a vector store, or [ErrNotFound].
	Store(ctx context.Context, id string) (VectorStoreInfo, error)
	// Stores lists them.
	Stores(ctx context.Context, after string, limit int) ([]VectorStoreInfo, error)
	// UpdateStore changes one but its id. If change returns an error, it is returned and nothing is changed.
	UpdateStore(ctx context.Context, id string, change func(*VectorStore) error) (VectorStoreInfo, error)
	// RemoveStore removes one with its memberships, and notes that as a change.
	RemoveStore(ctx context.Context, id string) error
	// Expired lists vector stores whose time is over, the longest over first.
	Expired(ctx context.Context, at time.Time, limit int) ([]string, error)
}

// Memberships keeps which files are in which vector stores.
type Memberships interface {
	// Join puts files into a vector store, pending, and notes each as a change. Those that are in already stay as they are. A
	// file or vector store that is not there is a [*Missing], and nothing is changed.
	Join(ctx context.Context, store string, files []string) error
	// Leave takes files out of a vector store and notes each as a change, also those that are not in it.
	Leave(ctx context.Context, store string, files []string) error
	// Members lists a vector store's files; one that is not there has none.
	Members(ctx context.Context, store, after string, limit int) ([]Membership, error)
	// StoresOf lists the vector stores that a file is in, by id.
	StoresOf(ctx context.Context, file string) ([]string, error)
	// PendingChanges lists the outbox after a Seq, the oldest change first.
	PendingChanges(ctx context.Context, after int64, limit int) ([]IndexChange, error)
	// Settle takes away changes that the index knows. Memberships among them follow their files from now on.
	AcknowledgeChanges(ctx context.Context, changes []IndexChange) error
}

// Tasks keeps tasks.
type Tasks interface {
	// PutTask adds or replaces a task.
	PutTask(ctx context.Context, t Task) error
	// Task returns a task, or [ErrNotFound].
	Task(ctx context.Context, id string) (Task, error)
	// UpdateTask changes a task but its id, and with it the file that it is about, which is nil where it is gone. Memberships follow the file.
	// If change returns an error, it is returned and nothing is changed.
	UpdateTask(ctx context.Context, id string, change func(*Task, *File) error) (Task, error)
	// StartNext makes the task that has been pending longest running, and counts the try; [ErrNotFound]: none is pending. Those of files whose
	// bytes are yet to be fetched, which have no hash, are a queue of their own.
	StartNext(ctx context.Context, at time.Time, unfetched bool) (Task, error)
	// Requeue makes running tasks pending, but those of the ids that somebody works on, and says how many.
	Requeue(ctx context.Context, at time.Time, but []string) (int, error)
	// DeleteOldTasks deletes tasks that were final before a time and whose file is gone, and says how many.
	DeleteOldTasks(ctx context.Context, before time.Time) (int, error)
}

// Eraser erases deleted and replaced content from the files of a store.
type Eraser interface {
	// Erase overwrites the content. While the store is in use, it may leave that to a later call.
	Erase(ctx context.Context) error
}
