package answer

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
)

const (
	expansions = 5  // ambiguous passages whose section is read
	statements = 10 // sentences whose passage is read in their place
)

// candidate is a chunk that may go to the generator.
type candidate struct {
	index.Hit
	grade float64  // 0..1
	asked string   // the question that the grade is for
	path  []string // how the graph led to it
	place float64  // where the searches that found it put it, 0..1
	kept  bool     // it was asked for by name, and is read whatever its grade
}

// judged is a hit with its grade.
type judged struct {
	index.Hit
	event.Grade
	asked string
	whole *index.Hit // the parent that is read in its place
}

// judge grades the results of a round, each passage by the question that found it, and adds the passages to read to the pool. For
// an ambiguous passage it reads the section around it, and for a sentence the passage around it. Again means that another search
// may follow.
func (j *job) judge(ctx context.Context, searches []*search, round int, again bool) (event.Action, error) {
	if g := j.past.graded(round); g != nil {
		j.collect(*g, searches, j.past.chunks)
		return g.Action, nil
	}
	all, by, err := j.graded(ctx, searches)
	if err != nil {
		return "", err
	}
	g := event.Graded{Iteration: round, Grades: []event.Grade{}, By: by}
	for _, d := range all {
		switch d.Class {
		case event.Correct:
			g.Correct++
		case event.Ambiguous:
			g.Ambiguous++
		default:
			g.Incorrect++
		}
	}
	if err := j.expand(ctx, all); err != nil {
		return "", err
	}
	parents := map[corpus.ChunkID]corpus.Chunk{}
	for _, d := range all {
		g.Grades = append(g.Grades, d.Grade)
		if d.Expanded {
			g.Expanded++
		}
		if d.whole != nil {
			parents[d.Parent] = d.whole.Chunk
		}
	}
	switch best := j.collect(g, searches, parents); {
	case best >= grade.CorrectFrom:
		g.Action = event.Proceed
	case best >= grade.AmbiguousFrom:
		g.Action = event.Expand
	case again && !j.useful():
		g.Action = event.ReRetrieve
	default:
		g.Action = event.Proceed // with what there is; the generator may find no answer in it
	}
	if err := j.settle(ctx); err != nil {
		return "", err
	}
	return g.Action, j.rec.Emit(ctx, g)
}

// collect adds the results of a round to the pool and returns the best grade.
func (j *job) collect(g event.Graded, searches []*search, parents map[corpus.ChunkID]corpus.Chunk) (best float64) {
	for _, d := range g.Grades {
		i := slices.IndexFunc(searches, func(s *search) bool { return s.call == d.Call })
		if i < 0 {
			continue
		}
		s := searches[i]
		at := slices.IndexFunc(s.hits, func(h index.Hit) bool { return h.Chunk.ID == d.Chunk })
		if at < 0 {
			continue // it is gone since the run began
		}
		c := candidate{Hit: s.hits[at], grade: d.Score, asked: s.asked, place: d.Place}
		if parent, ok := parents[d.Parent]; ok {
			c.Chunk, c.grade = parent, max(c.grade, d.NewScore)
			j.instead[d.Chunk] = d.Parent
		}
		j.add(c)
		best = max(best, c.grade)
	}
	return best
}

