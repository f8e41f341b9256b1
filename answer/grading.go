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
	maxExpanded     = 5  // ambiguous passages that are replaced by their section
	maxSentenceHits = 10 // sentences that are replaced by their passage
)

// candidate is a chunk that may go to the generator.
type candidate struct {
	index.Hit
	grade  float64             // 0..1
	asked  string              // the question that the grade is for
	path   []string            // through the graph to the chunk
	place  float64             // best rank in the searches that found it, 0..1
	pinned bool                // requested by name, and read whatever its grade
	cut    bool                // a part of a table that has too many parts to read
	rest   bool                // another part of a table, and no source unless it is cited
	also   []corpus.DocumentID // documents with about the same passage, which are not read
}

// gradedHit is a hit with its grade.
type gradedHit struct {
	index.Hit
	event.Grade
	asked  string
	parent *index.Hit // the parent that is read in its place
}

// gradeSearches grades the results of a round, each passage by the question that found it, and adds the passages to read to the pool. For
// an ambiguous passage it reads the section around it, and for a sentence the passage around it. If mayRetry is set, another
// search may follow.
func (j *job) gradeSearches(ctx context.Context, searches []*search, round int, mayRetry bool) (event.Action, error) {
	if g := j.resumed.graded(round); g != nil {
		j.collect(*g, searches, j.resumed.chunks)
		return g.Action, nil
	}
	all, by, err := j.gradeHits(ctx, searches)
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
		if d.parent != nil {
			parents[d.Parent] = d.parent.Chunk
		}
	}
	switch best := j.collect(g, searches, parents); {
	case best >= grade.CorrectFrom:
		g.Action = event.Proceed
	case best >= grade.AmbiguousFrom:
		g.Action = event.Expand
	case mayRetry && !j.useful():
		g.Action = event.ReRetrieve
	default:
		g.Action = event.Proceed // the generator may abstain
	}
	if err := j.flushModelCalls(ctx); err != nil {
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
			continue // deleted since the run began
		}
		c := candidate{Hit: s.hits[at], grade: d.Score, asked: s.asked, place: d.Place}
		if parent, ok := parents[d.Parent]; ok {
			c.Chunk, c.grade = parent, max(c.grade, d.NewScore)
			j.replacedBy[d.Chunk] = d.Parent
		}
		j.add(c)
		best = max(best, c.grade)
	}
	return best
}

// gradeHits returns the results of searches, each chunk once with its best grade, and the name of the grader.
func (j *job) gradeHits(ctx context.Context, searches []*search) (out []*gradedHit, by string, err error) {
	grades := make([]grade.Grades, len(searches))
	all, within := errgroup.WithContext(ctx)
	for i, s := range searches {
		if j.scored && s.scores.By != "" { // a search of an earlier process has no scores
			grades[i] = s.scores
			continue
		}
		all.Go(func() (err error) {
			grades[i], err = j.Grader.Grade(within, s.asked, j.searchTexts(within, s.hits), j.stats)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, "", err
	}
	at := map[corpus.ChunkID]*gradedHit{}
	for k, s := range searches {
		by = grades[k].By
		places := j.searchRanks(s, grades[k].Scores)
		for i, h := range s.hits {
			score := grades[k].Scores[i]
			d := gradedHit{Hit: h, Grade: event.Grade{Chunk: h.Chunk.ID, Score: score, Class: grade.Classify(score), Call: s.call, Place: places[i]}, asked: s.asked}
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

// searchTexts returns hits as graders read them: sentences in their self-contained form, under the name of the file as the outermost heading.
func (j *job) searchTexts(ctx context.Context, hits []index.Hit) []index.Hit {
	out := slices.Clone(hits)
	files := j.filesOf(ctx, hits)
	for i := range out {
		c := &out[i].Chunk
		c.Text = c.SearchText()
		if words := nameWords(files[c.Document].name, c.Title); words != "" {
			c.Headings = append([]string{words}, c.Headings...)
		}
	}
	return out
}

// expand grades the parents of the best ambiguous chunks and of sentences. The parent replaces a chunk if its score is higher, and
// a sentence in any case: small chunks are searched, and large ones are read.
func (j *job) expand(ctx context.Context, all []*gradedHit) error {
	var wanted []*gradedHit
	var ids []corpus.ChunkID
	ambiguous, sentences := 0, 0
	for _, d := range all {
		d.Expanded = d.Class == event.Ambiguous && d.Hit.Chunk.Parent != "" && ambiguous < maxExpanded
		small := d.Hit.Chunk.Level == corpus.Sentence && d.Hit.Chunk.Parent != "" && sentences < maxSentenceHits
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
	parentHits, children := map[string][]index.Hit{}, map[string][]*gradedHit{} // by question
	var questions []string
	for _, d := range wanted {
		parent, ok := parents[d.Hit.Chunk.Parent]
		if !ok {
			d.Expanded = false
			continue
		}
		h := d.Hit
		h.Chunk = parent
		if parentHits[d.asked] == nil {
			questions = append(questions, d.asked)
		}
		parentHits[d.asked], children[d.asked] = append(parentHits[d.asked], h), append(children[d.asked], d)
	}
	for _, question := range questions {
		grades, err := j.Grader.Grade(ctx, question, j.searchTexts(ctx, parentHits[question]), j.stats)
		if err != nil {
			return err
		}
		for n, d := range children[question] {
			score := grades.Scores[n]
			better := score > d.Grade.Score && score >= grade.CorrectFrom
			replaced := better || d.Hit.Chunk.Level == corpus.Sentence
			if replaced {
				d.Parent, d.parent = parentHits[question][n].Chunk.ID, &parentHits[question][n]
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
	i, ok := j.poolIndex[c.Chunk.ID]
	if !ok {
		j.poolIndex[c.Chunk.ID] = len(j.pool)
		j.pool = append(j.pool, c)
		return
	}
	known := &j.pool[i]
	if c.path == nil {
		c.path = known.path
	}
	c.place = max(c.place, known.place)
	kept := c.pinned || known.pinned
	if c.grade > known.grade {
		*known = c
	}
	known.path, known.place, known.pinned = c.path, c.place, kept
}
