package grade

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout  time.Duration // for all passages of a call; default 8 s, and at most a quarter of the run's remaining time
	Parallel int           // concurrent requests; default 4
	Batch    int           // passages per request; default 5, at most 20
	Most     int           // maximum number of passages per call, the first ones; default 20
}

const (
	maxShown = 1600 // bytes of a passage shown to the model
	maxBatch = 20   // passages per request
)

// scale maps a model's judgement to the scores of CRAG's classes: passages that answer the question or a part of it are
// correct, passages about the same subject are ambiguous, so that their section is read. The judgements are those of TREC,
// on which language models agree well with people (Upadhyay et al. 2024, arXiv:2406.06519).
var scale = [...]float64{0, 0.45, 0.8, 1}

// modelGrader is the [Grader] that asks a model.
type modelGrader struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Grader
	Options
}

// NewModel returns the [Grader] that asks a model for the relevance of each passage, in concurrent batches. Of a long
// passage it shows the part with most of the question's words. The passages of a batch that fails or is late, and those
// after the first Options.Most, are graded by then, which sees all passages. By names both graders in that case, as in
// "qwen + coverage". Each reason is reported to the trace once.
func NewModel(chat model.Chat, prompts *prompt.Set, then Grader, o Options) Grader {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Batch = min(cmp.Or(max(o.Batch, 0), 5), maxBatch)
	o.Most = cmp.Or(max(o.Most, 0), 20)
	return &modelGrader{chat, prompts, then, o}
}

// Grade implements [Grader].
func (m *modelGrader) Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error) {
	if len(chunks) == 0 {
		return m.fallback.Grade(ctx, question, chunks, stats)
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 4)
	defer cancel()
	shown := min(maxShown, prompt.PassageBudget(m.chat.Limits(share))/m.Batch)
	out := Grades{Scores: make([]float64, len(chunks))}
	n := min(len(chunks), m.Most)
	batches := (n + m.Batch - 1) / m.Batch
	by := make([]string, batches)
	errs := prompt.ForEach(batches, m.Parallel, func(i int) error {
		from, to := m.batch(i, n)
		own, answered := model.TrackModel(share)
		err := m.judge(own, question, chunks[from:to], out.Scores[from:to], shown)
		by[i] = answered(m.chat.Name())
		return prompt.ShareError(ctx, share, m.chat.Name(), err)
	})
	if ctx.Err() != nil {
		return Grades{}, ctx.Err()
	}
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	out.By = prompt.JoinNames(by, errs)
	if failed == 0 && n == len(chunks) {
		return out, nil
	}
	free, err := m.fallback.Grade(ctx, question, chunks, stats)
	if err != nil {
		return Grades{}, err
	}
	prompt.ReportFailures(ctx, errs, m.chat.Name(), free.By)
	if failed == batches {
		return free, nil
	}
	for i, err := range errs {
		if err != nil {
			from, to := m.batch(i, n)
			copy(out.Scores[from:to], free.Scores[from:to])
		}
	}
	copy(out.Scores[n:], free.Scores[n:])
	out.By += " + " + free.By
	return out, nil
}

// batch returns the range of the passages in batch i of n.
func (m *modelGrader) batch(i, n int) (from, to int) {
	return i * m.Batch, min(n, (i+1)*m.Batch)
}

type reply struct {
	Grades []struct {
		ID    int `json:"id"`
		Score int `json:"score"`
	} `json:"grades"`
}

// judge asks for the relevance of the passages of a batch.
func (m *modelGrader) judge(ctx context.Context, question string, chunks []Scored, scores []float64, shown int) error {
	g := prompt.Grading{Question: question}
	for i, c := range chunks {
		g.Passages = append(g.Passages, prompt.PassageOf(i+1, c.Chunk, question, shown))
	}
	r, err := prompt.Ask(ctx, m.chat, m.prompts, g, func(r *reply) error { return r.check(len(chunks)) })
	if err != nil {
		return err
	}
	for _, g := range r.Grades {
		scores[g.ID-1] = scale[g.Score]
	}
	return nil
}

// check reports an error unless each of n passages has exactly one score.
func (r *reply) check(n int) error {
	seen := map[int]bool{}
	for _, g := range r.Grades {
		switch {
		case g.ID < 1 || g.ID > n:
			return fmt.Errorf("there is no passage with the id %d: they are 1 to %d", g.ID, n)
		case seen[g.ID]:
			return fmt.Errorf("passage %d has two scores", g.ID)
		case g.Score < 0 || g.Score >= len(scale):
			return fmt.Errorf("the score of passage %d is none of 0 to %d", g.ID, len(scale)-1)
		}
		seen[g.ID] = true
	}
	if len(seen) != n {
		return fmt.Errorf("%d of the %d passages have no score", n-len(seen), n)
	}
	return nil
}
