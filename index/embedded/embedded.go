package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// The names in the folder.
const (
	fileLock       = "LOCK"
	fileDocuments  = "documents.db"
	fileCompacted  = "documents.db.new"
	folderLexical  = "lexical"
	permDir        = 0o700
	permFile       = 0o600
	compactTxBytes = 16 << 20
)

// Options are what [Open] may be told. The zero value works.
type Options struct {
	Logger      *slog.Logger  // repairs are told here; nil: nowhere
	LockTimeout time.Duration // how long to wait for another process to let go of the folder; 0: one second
	Weights     index.Weights // of queries that bring none; zero: [index.DefaultWeights]
	Scoring     Scoring       // zero: [DefaultScoring]
}

// Index is an index in one folder. It implements [index.Index], [index.Spaces], [index.Graph], [index.Versions],
// [index.Sets] and [index.Contents]. Readers do not wait for writers, but for the moment in which a change becomes durable where
// they read a set that nobody read before.
type Index struct {
	dir   string
	opts  Options
	lock  *flock.Flock
	queue *bleve.AnalysisQueue
	made  uint64 // from where versions are counted: those of a folder that is made in place of another are others

	life   sync.RWMutex // held for reading by every call; for writing by Close
	closed bool

	dbMu sync.RWMutex // held for writing while the file is exchanged
	db   *bolt.DB

	mu          sync.Mutex
	collections map[string]*collection

	write   sync.Mutex // one writer at a time; guards what follows
	nextRow uint64
	broken  error // a change that is in documents.db and not in a lexical index: reopening repairs it
}

var (
	_ index.Index  = (*Index)(nil)
	_ index.Spaces = (*Index)(nil)
	_ index.Graph  = (*Index)(nil)
)

var errClosed = errors.New("the index is closed")

// Open opens the index in dir, making it if there is none. One process at a time holds a folder: another gets a
// [fault.Conflict] after the lock timeout. What a crash left half done is finished or undone. A damaged documents.db is an
// error that names it; damaged lexical indexes are made anew from it. Vectors and lexical indexes of a collection are
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
	x := &Index{dir: dir, opts: opts, collections: map[string]*collection{}}
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
	if err := os.Remove(x.path(fileCompacted)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if x.db, err = openDB(x.path(fileDocuments)); err != nil {
		return err
	}
	if err := x.prepare(); err != nil {
		return err
	}
	x.queue = bleve.NewAnalysisQueue(max(1, runtime.GOMAXPROCS(0)))
	return nil
}

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

func openDB(path string) (*bolt.DB, error) {
	return openBolt(path, bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
}

func openBolt(path string, opts bolt.Options) (db *bolt.DB, err error) {
	err = guard(path, func() error {
		db, err = bolt.Open(path, permFile, &opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = guard(path, func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return db.View(func(tx *bolt.Tx) error {
			if info.Size() < tx.Size() {
				return fmt.Errorf("%d bytes where %d were written", info.Size(), tx.Size())
			}
			return nil
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// guard runs do, which reads a memory-mapped file, and makes an error of the panics and faults that damage to it causes.
func guard(path string, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: damaged: %v", path, r)
		}
	}()
	if err := do(); err != nil {
		if _, coded := errors.AsType[*fault.Error](err); coded {
			return err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// prepare makes the buckets and finishes what the last process left.
func (x *Index) prepare() error {
	return x.update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		switch have := meta.Get(keyFormat); {
		case have == nil:
			made := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMicro()))
			if err := errors.Join(meta.Put(keyFormat, []byte(format)), meta.Put(keyMade, made)); err != nil {
				return err
			}
		case string(have) == formatSpaceless:
			if err := forgetVectors(tx); err != nil {
				return err
			}
		case string(have) == formatNameless: // its passages have no mentions until they are put anew
			if err := meta.Put(keyFormat, []byte(format)); err != nil {
				return err
			}
		case string(have) != format && string(have) != formatSets:
			return fmt.Errorf("format %q is not %q, which this version reads", have, format)
		}
		if b := meta.Get(keyNextRow); len(b) == 8 {
			x.nextRow = binary.BigEndian.Uint64(b)
		}
		if b := meta.Get(keyMade); len(b) == 8 {
			x.made = binary.BigEndian.Uint64(b)
		}
		return sweepAll(tx)
	})
}

// forgetVectors turns a folder of the first format into one of this. Nobody knows the spaces of the vectors in it, so they
// go; they are made anew from the texts, which stay.
func forgetVectors(tx *bolt.Tx) error {
	if err := tx.DeleteBucket(bucketVectors); err != nil {
		return err
	}
	if _, err := tx.CreateBucket(bucketVectors); err != nil {
		return err
	}
	meta := tx.Bucket(bucketMeta)
	return errors.Join(meta.Put(keyFormat, []byte(format)), meta.Put(keyScrub, nil))
}

// view runs do in a read transaction. Nothing read may be kept without a copy.
func (x *Index) view(do func(tx *bolt.Tx) error) error {
	x.dbMu.RLock()
	defer x.dbMu.RUnlock()
	return guard(x.path(fileDocuments), func() error { return x.db.View(do) })
}

func (x *Index) update(do func(tx *bolt.Tx) error) error {
	x.dbMu.RLock()
	defer x.dbMu.RUnlock()
	return guard(x.path(fileDocuments), func() error { return x.db.Update(do) })
}

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

// Close waits for running calls, purges what was deleted (see [Index.Compact]) and closes the files. A second Close does
// nothing.
func (x *Index) Close() error {
	x.life.Lock()
	defer x.life.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	x.write.Lock()
	defer x.write.Unlock()
	var errs []error
	if x.broken == nil {
		errs = append(errs, x.compact(context.Background()))
	}
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
