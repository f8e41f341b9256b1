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

// walking are the constants of a walk.
type walking struct {
	rounds   int     // steps from passages to passages
	damp     float64 // of what goes on in each step
	passages int     // the heaviest of them go on
	entities int
	postings int // of one entity are looked at
	total    int // of all entities

	starts    float64    // share of the start that Chunks get where there are Entities too
	fade      float64    // weight of each chunk of the start by that of the one before
	out       [5]float64 // weight of a step from a passage to an entity, by kind
	about     float64    // share of an entity's weight that goes to passages about it
	rare      float64    // power of 1/df in the weight of an entity
	says      float64    // weight of a relation's words that the question shares
	share     float64    // weight of a passage's words that the question shares, in steps to it
	rank      float64    // the same in its score
	crowd     float64    // power by which passages that share a step weaken each other
	unnatural float64    // weight of entities that no passage is about
}

var walks = walking{
	rounds: 2, damp: 0.5, passages: 16, entities: 64, postings: 256, total: 6000,
	starts: 0.5, fade: 0.8, out: [5]float64{0, 0.5, 1.5, 1, 0.3}, about: 0.8, rare: 0.5, says: 2, share: 2, rank: 1, crowd: 0.7, unnatural: 0.3,
}

// place is a node of the graph: an entity by key, or a passage by scorch's number.
type place struct {
	key    string // of an entity
	name   string
	n      uint32 // of a passage
	title  string // of a passage: of its document; set where a path needs it
	begun  bool   // the walk starts here
	weight float64
	rest   float64 // of weight, not walked on with yet
	far    int     // steps from the start by the shortest way; 0 where the walk starts
	from   *place  // of those one step nearer, the one that most of the weight came from
	most   float64
}

func (p *place) gain(w float64, from *place) {
	p.weight += w
	p.rest += w
	if p.begun {
		return
	}
	if p.from == nil {
		p.far = from.far + 1
	}
	if w > p.most && from.far < p.far {
		p.most, p.from = w, from
	}
}

// walk is one.
type walk struct {
	*graph
	with     walking
	affinity func(n uint32) float64 // 0..1: how much of the question's rare words a passage holds
	best     []uint32               // the passages with the most of it, ascending
	question map[string]float64     // idf of the question's stems
	asked    float64                // the sum of it
	passages map[uint32]*place
	entities map[string]*place
	budget   int
}

// Walk implements [index.Graph]. It follows the weight of a personalised PageRank (Haveliwala 2002; on entities and passages
// as in HippoRAG, Gutiérrez et al. 2024) for two steps from passage to passage, and only where it is heaviest: a walk costs
// about the same in any collection. A step to an entity weighs less the more passages name it; one to a passage weighs more
// if the passage is about the entity and if it shares rare words with the question; and relations whose words the
// question shares draw the step towards what they relate. Of Chunks and Entities the first 32 count.
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
	w := &walk{graph: g, with: walks, passages: map[uint32]*place{}, entities: map[string]*place{}, budget: walks.total}
	sc := scorers.Get().(*scorer)
	defer sc.free()
	if err := w.ask(ctx, q.Question, sc, scoring); err != nil {
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
	return w.reached(q.Limit)
}

