package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// Names of files and folders in the index folder.
const (
	fileLock      = "LOCK"
	fileDocuments = "documents.db"
	fileCompacted = "documents.db.new"
	folderLexical = "lexical"
	permDir       = 0o700
	permFile      = 0o600
)

// Options configure [Open]. The zero value works.
type Options struct {
	Logger      *slog.Logger  // for repairs and damage; nil: no log
	LockTimeout time.Duration // how long to wait while another process has the folder open; 0: one second
	Weights     index.Weights // of queries without weights; zero: [index.DefaultWeights]
	Scoring     Scoring       // zero: [DefaultScoring]
	Reserve     *reserve.File // disk space reserved for deletes; nil: none
}

// Index is an index in one folder. It implements [index.Index], [index.Spaces], [index.Graph], [index.Versions],
// [index.Sets] and [index.DocumentReader]. Readers do not wait for writers, with one exception: the first read of a set waits
// while a change is being committed.
type Index struct {
	dir     string
	opts    Options
	lock    *flock.Flock
	created uint64 // creation time of the folder, added to all versions, so that a new folder has other versions than an old one

	life   sync.RWMutex // read-locked by each call, locked by Close
	closed bool

	dbMu  sync.Mutex // guards db and reads
	db    *bolt.DB
	reads map[chan struct{}]struct{} // running reads of documents.db; the channel is closed when the read ends

	mu          sync.Mutex
	numbers     map[string]uint32 // of all collections by name, so that a name lost by damage does not look like an empty collection
	collections map[string]*collection
	damage      error                 // the first that was found
	outdated    map[*collection]error // collections that lack a change, with the cause
	deletions   deletions

	write   sync.Mutex // one writer at a time; guards nextRow
	nextRow uint64

	compacting sync.Mutex // one compaction at a time

	lifetime context.Context // ends when Close begins
	stop     context.CancelFunc
	work     sync.WaitGroup // the goroutine of maintain
}

var (
	_ index.Index  = (*Index)(nil)
	_ index.Spaces = (*Index)(nil)
	_ index.Graph  = (*Index)(nil)

	_ index.PassageVectors = (*Index)(nil)
)

var errClosed = errors.New("the index is closed")

// Open opens the index in dir, and creates it if it does not exist. Only one process can open a folder: others get a
// [fault.Conflict] after the lock timeout. Changes that a crash interrupted are completed or undone. A documents.db that is damaged
// or missing is an error that contains its path; damaged lexical indexes are rebuilt from it. The vectors and lexical indexes of a
// collection are loaded when it is first used. The end of ctx stops the verification of the files.
func Open(ctx context.Context, dir string, opts Options) (*Index, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.LockTimeout <= 0 {
		opts.LockTimeout = time.Second
	}
	if opts.Weights == (index.Weights{}) {
		opts.Weights = index.DefaultWeights
	}
	if opts.Scoring == (Scoring{}) {
		opts.Scoring = DefaultScoring
	}
	x := &Index{dir: dir, opts: opts, numbers: map[string]uint32{}, outdated: map[*collection]error{}, collections: map[string]*collection{},
		reads: map[chan struct{}]struct{}{}}
	if err := x.open(ctx); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

func (x *Index) open(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(x.dir, folderLexical), permDir); err != nil {
		return err
	}
	x.lock = flock.New(filepath.Join(x.dir, fileLock))
	lockCtx, cancel := context.WithTimeout(ctx, x.opts.LockTimeout)
	defer cancel()
	ok, err := x.lock.TryLockContext(lockCtx, 20*time.Millisecond)
	if !ok && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if !ok {
		return fault.New(fault.Conflict, "another process has the index open")
	}
	defer func() {
		if err != nil {
			if x.db != nil {
				_ = x.db.Close()
			}
			_ = x.lock.Unlock()
		}
	}()
	if err := x.openDocuments(ctx); err != nil {
		return err
	}
	x.lifetime, x.stop = context.WithCancel(context.Background())
	x.work.Go(func() { x.maintain(x.lifetime) })
	return nil
}

// OnlyPassages implements [index.PassageVectors].
func (*Index) OnlyPassages() bool { return true }

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

// enter begins a call. Unless it returns an error, the caller ends the call with x.life.RUnlock.
func (x *Index) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.life.RLock()
	if x.closed {
		x.life.RUnlock()
		return fault.Wrap(fault.Index, errClosed, "the index failed")
	}
	return nil
}

// failed adds the operation and a code to err, unless err has a code or comes from a context.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = fmt.Errorf("%s: %w", op, err)
	if fault.CodeOf(err) != "" {
		return err
	}
	return fault.Wrap(fault.Index, err, "the index failed")
}

// Close stops the background work, waits for running calls and closes the files. Deleted text that is not erased yet is erased after
// the next Open. A second Close does nothing.
func (x *Index) Close() error {
	x.stop()
	x.work.Wait()
	x.life.Lock()
	defer x.life.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	x.write.Lock()
	defer x.write.Unlock()
	for _, c := range x.collections {
		c.close()
	}
	if err := errors.Join(x.db.Close(), x.lock.Unlock()); err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	return nil
}
