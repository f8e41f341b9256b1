package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/sluice-rag/sluice/corpus"
)

// collection is one that is in use.
type collection struct {
	id   uint32
	load sync.Mutex // held while it is loaded
	done bool
	// gate is held from before a change to documents or sets is in documents.db until readers see it, and while sets are read
	// from there, so that what is read is of the newest state.
	gate sync.Mutex

	mu    sync.Mutex
	cur   *snapshot
	alive []*snapshot // those that somebody reads, oldest first; cur is the last
	// filters are those made last, by the name of their scope.
	filters map[string]*filter

	// What follows is the writer's.
	seq     uint64
	spaces  map[string]spaceRecord
	lex     [levels]*lexical
	records [levels]levelRecord
	retired []retired
	stale   error // documents.db has a change that is not in what follows from it
}

// snapshot is one state of a collection. It is never changed; whoever acquired it releases it.
type snapshot struct {
	seq    uint64
	refs   int // guarded by the collection's mu
	levels [levels]view
	loaded *loaded // states between which no document and no set changed share them
}

// view is a level of a snapshot.
type view struct {
	reader                 bleve.IndexReader // nil: no chunks
	of                     *lexical          // of which reader is
	only                   *filter           // what of it is read; nil: all
	chunks, tokens, titles uint64
	generation             uint64 // of the change that made it
	spaces                 spaces
}

// retired are rows that no snapshot from seq on shows. Their texts are deleted when no older one is read any more.
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

// vectors gives those of each level.
func (s *snapshot) vectors() (out [levels]spaces) {
	for i := range levels {
		out[i] = s.levels[i].spaces
	}
	return out
}

// scoped gives the view with what is read of it.
func (v view) scoped(only *filter) *view {
	v.only = only
	return &v
}

func (s *snapshot) close() {
	for _, v := range s.levels {
		if v.reader != nil {
			_ = v.reader.Close()
		}
	}
}

// publish makes the state of the lexical indexes and records, with the vectors given, the one that readers see. parts are the
// edits of sets and documents; where there are any, the gate is held.
func (c *collection) publish(vectors [levels]spaces, parts map[string]*partEdit) error {
	c.seq++
	s := &snapshot{seq: c.seq, refs: 1}
	for i := range levels {
		r := c.records[i]
		s.levels[i] = view{chunks: r.Chunks, tokens: r.Tokens, titles: r.Titles, generation: r.Generation, spaces: vectors[i]}
		if c.lex[i] == nil {
			continue
		}
		reader, err := c.lex[i].scorch.Reader()
		if err != nil {
			s.close()
			return err
		}
		s.levels[i].reader, s.levels[i].of = reader, c.lex[i]
	}
	c.mu.Lock()
	old := c.cur
	switch {
	case old == nil || c.stale != nil:
		s.loaded = &loaded{parts: map[string]*part{}}
	case len(parts) > 0:
		s.loaded = old.loaded.change(parts)
	default:
		s.loaded = old.loaded
	}
	c.cur = s
	c.alive = append(c.alive, s)
	c.mu.Unlock()
	if old != nil {
		c.release(old)
	}
	return nil
}

// sweepable takes the retired rows that no reader can ask for any more.
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

// close is for when nobody reads any more.
func (c *collection) close() error {
	if c.cur != nil {
		c.release(c.cur)
		c.cur = nil
	}
	var errs []error
	for i, l := range c.lex {
		if l != nil {
			errs = append(errs, l.close())
			c.lex[i] = nil
		}
	}
	return errors.Join(errs...)
}

// collection gives a collection, loaded, or nil if there is none of the name.
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
		_ = c.close()
		return nil, err
	}
	c.done = true
	return c, nil
}

// number gives the number of a collection, or nil if there is none of the name.
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
	c.gate.Lock() // not before, as a rebuild may take minutes
	defer c.gate.Unlock()
	return c.publish(vectors, nil)
}

// readSpaces gives the spaces of a collection by name.
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

