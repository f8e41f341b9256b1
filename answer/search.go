package answer

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	candidates = 20   // passages that a search for the question brings at least
	ofPart     = 10   // the same of what else is searched for, and never more than so many or top_k
	maxQuery   = 8192 // bytes of what is searched for
)

// search is a search of the index with its results.
type search struct {
	call    event.CallID
	tool    string
	words   string // searched for by words
	near    string // searched for by its vector
	purpose model.Purpose
	levels  []corpus.Level
	limit   int
	weight  float64 // how far it is trusted, 0..1
	asked   string  // the question that its passages are judged by
	hits    []index.Hit
	scores  grade.Grades                 // how relevant the hits are to the question, comparable between searches
	names   map[corpus.DocumentID]string // of the files of the hits' documents
	failed  string
}

// search returns a search for passages by a tool, graded by the question itself.
func (j *job) search(tool, query string) *search {
	return &search{tool: tool, words: query, near: query, purpose: model.ForQuery, levels: []corpus.Level{corpus.Passage},
		limit: max(candidates, 2*j.q.TopK), asked: j.q.Query, weight: 1}
}

// call returns the id of the next call.
func (j *job) call() event.CallID {
	j.calls++
	return j.calls
}

// shown returns the query of a search as its event shows it.
func (s *search) shown() string {
	if s.words == "" || s.tool == event.ToolHydeSearch && s.near != "" {
		return s.near
	}
	return s.words
}

// finished returns the event with the results of a search.
func (s *search) finished(took event.Millis) event.RetrievalFinished {
	result := event.RetrievalFinished{Call: s.call, Tool: s.tool, Found: []event.Found{}, Duration: took, Error: s.failed}
	for i, h := range s.hits {
		f := event.Found{Chunk: h.Chunk.ID, Level: h.Chunk.Level, Document: h.Chunk.Document, Score: s.scores.Scores[i],
			Name: cmp.Or(s.names[h.Chunk.Document], lang.Truncate(h.Chunk.Title, maxName)), Fused: h.Score, Lexical: h.Lexical, Cosine: h.Cosine}
		result.Found, result.Space = append(result.Found, f), h.Space
	}
	return result
}

// wordsAlone warns that a search is lexical only, because there is no vector.
var wordsAlone = event.Warned{Code: fault.Model, Message: "the embedder failed; the search goes by words alone", Step: "search"}

// find searches. A vector search is lexical if there is no vector.
func (j *job) find(ctx context.Context, s *search) error {
	q := index.Query{Collection: j.q.Collection, Text: s.words, Levels: s.levels, Limit: s.limit}
	if j.Vectors != nil && s.near != "" {
		placed, err := j.Vectors.SearchVector(ctx, j.q.Collection, lang.Truncate(s.near, maxQuery), s.purpose)
		switch {
		case err == nil:
			q.Space, q.Vector, q.Weights = placed.Space, placed.Vector, placed.Weights
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			if err := j.rec.Emit(ctx, wordsAlone); err != nil {
				return err
			}
		}
	}
	if q.Vector == nil && q.Text == "" {
		q.Text = s.near
	}
	hits, err := j.Index.Search(ctx, q)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Field == "vector" && q.Vector != nil {
		// The server now has another embedding model under the same name, whose vectors have another length.
		if err := j.rec.Emit(ctx, wordsAlone); err != nil {
			return err
		}
		q.Vector, q.Text = nil, s.shown()
		hits, err = j.Index.Search(ctx, q)
	}
	for i := range hits {
		if q.Vector != nil {
			hits[i].Space = q.Space
		}
	}
	if err != nil {
		return err
	}
	return j.score(ctx, s, hits)
}

// score grades the hits of a search by rules for the scores that the run shows. The scores of the index are relative: the best hit
// has about the same score for any question. Grades are absolute; see [grade.Calibration].
func (j *job) score(ctx context.Context, s *search, hits []index.Hit) error {
	grades, err := j.Scorer.Grade(ctx, s.asked, read(hits), j.stats)
	if err != nil {
		return err
	}
	s.hits, s.scores, s.names = hits, grades, j.fileNames(ctx, hits)
	return nil
}
