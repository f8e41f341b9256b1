package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

// Index is the index that the service needs. If it also implements [index.Versions], folders are counted once for each version.
type Index interface {
	index.Index
	index.Sets
	index.DocumentReader
	index.Annotator
}

// Store is the store that the service needs.
type Store interface {
	store.Files
	store.Finder
	store.VectorStores
	store.Memberships
	store.Tasks
	store.Eraser
}

// Ingester indexes files and opens those of folders, as [ingest.Ingester] does.
type Ingester interface {
	Original(d corpus.Document) (*os.File, error)
	IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error)
}

// Fetcher fetches URLs, as that of package fetch does. Errors are fit to be shown to users and contain no more of a URL than its host.
type Fetcher interface {
	// Check returns an error if the URL can never be fetched.
	Check(url string) error
	// Fetch writes the content of a URL to w and returns its media type.
	Fetch(ctx context.Context, url string, w io.Writer) (mediaType string, err error)
}

// Options configure a service. Store, Index and Ingest are required. Without Fetch, uploads by URL are rejected.
type Options struct {
	Store  Store
	Index  Index
	Ingest Ingester
	Fetch  Fetcher
	Blobs  blobs.Store // the bytes of the files; default: the folder "blobs" in that of the service

	Workers      int           // files that are indexed at once; default 2
	Fetchers     int           // URLs that are fetched at once, in addition; default 4
	MaxFileBytes int64         // of one file; default 64 MiB
	MaxListed    int           // files in a StoreInfo, and passages in a Document; default 10,000
	Deadline     time.Duration // for fetching one file, and for indexing it; default 30 minutes
	Grace        time.Duration // for a file that does not stop at its deadline, before its goroutine is abandoned; default 10 seconds
	Collections  []string      // made from folders, which [Service.Stores] also lists and whose documents can be read; default [corpus.DefaultCollection]

	// Attributes returns the metadata that users set for documents that were not uploaded, by their ids; nil: there is none.
	Attributes func(ctx context.Context, documents []string) (map[string]map[string]any, error)

	// Server is the name of this server among those that share the store, the files and the index, and Gone reports whether another one has died. Default:
	// there are no others.
	Server string
	Gone   func(server string) bool

	Reserve *reserve.File // of disk space, for deletes; nil: none

	Now    func() time.Time
	NewID  func() string // of files and vector stores; default UUIDs ordered by time
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(max(o.Workers, 0), 2)
	o.Fetchers = cmp.Or(max(o.Fetchers, 0), 4)
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 64<<20)
	o.MaxListed = cmp.Or(max(o.MaxListed, 0), 10_000)
	o.Deadline = cmp.Or(max(o.Deadline, 0), 30*time.Minute)
	o.Grace = cmp.Or(max(o.Grace, 0), 10*time.Second)
	if o.Collections == nil {
		o.Collections = []string{corpus.DefaultCollection}
	}
	o.Collections = slices.Sorted(slices.Values(o.Collections))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Document is a file with its text.
type Document struct {
	File     store.File      // made up for a document from a folder
	Document corpus.Document // as it is indexed; zero: not indexed (yet)
	Segments []corpus.Chunk  // the requested passages; at most Options.MaxListed
	More     bool            // more passages follow
	Stores   []string        // ids of its vector stores
}

// StoreParams describes a new vector store.
type StoreParams struct {
	ID          string // empty: a new one
	Name        string // empty: the id
	Description string
	Metadata    json.RawMessage // an object; nil: none
	Files       []string        // to join
	Lifetime    time.Duration   // 0: for ever
}

// StoreUpdate is a change of a vector store. Nil and empty fields are not changed.
type StoreUpdate struct {
	Name        *string
	Description *string
	Metadata    json.RawMessage // replaces the old metadata
	Lifetime    *time.Duration  // from now; 0: for ever
	Join, Leave []string        // ids of files
}

// sweepEvery is how often expired vector stores are deleted in the background.
const sweepEvery = time.Minute

// Service manages files and vector stores. It is safe for concurrent use. Errors of the caller are [fault.Error]s: NotFound for an
// unknown id, InvalidRequest with the field, Conflict, TooLarge.
type Service struct {
	dir  string
	opts Options
	lock *flock.Flock

	ctx    context.Context // of all background work; cancelled by Close
	stop   context.CancelFunc
	wake   [2]chan struct{} // notify workers of a task: [0] those that index, [1] those that fetch first
	slots  chan struct{}    // semaphore of the files that are being indexed
	posted atomic.Int64     // how often tasks may have become pending, from 1
	work   sync.WaitGroup

	// Lock order: as listed.
	storesMu  sync.Mutex     // held while a vector store is created or deleted: its deletion reaches the index before another one gets its id
	outboxMu  sync.Mutex     // held while the index gets changes
	blobLocks [64]sync.Mutex // see blobLock; at most one is held
	givenMu   sync.Mutex     // held while what users state about a file is read from the store and copied to the index
	startMu   sync.Mutex     // held while a task is running in the store and not yet in the map running

	outboxFailed atomic.Bool // a change could not be applied to the index

	mu       sync.Mutex
	running  map[string]*attempt          // by file
	watchers map[string]map[*Watcher]bool // by file
	looked   [2]int64                     // value of posted before each kind of worker last found no task
	removing map[string]bool              // files that are being deleted; true: start their task again if the deletion fails
	ended    chan struct{}                // closed and replaced when a task ends or a file is deleted
	folders  map[string]folder            // counts of collections made from folders
	damaged  map[string]bool              // SHA-256 of bytes that were found damaged
	issues   []string                     // set by Open; see Issues
}

