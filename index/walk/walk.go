// Package walk finds the passages that are nearest to a start in a graph of entities and passages, for all back ends alike.
package walk

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// walkParams are the parameters of a walk.
type walkParams struct {
	rounds   int     // steps from passages to passages
	damp     float64 // share of the weight that is passed on from a passage
	passages int     // number of the heaviest passages that pass weight on
	entities int     // number of the heaviest entities that pass weight on
	postings int     // maximum number of postings that are read for an entity
	total    int     // maximum number of postings that are read for all entities

	starts    float64    // share of the initial weight for chunks if there are also entities
	fade      float64    // initial weight of each chunk relative to the previous one
	out       [5]float64 // weight of a step from a passage to an entity, by kind of mention
	about     float64    // share of an entity's weight that goes to passages about it
	rare      float64    // exponent of 1/df in the weight of an entity
	says      float64    // weight of the question's words in relations
	share     float64    // weight of the question's words in a passage, for steps to it
	rank      float64    // weight of the question's words in a passage, for its score
	crowd     float64    // exponent by which many passages of one entity reduce each other's weight
	noSubject float64    // weight of entities that no passage is about
}

var defaultWalk = walkParams{
	rounds: 2, damp: 0.5, passages: 16, entities: 64, postings: 256, total: 6000,
	starts: 0.5, fade: 0.8, out: [5]float64{0, 0.5, 1.5, 1, 0.3}, about: 0.8, rare: 0.5, says: 2, share: 2, rank: 1, crowd: 0.7, noSubject: 0.3,
}

// node is a node of the graph: an entity with a key, or a passage with a number of the source.
type node struct {
	key        string // of an entity
	name       string
	n          uint32 // of a passage
	start      bool   // the walk starts here
	weight     float64
	residual   float64 // part of weight that is not passed on yet
	distance   int     // steps of the shortest path from a start; 0 at a start
	from       *node   // of the nodes one step nearer to a start, the one that passed most weight to this node
	fromWeight float64 // the largest weight passed by such a node
}

func (p *node) add(w float64, from *node) {
	p.weight += w
	p.residual += w
	if p.start {
		return
	}
	if p.from == nil {
		p.distance = from.distance + 1
	}
	if w > p.fromWeight && from.distance < p.distance {
		p.fromWeight, p.from = w, from
	}
}

// Stats counts the passages that mention an entity, and those that are about it.
type Stats struct{ Chunks, About uint64 }

// Request asks for passages of an entity.
type Request struct {
	Key   string
	About bool     // only those that are about it
	Limit int      // the first ones in the order of the source; 0: none
	Among []uint32 // only these, in ascending order, without a limit; nil: any
}

// Source reads one state of a graph. Passages are numbers of its own choice; each method takes many, because a source may be on another machine.
type Source interface {
	// Stats counts the passages of entities. It may leave out those about an entity that only one passage mentions, unless all is set.
	Stats(ctx context.Context, keys []string, all bool) ([]Stats, error)
	// Mentions returns the mentions of passages. They are never nil.
	Mentions(ctx context.Context, passages []uint32) ([]*prepare.Mentions, error)
	// Passages returns the passages of each request.
	Passages(ctx context.Context, requests []Request) ([][]uint32, error)
	// Find returns the passages of ids that exist, in the order of ids.
	Find(ctx context.Context, ids []corpus.ChunkID) ([]uint32, error)
	// Chunks returns the chunks of passages.
	Chunks(ctx context.Context, passages []uint32) ([]*corpus.Chunk, error)
}

// Question is how well passages match the question of a walk.
type Question struct {
	Affinity func(n uint32) float64 // 0..1: share of the question's rare words in a passage; nil: 0 for all
	Best     []uint32               // passages with the highest affinity, ascending
	IDF      map[string]float64     // of the question's stems
}