// ask weighs the passages by the question.
func (w *walk) ask(ctx context.Context, question string, sc *scorer, scoring Scoring) error {
	w.affinity = func(uint32) float64 { return 0 }
	terms := queryTerms(question)
	if len(terms) == 0 {
		return nil
	}
	asked, err := w.v.ask(ctx, terms)
	if err != nil {
		return err
	}
	w.question = map[string]float64{}
	for _, t := range asked.terms {
		w.question[t.text] = t.idf
		w.asked += t.idf
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

// begin lays the weight out.
func (w *walk) begin(q index.WalkQuery) error {
	var chunks, entities []*place
	sum := 0.0
	for _, name := range q.Entities[:min(len(q.Entities), maxStarts)] {
		key := lang.Name(name)
		f, err := w.figuresOf(key, true)
		if err != nil {
			return err
		}
		if key == "" || f.chunks == 0 || w.entities[key] != nil {
			continue
		}
		e := &place{key: key, name: name, begun: true, rest: w.specific(f)}
		w.entities[key] = e
		sum += e.rest
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
		p := &place{n: n, begun: true, rest: part}
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
		e.rest *= (1 - starts) / sum
	}
	for _, p := range chunks {
		p.rest *= starts / all
	}
	return nil
}

// specific says how much an entity tells of a passage that names it.
func (w *walk) specific(f figures) float64 {
	s := math.Pow(float64(max(f.chunks, 1)), -w.with.rare)
	if f.about == 0 {
		s *= w.with.unnatural
	}
	return s
}

// heaviest takes the places with the most weight to walk on with, in a fixed order.
func heaviest[K comparable](all map[K]*place, n int) []*place {
	out := make([]*place, 0, len(all))
	for _, p := range all {
		if p.rest > 0 {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *place) int {
		return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(a.n, b.n), strings.Compare(a.key, b.key))
	})
	return out[:min(n, len(out))]
}

// toEntities walks from passages to what they name.
func (w *walk) toEntities(ctx context.Context) error {
	for _, p := range heaviest(w.passages, w.with.passages) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := p.rest
		p.rest = 0
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
				e = &place{key: s.key, name: s.name}
				w.entities[s.key] = e
			}
			e.gain(rest*w.with.damp*s.weight/sum, p)
		}
	}
	return nil
}

// step is one from a passage to an entity that it names.
type step struct {
	key, name string
	weight    float64
}

// steps gives those that lead on: a name that no other passage has is a dead end.
func (w *walk) steps(names *named) (out []step, err error) {
	drawn := w.drawn(names)
	seen := map[string]int{}
	for i, m := range names.mentions {
		key := lang.Name(m.Name)
		f, err := w.figuresOf(key, false)
		if err != nil {
			return nil, err
		}
		if f.chunks < 2 {
			continue
		}
		weight := w.with.out[m.Kind] * w.specific(f) * (1 + w.with.says*drawn[i])
		if k, ok := seen[key]; ok {
			out[k].weight = max(out[k].weight, weight)
			continue
		}
		seen[key] = len(out)
		out = append(out, step{key, m.Name, weight})
	}
	return out, nil
}

// drawn gives by mention the share of the question's words, by idf, that stand in relations to it.
func (w *walk) drawn(n *named) []float64 {
	out := make([]float64, len(n.mentions))
	if len(w.question) == 0 {
		return out
	}
	for _, r := range n.relations {
		shared := 0.0
		for _, stem := range slices.Sorted(maps.Keys(lang.Set(r.says))) { // in order, on which sums depend in their last digits
			shared += w.like(stem)
		}
		out[r.to] = max(out[r.to], shared/w.asked)
		out[r.from] = max(out[r.from], shared/w.asked/2)
	}
	return out
}

// like gives the idf of the question's word that a stem is close to: the same, or alike in all but a short ending, as
// direct and director are.
func (w *walk) like(stem string) float64 {
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

// toPassages walks from entities to the passages that name them.
func (w *walk) toPassages(ctx context.Context) error {
	for _, e := range heaviest(w.entities, w.with.entities) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := e.rest
		e.rest = 0
		f, err := w.figuresOf(e.key, true)
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

// spread shares weight among the passages of an entity. Of an entity of too many, those that suit the question share it, or
// the first where there is no question.
func (w *walk) spread(e *place, in *postings, df uint64, weight float64) error {
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
			p = &place{n: n}
			w.passages[n] = p
		}
		p.gain(weight*crowd*shares[i]/top, e)
	}
	return nil
}

// reached gives the best passages that the walk did not start from.
func (w *walk) reached(limit int) ([]index.WalkHit, error) {
	type scored struct {
		*place
		score float64
	}
	better := func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.n, b.n)) }
	all := make([]scored, 0, 2*limit)
	for _, p := range w.passages {
		if p.begun || p.weight <= 0 {
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
		path, err := w.path(s.place)
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

// path gives the names on the way to a passage. A name that says what the one before it said is left out.
func (w *walk) path(to *place) ([]string, error) {
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
		if key := lang.Name(name); key != "" && key != last {
			back = append(back, name)
			last = key
		}
	}
	slices.Reverse(back)
	return back, nil
}
