package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// Bounds of what is kept of scopes in memory and of what a name may ask for.
const (
	maxParts   = 1024    // of a scope
	maxLoaded  = 4096    // sets and documents of a collection that are held in memory
	maxRanges  = 4 << 20 // of rows in all of them, at 16 bytes
	maxFilters = 128     // of a collection
)

// part is a set or a document of a collection, as one state of it has it. It is never changed.
type part struct {
	rows    rowSet // of its documents
	version uint64 // see [index.Versions]
}

// The keys of parts: a letter, then the name of the set or the id of the document.
func setKey(set string) string                { return "s" + set }
func documentKey(id corpus.DocumentID) string { return "d" + string(id) }

func partKeys(s index.Scope) []string {
	out := make([]string, 0, len(s.Sets)+len(s.Documents))
	for _, set := range s.Sets {
		out = append(out, setKey(set))
	}
	for _, id := range s.Documents {
		out = append(out, documentKey(id))
	}
	return out
}

// loaded are the parts of one state of a collection that somebody asked for. More may come, guarded by the collection's mu.
type loaded struct {
	parts  map[string]*part
	ranges int
}

func (l *loaded) add(key string, p *part) {
	if len(l.parts) >= maxLoaded || l.ranges+len(p.rows) > maxRanges {
		clear(l.parts) // those in use come again
		l.ranges = 0
	}
	l.parts[key] = p
	l.ranges += len(p.rows)
}

// partEdit is what a change does to a part.
type partEdit struct {
	removed, added [][2]uint64
	version        uint64
}

// change gives the parts with edits, of which those of parts that are not loaded do not matter.
func (l *loaded) change(edits map[string]*partEdit) *loaded {
	out := &loaded{parts: make(map[string]*part, len(l.parts))}
	for key, p := range l.parts {
		if e := edits[key]; e != nil {
			p = &part{rows: p.rows.change(e.removed, e.added), version: e.version}
		}
		out.parts[key] = p
		out.ranges += len(p.rows)
	}
	return out
}

// parse reads a name of a collection or of a part of one.
func parse(name string) (index.Scope, error) {
	s, err := index.ParseScope(name)
	if err == nil && len(s.Sets)+len(s.Documents) > maxParts {
		err = fault.Invalid("collection", "names more than %d sets and documents", maxParts)
	}
	if s.Collection == "" {
		s.Collection = corpus.DefaultCollection
	}
	return s, err
}

// entire gives the name of a collection that is to be written, which cannot be that of a part of one.
func entire(name string) (string, error) {
	s, err := parse(name)
	if err == nil && !s.Whole() {
		err = fault.Invalid("collection", "is part of one, which can only be read")
	}
	return s.Collection, err
}

// acquireParts gives the newest state with parts of it, if they are loaded.
func (c *collection) acquireParts(keys []string) (*snapshot, []*part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := make([]*part, len(keys))
	for i, key := range keys {
		if parts[i] = c.cur.loaded.parts[key]; parts[i] == nil {
			return nil, nil
		}
	}
	c.cur.refs++
	return c.cur, parts
}

// acquireScope gives the newest state of a collection with the parts of a scope. What is asked for the first time is read from
// documents.db, which waits while a change there is not seen yet.
func (x *Index) acquireScope(ctx context.Context, c *collection, scope index.Scope) (*snapshot, []*part, error) {
	keys := partKeys(scope)
	if s, parts := c.acquireParts(keys); s != nil {
		return s, parts, nil
	}
	c.gate.Lock()
	defer c.gate.Unlock()
	parts := make([]*part, len(keys))
	err := x.view(func(tx *txn) (err error) {
		for i, set := range scope.Sets {
			if parts[i], err = readSet(ctx, tx, c.id, set); err != nil {
				return err
			}
		}
		for i, id := range scope.Documents {
			if parts[len(scope.Sets)+i], err = readPart(tx, c.id, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.cur
	for i, key := range keys {
		if have := s.loaded.parts[key]; have != nil {
			parts[i] = have // of which a filter may have been made
		} else {
			s.loaded.add(key, parts[i])
		}
	}
	s.refs++
	return s, parts, nil
}

// readSet reads a set as a part.
func readSet(ctx context.Context, tx *txn, collection uint32, set string) (*part, error) {
	r, err := readSetRecord(tx, collection, set)
	if err != nil {
		return nil, err
	}
	var ranges [][2]uint64
	prefix := memberKey(collection, set, "")
	cur := tx.Bucket(bucketMembers).Cursor()
	n := 0
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if n++; n&4095 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rows, err := unsealRows(v)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, rows)
	}
	return &part{rows: rowsOf(ranges), version: r.Version}, nil
}

// readPart reads a document as a part.
func readPart(tx *txn, collection uint32, id corpus.DocumentID) (*part, error) {
	d, err := readDocument(tx, collection, id)
	if err != nil {
		return nil, err
	}
	next := uint64(0)
	if b := tx.Bucket(bucketMeta).Get(keyNextRow); len(b) == 8 {
		next = binary.BigEndian.Uint64(b)
	}
	var rows [2]uint64
	if d != nil {
		rows = d.all()
	}
	return &part{rows: rowsOf([][2]uint64{rows}), version: documentVersion(rows, next)}, nil
}

// documentVersion gives the version of a document by its rows: as rows are never used again, it grows when the document is put
// anew. That of one without rows lies above all that came before, and below all that come after it.
func documentVersion(rows [2]uint64, next uint64) uint64 {
	if rows[0] < rows[1] {
		return 2*rows[0] + 2
	}
	return 2*next + 1
}

// readDocument gives a document's record, or nil if there is none.
func readDocument(tx *txn, collection uint32, id corpus.DocumentID) (*docRecord, error) {
	if !validID(string(id)) {
		return nil, nil
	}
	raw := tx.Bucket(bucketDocuments).Get(idKey(collection, string(id)))
	if raw == nil {
		return nil, nil
	}
	d := new(docRecord)
	if err := unsealJSON(raw, d); err != nil {
		return nil, fmt.Errorf("%w: document %.100q: %w", errDamaged, id, err)
	}
	return d, nil
}

// within tells whether a document is of a scope, as documents.db has it.
func within(tx *txn, collection uint32, scope index.Scope, id corpus.DocumentID) bool {
	if scope.Whole() || slices.Contains(scope.Documents, id) {
		return true
	}
	for _, set := range scope.Sets {
		if tx.Bucket(bucketMembers).Get(memberKey(collection, set, id)) != nil {
			return true
		}
	}
	return false
}

// scoped gives the newest state of a collection and what is to be read of it: nil for all of it. Whoever gets it releases it.
func (x *Index) scoped(ctx context.Context, c *collection, scope index.Scope) (*snapshot, *filter, error) {
	if scope.Whole() {
		return c.acquire(), nil, nil
	}
	s, parts, err := x.acquireScope(ctx, c, scope)
	if err != nil {
		return nil, nil, err
	}
	return s, c.filter(scope.Name(), parts), nil
}

// filter gives what lets the rows of some parts through.
func (c *collection) filter(name string, parts []*part) *filter {
	c.mu.Lock()
	f := c.filters[name]
	c.mu.Unlock()
	if f != nil && slices.Equal(f.parts, parts) {
		return f
	}
	f = &filter{parts: parts, rows: parts[0].rows}
	if len(parts) > 1 {
		var all [][2]uint64
		for _, p := range parts {
			all = append(all, p.rows...)
		}
		f.rows = rowsOf(all)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filters == nil || len(c.filters) >= maxFilters {
		c.filters = map[string]*filter{}
	}
	c.filters[name] = f
	return f
}
