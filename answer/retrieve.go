package answer

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

const (
	rounds     = 3  // searches at most: the question and two ways of asking again
	candidates = 20 // passages that a search brings at least
	expansions = 5  // ambiguous passages whose section is read
	feedback   = 8  // terms that pseudo-relevance feedback adds
)

// candidate is a chunk that may go to the generator.
type candidate struct {
	index.Hit
	grade float64 // 0..1
}

// retrieve searches until something is of use, at most three times: as asked, with the terms of the best passages added
// (pseudo-relevance feedback), and with the question's content words alone over all levels.
func (j *job) retrieve(ctx context.Context) error {
	query, levels := j.q.Query, []corpus.Level{corpus.Passage}
	for round := 1; ; round++ {
		hits, err := j.search(ctx, query, levels, round)
		if err != nil {
			return err
		}
		action, err := j.judge(ctx, hits, round)
		if err != nil {
			return err
		}
		if action != event.ReRetrieve || round == rounds {
			return nil
		}
		switch round {
		case 1:
			query = j.fedBack(hits)
		case 2:
			query, levels = strings.Join(words(j.q.Query), " "), []corpus.Level{corpus.Section, corpus.Passage, corpus.Sentence}
		}
		if query == "" {
			return nil
		}
	}
}

func (j *job) search(ctx context.Context, query string, levels []corpus.Level, round int) ([]index.Hit, error) {
	j.calls++
	call, began := j.calls, j.Now()
	start := event.RetrievalStarted{Call: call, Tool: event.ToolHybridSearch, Query: query, Iteration: round}
	if err := j.rec.Emit(ctx, start); err != nil {
		return nil, err
	}
	q := index.Query{Collection: j.q.Collection, Text: query, Levels: levels, Limit: max(candidates, 2*j.q.TopK)}
	if j.Embedder != nil {
		vectors, err := j.Embedder.Embed(ctx, []string{head(query, 8192)})
		switch {
		case err == nil:
			q.Vector = vectors[0]
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default: // words alone find most of it
			warning := event.Warned{Code: fault.Model, Message: "the embedder failed; the search goes by words alone", Step: "search"}
			if err := j.rec.Emit(ctx, warning); err != nil {
				return nil, err
			}
		}
	}
	hits, err := j.Index.Search(ctx, q)
	if err != nil {
		return nil, j.indexFault(ctx, err)
	}
	result := event.RetrievalFinished{Call: call, Tool: event.ToolHybridSearch, Found: []event.Found{}, Duration: j.since(began)}
	for _, h := range hits {
		result.Found = append(result.Found, event.Found{Chunk: h.Chunk.ID, Level: h.Chunk.Level, Score: h.Score})
	}
	return hits, j.rec.Emit(ctx, result)
}

// judge grades what a search found, reads the section around what is ambiguous, and puts the better of the two into the
// pool.
func (j *job) judge(ctx context.Context, hits []index.Hit, round int) (event.Action, error) {
	scores, err := j.Grader.Grade(ctx, j.q.Query, hits, j.stats)
	if err != nil {
		return "", err
	}
	g := event.Graded{Iteration: round, Grades: []event.Grade{}, By: j.Grader.Name()}
	for i, h := range hits {
		d := event.Grade{Chunk: h.Chunk.ID, Score: scores[i], Class: grade.Classify(scores[i])}
		switch d.Class {
		case event.Correct:
			g.Correct++
		case event.Ambiguous:
			g.Ambiguous++
		default:
			g.Incorrect++
		}
		g.Grades = append(g.Grades, d)
	}
	parents, err := j.expand(ctx, hits, &g)
	if err != nil {
		return "", err
	}
	better := 0
	for i, h := range hits {
		c := candidate{Hit: h, grade: scores[i]}
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
func (j *job) expand(ctx context.Context, hits []index.Hit, g *event.Graded) (map[corpus.ChunkID]corpus.Chunk, error) {
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
	var whole []index.Hit
	var of []int
	for n, i := range places {
		if parent, ok := parents[ids[n]]; ok {
			h := hits[i]
			h.Chunk = parent
			whole = append(whole, h)
			of = append(of, i)
		}
	}
	scores, err := j.Grader.Grade(ctx, j.q.Query, whole, j.stats)
	if err != nil {
		return nil, err
	}
	for n, i := range of {
		d := &g.Grades[i]
		d.Expanded, d.NewScore = true, scores[n]
		g.Expanded++
		if scores[n] > d.Score && scores[n] >= grade.CorrectFrom {
			d.Parent = whole[n].Chunk.ID
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

// fedBack is the question with the terms that set the best passages apart: those that are frequent in them and rare in the
// collection, as far as its question's terms tell. It is empty where nothing was found.
func (j *job) fedBack(hits []index.Hit) string {
	counts := map[string]float64{}
	asked := map[string]bool{}
	for _, t := range text.Terms(head(j.q.Query, 8192)) {
		asked[t] = true
	}
	first := map[string]string{}
	for i, h := range hits[:min(3, len(hits))] {
		seen := map[string]bool{}
		for _, w := range text.Words(h.Chunk.Text) {
			stem := text.Stem(w.Text)
			if len(w.Text) < 3 || text.Stop(w.Text) || asked[stem] {
				continue
			}
			if first[stem] == "" {
				first[stem] = w.Text
			}
			if !seen[stem] {
				counts[stem] += 1 / float64(i+1)
			}
			counts[stem] += 0.1
			seen[stem] = true
		}
	}
	stems := make([]string, 0, len(counts))
	for s := range counts {
		stems = append(stems, s)
	}
	slices.SortFunc(stems, func(a, b string) int {
		if d := counts[b] - counts[a]; math.Abs(d) > 1e-9 {
			return int(math.Copysign(1, d))
		}
		return strings.Compare(a, b)
	})
	query := words(j.q.Query)
	for _, s := range stems[:min(feedback, len(stems))] {
		query = append(query, first[s])
	}
	return strings.Join(query, " ")
}
