package embedded

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// Minimum numbers of chunks that lexical and vector search contribute to fusion. Vector search contributes fewer, because the lexical
// score of each chunk has to be looked up, and farther chunks would not reach the top.
const (
	candidates = 100
	nearest    = 50
)

// found is a hit without its chunk. See [index.Hit] for the scores.
type found struct {
	row                    uint64
	score, lexical, cosine float64
	corrected              map[string][]string
}

// Search implements [index.Reader]. Text has no syntax. Stop words are ignored, and of the other terms the 64 rarest are used. Vector
// search only covers the space of the query. A vector with another dimension than its space is a [fault.InvalidRequest].
func (x *Index) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	vector, err := prepare.Unit(q.Vector)
	if err != nil {
		return nil, err
	}
	q.Vector = vector
	if q.Limit <= 0 {
		q.Limit = index.DefaultLimit
	}
	q.Limit = min(q.Limit, index.MaxLimit)
	if q.Weights == (index.Weights{}) {
		q.Weights = x.opts.Weights
	}
	wanted := [levels]bool{}
	for _, l := range q.Levels {
		if l < 1 || l > levels {
			return nil, fault.Invalid("levels", "there is no level %d", l)
		}
		wanted[l-1] = true
	}
	if len(q.Levels) == 0 {
		wanted[corpus.Passage-1] = true
	}
	scope, c, err := x.resolve(q.Collection)
	if err != nil || c == nil {
		return nil, failed("search", err)
	}
	s, only, err := x.scoped(ctx, c, scope)
	if err != nil {
		return nil, failed("search", err)
	}
	defer c.release(s)
	if q.Documents != nil {
		if only, err = x.restricted(ctx, c, s, only, q.Documents); err != nil {
			return nil, failed("search", err)
		}
	}
	hits, err := x.searchSnapshot(ctx, c, s, only, q, wanted)
	return hits, failed("search", err)
}

