package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/reserve"
)

// The names in the folder.
const (
	fileLock      = "LOCK"
	fileDocuments = "documents.db"
	fileCompacted = "documents.db.new"
	folderLexical = "lexical"
	permDir       = 0o700
	permFile      = 0o600
)

// Options are what [Open] may be told. The zero value works.
type Options struct {
	Logger      *slog.Logger  // repairs are told here; nil: nowhere
	LockTimeout time.Duration // how long to wait for another process to let go of the folder; 0: one second
	Weights     index.Weights // of queries that bring none; zero: [index.DefaultWeights]
	Scoring     Scoring       // zero: [DefaultScoring]
	Reserve     *reserve.File // of disk space, for deletes; nil: none
}

// Index is an index in one folder. It implements [index.Index], [index.Spaces], [index.Graph], [index.Versions],
// [index.Sets] and [index.DocumentReader]. Readers do not wait for writers, but for the moment in which a change becomes durable where
// they read a set that nobody read before.
type Index struct {
	dir   string
	opts  Options
	lock  *flock.Flock
	queue *bleve.AnalysisQueue
	made  uint64 // from where versions are counted: those of a folder that is made in place of another are others

	life   sync.RWMutex // held for reading by every call; for writing by Close
	closed bool

	dbMu  sync.Mutex // guards what follows
	db    *bolt.DB
	reads map[chan struct{}]struct{} // of documents.db that are running; each is closed at its end

	mu          sync.Mutex
	numbers     map[string]uint32 // of all collections by name: a name that damage hides does not make one empty
	collections map[string]*collection
	damage      error                 // the first that was found
	behind      map[*collection]error // that lack a change
	deletions   deletions

	write   sync.Mutex // one writer at a time; guards what follows
	nextRow uint64

	compacting sync.Mutex // one compaction at a time

	lifetime context.Context // ends when the index is to be closed
	stop     context.CancelFunc
	work     sync.WaitGroup // the goroutine of maintain
}

var (
	_ index.Index  = (*Index)(nil)
	_ index.Spaces = (*Index)(nil)
	_ index.Graph  = (*Index)(nil)
)

var errClosed = errors.New("the index is closed")

// Open opens the index in dir, making it if there is none. One process at a time holds a folder: another gets a
// [fault.Conflict] after the lock timeout. What a crash left half done is finished or undone. A documents.db that
// is damaged or missing is an error that names it; damaged lexical indexes are made anew from it. Vectors and lexical indexes of a collection are
// loaded when it is first used.
func Open(dir string, opts Options) (*Index, error) {
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
	x := &Index{dir: dir, opts: opts, numbers: map[string]uint32{}, behind: map[*collection]error{}, collections: map[string]*collection{},
		reads: map[chan struct{}]struct{}{}}
	if err := x.open(); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

func (x *Index) open() (err error) {
	if err := os.MkdirAll(filepath.Join(x.dir, folderLexical), permDir); err != nil {
		return err
	}
	x.lock = flock.New(filepath.Join(x.dir, fileLock))
	ctx, cancel := context.WithTimeout(context.Background(), x.opts.LockTimeout)
	defer cancel()
	ok, err := x.lock.TryLockContext(ctx, 20*time.Millisecond)
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
	if err := x.openDocuments(); err != nil {
		return err
	}
	x.queue = bleve.NewAnalysisQueue(max(1, runtime.GOMAXPROCS(0)))
	x.lifetime, x.stop = context.WithCancel(context.Background())
	x.work.Go(func() { x.maintain(x.lifetime) })
	return nil
}

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

// enter begins a call; leave it with x.life.RUnlock if there is no error.
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

// failed gives err a code, unless it has one or is a context's.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = fmt.Errorf("%s: %w", op, err)
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	return fault.Wrap(fault.Index, err, "the index failed")
}

// Close stops the work in the background, waits for running calls and closes the files. What was deleted and is not erased yet is
// erased after the next Open. A second Close does nothing.
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
	var errs []error
	for _, c := range x.collections {
		errs = append(errs, c.close())
	}
	errs = append(errs, x.db.Close(), x.lock.Unlock())
	x.queue.Close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	return nil
}
