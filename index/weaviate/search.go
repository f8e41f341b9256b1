package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// candidates is the minimum number of chunks that a search asks Weaviate for.
const candidates = 150

// Search implements [index.Reader]. Text has no syntax. Stop words are ignored, and of the other terms the 64 rarest are used. Weaviate's hybrid search
// finds the candidates, which get the lexical score of the embedded index and their cosine. The words of a question are not corrected.
func (x *Index) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	vector, err := prepare.Unit(q.Vector)
	if err != nil {
		return nil, err
	}
	q.Vector = vector
	q.Limit = clamp(q.Limit, index.DefaultLimit, index.MaxLimit)
	if q.Weights == (index.Weights{}) {
		q.Weights = index.DefaultWeights
	}
	levels := []corpus.Level{corpus.Passage}
	if len(q.Levels) > 0 {
		levels = slices.Compact(slices.Sorted(slices.Values(q.Levels)))
	}
	for _, l := range levels {
		if l < 1 || l > prepare.Levels {
			return nil, fault.Invalid("levels", "there is no level %d", l)
		}
	}
	var hits []index.Hit
	err = x.read(ctx, "search", q.Collection, func(ctx context.Context, v *view) error {
		hits = nil
		s, err := x.prepare(ctx, v, q)
		if err != nil {
			return err
		}
		for _, l := range levels {
			some, err := s.level(ctx, l)
			if err != nil {
				return err
			}
			hits = append(hits, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk.ID, b.Chunk.ID))
	})
	return hits[:min(q.Limit, len(hits))], nil
}

// search is a search in one state of a collection.
type search struct {
	*view
	query    index.Query
	question *question
	slot     string // of the vector; empty: no vector search
}

func (x *Index) prepare(ctx context.Context, v *view, q index.Query) (*search, error) {
	s := &search{view: v, query: q}
	if q.Documents != nil {
		keys := map[string]bool{}
		for _, k := range keysOf(q.Documents) {
			keys[k] = true
		}
		v.restrict(keys)
	}
	if q.Vector != nil {
		r, ok, err := x.space(ctx, v.collection, q.Space)
		if err != nil {
			return nil, err
		}
		if ok && r.Dim > 0 {
			if r.Dim != len(q.Vector) {
				return nil, errDimension(len(q.Vector), r.Dim)
			}
			s.slot = r.Slot
		}
	}
	var err error
	s.question, err = v.weigh(ctx, q.Text, q.Terms)
	return s, err
}

// weigh returns the terms of a question with their weights in the collection.
func (v *view) weigh(ctx context.Context, text string, shared *index.TermStats) (*question, error) {
	language := lang.Detect(lang.Truncate(text, prepare.MaxQuery))
	all := words(text, language)
	distinct, others := termsIn(all, cmp.Or(language, lang.English).SameMeaning(lang.Truncate(text, prepare.MaxQuery)))
	var counted []string
	for _, w := range distinct {
		counted = append(append(counted, w.Stem), others[w.Stem]...)
	}
	df, err := v.documentFrequencies(ctx, counted)
	if err != nil {
		return nil, err
	}
	sizes, err := v.sizes(ctx)
	if err != nil {
		return nil, err
	}
	stats := statistics{passages: sizes[corpus.Passage-1], df: df, shared: shared}
	if shared == nil {
		var asked []string
		for _, w := range distinct {
			if df[w.Stem] > 0 {
				asked = append(asked, w.Stem)
			}
		}
		if stats.titles, err = v.titleFrequencies(ctx, asked); err != nil {
			return nil, err
		}
	}
	return weigh(all, distinct, others, stats), nil
}

// level searches the chunks of one level.
func (s *search) level(ctx context.Context, l corpus.Level) ([]index.Hit, error) {
	if s.empty() || len(s.question.terms) == 0 && s.slot == "" {
		return nil, nil
	}
	found, err := s.candidates(ctx, l, max(candidates, 2*s.query.Limit))
	if err != nil {
		return nil, err
	}
	cosines := map[string]float64{}
	if s.slot != "" && len(found) > 0 {
		if cosines, err = s.cosines(ctx, found); err != nil {
			return nil, err
		}
	}
	q := *s.question
	q.average = s.average(l)
	var hits []index.Hit
	var scored []index.Candidate
	for _, o := range found {
		var r chunkRecord
		if err := o.decode(&r); err != nil {
			return nil, err
		}
		c := index.Candidate{ID: r.Chunk.ID, Lexical: q.score(o.terms())}
		c.Cosine, c.HasVector = cosines[o.Chunk], false
		if _, ok := cosines[o.Chunk]; ok {
			c.HasVector = true
		}
		if !s.has(r.Chunk.Document) || c.Lexical == 0 && !c.HasVector {
			continue
		}
		h := index.Hit{Chunk: r.Chunk, Lexical: c.Lexical, Cosine: c.Cosine}
		if c.HasVector {
			h.Space = s.query.Space
		}
		hits = append(hits, h)
		scored = append(scored, c)
	}
	for i, score := range index.Fuse(scored, s.query.Weights) {
		hits[i].Score = score
	}
	return hits, nil
}

// candidates returns the chunks of a level that hybrid search finds.
func (s *search) candidates(ctx context.Context, l corpus.Level, n int) ([]object, error) {
	properties := `properties:["` + levelTerms(l) + `"]`
	fields := "chunk data " + levelTerms(l)
	where := s.within
	var operator string
	switch text := quote(s.question.text()); {
	case s.slot == "":
		operator = "bm25:{query:" + text + "," + properties + "}" // the property belongs to the level
	case len(s.question.terms) == 0:
		where = and(isKind(kind(l)), where)
		operator = "nearVector:{vector:" + numbers(s.query.Vector) + `,targetVectors:["` + s.slot + `"]}`
	default:
		where = and(isKind(kind(l)), where)
		operator = "hybrid:{query:" + text + "," + properties + ",alpha:0.5,fusionType:relativeScoreFusion,vector:" + numbers(s.query.Vector) + `,targetVectors:["` + s.slot + `"]}`
	}
	return s.get(ctx, where, fields, operator, limit(n))
}

// numbers returns a GraphQL list.
func numbers(v []float32) string {
	b, _ := json.Marshal(v) // of finite numbers
	return string(b)
}

// cosines returns the cosines of chunks with a vector, by the key of the chunk.
func (s *search) cosines(ctx context.Context, found []object) (map[string]float64, error) {
	out := make(map[string]float64, len(found))
	for some := range slices.Chunk(found, askedKeys) {
		keys := make([]string, len(some))
		for i, o := range some {
			keys[i] = o.Chunk
		}
		near, err := s.get(ctx, oneOf(propChunk, keys), "chunk _additional{distance}", limit(2*len(keys)),
			"nearVector:{vector:"+numbers(s.query.Vector)+`,targetVectors:["`+s.slot+`"]}`)
		if err != nil {
			return nil, err
		}
		for _, o := range near {
			if o.Additional.Distance != nil {
				out[o.Chunk] = 1 - *o.Additional.Distance
			}
		}
	}
	return out, nil
}
