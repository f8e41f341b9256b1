package embedded

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// Scoring are the constants of the lexical score of a chunk c for the terms of a question:
//
//	Σ qtf · idf · tf / (tf + K1 · (1 − B + B · |c| / avg|c|))          BM25 over title, headings and text
//	+ Title · (Σ idf of the title's terms that are in the question) · (their share of the title)
//	+ Heading · the same for the innermost heading
//	+ Pairs · Σ min(idf) · n / (n + K1 · (1 − B + B · |c| / avg|c|))   over neighbouring terms of the question
//
// where idf = ln(1 + (N − df + ½) / (df + ½)) and n counts the places at which the second term of a pair follows the first
// within Window terms. BM25 is that of Robertson and Zaragoza (2009) with the idf of Lucene; pairs are the ordered
// features of Metzler and Croft's sequential dependence (2005), scored as Büttcher et al. (2006) do.
type Scoring struct {
	K1, B   float64
	Title   float64
	Heading float64
	Pairs   float64
	Window  int
}

// DefaultScoring was chosen on five public sets together. K1 and B are those of Anserini; the others are round values near the top of
// a flat region.
var DefaultScoring = Scoring{K1: 0.9, B: 0.4, Title: 0.6, Heading: 0.6, Pairs: 0.5, Window: 8}

const (
	maxQueryTerms = 64  // distinct terms; only the rarest are used
	pairedChunks  = 100 // number of the best chunks that get scores for pairs
)

// term is a term of a question.
type term struct {
	text   string
	asked  string    // the term of the question, which text may replace
	others []variant // that count as occurrences of the term too
	times  float64   // occurrences in the question
	idf    float64
}

// weightedQuery holds the terms of a question with their weights in one view, and the pairs of neighbouring terms.
type weightedQuery struct {
	terms  []term
	pairs  [][2]int
	shared bool            // the weights are those of several collections
	texts  *inverted.Terms // of fieldText in the whole collection
}

// queryTerms returns the terms of a text of limited size, including repetitions.
func queryTerms(s string) []string {
	return lang.Terms(s[:min(len(s), prepare.MaxQuery)])
}

func idf(n, df float64) float64 { return math.Log1p((max(n-df, 0) + 0.5) / (df + 0.5)) }

// shared returns the document frequencies of the terms of words.
func shared(stats *index.TermStats) map[string]int {
	if stats == nil {
		return nil
	}
	df := make(map[string]int, len(stats.DF))
	for w, n := range stats.DF {
		for _, t := range queryTerms(w) {
			df[t] = max(df[t], n)
		}
	}
	return df
}

// weigh computes the weights of terms, and keeps the rarest that occur in the view. stats replaces the statistics of the view; nil: it does not.
// more finds other terms that count as one of them; nil: there are none.
func (v *view) weigh(ctx context.Context, terms []lang.Term, stats *index.TermStats, more *expander) (*weightedQuery, error) {
	texts, err := v.whole().termsOf(fieldText)
	if err != nil {
		return nil, err
	}
	q := &weightedQuery{shared: stats != nil, texts: texts}
	all := shared(stats)
	place := map[string]int{}
	for _, word := range terms {
		t := word.Stem
		if i, ok := place[t]; ok {
			if i >= 0 {
				q.terms[i].times++
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		df, err := texts.Count(t)
		if err != nil {
			return nil, err
		}
		others, err := more.expand(texts, word, df > 0)
		if err != nil {
			return nil, err
		}
		times := 1.0
		if df == 0 && len(others) > 0 {
			first := others[0]
			t, times, others = first.text, first.weight, others[1:]
			if df, err = texts.Count(t); err != nil {
				return nil, err
			}
		}
		if place[word.Stem] = -1; df > 0 {
			n := float64(v.chunks)
			if wider, ok := all[t]; ok {
				n, df = float64(stats.Chunks), max(df, wider)
			}
			place[word.Stem] = len(q.terms)
			q.terms = append(q.terms, term{t, word.Stem, others, times, idf(n, float64(df))})
		}
	}
	if len(q.terms) > maxQueryTerms {
		slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(b.idf, a.idf) })
		q.terms = q.terms[:maxQueryTerms]
	}
	clear(place)
	for i, t := range q.terms {
		place[t.asked] = i
	}
	seen := map[[2]int]bool{}
	for i := 0; i+1 < len(terms) && len(q.pairs) < maxQueryTerms; i++ {
		a, okA := place[terms[i].Stem]
		b, okB := place[terms[i+1].Stem]
		if p := [2]int{a, b}; okA && okB && a != b && !seen[p] {
			seen[p] = true
			q.pairs = append(q.pairs, p)
		}
	}
	return q, nil
}

