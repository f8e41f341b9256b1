package files

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/store"
)

var errTodo = errors.New("not there yet")

// Service keeps files. Its methods may be called at once. Errors that are due to the caller are [fault.Error]s: NotFound for an id that is not there,
// InvalidRequest with the field, Conflict, TooLarge.
type Service struct{}

// Open opens the service in dir.
func Open(ctx context.Context, dir string, o Options) (*Service, error) { return nil, errTodo }

// Close stops.
func (s *Service) Close() error { return errTodo }

// Upload takes a file.
func (s *Service) Upload(ctx context.Context, u Upload) (store.File, store.Task, error) {
	return store.File{}, store.Task{}, errTodo
}

// File gives what is known of a file.
func (s *Service) File(ctx context.Context, id string) (store.File, error) {
	return store.File{}, errTodo
}

// Files lists files by id after the given one.
func (s *Service) Files(ctx context.Context, after string, limit int) ([]store.File, error) {
	return nil, errTodo
}

// UpdateFile changes fields.
func (s *Service) UpdateFile(ctx context.Context, id string, changes map[string]json.RawMessage) (store.File, error) {
	return store.File{}, errTodo
}

// DeleteFile deletes.
func (s *Service) DeleteFile(ctx context.Context, id string) error { return errTodo }

// Open opens a file's bytes as they were uploaded.
func (s *Service) Open(ctx context.Context, id string) (io.ReadSeekCloser, store.File, error) {
	return nil, store.File{}, errTodo
}

// Document gives a document.
func (s *Service) Document(ctx context.Context, id string) (Document, error) {
	return Document{}, errTodo
}

// Segments gives passages whose ordinal is from or more.
func (s *Service) Segments(ctx context.Context, id string, from, limit int) ([]corpus.Chunk, error) {
	return nil, errTodo
}

// Pages gives pages from..to, counted from 1; 0: the first, and as many as are given at once.
func (s *Service) Pages(ctx context.Context, id string, from, to int) ([]Page, error) {
	return nil, errTodo
}

// Task gives a task.
func (s *Service) Task(ctx context.Context, id string) (store.Task, error) {
	return store.Task{}, errTodo
}

// Await gives a task once it is final.
func (s *Service) Await(ctx context.Context, id string) (store.Task, error) {
	return store.Task{}, errTodo
}

// CreateStore makes a vector store.
func (s *Service) CreateStore(ctx context.Context, n NewStore) (StoreInfo, error) {
	return StoreInfo{}, errTodo
}

// Store gives one.
func (s *Service) Store(ctx context.Context, id string) (StoreInfo, error) {
	return StoreInfo{}, errTodo
}

// Stores lists them by id after the given one; their Files are nil.
func (s *Service) Stores(ctx context.Context, after string, limit int) ([]StoreInfo, error) {
	return nil, errTodo
}

// Members lists a vector store's files by id after the given one.
func (s *Service) Members(ctx context.Context, id, after string, limit int) ([]store.Membership, error) {
	return nil, errTodo
}

// ModifyStore changes one.
func (s *Service) ModifyStore(ctx context.Context, id string, c StoreChange) (StoreInfo, error) {
	return StoreInfo{}, errTodo
}

// DeleteStore deletes one.
func (s *Service) DeleteStore(ctx context.Context, id string) error { return errTodo }

// Sweep removes what has expired. It is quick where nothing has; questions to vector stores call it before they search.
func (s *Service) Sweep(ctx context.Context) error { return errTodo }
