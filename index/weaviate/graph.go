package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/index/walk"
	"github.com/sluice-rag/sluice/lang"
)

var _ index.Graph = (*Index)(nil)

const (
	maxMentioned  = 100 // chunks of one call of EntitiesOf
	namesPage     = 200 // passages that one request reads to find the names of a text
	bestPassages  = 300 // passages of which a walk knows how well they match the question
	idsPerRequest = 8   // requests for passages that one request holds
)

// graph reads the entities and mentions of one state of a collection. It gives passages numbers in the order in which it meets them. It is not safe for
// concurrent use.
type graph struct {
	*view
	numbers map[string]uint32 // by key of the chunk
	keys    []string          // by number
	records map[uint32]*chunkRecord
}

func (x *Index) inGraph(ctx context.Context, op, collection string, do func(context.Context, *graph) error) error {
	return x.read(ctx, op, collection, func(ctx context.Context, v *view) error {
		if v.empty() {
			return nil
		}
		return do(ctx, &graph{view: v, numbers: map[string]uint32{}, records: map[uint32]*chunkRecord{}})
	})
}

// number returns the number of a passage.
func (g *graph) number(chunk string) uint32 {
	n, ok := g.numbers[chunk]
	if !ok {
		n = uint32(len(g.keys))
		g.numbers[chunk] = n
		g.keys = append(g.keys, chunk)
	}
	return n
}

// numbered returns the numbers of passages, in the order of their rows, which is the same each time.
func (g *graph) numbered(found []object) []uint32 {
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(a.Chunk, b.Chunk) })
	out := make([]uint32, len(found))
	for i, o := range found {
		out[i] = g.number(o.Chunk)
	}
	return out
}

// holding counts, of each key, the passages of the view whose property has it.
func (g *graph) holding(ctx context.Context, property string, keys []string) (map[string]int, error) {
	if g.only == nil {
		return g.counted(ctx, property, keys, func(k string) condition { return is(property, k) })
	}
	out := map[string]int{}
	conditions := make([]condition, len(keys))
	for i, k := range keys {
		conditions[i] = and(is(property, k), g.within)
	}
	counts, err := g.count(ctx, conditions)
	for i, n := range counts {
		out[keys[i]] = n
	}
	return out, err
}

// Stats implements [walk.Source].
func (g *graph) Stats(ctx context.Context, keys []string, all bool) ([]walk.Stats, error) {
	named, err := g.holding(ctx, propNamed, keys)
	if err != nil {
		return nil, err
	}
	var shared []string
	for _, k := range keys {
		if named[k] > 1 || all && named[k] > 0 {
			shared = append(shared, k)
		}
	}
	about, err := g.holding(ctx, propAbout, shared)
	if err != nil {
		return nil, err
	}
	out := make([]walk.Stats, len(keys))
	for i, k := range keys {
		out[i] = walk.Stats{Chunks: uint64(named[k]), About: uint64(about[k])}
	}
	return out, nil
}

// passagesByID reads passages of the view into the cache.
func (g *graph) passagesByID(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, askedKeys) {
		found, err := g.all(ctx, and(isKind(kind(corpus.Passage)), oneOf(propChunk, some)), "chunk data")
		if err != nil {
			return err
		}
		for _, o := range found {
			r := &chunkRecord{}
			if err := o.decode(r); err != nil {
				return err
			}
			if g.has(r.Chunk.Document) {
				g.records[g.number(o.Chunk)] = r
			}
		}
	}
	return nil
}