// tally accumulates the score of a chunk.
type tally struct {
	score  float32 // BM25, finally the total
	length float32 // in terms
	named  float32 // Σ idf of the terms of the title, or of the heading, in the question; see also variants
	share  float32 // their share of the title or heading
}

// scorer accumulates scores by the numbers of chunks in the lexical index. It comes from the pool scorers; free returns it.
type scorer struct {
	tallies []tally
	touched []uint32 // numbers with a score, unordered
	found   []uint32 // numbers with a term or a variant of it
}

var scorers = sync.Pool{New: func() any { return new(scorer) }}

func (s *scorer) free() {
	for _, n := range s.touched {
		s.tallies[n] = tally{}
	}
	s.touched = s.touched[:0]
	scorers.Put(s)
}

// score computes all scores, and returns the numbers of the n best chunks, best first.
func (s *scorer) score(ctx context.Context, v *view, q *weightedQuery, with Scoring, n int) ([]uint32, error) {
	if v.lexical == nil || v.chunks == 0 || len(q.terms) == 0 {
		return nil, nil
	}
	documents := 0
	for segment := range v.lexical.Segments() {
		documents += segment.Docs()
	}
	if more := documents - len(s.tallies); more > 0 {
		s.tallies = append(s.tallies, make([]tally, more)...)
	}
	texts := q.texts
	if v.only != nil {
		var err error
		if texts, err = v.termsOf(fieldText); err != nil {
			return nil, err
		}
	}
	average := float64(max(v.tokens, 1)) / float64(v.chunks)
	k0, k := float32(with.K1*(1-with.B)), float32(with.K1*with.B/average)
	visit := func(n, length uint32) *tally {
		a := &s.tallies[n]
		if a.length == 0 {
			s.touched = append(s.touched, n)
			a.length = float32(max(length, 1))
		}
		return a
	}
	for i := range q.terms {
		t := &q.terms[i]
		if len(t.others) > 0 {
			if err := s.variants(ctx, t, texts, visit); err != nil {
				return nil, err
			}
			t.idf = min(t.idf, idf(float64(v.chunks), float64(len(s.found))))
			for _, n := range s.found {
				a := &s.tallies[n]
				a.score += float32(t.times*t.idf) * a.share * a.named / (a.named + k0 + k*a.length)
				a.named, a.share = 0, 0
			}
			continue
		}
		w := float32(t.times * t.idf)
		err := texts.Each(ctx, t.text, func(_ int, n, tf, length uint32) {
			a := visit(n, length)
			a.score += w * float32(tf) / (float32(tf) + k0 + k*a.length)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.names(ctx, v, q, fieldTitle, with.Title); err != nil {
		return nil, err
	}
	if err := s.names(ctx, v, q, fieldHeading, with.Heading); err != nil {
		return nil, err
	}
	best := s.best(max(n, pairedChunks))
	if with.Pairs > 0 && len(q.pairs) > 0 {
		if err := s.pairs(v, q, with, best[:min(len(best), pairedChunks)]); err != nil {
			return nil, err
		}
		slices.SortFunc(best, s.compare)
	}
	return best[:min(n, len(best))], nil
}

// variants finds the chunks that contain a term or a variant of it. It leaves the sum of their frequencies in the field named of the
// tally, and the highest weight in the field share.
func (s *scorer) variants(ctx context.Context, t *term, texts *inverted.Terms, visit func(n, length uint32) *tally) error {
	s.found = s.found[:0]
	for _, o := range append([]variant{{t.text, 1}}, t.others...) {
		err := texts.Each(ctx, o.text, func(_ int, n, tf, length uint32) {
			a := visit(n, length)
			if a.named == 0 {
				s.found = append(s.found, n)
			}
			a.named += float32(tf)
			a.share = max(a.share, float32(o.weight))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scorer) compare(a, b uint32) int {
	if c := cmp.Compare(s.tallies[b].score, s.tallies[a].score); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// best returns the n numbers with the highest scores, highest first.
func (s *scorer) best(n int) []uint32 {
	out := make([]uint32, 0, 2*n)
	floor := float32(0)
	for _, d := range s.touched {
		if s.tallies[d].score < floor {
			continue
		}
		if out = append(out, d); len(out) == 2*n {
			slices.SortFunc(out, s.compare)
			out = out[:n]
			floor = s.tallies[out[n-1]].score
		}
	}
	slices.SortFunc(out, s.compare)
	return out[:min(n, len(out))]
}

// names adds the scores for the titles or the headings, which the field holds. Their terms are also in fieldText.
func (s *scorer) names(ctx context.Context, v *view, q *weightedQuery, field int, weight float64) error {
	if weight == 0 {
		return nil
	}
	names, err := v.termsOf(field)
	if err != nil {
		return err
	}
	whole := names
	if v.only != nil {
		if whole, err = v.whole().termsOf(field); err != nil {
			return err
		}
	}
	for _, t := range q.terms {
		own := !q.shared && len(t.others) == 0 // its idf is that of the field
		for _, o := range append([]variant{{t.text, 1}}, t.others...) {
			w := t.idf
			if own && v.only != nil {
				df, err := whole.Count(o.text)
				if err != nil {
					return err
				}
				w = idf(float64(v.chunks), float64(df))
			}
			known := !own || v.only != nil
			err := names.Each(ctx, o.text, func(df int, n, tf, length uint32) {
				if !known {
					w, known = idf(float64(v.chunks), float64(df)), true
				}
				a := &s.tallies[n]
				a.named += float32(w * o.weight)
				a.share += float32(tf) / float32(max(length, 1))
			})
			if err != nil {
				return err
			}
		}
	}
	for _, n := range s.touched {
		a := &s.tallies[n]
		a.score += float32(weight) * a.named * min(a.share, 1)
		a.named, a.share = 0, 0
	}
	return nil
}

// pairs adds the scores of neighbouring terms to the chunks with the given numbers.
func (s *scorer) pairs(v *view, q *weightedQuery, with Scoring, numbers []uint32) error {
	ascending := slices.Clone(numbers)
	slices.Sort(ascending)
	places := make([][][]int, len(q.terms)) // by term and number
	for i, t := range q.terms {
		places[i] = make([][]int, len(ascending))
		err := q.texts.Positions(t.text, ascending, func(k int, positions []int) { places[i][k] = slices.Clone(positions) })
		if err != nil {
			return err
		}
	}
	average := float64(max(v.tokens, 1)) / float64(v.chunks)
	for _, p := range q.pairs {
		w := with.Pairs * min(q.terms[p[0]].idf, q.terms[p[1]].idf)
		for k, n := range ascending {
			c := float64(index.Following(places[p[0]][k], places[p[1]][k], with.Window))
			if c > 0 {
				a := &s.tallies[n]
				a.score += float32(w * c / (c + with.K1*(1-with.B+with.B*float64(a.length)/average)))
			}
		}
	}
	return nil
}