// walk is the state of a walk.
type walk struct {
	Question
	source   Source
	with     walkParams
	totalIDF float64 // of the question
	passages map[uint32]*node
	entities map[string]*node
	budget   int
}

// Walk returns the passages nearest to the start of q; see [index.Graph]. It approximates a personalized PageRank (Haveliwala 2002; on entities and
// passages as in HippoRAG, Gutiérrez et al. 2024) with two steps from passage to passage, and only follows the heaviest nodes, so its cost is almost
// independent of the collection. A step to an entity weighs less if many passages mention it, and more if a relation to it shares words with the
// question. A step to a passage weighs more if the passage is about the entity or shares rare words with the question. Only the
// first 32 of Chunks and of Entities are used.
func Walk(ctx context.Context, source Source, question Question, q index.WalkQuery) ([]index.WalkHit, error) {
	if q.Limit <= 0 {
		q.Limit = index.DefaultLimit
	}
	q.Limit = min(q.Limit, index.MaxLimit)
	w := &walk{Question: question, source: source, with: defaultWalk, passages: map[uint32]*node{}, entities: map[string]*node{}, budget: defaultWalk.total}
	if w.Affinity == nil {
		w.Affinity = func(uint32) float64 { return 0 }
	}
	for _, stem := range slices.Sorted(maps.Keys(question.IDF)) { // in order, on which sums depend in their last digits
		w.totalIDF += question.IDF[stem]
	}
	if err := w.begin(ctx, q); err != nil {
		return nil, err
	}
	for round := range w.with.rounds {
		if round > 0 || len(q.Chunks) > 0 {
			if err := w.toEntities(ctx); err != nil {
				return nil, err
			}
		}
		if err := w.toPassages(ctx); err != nil {
			return nil, err
		}
	}
	return w.hits(ctx, q.Limit)
}

const maxStarts = 32

// begin assigns the initial weights.
func (w *walk) begin(ctx context.Context, q index.WalkQuery) error {
	var chunks, entities []*node
	sum := 0.0
	names := q.Entities[:min(len(q.Entities), maxStarts)]
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = lang.NormalizeName(name)
	}
	stats, err := w.source.Stats(ctx, keys, true)
	if err != nil {
		return err
	}
	for i, name := range names {
		key, f := keys[i], stats[i]
		if key == "" || f.Chunks == 0 || w.entities[key] != nil {
			continue
		}
		e := &node{key: key, name: name, start: true, residual: w.specificity(f)}
		w.entities[key] = e
		sum += e.residual
		entities = append(entities, e)
	}
	part, all := 1.0, 0.0
	starting, err := w.source.Find(ctx, q.Chunks[:min(len(q.Chunks), maxStarts)])
	if err != nil {
		return err
	}
	for _, n := range starting {
		if w.passages[n] != nil {
			continue
		}
		p := &node{n: n, start: true, residual: part}
		w.passages[n] = p
		all += part
		part *= w.with.fade
		chunks = append(chunks, p)
	}
	starts := w.with.starts
	if len(entities) == 0 {
		starts = 1
	} else if len(chunks) == 0 {
		starts = 0
	}
	for _, e := range entities {
		e.residual *= (1 - starts) / sum
	}
	for _, p := range chunks {
		p.residual *= starts / all
	}
	return nil
}

// specificity returns the weight of an entity: rare entities are more specific to a passage.
func (w *walk) specificity(f Stats) float64 {
	s := math.Pow(float64(max(f.Chunks, 1)), -w.with.rare)
	if f.About == 0 {
		s *= w.with.noSubject
	}
	return s
}

// heaviest returns the n nodes with the largest residual weight, in a deterministic order.
func heaviest[K comparable](all map[K]*node, n int) []*node {
	out := make([]*node, 0, len(all))
	for _, p := range all {
		if p.residual > 0 {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.residual, a.residual), cmp.Compare(a.n, b.n), strings.Compare(a.key, b.key))
	})
	return out[:min(n, len(out))]
}

