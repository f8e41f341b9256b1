package embedded

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
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

// node is a node of the graph: an entity with a key, or a passage with scorch's number.
type node struct {
	key        string // of an entity
	name       string
	n          uint32 // of a passage
	title      string // of a passage's document; set when a path needs it
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

// walk is the state of a walk.
type walk struct {
	*graph
	with     walkParams
	affinity func(n uint32) float64 // 0..1: share of the question's rare words in a passage
	best     []uint32               // passages with the highest affinity, ascending
	question map[string]float64     // idf of the question's stems
	totalIDF float64                // of question
	passages map[uint32]*node
	entities map[string]*node
	budget   int
}

// Walk implements [index.Graph]. It approximates a personalized PageRank (Haveliwala 2002; on entities and passages as in HippoRAG,
// Gutiérrez et al. 2024) with two steps from passage to passage, and only follows the heaviest nodes, so its cost is almost independent of
// the collection. A step to an entity weighs less if many passages mention it, and more if a relation to it shares words with the
// question. A step to a passage weighs more if the passage is about the entity or shares rare words with the question. Only the
// first 32 of Chunks and of Entities are used.
func (x *Index) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	var out []index.WalkHit
	if w.Limit <= 0 {
		w.Limit = index.DefaultLimit
	}
	w.Limit = min(w.Limit, index.MaxLimit)
	err := x.inGraph(ctx, w.Collection, func(g *graph) (err error) {
		out, err = g.walk(ctx, w, x.opts.Scoring)
		return err
	})
	return out, failed("walk", err)
}

