package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/embedded/inverted"
)

// collection is the loaded state of a collection.
type collection struct {
	id   uint32
	load sync.Mutex // held during loading
	done bool
	// gate is held from the commit of a change to documents or sets until readers see the change, and while sets are read from
	// documents.db, so that the sets belong to the newest snapshot.
	gate sync.Mutex

	mu    sync.Mutex
	cur   *snapshot
	alive []*snapshot // snapshots with readers, oldest first; cur is the last
	// filters caches filters by the name of their scope.
	filters map[string]*filter
	// chosen is the filter of the last search in given documents. The collection's mu guards it.
	chosen *chosenFilter

	// The following fields belong to the writer.
	seq     uint64
	spaces  map[string]spaceRecord
	lex     [levels]*lexical
	records [levels]levelRecord
	retired []retired
	stale   error // why a change in documents.db is missing in the lexical indexes or snapshots; nil: none is missing
}

// snapshot is one immutable state of a collection. Each acquire is followed by a release.
type snapshot struct {
	seq       uint64
	refs      int // guarded by the collection's mu
	levels    [levels]view
	partCache *partCache // shared by snapshots between which no document and no set changed
}

// view is a level of a snapshot.
type view struct {
	lexical        *inverted.Snapshot // nil: no chunks
	forms          *formCache         // of words in lexical
	only           *filter            // visible rows; nil: all
	chunks, tokens uint64
	generation     uint64 // of the last change
	spaces         spaces
}

// retired are rows that are not visible in snapshot seq and later ones. Their texts are deleted when all older snapshots are released.
type retired struct {
	seq  uint64
	rows [][2]uint64
}

func (c *collection) acquire() *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cur.refs++
	return c.cur
}

func (c *collection) release(s *snapshot) {
	c.mu.Lock()
	s.refs--
	last := s.refs == 0
	if last {
		c.alive = slices.DeleteFunc(c.alive, func(o *snapshot) bool { return o == s })
	}
	c.mu.Unlock()
	if last {
		s.close()
	}
}

// vectors returns the vectors of each level.
func (s *snapshot) vectors() (out [levels]spaces) {
	for i := range levels {
		out[i] = s.levels[i].spaces
	}
	return out
}

// scoped returns the view restricted by a filter.
func (v view) scoped(only *filter) *view {
	v.only = only
	return &v
}

func (s *snapshot) close() {
	for _, v := range s.levels {
		if v.lexical != nil {
			v.lexical.Close()
		}
	}
}

// publish makes a snapshot of the lexical indexes, the records and the given vectors the current one. parts are the edits of sets
// and documents; if there are any, the caller holds the gate.
func (c *collection) publish(vectors [levels]spaces, parts map[string]*partEdit) {
	c.seq++
	s := &snapshot{seq: c.seq, refs: 1}
	for i := range levels {
		r := c.records[i]
		s.levels[i] = view{chunks: r.Chunks, tokens: r.Tokens, generation: r.Generation, spaces: vectors[i]}
		if c.lex[i] != nil {
			s.levels[i].lexical = c.lex[i].Snapshot()
			s.levels[i].forms, _ = lru.New[formKey, wordForms](maxForms) // it fails only without a size
		}
	}
	c.mu.Lock()
	old := c.cur
	switch {
	case old == nil || c.stale != nil:
		s.partCache = &partCache{parts: map[string]*part{}}
	case len(parts) > 0:
		s.partCache = old.partCache.change(parts)
	default:
		s.partCache = old.partCache
	}
	c.cur = s
	c.alive = append(c.alive, s)
	c.mu.Unlock()
	if old != nil {
		c.release(old)
	}
}

// sweepable removes and returns the retired rows that no snapshot in use can see.
func (c *collection) sweepable() (rows [][2]uint64) {
	c.mu.Lock()
	oldest := c.seq
	if len(c.alive) > 0 {
		oldest = c.alive[0].seq
	}
	c.mu.Unlock()
	kept := c.retired[:0]
	for _, r := range c.retired {
		if r.seq <= oldest {
			rows = append(rows, r.rows...)
		} else {
			kept = append(kept, r)
		}
	}
	c.retired = kept
	return rows
}

