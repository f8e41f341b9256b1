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

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/reserve"
	"github.com/sluice-rag/sluice/store"
)

// Index is what the service asks of an index. One that is also [index.Versions] has what folders hold counted once for each version.
type Index interface {
	index.Index
	index.Sets
	index.DocumentReader
}

// Store is what the service asks of a store.
type Store interface {
	store.Files
	store.Finder
	store.VectorStores
	store.Memberships
	store.Tasks
	store.Eraser
}

// Ingester puts one file into the index, as [ingest.Ingester] does.
type Ingester interface {
	IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error)
}

// Fetcher gets URLs, as that of package fetch does. Errors are fit to be shown and name no more of a URL than its host.
type Fetcher interface {
	// Check tells at once what makes a URL one that is never fetched.
	Check(url string) error
	// Fetch writes what a URL gives to w and says its media type.
	Fetch(ctx context.Context, url string, w io.Writer) (mediaType string, err error)
}

// Options are a service's. Store, Index and Ingest are needed; without Fetch no URL is taken.
type Options struct {
	Store  Store
	Index  Index
	Ingest Ingester
	Fetch  Fetcher

	Workers      int           // files that are read at once; 2
	Fetchers     int           // URLs that are fetched at once, besides; 4
	MaxFileBytes int64         // of one file; 64 MiB
	MaxJoin      int           // files that join or leave a vector store in one call; 10,000
	MaxListed    int           // files that a vector store lists, and passages that a document shows; 10,000
	Deadline     time.Duration // of one file's fetching, and of its reading and indexing; 30 minutes
	Grace        time.Duration // for one that does not stop by then, before it is left alone; 10 seconds
	Collections  []string      // of folders: [Service.Stores] lists them besides, and their documents can be read; [corpus.DefaultCollection]

	Reserve *reserve.File // of disk space, for deletes; nil: none

	Now    func() time.Time
	NewID  func() string // of files and vector stores; UUIDs in the order of time
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(max(o.Workers, 0), 2)
	o.Fetchers = cmp.Or(max(o.Fetchers, 0), 4)
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 64<<20)
	o.MaxJoin = cmp.Or(max(o.MaxJoin, 0), 10_000)
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
	File     store.File      // of a document from a folder, what is known of it
	Document corpus.Document // as the index has it; zero: it is not indexed (yet)
	Segments []corpus.Chunk  // those of its passages that were asked for; at most Options.MaxListed
	More     bool            // more passages follow them
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

// sweepEvery is how often what has expired is looked for when nobody asks.
const sweepEvery = time.Minute

// Service keeps files. Its methods may be called at once. Errors that are due to the caller are [fault.Error]s: NotFound for an
// id that is not there, InvalidRequest with the field, Conflict, TooLarge.
type Service struct {
	dir  string
	opts Options
	lock *flock.Flock

	ctx  context.Context // of all work; ends with Close
	stop context.CancelFunc
	wake [2]chan struct{} // tells workers of a task: those who read, and those who fetch first
	desk chan struct{}    // has a place for each file that is read
	work sync.WaitGroup

	// Locks are taken in this order.
	life  sync.Mutex // vector stores being made and ended: the index knows of one's end before another of its id begins
	sets  sync.Mutex // the index being told of changes
	blobs sync.Mutex // bytes being placed with the row that names them, or removed with the last one
	begun sync.Mutex // a task that is running in the store and not yet here

	loose atomic.Bool // some change could not be told to the index

	mu       sync.Mutex
	running  map[string]*attempt // by file
	removing map[string]bool     // files whose deletion is under way; true: their task is to be begun anew if they stay
	news     chan struct{}       // closed, and made anew, when something ended
	folders  map[string]folder   // what is known of collections of folders
	damaged  map[string]bool     // SHA-256 of bytes that were found damaged
	issues   []string            // see Issues; set by Open
}

// Open opens the service in dir, making it if there is none. One process at a time has it open. What a crash left half done
// is finished or undone: the index is told what it missed, and tasks that were not final begin again. Where store, bytes and index
// disagree otherwise, [Service.Issues] says so, and [Reconcile] mends it. Workers run until Close.
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

// prepare locks dir.
func prepare(ctx context.Context, dir string, o Options) (*Service, error) {
	s := &Service{dir: dir, opts: o.withDefaults(), running: map[string]*attempt{}, removing: map[string]bool{},
		news: make(chan struct{}), folders: map[string]folder{}, damaged: map[string]bool{}}
	s.wake = [2]chan struct{}{make(chan struct{}, s.opts.Workers), make(chan struct{}, s.opts.Fetchers)}
	s.desk = make(chan struct{}, s.opts.Workers)
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

// recover finishes or undoes what a crash left.
func (s *Service) recover(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.recoverBlobs, s.requeue, s.tell, s.recordAll} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compare notes how store, bytes and index differ, and has files read again that the index has lost.
func (s *Service) compare(ctx context.Context) error {
	a, err := s.look(ctx)
	if err != nil {
		return err
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
		if _, err := s.retry(ctx, id); err != nil {
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
	for set, ids := range a.left { // those that are read again join with their document
		a.left[set] = slices.DeleteFunc(ids, func(id string) bool { return reading[id] })
	}
	if s.issues = a.issues(); len(s.issues) > 0 {
		s.opts.Logger.Error("files.db, the uploaded bytes and the index disagree: stop the server and run sluice reconcile", "found", s.issues)
	}
	return nil
}

// Issues says how store, bytes and index disagreed when the service was opened, and how many files were found damaged since and neither deleted nor uploaded again. None: all is well.
func (s *Service) Issues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.issues)
	if n := len(s.damaged); n > 0 {
		out = append(out, fmt.Sprintf("%d files whose bytes are damaged", n))
	}
	return out
}

// Close stops the workers and waits for them. Files that were being read are taken up when the service is opened again.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	return s.lock.Unlock()
}

// Task gives a task. That of a file is "upload-" with its id; "create-" and "vectorize-" with a vector store's id tell of it as
// it is now.
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
			t.Progress = a.share()
		}
		s.mu.Unlock()
	}
	return t, nil
}

// Await gives a task once it is final.
func (s *Service) Await(ctx context.Context, id string) (store.Task, error) {
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		t, err := s.Task(ctx, id)
		if err != nil || t.Status.Final() {
			return t, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return t, ctx.Err()
		case <-s.ctx.Done():
			return t, errClosed()
		}
	}
}

func errClosed() error { return fault.New(fault.Unavailable, "the service is stopping") }

// tellNews wakes those who wait for something to end.
func (s *Service) tellNews() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// lost makes the error of an id that is not there one for the caller.
func lost(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such %s", what)
	}
	return err
}
