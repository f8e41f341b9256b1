package answer

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
)

// rules names the forms that need no model in the events.
const rules = "rules"

// Pipeline answers questions: analyze, search, grade, expand or search again, rerank, generate, verify, attribute. Its
// fields are not to be changed once it answers. It may answer many questions at once.
type Pipeline struct {
	Index     index.Reader
	Embedder  model.Embedder // nil: searches go by words alone
	Generator model.Generator
	Grader    grade.Grader
	Reranker  rerank.Reranker
	Verifier  verify.Verifier
	Now       func() time.Time // for durations; default time.Now
}

// job is one question being answered.
type job struct {
	*Pipeline
	rec      *Recorder
	q        event.RunStarted
	calls    event.CallID
	pool     []candidate // what was found so far, each chunk once
	stats    index.TermStats
	context  []candidate // what the generator reads, best first
	order    []int       // places in context of the sources, by number
	claims   []verify.Claim
	finished bool // the sources are listed
}

// Answer implements [Answerer].
func (p *Pipeline) Answer(ctx context.Context, r *Recorder) error {
	j := &job{Pipeline: p, rec: r, q: r.State().RunStarted}
	if j.Now == nil {
		withClock := *p
		withClock.Now = time.Now
		j.Pipeline = &withClock
	}
	err := j.answer(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.Join(err, j.keep(ctx))
	}
	return err
}

func (j *job) answer(ctx context.Context) error {
	analysis := event.QueryAnalyzed{Complexity: Analyze(j.q.Query), Mode: event.Direct, By: rules}
	if err := j.rec.Emit(ctx, analysis); err != nil {
		return err
	}
	if err := j.rec.Emit(ctx, event.CacheChecked{}); err != nil {
		return err
	}
	if err := j.prepare(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{j.retrieve, j.rerank, j.generate, j.verify, j.attribute} {
		if err := step(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// prepare sees that there is something to search and learns how its words are spread.
func (j *job) prepare(ctx context.Context) error {
	docs, err := j.Index.Documents(ctx, j.q.Collection, "", 1)
	if err != nil {
		return j.indexFault(ctx, err)
	}
	if len(docs) == 0 {
		return fault.New(fault.NoDocuments, "no documents are indexed in the collection")
	}
	if j.stats, err = j.Index.Terms(ctx, j.q.Collection, words(j.q.Query)); err != nil {
		return j.indexFault(ctx, err)
	}
	return nil
}

// indexFault gives an error of the index its code, unless it is the context's.
func (j *job) indexFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	return fault.Wrap(fault.Index, err, "the index could not be searched")
}

// maxWords bounds how many words of a question are weighed.
const maxWords = 256

// words gives the distinct words of a question that are no stop words.
func words(question string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range text.Words(head(question, 8192)) {
		if !text.Stop(w.Text) && !seen[w.Text] && len(out) < maxWords {
			seen[w.Text] = true
			out = append(out, w.Text)
		}
	}
	return out
}

func (j *job) since(began time.Time) event.Millis { return event.MillisOf(j.Now().Sub(began)) }