// close closes the collection. No snapshot may be in use.
func (c *collection) close() {
	if c.cur != nil {
		c.release(c.cur)
		c.cur = nil
	}
	for i, l := range c.lex {
		if l != nil {
			l.Close()
			c.lex[i] = nil
		}
	}
}

// collection returns a collection and loads it if needed. It returns nil if the collection does not exist.
func (x *Index) collection(name string) (*collection, error) {
	if name == "" {
		name = corpus.DefaultCollection
	}
	x.mu.Lock()
	c := x.collections[name]
	x.mu.Unlock()
	if c == nil {
		id := x.number(name)
		if id == nil {
			return nil, nil
		}
		x.mu.Lock()
		if c = x.collections[name]; c == nil {
			c = &collection{id: *id}
			x.collections[name] = c
		}
		x.mu.Unlock()
	}
	c.load.Lock()
	defer c.load.Unlock()
	if c.done {
		return c, nil
	}
	if err := x.loadCollection(c); err != nil {
		c.close()
		return nil, err
	}
	c.done = true
	return c, nil
}

// number returns the number of a collection, or nil if the collection does not exist.
func (x *Index) number(name string) *uint32 {
	if name == "" {
		name = corpus.DefaultCollection
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if n, ok := x.numbers[name]; ok {
		return &n
	}
	return nil
}

func (x *Index) loadCollection(c *collection) error {
	var vectors [levels]spaces
	err := x.view(func(tx *txn) (err error) {
		c.spaces, err = readSpaces(tx, c.id)
		return err
	})
	if err != nil {
		return err
	}
	for i := range levels {
		found := false
		err := x.view(func(tx *txn) (err error) {
			raw := tx.Bucket(bucketLevels).Get(levelKey(c.id, i+1))
			if found = raw != nil; !found {
				return nil
			}
			if err := unsealJSON(raw, &c.records[i]); err != nil {
				return fmt.Errorf("%w: statistics of a level: %w", errDamaged, err)
			}
			vectors[i] = spaces{}
			for name, s := range c.spaces {
				slabs, err := readVectors(tx, c.id, s, i+1)
				if err != nil {
					return err
				}
				if slabs != nil {
					vectors[i][name] = slabs
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if found {
			if c.lex[i], err = x.loadLexical(c, i); err != nil {
				return err
			}
		}
	}
	c.gate.Lock() // not earlier, because a rebuild may take minutes
	defer c.gate.Unlock()
	c.publish(vectors, nil)
	return nil
}

// readSpaces returns the spaces of a collection by name.
func readSpaces(tx *txn, collection uint32) (map[string]spaceRecord, error) {
	out := map[string]spaceRecord{}
	prefix := idKey(collection, "")
	cur := tx.Bucket(bucketSpaces).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		var r spaceRecord
		if err := unsealJSON(v, &r); err != nil {
			return nil, fmt.Errorf("%w: a space: %w", errDamaged, err)
		}
		out[string(k[len(prefix):])] = r
	}
	return out, nil
}

// readVectors returns the vectors of a space at a level, or nil without vectors. It allocates the memory for all of them at once, because they are
// most of what the process keeps.
func readVectors(tx *txn, collection uint32, space spaceRecord, level int) (slabs, error) {
	s := &slab{dim: space.Dim}
	var sealed [][]byte
	prefix := append(spaceKey(collection, space.Number), byte(level))
	cur := tx.Bucket(bucketVectors).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if len(k) != len(prefix)+8 {
			return nil, fmt.Errorf("%w: key of a vector", errDamaged)
		}
		if raw, err := unseal(v[:min(len(v), 5)]); err == nil && len(raw) == 0 {
			continue // known to have none
		}
		s.rows = append(s.rows, binary.BigEndian.Uint64(k[len(prefix):]))
		sealed = append(sealed, v)
	}
	if len(s.rows) == 0 {
		return nil, nil
	}
	s.rows = slices.Clip(s.rows)
	width := stride(s.dim)
	s.data, s.inverses = make([]byte, len(sealed)*width), make([]float32, len(sealed))
	var parts errgroup.Group
	size := max(1, len(sealed)/runtime.GOMAXPROCS(0))
	for from := 0; from < len(sealed); from += size {
		parts.Go(func() error {
			return guard(tx.DB().Path(), func() error {
				for i := from; i < min(from+size, len(sealed)); i++ {
					v, err := unsealVector(sealed[i], s.dim)
					if err != nil {
						return fmt.Errorf("%w: a vector: %w", errDamaged, err)
					}
					copy(s.data[i*width:], v)
					s.inverses[i] = inverseLength(v)
				}
				return nil
			})
		})
	}
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	return slabs{s}, nil
}

func (x *Index) lexicalDir(c *collection, level int) string {
	return filepath.Join(x.dir, folderLexical, fmt.Sprintf("%08x-L%d", c.id, level+1))
}

// loadLexical opens the lexical index of a level and brings it up to date with documents.db.
func (x *Index) loadLexical(c *collection, level int) (*lexical, error) {
	dir, record := x.lexicalDir(c, level), &c.records[level]
	l, err := x.openLexical(c, level)
	var have uint64
	if err == nil {
		have = l.generation()
	}
	switch {
	case err == nil && have == record.Generation:
		return l, nil
	case err == nil && have > 0 && have+1 == record.Generation:
		if err = x.replay(l, record); err == nil {
			x.opts.Logger.Info("index repaired", "folder", dir)
			return l, nil
		}
	}
	if err == nil && have == 0 { // a new folder, or one of an earlier version
		x.opts.Logger.Info("rebuilding lexical index", "folder", dir, "chunks", record.Chunks)
	} else {
		x.opts.Logger.Warn("rebuilding lexical index", "folder", dir, "chunks", record.Chunks, "cause", err)
	}
	if l != nil {
		l.Close()
	}
	return x.rebuild(c, level)
}

// replay applies the newest change again.
func (x *Index) replay(l *lexical, record *levelRecord) error {
	f := batchWriter{lexical: l}
	return x.view(func(tx *txn) error {
		reader := chunkReader{tx: tx}
		for _, r := range record.Added {
			for row := r[0]; row < r[1]; row++ {
				if slices.ContainsFunc(record.Removed, func(g [2]uint64) bool { return g[0] <= row && row < g[1] }) {
					continue
				}
				if err := f.addRow(&reader, row); err != nil {
					return err
				}
			}
		}
		return f.end(record.Removed, record.Generation)
	})
}

// rebuild recreates the lexical index of a level from documents.db.
func (x *Index) rebuild(c *collection, level int) (*lexical, error) {
	dir := x.lexicalDir(c, level)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	l, err := x.openLexical(c, level)
	if err != nil {
		return nil, err
	}
	f := batchWriter{lexical: l}
	err = x.view(func(tx *txn) error {
		prefix, reader := idKey(c.id, ""), chunkReader{tx: tx}
		cur := tx.Bucket(bucketDocuments).Cursor()
		for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
			var d docRecord
			if err := unsealJSON(v, &d); err != nil {
				return fmt.Errorf("%w: a document: %w", errDamaged, err)
			}
			for row, to := d.rows(level); row < to && d.indexed(level); row++ {
				if err := errors.Join(x.lifetime.Err(), f.addRow(&reader, row)); err != nil {
					return err
				}
			}
		}
		return f.end(nil, c.records[level].Generation)
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// addRow adds a chunk from documents.db.
func (f *batchWriter) addRow(r *chunkReader, row uint64) error {
	chunk, err := r.read(row)
	if err != nil {
		return err
	}
	n, err := r.mentions(row)
	if err != nil {
		return err
	}
	return f.add(newChunk{row: row, chunk: chunk, named: n})
}