// Find implements [walk.Source].
func (g *graph) Find(ctx context.Context, ids []corpus.ChunkID) ([]uint32, error) {
	var keys []string
	for _, id := range ids {
		if prepare.ValidID(string(id)) {
			keys = append(keys, key(string(id)))
		}
	}
	if err := g.passagesByID(ctx, slices.Compact(slices.Sorted(slices.Values(keys)))); err != nil {
		return nil, err
	}
	var out []uint32
	for _, k := range keys {
		if n, ok := g.numbers[k]; ok && g.records[n] != nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// load reads the records of passages that are not in the cache.
func (g *graph) load(ctx context.Context, passages []uint32) error {
	var keys []string
	for _, n := range passages {
		if g.records[n] == nil {
			keys = append(keys, g.keys[n])
		}
	}
	if err := g.passagesByID(ctx, keys); err != nil {
		return err
	}
	for _, n := range passages {
		if g.records[n] == nil {
			return fmt.Errorf("passage %s is missing", g.keys[n])
		}
	}
	return nil
}

// Mentions implements [walk.Source].
func (g *graph) Mentions(ctx context.Context, passages []uint32) ([]*prepare.Mentions, error) {
	if err := g.load(ctx, passages); err != nil {
		return nil, err
	}
	out := make([]*prepare.Mentions, len(passages))
	for i, n := range passages {
		out[i] = &prepare.Mentions{List: g.records[n].Mentions, Relations: g.records[n].Relations}
	}
	return out, nil
}

// Chunks implements [walk.Source].
func (g *graph) Chunks(ctx context.Context, passages []uint32) ([]*corpus.Chunk, error) {
	if err := g.load(ctx, passages); err != nil {
		return nil, err
	}
	out := make([]*corpus.Chunk, len(passages))
	for i, n := range passages {
		out[i] = &g.records[n].Chunk
	}
	return out, nil
}

// Passages implements [walk.Source].
func (g *graph) Passages(ctx context.Context, requests []walk.Request) ([][]uint32, error) {
	out := make([][]uint32, len(requests))
	found := make([][]object, len(requests))
	places := make([]int, len(requests))
	for i := range places {
		places[i] = i
	}
	parts := slices.Collect(slices.Chunk(places, idsPerRequest))
	err := parallel(ctx, len(parts), countRequests, func(ctx context.Context, part int) error {
		var b strings.Builder
		b.WriteString("{Get{")
		for _, i := range parts[part] {
			b.WriteString(g.passageQuery(i, requests[i]))
		}
		b.WriteString("}}")
		r, err := g.x.client.graphql(ctx, b.String())
		if err != nil {
			return err
		}
		for _, i := range parts[part] {
			found[i] = r.Data.Get[fmt.Sprintf("a%d", i)]
		}
		return nil
	})
	for i := range found {
		out[i] = g.numbered(found[i])
	}
	return out, err
}

func (g *graph) passageQuery(i int, r walk.Request) string {
	property := propNamed
	if r.About {
		property = propAbout
	}
	where, most := and(is(property, r.Key), g.within, g.visible()), r.Limit
	if r.Among != nil {
		keys := make([]string, len(r.Among))
		for k, n := range r.Among {
			keys[k] = g.keys[n]
		}
		where, most = and(where, oneOf(propChunk, keys)), len(keys)
	}
	if most == 0 {
		where, most = never, 1
	}
	return fmt.Sprintf("a%d:%s%s{chunk}", i, g.class, arguments(g.x.tenant, where, limit(most)))
}

// Walk implements [index.Graph]; see [walk.Walk]. Only the 300 passages that match the question best count as matching it.
func (x *Index) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	var out []index.WalkHit
	err := x.inGraph(ctx, "walk", w.Collection, func(ctx context.Context, g *graph) error {
		question, err := g.question(ctx, w.Question)
		if err == nil {
			out, err = walk.Walk(ctx, g, question, w)
		}
		return err
	})
	return out, err
}

// question computes how well passages match a question.
func (g *graph) question(ctx context.Context, text string) (q walk.Question, err error) {
	asked, err := g.weigh(ctx, text, nil)
	if err != nil || len(asked.terms) == 0 {
		return q, err
	}
	q.IDF = map[string]float64{}
	for _, t := range asked.terms {
		q.IDF[t.text] = t.idf
	}
	asked.average = g.average(corpus.Passage)
	found, err := (&search{view: g.view, question: asked}).candidates(ctx, corpus.Passage, bestPassages)
	if err != nil {
		return q, err
	}
	g.numbered(found)
	scores, top := map[uint32]float64{}, 0.0
	for _, o := range found {
		s := asked.score(o.terms())
		scores[g.number(o.Chunk)] = s
		top = max(top, s)
	}
	if top == 0 {
		return q, nil
	}
	q.Affinity = func(n uint32) float64 { return min(1, scores[n]/top) }
	q.Best = slices.Sorted(maps.Keys(scores))
	return q, nil
}

// EntitiesOf implements [index.Graph]. Unknown chunks and those without mentions have no entities. Only the first 100 ids are used.
func (x *Index) EntitiesOf(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]index.Entity, error) {
	out := make([][]index.Entity, len(ids))
	err := x.inGraph(ctx, "read entities", collection, func(ctx context.Context, g *graph) error {
		clear(out)
		found, err := g.chunksByID(ctx, ids[:min(len(ids), maxMentioned)])
		if err != nil {
			return err
		}
		var keys []string
		for _, id := range slices.Sorted(maps.Keys(found)) {
			for _, m := range found[id].Mentions {
				keys = append(keys, lang.NormalizeName(m.Name))
			}
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		stats, err := g.Stats(ctx, keys, true)
		if err != nil {
			return err
		}
		byKey := map[string]walk.Stats{}
		for i, k := range keys {
			byKey[k] = stats[i]
		}
		for i, id := range ids[:min(len(ids), maxMentioned)] {
			if r := found[id]; r != nil {
				out[i] = walk.EntitiesIn(r.Mentions, func(key string) walk.Stats { return byKey[key] })
			}
		}
		return nil
	})
	return out, err
}

// Entities implements [index.Graph]; see [walk.Names].
func (x *Index) Entities(ctx context.Context, collection, s string) ([]index.Entity, error) {
	var out []index.Entity
	s = lang.Truncate(s, prepare.MaxQuery)
	err := x.inGraph(ctx, "find entities", collection, func(ctx context.Context, g *graph) (err error) {
		out, err = g.entities(ctx, s)
		return err
	})
	return out, err
}

func (g *graph) entities(ctx context.Context, s string) ([]index.Entity, error) {
	known, err := g.known(ctx, walk.Candidates(s))
	if err != nil || len(known) == 0 {
		return nil, err
	}
	stats, err := g.Stats(ctx, known, true)
	if err != nil {
		return nil, err
	}
	byKey := map[string]walk.Stats{}
	for i, k := range known {
		byKey[k] = stats[i]
	}
	names, err := walk.Names(ctx, s, func(key string) (walk.Stats, error) { return byKey[key], nil }, func(stem string) (uint64, error) {
		n, err := g.holding(ctx, levelTerms(corpus.Passage), []string{term(stem)})
		return uint64(n[term(stem)]), err
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("{Get{")
	for i, key := range names {
		where := is(propNamed, key)
		if byKey[key].About > 0 {
			where = is(propAbout, key)
		}
		fmt.Fprintf(&b, "a%d:%s%s{data}", i, g.class, arguments(g.x.tenant, and(where, g.within, g.visible()), limit(walk.FormsCompared)))
	}
	b.WriteString("}}")
	r, err := g.x.client.graphql(ctx, b.String())
	if err != nil {
		return nil, err
	}
	out := make([]index.Entity, len(names))
	for i, key := range names {
		var mentions []*prepare.Mentions
		for _, o := range r.Data.Get[fmt.Sprintf("a%d", i)] {
			var c chunkRecord
			if err := o.decode(&c); err != nil {
				return nil, err
			}
			mentions = append(mentions, &prepare.Mentions{List: c.Mentions})
		}
		f := byKey[key]
		out[i] = index.Entity{Name: walk.Spelling(key, mentions), Chunks: int(f.Chunks), About: int(f.About)}
	}
	return out, nil
}

// known returns the keys that some passage mentions. Each request finds those in some passages, and the next one looks for the others only.
func (g *graph) known(ctx context.Context, keys []string) (known []string, err error) {
	rest := map[string]bool{}
	for _, k := range keys {
		rest[k] = true
	}
	for len(rest) > 0 {
		found, err := g.get(ctx, and(oneOf(propNamed, slices.Sorted(maps.Keys(rest))), g.within), propNamed, limit(namesPage))
		if err != nil {
			return nil, err
		}
		before := len(rest)
		for _, o := range found {
			for _, k := range o.Named {
				if rest[k] {
					known = append(known, k)
					delete(rest, k)
				}
			}
		}
		if len(found) < namesPage || len(rest) == before {
			break
		}
	}
	slices.Sort(known)
	return known, nil
}
