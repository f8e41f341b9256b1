package answer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
)

const (
	rounds     = 3  // searches at most: the question and two ways of asking again
	candidates = 20 // passages that a search brings at least
	ofPart     = 10 // the same of a part of the question, and never more than so many or top_k
	expansions = 5  // ambiguous passages whose section is read
)

// candidate is a chunk that may go to the generator.
type candidate struct {
	index.Hit
	grade float64 // 0..1
}

// search is one look into the index, and what it found.
type search struct {
	tool    string
	words   string // searched for by words
	near    string // searched for by its vector
	purpose model.Purpose
	levels  []corpus.Level
	limit   int
	asked   string // the question that its passages are judged by
	hits    []index.Hit
}

// retrieve searches until something is of use, at most three times: as asked, with the parts of the question beside it;
// with a draft of an answer; and with the question's content words alone over all levels.
func (j *job) retrieve(ctx context.Context) error {
	var searches []*search
	for i, q := range j.asked() {
		s := &search{tool: event.ToolHybridSearch, words: q, near: q, purpose: model.ForQuery, levels: []corpus.Level{corpus.Passage}, limit: max(candidates, 2*j.q.TopK), asked: q}
		if i > 0 {
			s.limit = max(ofPart, j.q.TopK)
		}
		searches = append(searches, s)
	}
	for round := 1; ; round++ {
		if err := j.look(ctx, searches, round); err != nil {
			return err
		}
		action, err := j.judge(j.traced(ctx, "grade"), searches, round)
		if err != nil {
			return err
		}
		if action != event.ReRetrieve || round == rounds {
			return nil
		}
		next := &search{tool: event.ToolHybridSearch, purpose: model.ForQuery, levels: []corpus.Level{corpus.Passage},
			limit: max(candidates, 2*j.q.TopK), asked: j.q.Query}
		switch round {
		case 1:
			d, err := j.Drafter.Write(j.traced(ctx, "hyde"), j.q.Query, searches[0].hits)
			if err != nil {
				return err
			}
			next.tool, next.words, next.near, next.purpose = event.ToolHydeSearch, d.Words, d.Passage, model.ForPassage
		case 2:
			next.words = strings.Join(text.Content(text.Head(j.q.Query, 8192), maxWords), " ")
			next.near, next.levels = next.words, []corpus.Level{corpus.Section, corpus.Passage, corpus.Sentence}
		}
		if next.words == "" && next.near == "" {
			return nil
		}
		searches = []*search{next}
	}
}

// look does searches side by side.
func (j *job) look(ctx context.Context, searches []*search, round int) error {
	first := j.calls + 1
	for _, s := range searches {
		j.calls++
		start := event.RetrievalStarted{Call: j.calls, Tool: s.tool, Query: s.shown(), Iteration: round}
		if err := j.rec.Emit(ctx, start); err != nil {
			return err
		}
	}
	if len(searches) == 1 {
		return j.find(ctx, first, searches[0])
	}
	all, ctx := errgroup.WithContext(ctx)
	for i, s := range searches {
		all.Go(func() error { return j.find(ctx, first+event.CallID(i), s) })
	}
	return all.Wait()
}

// shown is what a search looks for, as people are told.
func (s *search) shown() string {
	if s.tool == event.ToolHydeSearch && s.near != "" {
		return s.near
	}
	return s.words
}

// wordsAlone tells that there is no vector to search by: words alone find most of what there is.
var wordsAlone = event.Warned{Code: fault.Model, Message: "the embedder failed; the search goes by words alone", Step: "search"}

