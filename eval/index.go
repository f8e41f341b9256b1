package eval

import (
	"context"
	"fmt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// Ingest puts documents of a set into an index. The id of a document in the index is its id in the set. A program that
// cuts documents hands [Fill] its own; [AsPassages] is the one for comparison with published figures.
type Ingest func(ctx context.Context, docs []Doc) error

// fillBatch is how many documents an Ingest is given at once.
const fillBatch = 500

// Fill hands all documents of a set to an Ingest, some at a time.
func Fill(ctx context.Context, set *Set, ingest Ingest) error {
	for docs := set.Docs; len(docs) > 0; {
		n := min(fillBatch, len(docs))
		if err := ingest(ctx, docs[:n]); err != nil {
			return fmt.Errorf("fill index with %s: %w", set.Name, err)
		}
		docs = docs[n:]
	}
	return nil
}

// AsPassages gives an Ingest that makes of each document a single passage, as published BM25 runs do. e may be nil: then
// there are no vectors. What is embedded is the title and the text.
func AsPassages(w index.Writer, collection string, e model.Embedder) Ingest {
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

// Way is what of a query a search uses.
type Way struct {
	Words   bool
	Vectors bool
	Weights index.Weights
}

// Documents gives a Searcher that ranks documents by their best passage. e embeds the queries; it may be nil where way
// uses no vectors.
func Documents(r index.Reader, collection string, e model.Embedder, way Way) Searcher {
	return func(ctx context.Context, query string, limit int) ([]string, error) {
		q := index.Query{Collection: collection, Limit: limit, Weights: way.Weights}
		if way.Words {
			q.Text = query
		}
		if way.Vectors {
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
