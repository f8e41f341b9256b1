package embedded

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// Limits of scopes, and of their data in memory.
const (
	maxLoaded  = 4096    // sets and documents of a collection in memory
	maxRanges  = 4 << 20 // ranges of rows of all of them; 16 bytes each
	maxFilters = 128     // filters of a collection in memory
)

// part is an immutable state of a set or document of a collection.
type part struct {
	rows    rowSet // rows of its documents
	version uint64 // see [index.Versions]
}

// setKey and documentKey return the keys of parts: a letter, and the name of the set or the id of the document.
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

// partCache holds the parts of a snapshot that were used. The collection's mu guards it.
type partCache struct {
	parts  map[string]*part
	ranges int
}

func (l *partCache) add(key string, p *part) {
	if len(l.parts) >= maxLoaded || l.ranges+len(p.rows) > maxRanges {
		clear(l.parts) // parts in use are loaded again
		l.ranges = 0
	}
	l.parts[key] = p
	l.ranges += len(p.rows)
}

// partEdit is a change to a part.
type partEdit struct {
	removed, added [][2]uint64
	version        uint64
}

// change returns a copy with the edits applied. Edits of parts that are not in the cache are ignored.
func (l *partCache) change(edits map[string]*partEdit) *partCache {
	out := &partCache{parts: make(map[string]*part, len(l.parts))}
	for key, p := range l.parts {
		if e := edits[key]; e != nil {
			p = &part{rows: p.rows.change(e.removed, e.added), version: e.version}
		}
		out.parts[key] = p
		out.ranges += len(p.rows)
	}
	return out
}

// acquireParts returns the newest snapshot with parts of it, or nil if one of them is not loaded.
func (c *collection) acquireParts(keys []string) (*snapshot, []*part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := make([]*part, len(keys))
	for i, key := range keys {
		if parts[i] = c.cur.partCache.parts[key]; parts[i] == nil {
			return nil, nil
		}
	}
	c.cur.refs++
	return c.cur, parts
}

// acquireScope returns the newest snapshot of a collection with the parts of a scope. Parts that are not loaded are read from
// documents.db; this waits while a committed change is not published.
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
		if have := s.partCache.parts[key]; have != nil {
			parts[i] = have // a cached filter may refer to it
		} else {
			s.partCache.add(key, parts[i])
		}
	}
	s.refs++
	return s, parts, nil
}

// readSet reads a set from documents.db.
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

// readPart reads a document from documents.db as a part.
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

// documentVersion returns the version of a document with the given rows. As rows are never reused, it grows whenever the document is
// put. Without rows, it is between the versions before the deletion and those after a later put.
func documentVersion(rows [2]uint64, next uint64) uint64 {
	if rows[0] < rows[1] {
		return 2*rows[0] + 2
	}
	return 2*next + 1
}

// readDocument returns the record of a document, or nil if it does not exist.
func readDocument(tx *txn, collection uint32, id corpus.DocumentID) (*docRecord, error) {
	if !prepare.ValidID(string(id)) {
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

// within reports whether a document belongs to a scope, according to documents.db.
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

// scoped returns the newest snapshot of a collection and the filter of a scope, which is nil for the whole collection. The caller
// releases the snapshot.
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

// chosenFilter is the filter of given documents in a snapshot.
type chosenFilter struct {
	snapshot uint64 // its number
	within   *filter
	ids      [sha256.Size]byte
	*filter
}

// restricted returns the filter of the given documents, within another filter or, if that is nil, in the whole collection. The searches of
// a question, which name the same documents, share it.
func (x *Index) restricted(ctx context.Context, c *collection, s *snapshot, within *filter, ids []corpus.DocumentID) (*filter, error) {
	h := sha256.New()
	for _, id := range ids {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	key := chosenFilter{snapshot: s.seq, within: within, ids: [sha256.Size]byte(h.Sum(nil))}
	c.mu.Lock()
	last := c.chosen
	c.mu.Unlock()
	if last != nil && last.snapshot == key.snapshot && last.within == key.within && last.ids == key.ids {
		return last.filter, nil
	}
	ranges := make([][2]uint64, 0, len(ids))
	err := x.view(func(tx *txn) error {
		for _, id := range ids {
			d, err := readDocument(tx, c.id, id)
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			if d != nil {
				ranges = append(ranges, d.all())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows := rowsOf(ranges)
	if within != nil {
		outside := within.rows.change(slices.Clone(rows), nil)
		rows = within.rows.change(outside, nil)
	}
	key.filter = &filter{rows: rows}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = &key
	return key.filter, nil
}

// filter returns a filter for the rows of parts.
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
