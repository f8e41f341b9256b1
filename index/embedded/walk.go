package embedded

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/index/walk"
)

// Walk implements [index.Graph]; see [walk.Walk].
func (x *Index) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	var out []index.WalkHit
	err := x.inGraph(ctx, w.Collection, func(g *graph) error {
		sc := scorers.Get().(*scorer)
		defer sc.free()
		question, err := g.question(ctx, w.Question, sc, x.opts.Scoring)
		if err == nil {
			out, err = walk.Walk(ctx, g, question, w)
		}
		return err
	})
	return out, failed("walk", err)
}

// question computes the affinity of passages to a question. The result refers to sc.
func (g *graph) question(ctx context.Context, text string, sc *scorer, scoring Scoring) (q walk.Question, err error) {
	terms := prepare.QueryWords(text, nil)
	if len(terms) == 0 {
		return q, nil
	}
	asked, err := g.v.weigh(ctx, terms, nil, nil)
	if err != nil {
		return q, err
	}
	q.IDF = map[string]float64{}
	for _, t := range asked.terms {
		q.IDF[t.text] = t.idf
	}
	best, err := sc.score(ctx, g.v, asked, scoring, candidates)
	if err != nil || len(best) == 0 {
		return q, err
	}
	top := float64(sc.tallies[best[0]].score)
	q.Affinity = func(n uint32) float64 {
		if int(n) >= len(sc.tallies) || top <= 0 {
			return 0
		}
		return min(1, max(0, float64(sc.tallies[n].score)/top))
	}
	q.Best = slices.Clone(best)
	slices.Sort(q.Best)
	return q, nil
}

// each calls read for each of all, and returns the results.
func each[T, R any](ctx context.Context, all []T, read func(T) (R, error)) ([]R, error) {
	out := make([]R, len(all))
	for i, a := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = read(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Stats implements [walk.Source].
func (g *graph) Stats(ctx context.Context, keys []string, all bool) ([]walk.Stats, error) {
	return each(ctx, keys, func(key string) (walk.Stats, error) {
		f, err := g.stats(key, all)
		return walk.Stats{Chunks: f.chunks, About: f.about}, err
	})
}

// Mentions implements [walk.Source].
func (g *graph) Mentions(ctx context.Context, passages []uint32) ([]*prepare.Mentions, error) {
	return each(ctx, passages, g.names)
}

// Passages implements [walk.Source].
func (g *graph) Passages(ctx context.Context, requests []walk.Request) ([][]uint32, error) {
	return each(ctx, requests, func(r walk.Request) ([]uint32, error) {
		in := g.named
		if r.About {
			in = g.about
		}
		if r.Among != nil {
			return in.Among(r.Key, r.Among)
		}
		return in.First(r.Key, r.Limit)
	})
}

// Find implements [walk.Source].
func (g *graph) Find(ctx context.Context, ids []corpus.ChunkID) ([]uint32, error) {
	var out []uint32
	_, err := each(ctx, ids, func(id corpus.ChunkID) (struct{}, error) {
		n, ok, err := g.find(id)
		if ok && err == nil {
			out = append(out, n)
		}
		return struct{}{}, err
	})
	return out, err
}

// Chunks implements [walk.Source].
func (g *graph) Chunks(ctx context.Context, passages []uint32) ([]*corpus.Chunk, error) {
	return each(ctx, passages, func(n uint32) (*corpus.Chunk, error) {
		return g.reader.read(g.v.lexical.Row(n))
	})
}
