package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// The inputs and results of tools, as the run's events show them.
type (
	decomposeInput struct {
		Query string `json:"query"`
	}
	decomposeResult struct {
		Parts []string `json:"sub_queries"`
	}
	walkInput struct {
		Query    string   `json:"query,omitempty"`
		Entities []string `json:"entities,omitempty"`
	}
	walkResult struct {
		Entities []string      `json:"entities"`
		Passages []walkPassage `json:"passages"`
		Found    int           `json:"passages_found"`
	}
	walkPassage struct {
		Chunk    corpus.ChunkID    `json:"chunk_id"`
		Document corpus.DocumentID `json:"document_id"`
		Title    string            `json:"title,omitempty"`
		Level    string            `json:"level"` // L1, L2, L3
		Score    float64           `json:"score"` // the grade
		Class    event.Class       `json:"classification"`
		Path     []string          `json:"path"`
	}
	failure struct {
		Error string `json:"error"`
	}
)

// toJSON returns the JSON of one of the types above, which cannot fail.
func toJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("answer: tool: " + err.Error())
	}
	return b
}

// decompose splits a question into parts.
func (t *tools) decompose(ctx context.Context, a *toolCall) (decomposeResult, error) {
	switch a.parts = t.analysis.Parts; {
	case len(a.Parts) > 0:
		a.parts = a.Parts
	case a.Query != t.question:
		analysis, err := t.Analyzer.Analyze(t.traced(ctx, "analyze"), a.Query)
		if err != nil {
			return decomposeResult{}, err
		}
		a.parts = analysis.Parts
	}
	return decomposeResult{append([]string{}, a.parts...)}, nil
}

// bestHits returns the results of searches for the question itself, or else of any search.
func (t *tools) bestHits() []index.Hit {
	var own, all []index.Hit
	for _, c := range t.pool {
		all = append(all, c.Hit)
		if c.asked == t.q.Query {
			own = append(own, c.Hit)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// errNoGraph means that the index has no graph.
var errNoGraph error = fault.New(fault.NotFound, "the index has no graph")

// walk follows the graph from the action's entities, those that its query names, and the best evidence. The chunks that it reaches
// are graded like search results.
func (t *tools) walk(ctx context.Context, a *toolCall) (walkResult, error) {
	if t.Graph == nil {
		return walkResult{}, errNoGraph
	}
	a.entities = a.Entities
	if len(a.entities) == 0 {
		named, err := t.Graph.Entities(ctx, t.q.Collection, a.Query)
		if err != nil {
			return walkResult{}, err
		}
		for _, e := range named {
			a.entities = append(a.entities, e.Name)
		}
	}
	w := index.WalkQuery{Collection: t.q.Collection, Entities: a.entities, Question: a.Asked, Limit: max(maxPartHits, t.q.TopK)}
	if len(a.Entities) == 0 {
		for _, c := range t.pool {
			if c.grade >= grade.CorrectFrom && len(w.Chunks) < maxWalkStarts {
				w.Chunks = append(w.Chunks, c.Chunk.ID)
			}
		}
	}
	limit := w.Limit
	if t.only != nil {
		w.Limit *= walkSurplus
	}
	reached, err := t.Graph.Walk(ctx, w)
	if err != nil {
		return walkResult{}, err
	}
	reached = slices.DeleteFunc(reached, func(r index.WalkHit) bool { return !t.within(r.Chunk.Document) })
	reached = reached[:min(limit, len(reached))]
	hits := make([]index.Hit, len(reached))
	for i, r := range reached {
		hits[i] = index.Hit{Chunk: r.Chunk, Score: r.Score}
	}
	asked := t.gradingQuestion(a.Asked)
	grades, err := t.Grader.Grade(t.traced(ctx, "grade"), asked, t.searchTexts(ctx, hits), t.stats)
	if err != nil {
		return walkResult{}, err
	}
	result := walkResult{Entities: append([]string{}, a.entities...), Passages: []walkPassage{}, Found: len(reached)}
	for i, r := range reached {
		class := grade.Classify(grades.Scores[i])
		a.found = append(a.found, candidate{Hit: hits[i], grade: grades.Scores[i], asked: asked, path: r.Path,
			place: cmp.Or(max(0, min(1, a.Weight)), 1) * r.Score * grades.Scores[i]})
		result.Passages = append(result.Passages, walkPassage{r.Chunk.ID, r.Chunk.Document, lang.Truncate(r.Chunk.Title, maxName), r.Chunk.Level.String(), math.Round(grades.Scores[i]*1e4) / 1e4, class, append([]string{}, r.Path...)})
	}
	return result, nil
}

const (
	maxWalkStarts = 5  // passages from which a walk starts
	walkSurplus   = 10 // factor of the limit of a walk, some of whose passages are of documents that the run may not read
)
