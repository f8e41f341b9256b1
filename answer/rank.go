package answer

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// rerankWeight is the weight of the late interaction score against the search score, both scaled to 0..1 over the candidates.
const rerankWeight = 0.25

// sentenceWeight is the weight of a passage's best sentence against the search score.
const sentenceWeight = 0.5

// maxRanked is the number of passages that are reranked, or four times the number to read if that is more.
const maxRanked = 60

// titledBonus is added, in agentic mode, to the score of a passage about something that the question names.
const titledBonus = 0.2

// rerank orders the pool and keeps as many passages as the question asks for. Passages that are graded incorrect are not read unless
// there are no others.
func (j *job) rerank(ctx context.Context) error {
	if j.past.Seq > 0 && j.past.Rerank == nil && j.past.Generation == nil {
		if err := j.closeCalls(ctx); err != nil {
			return err
		}
	}
	if j.listing != nil || j.whole {
		j.asTheyStand()
		return nil
	}
	if j.past.Rerank != nil {
		var kept []candidate
		for _, f := range j.past.Rerank.Outputs {
			if i, ok := j.at[f.Chunk]; ok {
				kept = append(kept, j.pool[i])
			}
		}
		j.context = worthReading(kept)
		return nil
	}
	began := j.Now()
	j.narrow()
	chunks := make([]corpus.Chunk, len(j.pool))
	for i, c := range j.pool {
		chunks[i] = c.Chunk
	}
	ranking, err := j.Reranker.Rerank(ctx, strings.Join(j.asked(), "\n"), chunks, j.stats)
	if err != nil {
		return err
	}
	rank := j.rank(ranking.Scores)
	order := make([]int, len(rank))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	r := event.Reranked{Method: ranking.Method, Inputs: len(chunks), Outputs: []event.Found{}}
	var kept []candidate
	for _, i := range order {
		if len(kept) >= j.q.TopK && !j.pool[i].kept || len(kept) == max(j.q.TopK, maxCentral) {
			continue
		}
		if covered(j.pool[i].Chunk, kept) {
			continue
		}
		kept = append(kept, j.pool[i])
		r.Outputs = append(r.Outputs, event.Found{Chunk: chunks[i].ID, Level: chunks[i].Level, Score: ranking.Scores[i]})
		r.TopScore = math.Max(r.TopScore, ranking.Scores[i])
	}
	j.context = worthReading(kept)
	r.Duration = j.since(began)
	return j.rec.Emit(ctx, r)
}

// worthReading returns the candidates that are not graded incorrect, or all if there are no others.
func worthReading(kept []candidate) []candidate {
	out := slices.DeleteFunc(slices.Clone(kept), func(c candidate) bool { return c.grade < grade.AmbiguousFrom && !c.kept })
	if len(out) == 0 {
		return kept
	}
	return out
}

// asTheyStand keeps the order of passages that were requested by name.
func (j *job) asTheyStand() {
	if j.listing == nil {
		j.context = j.pool[:min(len(j.pool), max(j.q.TopK, maxCentral))]
	}
}

// narrow limits the pool before reranking: many searches find many passages, and reranking each takes time.
func (j *job) narrow() {
	slices.SortStableFunc(j.pool, func(a, b candidate) int { return cmp.Compare(b.place, a.place) })
	j.pool = j.pool[:min(len(j.pool), max(maxRanked, 4*j.q.TopK))]
	j.at = nil
}

// rank returns the indexes of the pool in their order.
func (j *job) rank(late []float64) []float64 {
	first := make([]float64, len(j.pool))
	named := j.named()
	for i, c := range j.pool {
		first[i] = c.place
		if named[i] {
			first[i] += titledBonus
		}
	}
	searched, near := scale(first), scale(late)
	out := make([]float64, len(j.pool))
	for i := range out {
		out[i] = (1-rerankWeight)*searched(first[i]) + rerankWeight*near(late[i])
	}
	return out
}