func (g *graph) walk(ctx context.Context, q index.WalkQuery, scoring Scoring) ([]index.WalkHit, error) {
	w := &walk{graph: g, with: defaultWalk, passages: map[uint32]*node{}, entities: map[string]*node{}, budget: defaultWalk.total}
	sc := scorers.Get().(*scorer)
	defer sc.free()
	if err := w.weighQuestion(ctx, q.Question, sc, scoring); err != nil {
		return nil, err
	}
	if err := w.begin(q); err != nil {
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
	return w.hits(q.Limit)
}

// weighQuestion computes the affinity of passages to the question.
func (w *walk) weighQuestion(ctx context.Context, question string, sc *scorer, scoring Scoring) error {
	w.affinity = func(uint32) float64 { return 0 }
	terms := queryWords(question, nil)
	if len(terms) == 0 {
		return nil
	}
	asked, err := w.v.weigh(ctx, terms, nil, nil)
	if err != nil {
		return err
	}
	w.question = map[string]float64{}
	for _, t := range asked.terms {
		w.question[t.text] = t.idf
		w.totalIDF += t.idf
	}
	best, err := sc.score(ctx, w.v, asked, scoring, candidates)
	if err != nil || len(best) == 0 {
		return err
	}
	top := float64(sc.tallies[best[0]].score)
	w.affinity = func(n uint32) float64 {
		if int(n) >= len(sc.tallies) || top <= 0 {
			return 0
		}
		return min(1, max(0, float64(sc.tallies[n].score)/top))
	}
	w.best = slices.Clone(best)
	slices.Sort(w.best)
	return nil
}

const maxStarts = 32

// begin assigns the initial weights.
func (w *walk) begin(q index.WalkQuery) error {
	var chunks, entities []*node
	sum := 0.0
	for _, name := range q.Entities[:min(len(q.Entities), maxStarts)] {
		key := lang.NormalizeName(name)
		f, err := w.stats(key, true)
		if err != nil {
			return err
		}
		if key == "" || f.chunks == 0 || w.entities[key] != nil {
			continue
		}
		e := &node{key: key, name: name, start: true, residual: w.specificity(f)}
		w.entities[key] = e
		sum += e.residual
		entities = append(entities, e)
	}
	part, all := 1.0, 0.0
	for _, id := range q.Chunks[:min(len(q.Chunks), maxStarts)] {
		n, ok, err := w.find(id)
		if err != nil {
			return err
		}
		if !ok || w.passages[n] != nil {
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
func (w *walk) specificity(f entityStats) float64 {
	s := math.Pow(float64(max(f.chunks, 1)), -w.with.rare)
	if f.about == 0 {
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
	for _, p := range heaviest(w.passages, w.with.passages) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := p.residual
		p.residual = 0
		names, err := w.names(p.n)
		if err != nil {
			return err
		}
		steps, err := w.steps(names)
		if err != nil {
			return err
		}
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

// step is a step from a passage to an entity that it mentions.
type step struct {
	key, name string
	weight    float64
}

// steps returns the steps to entities that other passages also mention.
func (w *walk) steps(names *passageMentions) (out []step, err error) {
	overlap := w.relationOverlap(names)
	seen := map[string]int{}
	for i, m := range names.mentions {
		key := lang.NormalizeName(m.Name)
		f, err := w.stats(key, false)
		if err != nil {
			return nil, err
		}
		if f.chunks < 2 {
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
	return out, nil
}

// relationOverlap returns, for each mention, the share of the question's words, by idf, that its relations contain.
func (w *walk) relationOverlap(n *passageMentions) []float64 {
	out := make([]float64, len(n.mentions))
	if len(w.question) == 0 {
		return out
	}
	for _, r := range n.relations {
		shared := 0.0
		for _, stem := range slices.Sorted(maps.Keys(lang.TermSet(r.predicate))) { // in order, on which sums depend in their last digits
			shared += w.similarIDF(stem)
		}
		out[r.to] = max(out[r.to], shared/w.totalIDF)
		out[r.from] = max(out[r.from], shared/w.totalIDF/2)
	}
	return out
}

// similarIDF returns the idf of the question's word that is equal or similar to a stem. Similar words only differ in a short ending,
// like direct and director.
func (w *walk) similarIDF(stem string) float64 {
	if idf, ok := w.question[stem]; ok {
		return idf
	}
	best := 0.0
	for q, idf := range w.question {
		short, long := min(len(q), len(stem)), max(len(q), len(stem))
		if short >= 4 && long-short <= 4 && q[:short] == stem[:short] {
			best = max(best, idf)
		}
	}
	return best
}

// toPassages passes weight from entities to the passages that mention them.
func (w *walk) toPassages(ctx context.Context) error {
	for _, e := range heaviest(w.entities, w.with.entities) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := e.residual
		e.residual = 0
		f, err := w.stats(e.key, true)
		if err != nil {
			return err
		}
		about := w.with.about
		switch f.about {
		case 0:
			about = 0
		case f.chunks:
			about = 1
		}
		if about > 0 {
			if err := w.spread(e, w.about, f.about, rest*about); err != nil {
				return err
			}
		}
		if about < 1 {
			if err := w.spread(e, w.named, f.chunks, rest*(1-about)); err != nil {
				return err
			}
		}
	}
	return nil
}

// spread distributes weight to the passages of an entity. If it has too many, only the passages that match the question get weight, or
// the first ones without a question.
func (w *walk) spread(e *node, in *postings, df uint64, weight float64) error {
	var numbers []uint32
	var err error
	most := min(w.with.postings, w.budget)
	if df > uint64(most) && len(w.best) > 0 {
		numbers, err = in.among(e.key, w.best)
		w.budget -= min(len(w.best), w.budget)
	} else {
		numbers, err = in.numbers(e.key, most)
		w.budget -= len(numbers)
	}
	if err != nil || len(numbers) == 0 {
		return err
	}
	top, sum := 0.0, 0.0
	shares := make([]float64, len(numbers))
	for i, n := range numbers {
		shares[i] = 1 + w.with.share*w.affinity(n)
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
	return nil
}

// hits returns the best passages that the walk did not start from.
func (w *walk) hits(limit int) ([]index.WalkHit, error) {
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
		if all = append(all, scored{p, p.weight * (1 + w.with.rank*w.affinity(p.n))}); len(all) == 2*limit {
			slices.SortFunc(all, better)
			all = all[:limit]
		}
	}
	slices.SortFunc(all, better)
	all = all[:min(limit, len(all))]
	var out []index.WalkHit
	for _, s := range all {
		c, err := w.chunk(s.n)
		if err != nil {
			return nil, err
		}
		path, err := w.path(s.node)
		if err != nil {
			return nil, err
		}
		out = append(out, index.WalkHit{Chunk: *c, Score: s.score / all[0].score, Path: path})
	}
	slices.SortStableFunc(out, func(a, b index.WalkHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk.ID, b.Chunk.ID))
	})
	return out, nil
}

func (w *walk) chunk(n uint32) (*corpus.Chunk, error) {
	row, err := w.v.row(n)
	if err != nil {
		return nil, err
	}
	return readChunk(w.tx, row)
}

// path returns the names on the way to a passage, without repetitions.
func (w *walk) path(to *node) ([]string, error) {
	var back []string
	last := ""
	for p := to; p != nil; p = p.from {
		name := p.name
		if p.key == "" {
			if p.title == "" {
				c, err := w.chunk(p.n)
				if err != nil {
					return nil, err
				}
				p.title = c.Title
			}
			name = p.title
		}
		if key := lang.NormalizeName(name); key != "" && key != last {
			back = append(back, name)
			last = key
		}
	}
	slices.Reverse(back)
	return back, nil
}
