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
	"github.com/sluice-rag/sluice/internal/text"
)

// rerankWeight is that of the late interaction beside the search's own score, both scaled to 0..1 over the candidates.
const rerankWeight = 0.2

// titledBonus is what a passage that is about something the question names has before the others, in agentic mode.
const titledBonus = 0.2

// rerank orders the pool and keeps as many passages as the question asks for. Of them, those that are graded incorrect are
// not read, unless nothing else is there.
func (j *job) rerank(ctx context.Context) error {
	began := j.Now()
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
		if len(kept) == j.q.TopK {
			break
		}
		if covered(j.pool[i].Chunk, kept) {
			continue
		}
		kept = append(kept, j.pool[i])
		r.Outputs = append(r.Outputs, event.Found{Chunk: chunks[i].ID, Level: chunks[i].Level, Score: ranking.Scores[i]})
		r.TopScore = math.Max(r.TopScore, ranking.Scores[i])
	}
	j.context = slices.DeleteFunc(slices.Clone(kept), func(c candidate) bool { return c.grade < grade.AmbiguousFrom })
	if len(j.context) == 0 {
		j.context = kept
	}
	r.Duration = j.since(began)
	return j.rec.Emit(ctx, r)
}

// rank gives the pool's places in the order.
func (j *job) rank(late []float64) []float64 {
	first := make([]float64, len(j.pool))
	asked := " " + text.Name(text.Head(j.q.Query, maxQuery)) + " "
	for i, c := range j.pool {
		first[i] = c.place
		base, _, _ := strings.Cut(c.Chunk.Title, " (")
		if name := text.Name(base); name != "" && j.q.Mode == event.Agentic && strings.Contains(asked, " "+name+" ") {
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

// scale gives what maps values from the least to the greatest of v to 0..1.
func scale(v []float64) func(float64) float64 {
	if len(v) == 0 || slices.Max(v) == slices.Min(v) {
		return func(float64) float64 { return 0 }
	}
	low, high := slices.Min(v), slices.Max(v)
	return func(x float64) float64 { return (x - low) / (high - low) }
}

// covered tells whether a chunk's text is part of one that is kept already.
func covered(c corpus.Chunk, kept []candidate) bool {
	return slices.ContainsFunc(kept, func(o candidate) bool {
		return o.Chunk.Document == c.Document && o.Chunk.Start <= c.Start && c.End <= o.Chunk.End
	})
}

// put gives where a search puts a hit, 0..1.
func (j *job) put(h index.Hit, score float64, s *search) float64 {
	if s.asked == j.q.Query {
		return h.Score
	}
	return 0.5*h.Score + 0.5*score
}
