package answer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	minHits     = 20   // smallest limit of a search for the question
	maxPartHits = 10   // limit of other searches, unless top_k is higher
	maxQuery    = 8192 // bytes of a query
)

// search is a search of the index with its results.
type search struct {
	call       event.CallID
	tool       string
	text       string // for the lexical search
	vectorText string // the text whose vector is searched for
	purpose    model.Purpose
	levels     []corpus.Level
	limit      int
	weight     float64 // factor of its ranks, 0..1
	asked      string  // the question by which its passages are graded
	hits       []index.Hit
	scores     grade.Grades               // relevance of the hits, comparable between searches
	files      map[corpus.DocumentID]file // of the hits' documents; those of other tools are in job.files
	errText    string
}

// search returns a search for passages by a tool, graded by the question itself.
func (j *job) search(tool, query string) *search {
	return &search{tool: j.searchTool(tool), text: query, vectorText: query, purpose: model.ForQuery, levels: []corpus.Level{corpus.Passage},
		limit: max(minHits, 2*j.q.TopK), asked: j.q.Query, weight: 1}
}

// searchTool returns the tool that is shown for a search: with the method [event.SimilaritySearch], a hybrid search is a semantic one.
func (j *job) searchTool(tool string) string {
	if j.q.Method == event.SimilaritySearch && tool == event.ToolHybridSearch {
		return event.ToolSemanticSearch
	}
	return tool
}

// call returns the id of the next call.
func (j *job) call() event.CallID {
	j.calls++
	return j.calls
}

// displayed returns the query of a search as its event shows it.
func (s *search) displayed() string {
	if s.text == "" || s.tool == event.ToolHydeSearch && s.vectorText != "" {
		return s.vectorText
	}
	return s.text
}

// finished returns the event with the results of a search.
func (s *search) finished(took event.Millis) event.RetrievalFinished {
	result := event.RetrievalFinished{Call: s.call, Tool: s.tool, Found: []event.Found{}, Duration: took, Error: s.errText}
	for i, h := range s.hits {
		f := event.Found{Chunk: h.Chunk.ID, Level: h.Chunk.Level, Document: h.Chunk.Document, Score: s.scores.Scores[i],
			Name: cmp.Or(s.files[h.Chunk.Document].name, lang.Truncate(h.Chunk.Title, maxName)), Fused: h.Score, Lexical: h.Lexical, Cosine: h.Cosine}
		result.Found, result.Space = append(result.Found, f), h.Space
		if attributes := s.files[f.Document].attributes; attributes != nil {
			if result.Attributes == nil {
				result.Attributes = map[corpus.DocumentID]map[string]any{}
			}
			result.Attributes[f.Document] = attributes
		}
		if h.Corrected != nil && result.Corrected == nil {
			result.Corrected = map[string][]string{}
		}
		maps.Copy(result.Corrected, h.Corrected) // searches of several collections may have corrected different words
	}
	return result
}

// lexicalOnly warns that a search is lexical only, because there is no vector.
var lexicalOnly = event.Warned{Code: fault.Model, Message: "the embedder failed; the search is lexical only", Step: "search"}

// find runs a search. Without a vector, the search is lexical.
func (j *job) find(ctx context.Context, s *search) error {
	if j.q.Method == event.SimilaritySearch {
		s.text, s.vectorText = "", cmp.Or(s.vectorText, s.text)
	}
	q := index.Query{Collection: j.q.Collection, Text: s.text, Levels: s.levels, Limit: s.limit, Documents: j.only}
	if j.Vectors != nil && s.vectorText != "" {
		v, err := j.Vectors.SearchVector(ctx, j.q.Collection, lang.Truncate(s.vectorText, maxQuery), s.purpose)
		switch {
		case err == nil:
			q.Space, q.Vector, q.Weights = v.Space, v.Vector, v.Weights
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			if err := j.rec.Emit(ctx, lexicalOnly); err != nil {
				return err
			}
		}
	}
	if q.Vector == nil && q.Text == "" {
		q.Text = s.vectorText
	}
	plain := q.Text == s.vectorText && s.tool != event.ToolHydeSearch && slices.Equal(s.levels, []corpus.Level{corpus.Passage})
	subject, names := lang.DefinitionSubject(s.asked), lang.Identifiers(s.asked)
	task := lang.OfQuestion(s.asked).TaskOf(s.asked)
	if joined := task.Joined(); joined != "" && q.Text != "" {
		q.Text += " " + joined
		plain = false
	}
	if (subject != nil || names != nil || task != nil) && slices.Equal(s.levels, []corpus.Level{corpus.Passage}) {
		q.Limit = max(s.limit, definitionHits)
	} else if plain && j.Cache != nil { // also without the cache for this question, so that both find the same
		q.Limit = max(s.limit, cache.Remembered)
	}
	hits, err := j.Index.Search(ctx, q)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Field == "vector" && q.Vector != nil {
		// The server now has another embedding model under the same name, whose vectors have another length.
		if err := j.rec.Emit(ctx, lexicalOnly); err != nil {
			return err
		}
		q.Vector, q.Text = nil, s.displayed()
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
	if plain && j.cacheable && (q.Vector != nil) == (j.Vectors != nil) {
		j.keepFound(q.Text, hits)
	}
	if subject == nil && names == nil && task == nil {
		hits = hits[:min(s.limit, len(hits))]
	}
	return j.score(ctx, s, withNamed(hits, s.limit, func(c corpus.Chunk) bool {
		return lang.HoldsIdentifier(c.Text, names) || grade.Defines(c.Text, subject) != grade.NoDefinition || servesTask(c, task) >= minServes
	}))
}

// definitionHits is the number of hits that [withNamed] examines.
const definitionHits = 200

// minServes is how well a passage after the first hits must serve a task to be added to them.
const minServes = 0.5

// withNamed returns the first hits, and those after them that define the subject, have one of the names, or serve the task of a question. All passages of a
// document about a thing can precede the one that says what it is, and all passages about a lease the one about the option --lease.
func withNamed(hits []index.Hit, limit int, serves func(corpus.Chunk) bool) []index.Hit {
	if len(hits) <= limit {
		return hits
	}
	out := slices.Clip(hits[:limit])
	for _, h := range hits[limit:] {
		if len(out) < 2*limit && serves(h.Chunk) {
			out = append(out, h)
		}
	}
	return out
}

// score sets the hits of a search and grades them by rules, for the scores that the run shows. The scores of the index are relative: the best hit
// has about the same score for any question. Grades are absolute; see [grade.Calibration].
func (j *job) score(ctx context.Context, s *search, hits []index.Hit) error {
	grades, err := j.Scorer.Grade(ctx, s.asked, j.searchTexts(ctx, hits), j.stats)
	if err != nil {
		return err
	}
	s.hits, s.scores, s.files = hits, grades, j.filesOf(ctx, hits)
	return nil
}
