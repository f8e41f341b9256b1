package scope

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// Search implements [index.Reader].
func (r *Reader) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	parts, err := r.parts(ctx, q.Collection)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		q.Collection = parts[0]
		return r.base.Search(ctx, q)
	}
	var all []index.Hit
	seen := map[corpus.ChunkID]bool{}
	if q.Text != "" && q.Terms == nil { // a word is rare or frequent in all parts together, not in each
		stats, err := r.terms(ctx, parts, words(q.Text))
		if err != nil {
			return nil, err
		}
		q.Terms = &stats
	}
	for _, part := range parts {
		q.Collection = part
		hits, err := r.base.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			if !seen[h.Chunk.ID] {
				seen[h.Chunk.ID] = true
				all = append(all, h)
			}
		}
	}
	// Scores are relative to the best hit of each part: fuse the hits of all parts again.
	candidates := make([]index.Candidate, len(all))
	for i, h := range all {
		candidates[i] = index.Candidate{ID: h.Chunk.ID, Lexical: h.Lexical, Cosine: h.Cosine, HasVector: q.Vector != nil && h.Cosine != 0}
	}
	for i, score := range index.Fuse(candidates, q.Weights) {
		all[i].Score = score
	}
	slices.SortFunc(all, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk.ID, b.Chunk.ID))
	})
	return first(all, q.Limit), nil
}

// first returns the first elements, up to the limit of a search or walk.
func first[T any](all []T, limit int) []T {
	if limit <= 0 {
		limit = index.DefaultLimit
	}
	return all[:min(limit, index.MaxLimit, len(all))]
}

// Chunks implements [index.Reader].
func (r *Reader) Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	return inOrder(parts, ids, func(c corpus.Chunk) corpus.ChunkID { return c.ID }, func(part string) ([]corpus.Chunk, error) {
		return r.base.Chunks(ctx, part, ids)
	})
}

// DocumentsByID implements [index.DocumentReader].
func (r *Reader) DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	return inOrder(parts, ids, func(d corpus.Document) corpus.DocumentID { return d.ID }, func(part string) ([]corpus.Document, error) {
		return r.base.DocumentsByID(ctx, part, ids)
	})
}

// inOrder loads values from each part and returns them in the order of ids, each from the first part that has it.
func inOrder[T any, ID comparable](parts []string, ids []ID, id func(T) ID, load func(part string) ([]T, error)) ([]T, error) {
	if len(parts) == 1 {
		return load(parts[0])
	}
	found := map[ID]T{}
	for _, part := range parts {
		some, err := load(part)
		if err != nil {
			return nil, err
		}
		for _, t := range some {
			if _, known := found[id(t)]; !known {
				found[id(t)] = t
			}
		}
	}
	var out []T
	for _, i := range ids {
		if t, ok := found[i]; ok {
			out = append(out, t)
		}
	}
	return out, nil
}

// words returns the words of a text.
func words(text string) []string {
	var out []string
	for _, w := range lang.Words(lang.Truncate(text, 64<<10)) {
		out = append(out, w.Text)
	}
	return out
}

// Terms implements [index.Reader].
func (r *Reader) Terms(ctx context.Context, collection string, words []string) (index.TermStats, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return index.TermStats{DF: map[string]int{}}, err
	}
	return r.terms(ctx, parts, words)
}

// terms returns the sum of the statistics of parts.
func (r *Reader) terms(ctx context.Context, parts, words []string) (index.TermStats, error) {
	if len(parts) == 1 {
		return r.base.Terms(ctx, parts[0], words)
	}
	sum := index.TermStats{DF: make(map[string]int, len(words))}
	for _, w := range words {
		sum.DF[w] = 0
	}
	for _, part := range parts {
		s, err := r.base.Terms(ctx, part, words)
		if err != nil {
			return sum, err
		}
		sum.Chunks += s.Chunks
		for w, n := range s.DF {
			sum.DF[w] += n
		}
	}
	return sum, nil
}