// graded returns the results of searches, each chunk once with its best grade, and the name of the grader.
func (j *job) graded(ctx context.Context, searches []*search) (out []*judged, by string, err error) {
	grades := make([]grade.Grades, len(searches))
	all, within := errgroup.WithContext(ctx)
	for i, s := range searches {
		if j.scored && s.scores.By != "" { // not for a search of an earlier process
			grades[i] = s.scores
			continue
		}
		all.Go(func() (err error) {
			grades[i], err = j.Grader.Grade(within, s.asked, read(s.hits), j.stats)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, "", err
	}
	at := map[corpus.ChunkID]*judged{}
	for k, s := range searches {
		by = grades[k].By
		places := j.places(s, grades[k].Scores)
		for i, h := range s.hits {
			score := grades[k].Scores[i]
			d := judged{Hit: h, Grade: event.Grade{Chunk: h.Chunk.ID, Score: score, Class: grade.Classify(score), Call: s.call, Place: places[i]}, asked: s.asked}
			switch known := at[h.Chunk.ID]; {
			case known == nil:
				at[h.Chunk.ID] = &d
				out = append(out, &d)
			case score > known.Grade.Score:
				d.Place = max(d.Place, known.Place)
				*known = d
			default:
				known.Place = max(d.Place, known.Place)
			}
		}
	}
	return out, by, nil
}

// read returns hits as graders read them: sentences in their self-contained form.
func read(hits []index.Hit) []index.Hit {
	out := slices.Clone(hits)
	for i := range out {
		out[i].Chunk.Text = out[i].Chunk.SearchText()
	}
	return out
}

// expand grades the parents of the best ambiguous chunks and of sentences. The parent replaces a chunk if its score is higher, and
// a sentence in any case: small chunks are searched, and large ones are read.
func (j *job) expand(ctx context.Context, all []*judged) error {
	var wanted []*judged
	var ids []corpus.ChunkID
	ambiguous, sentences := 0, 0
	for _, d := range all {
		d.Expanded = d.Class == event.Ambiguous && d.Hit.Chunk.Parent != "" && ambiguous < expansions
		small := d.Hit.Chunk.Level == corpus.Sentence && d.Hit.Chunk.Parent != "" && sentences < statements
		if d.Expanded {
			ambiguous++
		}
		if small {
			sentences++
		}
		if d.Expanded || small {
			wanted, ids = append(wanted, d), append(ids, d.Hit.Chunk.Parent)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	chunks, err := j.Index.Chunks(ctx, j.q.Collection, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return j.indexFault(ctx, err)
	}
	parents := map[corpus.ChunkID]corpus.Chunk{}
	for _, c := range chunks {
		parents[c.ID] = c
	}
	whole, of := map[string][]index.Hit{}, map[string][]*judged{} // by question
	var questions []string
	for _, d := range wanted {
		parent, ok := parents[d.Hit.Chunk.Parent]
		if !ok {
			d.Expanded = false
			continue
		}
		h := d.Hit
		h.Chunk = parent
		if whole[d.asked] == nil {
			questions = append(questions, d.asked)
		}
		whole[d.asked], of[d.asked] = append(whole[d.asked], h), append(of[d.asked], d)
	}
	for _, question := range questions {
		grades, err := j.Grader.Grade(ctx, question, whole[question], j.stats)
		if err != nil {
			return err
		}
		for n, d := range of[question] {
			score := grades.Scores[n]
			better := score > d.Grade.Score && score >= grade.CorrectFrom
			replaced := better || d.Hit.Chunk.Level == corpus.Sentence
			if replaced {
				d.Parent, d.whole = whole[question][n].Chunk.ID, &whole[question][n]
			}
			if d.Expanded = d.Expanded && replaced; d.Expanded {
				d.NewScore = score
			}
		}
	}
	return nil
}

// useful reports whether a result is not incorrect.
func (j *job) useful() bool {
	return slices.ContainsFunc(j.pool, func(c candidate) bool { return c.grade >= grade.AmbiguousFrom })
}

// add adds a candidate to the pool. Of a chunk that is there already, it keeps the better grade.
func (j *job) add(c candidate) {
	i, ok := j.at[c.Chunk.ID]
	if !ok {
		j.at[c.Chunk.ID] = len(j.pool)
		j.pool = append(j.pool, c)
		return
	}
	known := &j.pool[i]
	if c.path == nil {
		c.path = known.path
	}
	c.place = max(c.place, known.place)
	kept := c.kept || known.kept
	if c.grade > known.grade {
		*known = c
	}
	known.path, known.place, known.kept = c.path, c.place, kept
}
