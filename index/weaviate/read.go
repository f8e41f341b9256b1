package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// Chunks implements [index.Reader].
func (x *Index) Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error) {
	var out []corpus.Chunk
	err := x.read(ctx, "read chunks", collection, func(ctx context.Context, v *view) error {
		found, err := v.chunksByID(ctx, ids)
		if err != nil {
			return err
		}
		out = nil
		for _, id := range ids {
			if r := found[id]; r != nil {
				out = append(out, r.Chunk)
			}
		}
		return nil
	})
	return out, err
}

// chunksByID returns the records of chunks of the view.
func (v *view) chunksByID(ctx context.Context, ids []corpus.ChunkID) (map[corpus.ChunkID]*chunkRecord, error) {
	out := map[corpus.ChunkID]*chunkRecord{}
	var keys []string
	for _, id := range ids {
		if prepare.ValidID(string(id)) {
			keys = append(keys, key(string(id)))
		}
	}
	for some := range slices.Chunk(keys, askedKeys) {
		found, err := v.all(ctx, oneOf(propChunk, some), propData)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			r := &chunkRecord{}
			if err := o.decode(r); err != nil {
				return nil, err
			}
			if v.has(r.Chunk.Document) {
				out[r.Chunk.ID] = r
			}
		}
	}
	return out, nil
}

// counts caches the number of passages that contain a term, for one state of a collection.
type counts struct {
	mu    sync.Mutex
	state string
	since time.Time
	known map[string]int
}

func (c *counts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.known)
}

// maxCounts is the number of counts in the cache of a collection.
const maxCounts = 20_000

// countsAge is the time after which the cache is emptied: a server of Weaviate that was away gets what it missed, and the state of the collection stays the same.
const countsAge = 30 * time.Second

// documentFrequencies returns the number of passages of the whole collection that contain each term.
func (s *snapshot) documentFrequencies(ctx context.Context, terms []string) (map[string]int, error) {
	return s.counted(ctx, "t", terms, func(t string) condition { return is(levelTerms(corpus.Passage), t) })
}

// titleFrequencies returns the number of passages of the whole collection with a title that contains each term.
func (s *snapshot) titleFrequencies(ctx context.Context, terms []string) (map[string]int, error) {
	return s.counted(ctx, "h", terms, func(t string) condition { return is(propTitled, t) })
}

// counted counts the passages for which a condition on each value is true. Counts of one kind are kept.
func (s *snapshot) counted(ctx context.Context, kind string, values []string, where func(string) condition) (map[string]int, error) {
	out := make(map[string]int, len(values))
	var missing []string
	var conditions []condition
	c := &s.cache
	c.mu.Lock()
	if c.state != s.state || c.known == nil || len(c.known) > maxCounts || time.Since(c.since) > countsAge {
		c.state, c.since, c.known = s.state, time.Now(), map[string]int{}
	}
	for _, v := range values {
		if _, ok := out[v]; ok {
			continue
		}
		n, ok := c.known[kind+v]
		out[v] = n
		if !ok {
			missing = append(missing, v)
			conditions = append(conditions, where(v))
		}
	}
	c.mu.Unlock()
	found, err := s.count(ctx, conditions)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, v := range missing {
		out[v] = found[i]
		if c.state == s.state {
			c.known[kind+v] = found[i]
		}
	}
	return out, nil
}

// sizes counts the chunks of each level. The numbers in the heads are not exact if servers replace a document at the same time.
func (s *snapshot) sizes(ctx context.Context) (out [prepare.Levels]int, err error) {
	levels := []string{"1", "2", "3"}
	n, err := s.counted(ctx, "k", levels, func(l string) condition { return isKind(kind(l[0] - '0')) })
	for i, l := range levels {
		out[i] = n[l]
	}
	return out, err
}

// average returns the average length of the chunks of a level in terms.
func (s *snapshot) average(l corpus.Level) float64 {
	return float64(max(s.tokens[l-1], 1)) / float64(max(s.chunks[l-1], 1))
}

// Terms implements [index.Reader]. The statistics of a scope are those of its collection. A word that is analysed into several terms
// has the document frequency of the rarest of them. A word without terms, such as a stop word, counts as contained in every passage.
func (x *Index) Terms(ctx context.Context, collection string, words []string) (index.TermStats, error) {
	out := index.TermStats{DF: make(map[string]int, len(words))}
	scope, err := prepare.Scope(collection)
	if err != nil {
		return out, err
	}
	for _, w := range words {
		out.DF[w] = 0
	}
	err = x.read(ctx, "count terms", scope.Collection, func(ctx context.Context, v *view) error {
		of := map[string][]string{}
		var all []string
		for _, w := range words {
			if of[w] == nil {
				of[w] = lang.Terms(lang.Truncate(w, prepare.MaxQuery))
				for i, t := range of[w] {
					of[w][i] = term(t)
				}
				all = append(all, of[w]...)
			}
		}
		df, err := v.documentFrequencies(ctx, all)
		if err != nil {
			return err
		}
		sizes, err := v.sizes(ctx)
		if err != nil {
			return err
		}
		out.Chunks = sizes[corpus.Passage-1]
		for _, w := range words {
			least := out.Chunks
			for _, t := range of[w] {
				least = min(least, df[t])
			}
			out.DF[w] = least
		}
		return nil
	})
	return out, err
}