// toEntities passes weight from passages to the entities that they mention.
func (w *walk) toEntities(ctx context.Context) error {
	from := heaviest(w.passages, w.with.passages)
	passages := make([]uint32, len(from))
	for i, p := range from {
		passages[i] = p.n
	}
	mentions, err := w.source.Mentions(ctx, passages)
	if err != nil {
		return err
	}
	stats, err := w.statsOf(ctx, mentions)
	if err != nil {
		return err
	}
	for i, p := range from {
		rest := p.residual
		p.residual = 0
		steps := w.steps(mentions[i], stats)
		sum := 0.0
		for _, s := range steps {
			sum += s.weight
		}
		for _, s := range steps {
			e := w.entities[s.key]
			if e == nil {
				e = &node{key: s.key, name: s.name}
				w.entities[s.key] = e
			}
			e.add(rest*w.with.damp*s.weight/sum, p)
		}
	}
	return nil
}

// statsOf counts the passages of all entities that are mentioned.
func (w *walk) statsOf(ctx context.Context, mentions []*prepare.Mentions) (map[string]Stats, error) {
	out := map[string]Stats{}
	var keys []string
	for _, n := range mentions {
		for i := range n.List {
			key := n.Key(i)
			if _, ok := out[key]; !ok {
				out[key] = Stats{}
				keys = append(keys, key)
			}
		}
	}
	stats, err := w.source.Stats(ctx, keys, false)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		out[key] = stats[i]
	}
	return out, nil
}

// step is a step from a passage to an entity that it mentions.
type step struct {
	key, name string
	weight    float64
}

// steps returns the steps to entities that other passages also mention.
func (w *walk) steps(names *prepare.Mentions, stats map[string]Stats) (out []step) {
	overlap := w.relationOverlap(names)
	seen := map[string]int{}
	for i, m := range names.List {
		key := names.Key(i)
		f := stats[key]
		if f.Chunks < 2 {
			continue
		}
		weight := w.with.out[m.Kind] * w.specificity(f) * (1 + w.with.says*overlap[i])
		if k, ok := seen[key]; ok {
			out[k].weight = max(out[k].weight, weight)
			continue
		}
		seen[key] = len(out)
		out = append(out, step{key, m.Name, weight})
	}
	return out
}

// relationOverlap returns, for each mention, the share of the question's words, by idf, that its relations contain.
func (w *walk) relationOverlap(n *prepare.Mentions) []float64 {
	out := make([]float64, len(n.List))
	if len(w.IDF) == 0 {
		return out
	}
	for _, r := range n.Relations {
		shared := 0.0
		for _, stem := range slices.Sorted(maps.Keys(lang.TermSet(r.Predicate))) { // in order, on which sums depend in their last digits
			shared += w.similarIDF(stem)
		}
		out[r.To] = max(out[r.To], shared/w.totalIDF)
		out[r.From] = max(out[r.From], shared/w.totalIDF/2)
	}
	return out
}

// similarIDF returns the idf of the question's word that is equal or similar to a stem. Similar words only differ in a short ending,
// like direct and director.
func (w *walk) similarIDF(stem string) float64 {
	if idf, ok := w.IDF[stem]; ok {
		return idf
	}
	best := 0.0
	for q, idf := range w.IDF {
		short, long := min(len(q), len(stem)), max(len(q), len(stem))
		if short >= 4 && long-short <= 4 && q[:short] == stem[:short] {
			best = max(best, idf)
		}
	}
	return best
}