func (x *Index) searchSnapshot(ctx context.Context, c *collection, s *snapshot, only *filter, q index.Query, wanted [levels]bool) ([]index.Hit, error) {
	language := lang.Detect(lang.Truncate(q.Text, prepare.MaxQuery))
	terms := prepare.QueryWords(q.Text, language)
	for i := range levels {
		if dim := s.levels[i].spaces[q.Space].dim(); q.Vector != nil && dim > 0 && dim != len(q.Vector) {
			return nil, errDimension(len(q.Vector), dim)
		}
	}
	var all []found
	parts := wanted[corpus.Section-1] || wanted[corpus.Sentence-1]
	for i := range levels {
		if !wanted[i] && (i != passages || !parts) || s.levels[i].chunks == 0 || only != nil && len(only.rows) == 0 {
			continue
		}
		err := x.guardLexical(c, func() error {
			some, err := x.searchLevel(ctx, s.levels[i].scoped(only), i, terms, language, q, wanted)
			if all == nil {
				all = some
			} else {
				all = append(all, some...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
	// Ties are broken by chunk id, which is not known yet, so hits with the score of the last one are read too.
	n := min(q.Limit, len(all))
	for n > 0 && n < len(all) && n < 2*q.Limit && all[n].score == all[n-1].score {
		n++
	}
	hits, err := x.hydrate(all[:n])
	if err != nil {
		return nil, err
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return cmp.Compare(a.Chunk.ID, b.Chunk.ID)
	})
	return hits[:min(q.Limit, len(hits))], nil
}

// searchLevel searches level i+1. At the level of passages, it also returns their sections and sentences, if they are wanted.
func (x *Index) searchLevel(ctx context.Context, v *view, i int, terms []lang.Term, language *lang.Language, q index.Query, wanted [levels]bool) ([]found, error) {
	if i != passages || !wanted[corpus.Section-1] && !wanted[corpus.Sentence-1] {
		return x.searchView(ctx, v, terms, language, q)
	}
	deep := q
	deep.Limit = max(q.Limit, searchedPassages)
	some, err := x.searchView(ctx, v, terms, language, deep)
	if err != nil {
		return nil, err
	}
	var all []found
	if wanted[i] {
		all = slices.Clone(some)
	}
	for _, l := range []corpus.Level{corpus.Section, corpus.Sentence} {
		if !wanted[l-1] {
			continue
		}
		parts, err := x.searchParts(ctx, v, l, some, terms, language, q)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

// hydrate reads the chunks of hits.
func (x *Index) hydrate(all []found) ([]index.Hit, error) {
	hits, order := make([]index.Hit, len(all)), make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[a].row, all[b].row) }) // the chunks of a section follow each other
	err := x.view(func(tx *txn) error {
		reader := chunkReader{tx: tx}
		for _, i := range order {
			c, err := reader.read(all[i].row)
			if err != nil {
				return err
			}
			f := all[i]
			hits[i] = index.Hit{Chunk: *c, Score: f.score, Lexical: f.lexical, Cosine: f.cosine, Corrected: f.corrected}
		}
		return nil
	})
	return hits, err
}

// searchView runs lexical and vector search on one level, and fuses the results. Candidates of one search also get their score of the
// other.
func (x *Index) searchView(ctx context.Context, v *view, terms []lang.Term, language *lang.Language, q index.Query) ([]found, error) {
	vectors := v.spaces[q.Space]
	n := max(candidates, q.Limit)
	if q.Vector == nil || vectors == nil {
		n = 2 * q.Limit // more than the limit, for ties
	}
	var query *target
	var closest []near
	var scan errgroup.Group // beside the lexical search
	defer func() { _ = scan.Wait() }()
	if q.Vector != nil && vectors != nil {
		query = newTarget(q.Vector)
		processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
		if len(terms) > 0 {
			processors = max(processors-1, 1) // the lexical search takes longer, and has one of its own
		}
		scan.Go(func() (err error) {
			closest, err = vectors.nearest(ctx, query, max(nearest, q.Limit), v.only, processors)
			return err
		})
	}
	var all []found
	place := map[uint64]int{}
	sc := scorers.Get().(*scorer)
	defer sc.free()
	if len(terms) > 0 {
		more := newExpander(v, lang.Truncate(q.Text, prepare.MaxQuery), language)
		asked, err := v.weigh(ctx, terms, q.Terms, more)
		if err != nil {
			return nil, err
		}
		numbers, err := sc.score(ctx, v, asked, x.opts.Scoring, n)
		if err != nil {
			return nil, err
		}
		all = make([]found, 0, len(numbers)+max(nearest, q.Limit))
		for _, d := range numbers {
			row := v.lexical.Row(d)
			place[row] = len(all)
			all = append(all, found{row: row, lexical: float64(sc.tallies[d].score), corrected: more.corrections()})
		}
	}
	if query == nil {
		return fuse(all, nil, q.Weights), nil
	}
	if err := scan.Wait(); err != nil {
		return nil, err
	}
	for _, c := range closest {
		if _, ok := place[c.row]; ok {
			continue
		}
		f := found{row: c.row}
		if len(all) > 0 {
			n, ok := v.lexical.Number(c.row)
			if !ok {
				return nil, errors.New("a chunk with a vector is not in the lexical index")
			}
			if int(n) < len(sc.tallies) {
				f.lexical = float64(sc.tallies[n].score)
			}
		}
		place[c.row] = len(all)
		all = append(all, f)
	}
	has := make([]bool, len(all))
	for i := range all {
		if known, ok := vectors.find(all[i].row); ok {
			all[i].cosine, has[i] = float64(query.dot(known)), true
		}
	}
	return fuse(all, has, q.Weights), nil
}

// fuse sets the scores. has reports which chunks have a vector; nil: none.
func fuse(all []found, has []bool, w index.Weights) []found {
	cs := make([]index.Candidate, len(all))
	for i, f := range all {
		cs[i] = index.Candidate{Lexical: f.lexical, Cosine: f.cosine, HasVector: has != nil && has[i]}
	}
	for i, score := range index.Fuse(cs, w) {
		all[i].score = score
	}
	return all
}