// Documents implements [index.Reader].
func (r *Reader) Documents(ctx context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return r.base.Documents(ctx, parts[0], after, limit)
	}
	var all []corpus.Document
	for _, part := range parts {
		some, err := r.base.Documents(ctx, part, after, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b corpus.Document) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b corpus.Document) bool { return a.ID == b.ID })
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all, nil
}

// Hashes implements [index.Versions].
func (r *Reader) Hashes(ctx context.Context, collection string, ids []corpus.DocumentID) (map[corpus.DocumentID]string, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	out := make(map[corpus.DocumentID]string, len(ids))
	for _, part := range parts {
		some, err := r.base.Hashes(ctx, part, ids)
		if err != nil {
			return nil, err
		}
		for id, h := range some {
			if _, known := out[id]; !known {
				out[id] = h
			}
		}
	}
	return out, nil
}

// DocumentChunks implements [index.DocumentReader].
func (r *Reader) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		if i < len(parts)-1 {
			found, err := r.base.Hashes(ctx, part, []corpus.DocumentID{id})
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				continue
			}
		}
		return r.base.DocumentChunks(ctx, part, id, level, from, limit)
	}
	return nil, nil
}

// Entities implements [index.Graph].
func (r *Reader) Entities(ctx context.Context, collection, s string) ([]index.Entity, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return r.base.Entities(ctx, parts[0], s)
	}
	var all []index.Entity
	at := map[string]int{}
	for _, part := range parts {
		some, err := r.base.Entities(ctx, part, s)
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			key := lang.NormalizeName(e.Name)
			if i, known := at[key]; known {
				all[i].Chunks += e.Chunks
				all[i].About += e.About
				continue
			}
			at[key] = len(all)
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return byPosition(all, s), nil
}

// byPosition sorts entities by their position in the text and drops those that only occur within a longer name.
func byPosition(all []index.Entity, s string) []index.Entity {
	var folded strings.Builder
	for _, w := range lang.Words(lang.Truncate(s, 64<<10)) {
		if f := lang.FoldWord(w.Text); f != "" {
			folded.WriteString(" " + f)
		}
	}
	line := folded.String() + " "
	type span struct {
		index.Entity
		from, to int
	}
	spans := make([]span, 0, len(all))
	for _, e := range all {
		key := " " + lang.NormalizeName(e.Name) + " "
		from := strings.Index(line, key)
		if from < 0 {
			from = len(line)
		}
		spans = append(spans, span{e, from, from + len(key)})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	out := all[:0:0]
	end := 0
	for _, sp := range spans {
		if sp.from < len(line) && sp.to <= end {
			continue
		}
		end = max(end, sp.to)
		out = append(out, sp.Entity)
	}
	return out
}

// EntitiesOf implements [index.Graph].
func (r *Reader) EntitiesOf(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]index.Entity, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return r.base.EntitiesOf(ctx, parts[0], ids)
	}
	out := make([][]index.Entity, len(ids))
	for _, part := range parts {
		some, err := r.base.EntitiesOf(ctx, part, ids)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if out[i] == nil && i < len(some) {
				out[i] = some[i]
			}
		}
	}
	return out, nil
}

// Walk implements [index.Graph]. A walk does not leave the part in which it starts.
func (r *Reader) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	parts, err := r.parts(ctx, w.Collection)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		w.Collection = parts[0]
		return r.base.Walk(ctx, w)
	}
	var all []index.WalkHit
	seen := map[corpus.ChunkID]bool{}
	for _, id := range w.Chunks {
		seen[id] = true
	}
	for _, part := range parts {
		w.Collection = part
		some, err := r.base.Walk(ctx, w)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			if !seen[s.Chunk.ID] {
				seen[s.Chunk.ID] = true
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b index.WalkHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk.ID, b.Chunk.ID))
	})
	return first(all, w.Limit), nil
}
