package inverted

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
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
	dir  string
	opts Options

	closed atomic.Bool

	mu       sync.Mutex
	idle     sync.Cond // signals the end of a merge
	segments []live
	state    uint64 // counts the changes of segments
	tag      []byte
	next     uint64 // number of the next segment
	merging  bool
	stop     func()     // cancels the merge that runs
	unlisted []string   // files that the manifest may list if writing it failed
	obsolete []*Segment // not listed, but perhaps in use
}

// Open opens or creates the index in dir. Files that are not listed in the manifest, which a crash left, are removed. A damaged file is an [ErrDamaged].
func Open(dir string, opts Options) (*Index, error) {
	if opts.OnError == nil {
		opts.OnError = func(error) {}
	}
	x := &Index{dir: dir, opts: opts}
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
// step. It returns when the change is durable. After an error, the index has to be opened again. Added documents are sorted by row.
func (x *Index) Change(added []Document, removed [][2]uint64, tag []byte) error {
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
		if err := w.close(build(w, added)); err != nil {
			return err
		}
		if fresh, err = openSegment(x.path(number), number, x.opts.Fields, &x.closed); err != nil {
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
	for x.merging && len(x.segments) > maxSegments {
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

// install writes the manifest of segments and makes them the newest state. fresh is the new one, if any, which the index owns from now on.
func (x *Index) install(segments []live, tag []byte, fresh *Segment) error {
	if err := x.writeManifest(segments, tag); err != nil {
		if fresh != nil { // the manifest may list it nevertheless
			x.unlisted = append(x.unlisted, fresh.path)
			fresh.release()
		}
		return err
	}
	for _, path := range x.unlisted {
		_ = os.Remove(path)
	}
	x.unlisted = nil
	x.forgetObsolete()
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

// Erased reports whether no file has a deleted document any more.
func (x *Index) Erased() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgetObsolete()
	return len(x.obsolete) == 0 && !slices.ContainsFunc(x.segments, func(s live) bool { return s.gone > 0 })
}

// forgetObsolete forgets obsolete segments that nothing uses any more.
func (x *Index) forgetObsolete() {
	x.obsolete = slices.DeleteFunc(x.obsolete, func(s *Segment) bool { return s.refs.Load() <= 0 })
}

// Close stops the merge that runs. Snapshots can be used until they are closed. A second Close does nothing.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed.Swap(true) {
		return
	}
	for x.merging {
		x.stop()
		x.idle.Wait()
	}
	for _, s := range x.segments {
		s.release()
	}
	x.segments = nil
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