// Open opens the service in the folder dir and creates it if it does not exist. One process at a time may have it open. Open completes or
// undoes what a crash interrupted: the index gets pending changes, and unfinished tasks start again. If store, bytes and index disagree
// otherwise, [Service.Issues] reports it, and [Reconcile] repairs it. Workers run until Close.
func Open(ctx context.Context, dir string, o Options) (_ *Service, err error) {
	s, err := prepare(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	if err = s.recover(ctx); err == nil {
		err = s.compare(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open files: %w", errors.Join(err, s.Close()))
	}
	for range s.opts.Workers {
		s.work.Go(func() { s.worker(false) })
	}
	for range s.opts.Fetchers {
		s.work.Go(func() { s.worker(true) })
	}
	s.work.Go(s.sweeper)
	return s, nil
}

// prepare creates and locks dir.
func prepare(ctx context.Context, dir string, o Options) (*Service, error) {
	s := &Service{dir: dir, opts: o.withDefaults(), running: map[string]*attempt{}, watchers: map[string]map[*Watcher]bool{}, removing: map[string]bool{},
		ended: make(chan struct{}), folders: map[string]folder{}, damaged: map[string]bool{}}
	s.wake = [2]chan struct{}{make(chan struct{}, s.opts.Workers), make(chan struct{}, s.opts.Fetchers)}
	s.slots = make(chan struct{}, s.opts.Workers)
	s.posted.Store(1)
	if s.opts.Blobs == nil {
		s.opts.Blobs = blobs.NewFolder(filepath.Join(dir, dirBlobs))
	}
	for _, sub := range []string{dirStaged, dirBlobs} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("open files: %w", err)
		}
	}
	s.lock = flock.New(filepath.Join(dir, "LOCK"))
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fault.New(fault.Conflict, "another process has the files open"), err)
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// recover completes or undoes what a crash interrupted.
func (s *Service) recover(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.recoverBlobs, s.requeue, s.flushOutbox, s.saveAllRecords} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compare records how store, bytes and index differ, and queues the files that are missing from the index.
func (s *Service) compare(ctx context.Context) error {
	a, err := s.audit(ctx)
	if err != nil {
		return err
	}
	for _, id := range a.edited {
		if err := s.annotate(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range a.unindexed {
		ids, err := s.opts.Store.StoresOf(ctx, id)
		if err != nil {
			return err
		}
		for _, set := range ids {
			if err := s.opts.Index.AddToSet(ctx, Collection, set, []corpus.DocumentID{corpus.DocumentID(id)}); err != nil {
				return err
			}
		}
		if _, err := s.retry(ctx, id, ""); err != nil {
			return err
		}
	}
	if len(a.unindexed) > 0 {
		s.opts.Logger.Warn("files that are missing from the index are indexed again", "files", len(a.unindexed))
	}
	reading := map[string]bool{}
	for _, id := range a.unindexed {
		reading[id] = true
	}
	for set, ids := range a.left { // files that are indexed again join with their document
		a.left[set] = slices.DeleteFunc(ids, func(id string) bool { return reading[id] })
	}
	if s.issues = a.issues(); len(s.issues) > 0 {
		s.opts.Logger.Error("files.db, the uploaded bytes and the index disagree: stop the server and run sluice reconcile", "found", s.issues)
	}
	return nil
}

// Issues describes how store, bytes and index disagreed when the service was opened, and how many files were found damaged since and neither
// deleted nor uploaded again. It returns nil if there is no issue.
func (s *Service) Issues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.issues)
	if n := len(s.damaged); n > 0 {
		out = append(out, fmt.Sprintf("%d files whose bytes are damaged", n))
	}
	return out
}

// Close stops the workers and waits for them. Files that were being indexed are indexed when the service is opened again.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	return s.lock.Unlock()
}

// Task returns a task. The id of a file's task is "upload-" and the file's id. The ids "create-" and "vectorize-" with the id of a vector
// store return tasks that describe its present state.
func (s *Service) Task(ctx context.Context, id string) (store.Task, error) {
	t, err := s.opts.Store.Task(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return s.storeTask(ctx, id)
	}
	if err != nil {
		return t, err
	}
	if t.Status == store.Running {
		s.mu.Lock()
		if a := s.running[t.Resource]; a != nil {
			t.Progress = a.percent()
		}
		s.mu.Unlock()
	}
	return t, nil
}

// WaitTask waits until a task is final and returns it.
func (s *Service) WaitTask(ctx context.Context, id string) (store.Task, error) {
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		t, err := s.Task(ctx, id)
		if err != nil || t.Status.Final() {
			return t, err
		}
		select {
		case <-ended:
		case <-s.poll():
		case <-ctx.Done():
			return t, ctx.Err()
		case <-s.ctx.Done():
			return t, errClosed()
		}
	}
}

// pollEvery is how often a task is read that another server may run.
const pollEvery = 500 * time.Millisecond

// poll returns a channel that delivers when a task is to be read again; nil if no other server can change it.
func (s *Service) poll() <-chan time.Time {
	if s.opts.Gone == nil {
		return nil
	}
	return time.After(pollEvery)
}

func errClosed() error { return fault.New(fault.Unavailable, "the service is stopping") }

// notifyWaiters wakes the calls of WaitTask.
func (s *Service) notifyWaiters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ended)
	s.ended = make(chan struct{})
}

// notFound turns [store.ErrNotFound] into an error for the caller.
func notFound(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such %s", what)
	}
	return err
}

// AttributesOf returns the metadata that users set for documents that were not uploaded, by their ids; see [Options].
func (s *Service) AttributesOf(ctx context.Context, documents []string) (map[string]map[string]any, error) {
	if s.opts.Attributes == nil || len(documents) == 0 {
		return nil, nil
	}
	return s.opts.Attributes(ctx, documents)
}