// find does one search whose start is told.
func (j *job) find(ctx context.Context, call event.CallID, s *search) error {
	began := j.Now()
	q := index.Query{Collection: j.q.Collection, Text: s.words, Levels: s.levels, Limit: s.limit}
	if j.Vectors != nil && s.near != "" {
		placed, err := j.Vectors.Place(ctx, j.q.Collection, text.Head(s.near, 8192), s.purpose)
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
	hits, err := j.Index.Search(ctx, q)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Field == "vector" && q.Vector != nil {
		// Another model answers the embedder's name by now, and its vectors are of another length.
		if err := j.rec.Emit(ctx, wordsAlone); err != nil {
			return err
		}
		q.Vector = nil
		hits, err = j.Index.Search(ctx, q)
	}
	if err != nil {
		return j.indexFault(ctx, err)
	}
	s.hits = hits
	result := event.RetrievalFinished{Call: call, Tool: s.tool, Found: []event.Found{}, Duration: j.since(began)}
	for _, h := range hits {
		result.Found = append(result.Found, event.Found{Chunk: h.Chunk.ID, Level: h.Chunk.Level, Score: h.Score})
	}
	return j.rec.Emit(ctx, result)
}

// judge grades what the searches of a round found, each passage by the question that found it, reads the section around
// what is ambiguous, and puts the better of the two into the pool.
func (j *job) judge(ctx context.Context, searches []*search, round int) (event.Action, error) {
	g := event.Graded{Iteration: round, Grades: []event.Grade{}}
	var hits []index.Hit
	var asked []string
	graded := make([]grade.Grades, len(searches))
	all, within := errgroup.WithContext(ctx)
	for i, s := range searches {
		all.Go(func() (err error) {
			graded[i], err = j.Grader.Grade(within, s.asked, s.hits, j.stats)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return "", err
	}
	for k, s := range searches {
		g.By = graded[k].By
		for i, h := range s.hits {
			score := graded[k].Scores[i]
			d := event.Grade{Chunk: h.Chunk.ID, Score: score, Class: grade.Classify(score)}
			at := slices.IndexFunc(g.Grades, func(o event.Grade) bool { return o.Chunk == d.Chunk })
			switch {
			case at < 0:
				g.Grades, hits, asked = append(g.Grades, d), append(hits, h), append(asked, s.asked)
			case d.Score > g.Grades[at].Score:
				g.Grades[at], hits[at], asked[at] = d, h, s.asked
			}
		}
	}
	for _, d := range g.Grades {
		switch d.Class {
		case event.Correct:
			g.Correct++
		case event.Ambiguous:
			g.Ambiguous++
		default:
			g.Incorrect++
		}
	}
	parents, err := j.expand(ctx, hits, asked, &g)
	if err != nil {
		return "", err
	}
	better := 0
	for i, h := range hits {
		c := candidate{Hit: h, grade: g.Grades[i].Score}
		if d := g.Grades[i]; d.Parent != "" {
			c.Chunk, c.grade = parents[d.Parent], d.NewScore
		}
		if c.grade >= grade.CorrectFrom {
			better++
		}
		j.add(c)
	}
	switch {
	case better > 0:
		g.Action = event.Proceed
	case g.Ambiguous > 0:
		g.Action = event.Expand
	case round < rounds:
		g.Action = event.ReRetrieve
	default:
		g.Action = event.Proceed // with what there is; the generator may find no answer in it
	}
	return g.Action, j.rec.Emit(ctx, g)
}

// expand grades the parents of the best ambiguous chunks. A parent that scores higher takes its chunk's place.
func (j *job) expand(ctx context.Context, hits []index.Hit, asked []string, g *event.Graded) (map[corpus.ChunkID]corpus.Chunk, error) {
	var places []int
	var ids []corpus.ChunkID
	for i, d := range g.Grades {
		if d.Class == event.Ambiguous && hits[i].Chunk.Parent != "" && len(places) < expansions {
			places = append(places, i)
			ids = append(ids, hits[i].Chunk.Parent)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	chunks, err := j.Index.Chunks(ctx, j.q.Collection, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return nil, j.indexFault(ctx, err)
	}
	parents := map[corpus.ChunkID]corpus.Chunk{}
	for _, c := range chunks {
		parents[c.ID] = c
	}
	whole, of := map[string][]index.Hit{}, map[string][]int{} // by question
	for n, i := range places {
		if parent, ok := parents[ids[n]]; ok {
			h := hits[i]
			h.Chunk = parent
			whole[asked[i]] = append(whole[asked[i]], h)
			of[asked[i]] = append(of[asked[i]], i)
		}
	}
	for _, question := range j.asked() {
		if len(whole[question]) == 0 {
			continue
		}
		grades, err := j.Grader.Grade(ctx, question, whole[question], j.stats)
		if err != nil {
			return nil, err
		}
		for n, i := range of[question] {
			d := &g.Grades[i]
			d.Expanded, d.NewScore = true, grades.Scores[n]
			g.Expanded++
			if d.NewScore > d.Score && d.NewScore >= grade.CorrectFrom {
				d.Parent = whole[question][n].Chunk.ID
			}
		}
	}
	return parents, nil
}

// add puts a candidate into the pool; of one chunk, the better grade stays.
func (j *job) add(c candidate) {
	for i := range j.pool {
		if j.pool[i].Chunk.ID == c.Chunk.ID {
			if c.grade > j.pool[i].grade {
				j.pool[i] = c
			}
			return
		}
	}
	j.pool = append(j.pool, c)
}
