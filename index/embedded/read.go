package embedded

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

// Chunks implements [index.Reader].
func (x *Index) Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	var out []corpus.Chunk
	err := x.inCollection(collection, func(tx *bolt.Tx, c uint32) error {
		out = out[:0]
		bucket := tx.Bucket(bucketIDs)
		for _, id := range ids {
			if id == "" || len(id) > maxKey {
				continue
			}
			row := bucket.Get(idKey(c, string(id)))
			if len(row) != 8 {
				continue
			}
			chunk := new(corpus.Chunk)
			if err := unsealJSON(tx.Bucket(bucketChunks).Get(row), chunk); err != nil {
				return fmt.Errorf("damaged: chunk %.100q: %w", id, err)
			}
			out = append(out, *chunk)
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
	if collection == "" {
		collection = corpus.DefaultCollection
	}
	var out []corpus.Document
	err := x.inCollection(collection, func(tx *bolt.Tx, c uint32) error {
		prefix := idKey(c, "")
		cur := tx.Bucket(bucketDocuments).Cursor()
		start := idKey(c, string(after))
		k, v := cur.Seek(start)
		if after != "" && bytes.Equal(k, start) {
			k, v = cur.Next()
		}
		for ; bytes.HasPrefix(k, prefix) && (limit <= 0 || len(out) < limit); k, v = cur.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			var d docRecord
			if err := unsealJSON(v, &d); err != nil {
				return fmt.Errorf("damaged: a document: %w", err)
			}
			d.Collection = collection // JSON cannot hold any bytes whatever
			out = append(out, d.Document)
		}
		return nil
	})
	return out, failed("list documents", err)
}

// inCollection runs do with the number of a collection, in a transaction; not at all if there is no such collection.
func (x *Index) inCollection(name string, do func(tx *bolt.Tx, collection uint32) error) error {
	c, err := x.number(name)
	if err != nil || c == nil {
		return err
	}
	return x.view(func(tx *bolt.Tx) error { return do(tx, *c) })
}

// Terms implements [index.Reader]. A word that analysis makes several terms of counts as often as the rarest of them; one
// that it drops, such as a stop word, counts as in every passage.
func (x *Index) Terms(ctx context.Context, collection string, words []string) (index.TermStats, error) {
	stats := index.TermStats{DF: make(map[string]int, len(words))}
	if err := x.enter(ctx); err != nil {
		return stats, err
	}
	defer x.life.RUnlock()
	c, err := x.collection(collection)
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
	err = guard(x.path(folderLexical), func() error {
		for _, w := range words {
			if _, ok := stats.DF[w]; ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			least := v.chunks
			for _, t := range text.Terms(w[:min(len(w), maxQueryBytes)]) {
				df, err := v.df(ctx, fieldText, t)
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