// Documents implements [index.Reader].
func (x *Index) Documents(ctx context.Context, collection string, last corpus.DocumentID, most int) ([]corpus.Document, error) {
	var out []corpus.Document
	err := x.read(ctx, "list documents", collection, func(ctx context.Context, v *view) error {
		where := and(isKind(kindDocument), v.within)
		if last != "" {
			where = and(where, after(propOrder, orderOf(last)))
		}
		var found []object
		var err error
		if most > 0 && most <= page {
			found, err = v.get(ctx, where, propData, limit(most), `sort:[{path:["order"],order:asc}]`)
		} else {
			found, err = v.all(ctx, where, propData)
		}
		if err != nil {
			return err
		}
		if out, err = v.documents(found); err != nil {
			return err
		}
		slices.SortFunc(out, func(a, b corpus.Document) int { return cmp.Compare(a.ID, b.ID) })
		if most > 0 {
			out = out[:min(most, len(out))]
		}
		return nil
	})
	return out, err
}

// documents decodes the documents that belong to the view.
func (v *view) documents(found []object) (out []corpus.Document, err error) {
	for _, o := range found {
		var r documentRecord
		if err := o.decode(&r); err != nil {
			return nil, err
		}
		if v.has(r.ID) {
			r.Collection = v.name // the record is JSON, which cannot hold arbitrary bytes
			out = append(out, r.Document)
		}
	}
	return out, nil
}

// documentsByID returns the documents of ids that exist.
func (v *view) documentsByID(ctx context.Context, ids []corpus.DocumentID) (map[corpus.DocumentID]corpus.Document, error) {
	out := map[corpus.DocumentID]corpus.Document{}
	for some := range slices.Chunk(keysOf(ids), askedKeys) {
		found, err := v.all(ctx, and(isKind(kindDocument), oneOf(propDocument, some)), propData)
		if err != nil {
			return nil, err
		}
		docs, err := v.documents(found)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			out[d.ID] = d
		}
	}
	return out, nil
}

// DocumentsByID implements [index.DocumentReader].
func (x *Index) DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	var out []corpus.Document
	err := x.read(ctx, "describe documents", collection, func(ctx context.Context, v *view) error {
		found, err := v.documentsByID(ctx, ids)
		out = nil
		for _, id := range ids {
			if d, ok := found[id]; ok {
				out = append(out, d)
			}
		}
		return err
	})
	return out, err
}

// Hashes implements [index.Versions].
func (x *Index) Hashes(ctx context.Context, collection string, ids []corpus.DocumentID) (map[corpus.DocumentID]string, error) {
	out := map[corpus.DocumentID]string{}
	err := x.read(ctx, "read hashes", collection, func(ctx context.Context, v *view) error {
		found, err := v.documentsByID(ctx, ids)
		clear(out)
		for id, d := range found {
			out[id] = d.Hash
		}
		return err
	})
	return out, err
}

// Version implements [index.Versions]. It is the sum of the commits of all servers that write, plus the times of their first ones. The version of a scope
// is that of its collection. Each call asks Weaviate, because any server may write.
func (x *Index) Version(ctx context.Context, collection string) (uint64, error) {
	if err := x.enter(ctx); err != nil {
		return 0, err
	}
	defer x.life.RUnlock()
	scope, err := prepare.Scope(collection)
	if err != nil {
		return 0, err
	}
	c, err := x.find(ctx, scope.Collection)
	if err != nil || c == nil {
		return 0, failed("read version", err)
	}
	s, err := x.snapshot(ctx, c)
	if err != nil {
		return 0, failed("read version", err)
	}
	return s.version, nil
}

// DocumentChunks implements [index.DocumentReader].
func (x *Index) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, most int) ([]corpus.Chunk, error) {
	if level < 1 || level > prepare.Levels {
		return nil, fault.Invalid("level", "there is no level %d", level)
	}
	var out []corpus.Chunk
	err := x.read(ctx, "read document", collection, func(ctx context.Context, v *view) error {
		out = nil
		if !prepare.ValidID(string(id)) || !v.has(id) {
			return nil
		}
		where := and(isKind(kind(level)), is(propDocument, key(string(id))))
		if from > 0 {
			where = and(where, isInt(propOrdinal, "GreaterThanEqual", int64(from)))
		}
		var found []object
		var err error
		if most > 0 && most <= page {
			found, err = v.get(ctx, where, propData, limit(most), `sort:[{path:["ordinal"],order:asc}]`)
		} else {
			found, err = v.all(ctx, where, propData)
		}
		if err != nil {
			return err
		}
		for _, o := range found {
			var r chunkRecord
			if err := o.decode(&r); err != nil {
				return err
			}
			if r.Chunk.Document == id {
				out = append(out, r.Chunk)
			}
		}
		slices.SortStableFunc(out, func(a, b corpus.Chunk) int {
			return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ID, b.ID))
		})
		if most > 0 {
			out = out[:min(most, len(out))]
		}
		return nil
	})
	return out, err
}

// Annotate implements [index.Annotator].
func (x *Index) Annotate(ctx context.Context, name string, id corpus.DocumentID, given corpus.DublinCore, contributor string) error {
	return x.change(ctx, "annotate document", name, false, func(c *collection) error {
		s, err := x.snapshot(ctx, c)
		if err != nil {
			return err
		}
		s.exact = true
		found, err := s.get(ctx, and(isKind(kindDocument), oneOf(propDocument, keysOf([]corpus.DocumentID{id}))), "data _additional{id}", limit(1))
		if err != nil || len(found) == 0 {
			return err
		}
		var r documentRecord
		if err := found[0].decode(&r); err != nil {
			return err
		}
		r.Given, r.Contributor = given, cmp.Or(contributor, r.Contributor)
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		change := stored{c.class, x.tenant, found[0].Additional.ID, map[string]any{propData: string(data)}, nil}
		return x.client.do(ctx, http.MethodPatch, "/objects/"+c.class+"/"+change.ID, change, nil)
	})
}
