package embedded

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// Chunks implements [index.Reader].
func (x *Index) Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	var out []corpus.Chunk
	err := x.inCollection(collection, func(tx *txn, c uint32, s index.Scope) error {
		out = out[:0]
		reader := chunkReader{tx: tx}
		for _, id := range ids {
			row, ok, err := reader.find(c, id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			chunk, err := reader.read(row)
			if err != nil {
				return err
			}
			if within(tx, c, s, chunk.Document) {
				out = append(out, *chunk)
			}
		}
		return nil
	})
	return out, failed("read chunks", err)
}

// Documents implements [index.Reader].
func (x *Index) Documents(ctx context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	var out []corpus.Document
	err := x.inCollection(collection, func(tx *txn, c uint32, s index.Scope) error {
		for id := range listed(tx, c, s, after) {
			if limit > 0 && len(out) == limit {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := readDocument(tx, c, id)
			if err != nil {
				return err
			}
			if d != nil { // members of a set may not exist yet
				d.Collection = s.Collection // the record is JSON, which cannot hold arbitrary bytes
				out = append(out, d.Document)
			}
		}
		return nil
	})
	return out, failed("list documents", err)
}

// listed iterates over the ids of the documents of a scope after an id, in order.
func listed(tx *txn, c uint32, s index.Scope, after corpus.DocumentID) iter.Seq[corpus.DocumentID] {
	var lists []*list
	if s.Whole() {
		lists = append(lists, listOf(tx.Bucket(bucketDocuments), idKey(c, ""), after))
	}
	for _, set := range s.Sets {
		lists = append(lists, listOf(tx.Bucket(bucketMembers), memberKey(c, set, ""), after))
	}
	single := slices.Clone(s.Documents)
	slices.Sort(single)
	return func(yield func(corpus.DocumentID) bool) {
		for {
			var next *corpus.DocumentID
			least := func(id corpus.DocumentID) {
				if next == nil || id < *next {
					next = &id
				}
			}
			for _, l := range lists {
				if l.more() {
					least(l.id())
				}
			}
			if i, _ := slices.BinarySearch(single, after); i < len(single) && single[i] == after {
				single = single[i+1:]
			} else {
				single = single[i:]
			}
			if len(single) > 0 {
				least(single[0])
			}
			if next == nil || !yield(*next) {
				return
			}
			after = *next
			for _, l := range lists {
				if l.more() && l.id() == after {
					l.key, _ = l.cur.Next()
				}
			}
		}
	}
}

// list iterates over the keys of a bucket with a prefix.
type list struct {
	cur    *bucketCursor
	prefix []byte
	key    []byte
}

func listOf(b *bucket, prefix []byte, after corpus.DocumentID) *list {
	l := &list{cur: b.Cursor(), prefix: prefix}
	start := append(slices.Clone(prefix), after...)
	l.key, _ = l.cur.Seek(start)
	if after != "" && bytes.Equal(l.key, start) {
		l.key, _ = l.cur.Next()
	}
	return l
}

func (l *list) more() bool            { return bytes.HasPrefix(l.key, l.prefix) }
func (l *list) id() corpus.DocumentID { return corpus.DocumentID(l.key[len(l.prefix):]) }

// inCollection runs do in a transaction with the number of a collection and the scope that name encodes. It does nothing if the
// collection does not exist.
func (x *Index) inCollection(name string, do func(tx *txn, collection uint32, scope index.Scope) error) error {
	s, err := prepare.Scope(name)
	if err != nil {
		return err
	}
	c := x.number(s.Collection)
	if c == nil {
		return nil
	}
	return x.view(func(tx *txn) error { return do(tx, *c, s) })
}

// resolve returns the scope that name encodes and its loaded collection, or nil if the collection does not exist.
func (x *Index) resolve(name string) (index.Scope, *collection, error) {
	s, err := prepare.Scope(name)
	if err != nil {
		return s, nil, err
	}
	c, err := x.collection(s.Collection)
	return s, c, err
}

// Terms implements [index.Reader]. The statistics of a scope are those of its collection. A word that is analysed into several terms
// has the document frequency of the rarest of them. A word without terms, such as a stop word, counts as contained in every passage.
func (x *Index) Terms(ctx context.Context, collection string, words []string) (index.TermStats, error) {
	stats := index.TermStats{DF: make(map[string]int, len(words))}
	if err := x.enter(ctx); err != nil {
		return stats, err
	}
	defer x.life.RUnlock()
	_, c, err := x.resolve(collection)
	if err != nil {
		return stats, failed("count terms", err)
	}
	if c == nil {
		for _, w := range words {
			stats.DF[w] = 0
		}
		return stats, nil
	}
	s := c.acquire()
	defer c.release(s)
	v := &s.levels[corpus.Passage-1]
	stats.Chunks = int(v.chunks)
	err = x.guardLexical(c, func() error {
		texts, err := v.termsOf(fieldText)
		if err != nil {
			return err
		}
		for _, w := range words {
			if _, ok := stats.DF[w]; ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			least := v.chunks
			for _, t := range lang.Terms(w[:min(len(w), prepare.MaxQuery)]) {
				df, err := count(texts, t)
				if err != nil {
					return err
				}
				least = min(least, df)
			}
			stats.DF[w] = int(least)
		}
		return nil
	})
	return stats, failed("count terms", err)
}