// toPassages passes weight from entities to the passages that mention them.
func (w *walk) toPassages(ctx context.Context) error {
	from := heaviest(w.entities, w.with.entities)
	keys := make([]string, len(from))
	for i, e := range from {
		keys[i] = e.key
	}
	stats, err := w.source.Stats(ctx, keys, true)
	if err != nil {
		return err
	}
	type share struct {
		from   *node
		weight float64
	}
	var shares []share
	var requests []Request
	spread := func(e *node, about bool, df uint64, weight float64) {
		shares = append(shares, share{e, weight})
		requests = append(requests, w.request(e.key, about, df))
	}
	for i, e := range from {
		rest := e.residual
		e.residual = 0
		f, about := stats[i], w.with.about
		switch f.About {
		case 0:
			about = 0
		case f.Chunks:
			about = 1
		}
		if about > 0 {
			spread(e, true, f.About, rest*about)
		}
		if about < 1 {
			spread(e, false, f.Chunks, rest*(1-about))
		}
	}
	passages, err := w.source.Passages(ctx, requests)
	if err != nil {
		return err
	}
	for i, s := range shares {
		w.spread(s.from, passages[i], s.weight)
	}
	return nil
}

// request returns the request for the passages of an entity. If it has too many, only the passages that match the question get weight, or the first
// ones without a question.
func (w *walk) request(key string, about bool, df uint64) Request {
	most := min(w.with.postings, w.budget)
	if df > uint64(most) && len(w.Best) > 0 {
		w.budget -= min(len(w.Best), w.budget)
		return Request{Key: key, About: about, Among: w.Best}
	}
	w.budget -= min(most, int(min(df, uint64(most))))
	return Request{Key: key, About: about, Limit: most}
}

// spread distributes weight to the passages of an entity.
func (w *walk) spread(e *node, numbers []uint32, weight float64) {
	if len(numbers) == 0 {
		return
	}
	top, sum := 0.0, 0.0
	shares := make([]float64, len(numbers))
	for i, n := range numbers {
		shares[i] = 1 + w.with.share*w.Affinity(n)
		top = max(top, shares[i])
		sum += shares[i]
	}
	crowd := math.Pow(sum/top, -w.with.crowd)
	for i, n := range numbers {
		p := w.passages[n]
		if p == nil {
			p = &node{n: n}
			w.passages[n] = p
		}
		p.add(weight*crowd*shares[i]/top, e)
	}
}

// hits returns the best passages that the walk did not start from.
func (w *walk) hits(ctx context.Context, limit int) ([]index.WalkHit, error) {
	type scored struct {
		*node
		score float64
	}
	better := func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.n, b.n)) }
	all := make([]scored, 0, 2*limit)
	for _, p := range w.passages {
		if p.start || p.weight <= 0 {
			continue
		}
		if all = append(all, scored{p, p.weight * (1 + w.with.rank*w.Affinity(p.n))}); len(all) == 2*limit {
			slices.SortFunc(all, better)
			all = all[:limit]
		}
	}
	slices.SortFunc(all, better)
	all = all[:min(limit, len(all))]
	need := map[uint32]bool{}
	for _, s := range all {
		for p := s.node; p != nil; p = p.from {
			if p.key == "" {
				need[p.n] = true
			}
		}
	}
	numbers := slices.Sorted(maps.Keys(need))
	read, err := w.source.Chunks(ctx, numbers)
	if err != nil {
		return nil, err
	}
	chunks := make(map[uint32]*corpus.Chunk, len(read))
	for i, n := range numbers {
		chunks[n] = read[i]
	}
	var out []index.WalkHit
	for _, s := range all {
		out = append(out, index.WalkHit{Chunk: *chunks[s.n], Score: s.score / all[0].score, Path: path(s.node, chunks)})
	}
	slices.SortStableFunc(out, func(a, b index.WalkHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk.ID, b.Chunk.ID))
	})
	return out, nil
}

// path returns the names on the way to a passage, without repetitions.
func path(to *node, chunks map[uint32]*corpus.Chunk) []string {
	var back []string
	last := ""
	for p := to; p != nil; p = p.from {
		name := p.name
		if p.key == "" {
			name = chunks[p.n].Title
		}
		if key := lang.NormalizeName(name); key != "" && key != last {
			back = append(back, name)
			last = key
		}
	}
	slices.Reverse(back)
	return back
}
