package inverted

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// ErrDamaged is the error for files that are not as they were written.
var ErrDamaged = errors.New("damaged index")

// Options configure [Open].
type Options struct {
	Fields  []Detail
	OnError func(error) // called with the errors of merges in the background; nil: they are ignored. The next change tries again.
}

// Index is an index in a folder. Only one goroutine may call Change at a time, and only one Merge. Otherwise its methods are safe for concurrent use.
type Index struct {
	dir   string
	opts  Options
	files *folder

	mu       sync.Mutex
	idle     sync.Cond // signals the end of a merge, and that a wait for it was cancelled
	segments []live
	state    uint64 // counts the changes of segments
	tag      []byte
	next     uint64     // number of the next segment
	merging  bool       // a merge runs
	wanted   bool       // Merge waits for its end, or runs
	stop     func()     // cancels the merge that runs
	unlisted []string   // files to remove that were not: the manifest may list them if writing it failed, or removing them failed
	obsolete []*Segment // not listed, but in use or not removed
}

// Open opens or creates the index in dir. Files that are not listed in the manifest, which a crash left, are removed. A damaged file is an [ErrDamaged].
func Open(dir string, opts Options) (*Index, error) {
	if opts.OnError == nil {
		opts.OnError = func(error) {}
	}
	x := &Index{dir: dir, opts: opts, files: &folder{}}
	x.idle.L = &x.mu
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := x.load(); err != nil {
		for _, s := range x.segments {
			s.release()
		}
		return nil, err
	}
	return x, nil
}

// path returns the path of a segment.
func (x *Index) path(number uint64) string {
	return filepath.Join(x.dir, fmt.Sprintf("%012x%s", number, segmentSuffix))
}

// Tag returns the tag of the newest change that had one.
func (x *Index) Tag() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tag
}

// Snapshot returns the newest state. The caller closes it.
func (x *Index) Snapshot() *Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	return newSnapshot(x.segments, x.state)
}

// Current reports whether a snapshot is the newest state.
func (x *Index) Current(s *Snapshot) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return s.state == x.state
}

// maxSegments is the number of segments at which a change waits for the merge that runs.
const maxSegments = 48

// Change deletes the documents with rows in ranges [from, to), adds documents, which replace those with the same rows, and sets the tag (nil: keeps it), in one
// step. It returns when the change is durable. After an error, the index has to be opened again. Added documents are sorted by row; their rows differ, and are in none of the ranges.
func (x *Index) Change(added []Document, removed [][2]uint64, tag []byte) error {
	return safely(func() error { return x.change(added, removed, tag) })
}

func (x *Index) change(added []Document, removed [][2]uint64, tag []byte) error {
	slices.SortFunc(added, func(a, b Document) int { return cmp.Compare(a.Row, b.Row) })
	var fresh *Segment
	if len(added) > 0 {
		x.mu.Lock()
		number := x.next
		x.next++
		x.mu.Unlock()
		w, err := createSegment(x.path(number), x.opts.Fields)
		if err != nil {
			return err
		}
		if fresh, err = x.adopt(w, number, build(w, added)); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := make([]live, 0, len(x.segments)+1)
	for _, s := range x.segments {
		if s = s.without(removed, added); s.gone < s.docs {
			next = append(next, s)
		}
	}
	if fresh != nil {
		next = append(next, live{Segment: fresh})
	}
	if tag == nil {
		tag = x.tag
	}
	if err := x.install(next, tag, fresh); err != nil {
		return err
	}
	x.startMerge()
	for x.merging && !x.wanted && len(x.segments) > maxSegments {
		x.idle.Wait()
	}
	return nil
}

// without returns the segment without the rows of ranges, and without those of added documents, which are sorted.
func (s live) without(removed [][2]uint64, added []Document) live {
	own := false
	drop := func(first, end uint32) {
		for n := first; n < end; n++ {
			if s.deleted.Has(n) {
				continue
			}
			if !own { // others use the old set
				own = true
				deleted := NewBits(s.docs)
				copy(deleted, s.deleted)
				s.deleted = deleted
			}
			s.deleted.Set(n)
			s.gone++
		}
	}
	for _, r := range removed {
		drop(s.Range(r[0], r[1]))
	}
	if len(added) > 0 && added[0].Row <= s.Row(uint32(s.docs-1)) && added[len(added)-1].Row >= s.Row(0) {
		for _, d := range added {
			drop(s.Range(d.Row, d.Row+1))
		}
	}
	return s
}

// adopt closes the file of a new segment and opens it. If err is not nil, or this fails, it removes the file and returns the error.
func (x *Index) adopt(w *segmentWriter, number uint64, err error) (*Segment, error) {
	if err := w.close(err); err != nil {
		return nil, err
	}
	s, err := openSegment(x.path(number), number, x.opts.Fields, x.files)
	if err != nil {
		_ = os.Remove(x.path(number))
	}
	return s, err
}

// install writes the manifest of segments and makes them the newest state. fresh is the new one, if any, which the index owns from now on.
func (x *Index) install(segments []live, tag []byte, fresh *Segment) error {
	err := errTooMany
	if total := count(segments); total <= math.MaxUint32 {
		err = x.writeManifest(segments, tag, fresh != nil)
	}
	if err != nil {
		if fresh != nil { // the manifest may list it nevertheless
			x.unlisted = append(x.unlisted, fresh.path)
			fresh.release()
		}
		return err
	}
	x.removeFiles()
	for _, old := range x.segments {
		if !slices.ContainsFunc(segments, func(s live) bool { return s.Segment == old.Segment }) {
			old.obsolete.Store(true)
			x.obsolete = append(x.obsolete, old.Segment)
			old.release()
		}
	}
	x.segments, x.tag = segments, tag
	x.state++
	return nil
}

// errTooMany is the error for more documents than numbers.
var errTooMany = errors.New("an index can have 2^32 documents")

func count(segments []live) (n int) {
	for _, s := range segments {
		n += s.docs
	}
	return n
}

// Erased reports whether no file has a deleted document any more.
func (x *Index) Erased() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeFiles()
	if len(x.unlisted)+len(x.obsolete) > 0 || slices.ContainsFunc(x.segments, func(s live) bool { return s.gone > 0 }) {
		return false
	}
	return atomicfile.SyncDir(x.dir) == nil
}

// removeFiles removes files that are not listed, and forgets obsolete segments that are removed.
func (x *Index) removeFiles() {
	x.unlisted = slices.DeleteFunc(x.unlisted, x.files.remove)
	x.obsolete = slices.DeleteFunc(x.obsolete, func(s *Segment) bool { return s.refs.Load() <= 0 && x.files.remove(s.path) })
}

// Close stops the merge that runs. Snapshots can be used until they are closed. A second Close does nothing.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.files.isClosed() {
		return
	}
	x.files.close()
	for x.merging {
		x.stop()
		x.idle.Wait()
	}
	for _, s := range x.segments {
		s.release()
	}
	x.segments = nil
}

// folder removes files until the index is closed. Then they belong to the one that opens the folder next.
type folder struct {
	mu     sync.Mutex
	closed bool
}

func (f *folder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

func (f *folder) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// remove removes a file, and reports whether it does not exist any more.
func (f *folder) remove(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	err := os.Remove(path)
	return err == nil || errors.Is(err, os.ErrNotExist)
}

// safely runs do, which reads mapped files. A panic, such as that of a page that cannot be read, is an [ErrDamaged].
func safely(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return do()
}
