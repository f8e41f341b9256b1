package eval

import (
	"context"
	"fmt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// IndexFunc indexes documents of a set under their ids in the set. [PassageIndexer] makes one that is comparable with published
// figures.
type IndexFunc func(ctx context.Context, docs []Doc) error

// fillBatch is the maximum number of documents in a call of an IndexFunc.
const fillBatch = 500

// IndexSet indexes all documents of a set in batches.
func IndexSet(ctx context.Context, set *Set, index IndexFunc) error {
	for docs := set.Docs; len(docs) > 0; {
		n := min(fillBatch, len(docs))
		if err := index(ctx, docs[:n]); err != nil {
			return fmt.Errorf("fill index with %s: %w", set.Name, err)
		}
		docs = docs[n:]
	}
	return nil
}

// PassageIndexer returns an IndexFunc that indexes each document as one passage, as published BM25 runs do. It embeds title and text
// with e; without e, there are no vectors.
func PassageIndexer(w index.Writer, collection string, e model.Embedder) IndexFunc {
	return func(ctx context.Context, docs []Doc) error {
		var vectors [][]float32
		if e != nil {
			texts := make([]string, len(docs))
			for i, d := range docs {
				texts[i] = d.Title + "\n" + d.Text
			}
			var err error
			if vectors, err = e.Embed(ctx, texts, model.ForPassage); err != nil {
				return err
			}
		}
		ds := make([]corpus.Document, len(docs))
		entries := make([][]index.Entry, len(docs))
		for i, d := range docs {
			id := corpus.DocumentID(d.ID)
			ds[i] = corpus.Document{ID: id, Collection: collection, Title: d.Title, Bytes: int64(len(d.Text))}
			entry := index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(d.ID), Document: id, Level: corpus.Passage,
				Title: d.Title, Text: d.Text, End: len(d.Text)}}
			if vectors != nil {
				entry.Space, entry.Vector = e.Space(), vectors[i]
			}
			entries[i] = []index.Entry{entry}
		}
		return w.Put(ctx, ds, entries)
	}
}

// SearchOptions select the parts of a hybrid search.
type SearchOptions struct {
	Lexical bool
	Vector  bool
	Weights index.Weights
}

// IndexSearcher returns a SearchFunc that ranks documents by their best passage. e embeds the queries; without vector search, it may
// be nil.
func IndexSearcher(r index.Reader, collection string, e model.Embedder, opts SearchOptions) SearchFunc {
	return func(ctx context.Context, query string, limit int) ([]string, error) {
		q := index.Query{Collection: collection, Limit: limit, Weights: opts.Weights}
		if opts.Lexical {
			q.Text = query
		}
		if opts.Vector {
			v, err := e.Embed(ctx, []string{query}, model.ForQuery)
			if err != nil {
				return nil, err
			}
			q.Space, q.Vector = e.Space(), v[0]
		}
		hits, err := r.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		seen := map[corpus.DocumentID]bool{}
		var out []string
		for _, h := range hits {
			if !seen[h.Chunk.Document] {
				seen[h.Chunk.Document] = true
				out = append(out, string(h.Chunk.Document))
			}
		}
		return out, nil
	}
}