// readVectors gives the vectors of a space at a level; nil if there are none.
func readVectors(tx *txn, collection uint32, space spaceRecord, level int) (slabs, error) {
	s := &slab{dim: space.Dim}
	prefix := append(spaceKey(collection, space.Number), byte(level))
	cur := tx.Bucket(bucketVectors).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if len(k) != len(prefix)+8 {
			return nil, fmt.Errorf("%w: key of a vector", errDamaged)
		}
		before := len(s.data)
		var err error
		if s.data, err = unsealVector(v, s.data); err != nil {
			return nil, fmt.Errorf("%w: a vector: %w", errDamaged, err)
		}
		switch len(s.data) - before {
		case 0: // known to have none
		case s.dim:
			s.rows = append(s.rows, binary.BigEndian.Uint64(k[len(prefix):]))
		default:
			return nil, fmt.Errorf("%w: a vector of %d components among those of %d", errDamaged, len(s.data)-before, s.dim)
		}
	}
	if len(s.rows) == 0 {
		return nil, nil
	}
	return slabs{s}, nil
}

func (x *Index) lexicalDir(c *collection, level int) string {
	return filepath.Join(x.dir, folderLexical, fmt.Sprintf("%08x-L%d", c.id, level+1))
}

// loadLexical opens the lexical index of a level and brings it to the generation of the data.
func (x *Index) loadLexical(c *collection, level int) (*lexical, error) {
	dir, record := x.lexicalDir(c, level), &c.records[level]
	l, err := openLexical(dir, x.queue)
	var have uint64
	if err == nil {
		have, err = l.generation()
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
	if err == nil && have == 0 { // as it was left when deleted text was wiped
		x.opts.Logger.Info("index made anew from documents", "folder", dir, "chunks", record.Chunks)
	} else {
		x.opts.Logger.Warn("index made anew from documents", "folder", dir, "chunks", record.Chunks, "cause", err)
	}
	if l != nil {
		_ = l.close()
	}
	return x.rebuild(c, level)
}

// replay does again the newest change.
func (x *Index) replay(l *lexical, record *levelRecord) error {
	f := filling{lexical: l}
	return x.view(func(tx *txn) error {
		for _, r := range record.Added {
			for row := r[0]; row < r[1]; row++ {
				if slices.ContainsFunc(record.Removed, func(g [2]uint64) bool { return g[0] <= row && row < g[1] }) {
					continue
				}
				if err := f.addRow(tx, row); err != nil {
					return err
				}
			}
		}
		return f.end(record.Removed, record.Generation)
	})
}

// rebuild makes the lexical index of a level anew.
func (x *Index) rebuild(c *collection, level int) (*lexical, error) {
	dir := x.lexicalDir(c, level)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	l, err := openLexical(dir, x.queue)
	if err != nil {
		return nil, err
	}
	f := filling{lexical: l}
	err = x.view(func(tx *txn) error {
		prefix := idKey(c.id, "")
		cur := tx.Bucket(bucketDocuments).Cursor()
		for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
			var d docRecord
			if err := unsealJSON(v, &d); err != nil {
				return fmt.Errorf("%w: a document: %w", errDamaged, err)
			}
			for row, to := d.rows(level); row < to; row++ {
				if err := errors.Join(x.lifetime.Err(), f.addRow(tx, row)); err != nil {
					return err
				}
			}
		}
		return f.end(nil, c.records[level].Generation)
	})
	if err != nil {
		_ = l.close()
		return nil, err
	}
	return l, nil
}

// addRow adds a chunk as it is in documents.db.
func (f *filling) addRow(tx *txn, row uint64) error {
	chunk, err := readChunk(tx, row)
	if err != nil {
		return err
	}
	n, err := readNamed(tx, row)
	if err != nil {
		return err
	}
	return f.add(addition{row: row, chunk: chunk, named: n})
}

func readChunk(tx *txn, row uint64) (*corpus.Chunk, error) {
	raw := tx.Bucket(bucketChunks).Get(rowKey(row))
	if raw == nil {
		return nil, fmt.Errorf("%w: chunk %d is missing", errDamaged, row)
	}
	c := new(corpus.Chunk)
	if err := unsealJSON(raw, c); err != nil {
		return nil, fmt.Errorf("%w: chunk %d: %w", errDamaged, row, err)
	}
	return c, nil
}