// named reports, in agentic mode, which candidates are about something that the question names, by their titles without the words
// that distinguish them. A name within a longer name of another title does not count.
func (j *job) named() []bool {
	out := make([]bool, len(j.pool))
	if j.q.Mode != event.Agentic {
		return out
	}
	asked := " " + lang.NormalizeName(lang.Truncate(j.q.Query, maxQuery)) + " "
	names := make([]string, len(j.pool))
	for i, c := range j.pool {
		base, _, _ := strings.Cut(c.Chunk.Title, " (")
		if name := " " + lang.NormalizeName(base) + " "; len(name) > 2 && strings.Contains(asked, name) {
			names[i] = name
		}
	}
	for i, name := range names {
		out[i] = name != "" && !slices.ContainsFunc(names, func(o string) bool { return o != name && strings.Contains(o, name) })
	}
	return out
}

// scale returns a function that maps the range of v to 0..1.
func scale(v []float64) func(float64) float64 {
	if len(v) == 0 || slices.Max(v) == slices.Min(v) {
		return func(float64) float64 { return 0 }
	}
	low, high := slices.Min(v), slices.Max(v)
	return func(x float64) float64 { return (x - low) / (high - low) }
}

// covered reports whether a chunk's text is part of one that is kept already.
func covered(c corpus.Chunk, kept []candidate) bool {
	return slices.ContainsFunc(kept, func(o candidate) bool {
		return o.Chunk.Document == c.Document && o.Chunk.Start <= c.Start && c.End <= o.Chunk.End
	})
}

// places returns the ranks of the hits of a search, 0..1: by its scores and the best sentence of each and, if the search was not for
// the question itself, by the grades too.
func (j *job) places(s *search, grades []float64) []float64 {
	out := make([]float64, len(s.hits))
	asked := telling(j.weights(s.asked), s.hits)
	best := 1e-9
	for i, h := range s.hits {
		out[i] = bestSentence(h.Chunk, asked)
		best = max(best, out[i])
	}
	for i, h := range s.hits {
		out[i] = (h.Score + sentenceWeight*out[i]/best) / (1 + sentenceWeight)
		if s.asked != j.q.Query {
			out[i] = (out[i] + grades[i]) / 2
		}
		out[i] *= s.weight
	}
	return out
}

// weights returns the idf of a question's terms by stem.
func (j *job) weights(question string) map[string]float64 {
	out := map[string]float64{}
	for _, t := range lang.UniqueTerms(lang.Truncate(question, maxQuery)) {
		df, ok := j.stats.DF[t.Word]
		if !ok {
			df = j.stats.Chunks / 100
		}
		out[t.Stem] = lang.IDF(j.stats.Chunks, df)
	}
	return out
}

// telling reduces the weight of terms that most results have in title or text, since they do not distinguish the results.
func telling(asked map[string]float64, hits []index.Hit) map[string]float64 {
	held := map[string]int{}
	for _, h := range hits {
		terms := lang.TermSet(h.Chunk.Title + "\n" + h.Chunk.Text)
		for t := range asked {
			if _, ok := terms[t]; ok {
				held[t]++
			}
		}
	}
	out := make(map[string]float64, len(asked))
	rarest := lang.IDF(len(hits), 1)
	for t, weight := range asked {
		out[t] = weight * (common + (1-common)*min(1, lang.IDF(len(hits), max(held[t], 1))/rarest))
	}
	return out
}

// common is the remaining share of the weight of a term that all passages have.
const common = 0.3

// bestSentence returns the BM25 score of the passage's best sentence, in which the words of the title count as present.
func bestSentence(c corpus.Chunk, asked map[string]float64) float64 {
	title, base := lang.TermSet(c.Title), 0.0
	for t := range title {
		base += 0.7 * asked[t]
	}
	best := 0.0
	for _, span := range lang.Sentences(c.Text) {
		words := lang.Terms(c.Text[span.Start:span.End])
		norm := 1.9 / (1 + 0.9*(0.6+0.4*float64(len(words))/usualSentence))
		sum := base
		seen := map[string]bool{}
		for _, w := range words {
			if _, said := title[w]; !said && !seen[w] {
				seen[w] = true
				sum += asked[w] * norm
			}
		}
		best = max(best, sum)
	}
	return best
}

// usualSentence is the typical number of terms in a sentence.
const usualSentence = 14
