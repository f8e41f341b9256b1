package answer

import (
	"context"
	"strings"

	"github.com/sluice-rag/sluice/answer/hyde"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// maxSearches is the maximum number of searches in direct mode: the question and two variants.
const maxSearches = 3

// direct searches until a result is useful, at most three times: with the question and, if it asks several things, with each of them; with a draft of an answer;
// and with the content words of the question over all levels.
func (j *job) direct(ctx context.Context) error {
	s := j.search(event.ToolHybridSearch, j.q.Query)
	searches := []*search{s}
	for _, part := range j.analysis.Parts {
		one := j.search(event.ToolHybridSearch, part)
		one.asked, one.limit = part, max(maxPartHits, j.q.TopK)
		searches = append(searches, one)
	}
	for round := 1; ; round++ {
		for _, s := range searches {
			if err := j.runSearch(ctx, s, round); err != nil {
				return err
			}
		}
		action, err := j.gradeSearches(j.traced(ctx, "grade"), searches, round, round < maxSearches)
		if err != nil {
			return err
		}
		if action != event.ReRetrieve {
			return nil
		}
		next := j.search(event.ToolHybridSearch, j.q.Query)
		switch round {
		case 1:
			d, err := j.draft(ctx, j.calls+1, j.q.Query, s.hits)
			if err != nil {
				return err
			}
			next.tool, next.text, next.vectorText, next.purpose = event.ToolHydeSearch, d.Words, d.Passage, model.ForPassage
		case 2:
			next.text = strings.Join(lang.ContentWords(lang.Truncate(j.q.Query, maxQuery), maxWords), " ")
			next.vectorText, next.levels = next.text, []corpus.Level{corpus.Section, corpus.Passage, corpus.Sentence}
		}
		if next.text == "" && next.vectorText == "" {
			return nil
		}
		s, searches = next, []*search{next}
	}
}

// runSearch runs a search and emits its events. A failure ends the run.
func (j *job) runSearch(ctx context.Context, s *search, round int) error {
	s.call = j.call()
	if done := j.resumed.search(s.call); done != nil && done.Result != nil {
		s.hits = j.resumed.hits(done.Result)
		return nil
	}
	if err := j.emitOnce(ctx, s.call, event.RetrievalStarted{Call: s.call, Tool: s.tool, Query: s.displayed(), Iteration: round}); err != nil {
		return err
	}
	began := j.Now()
	if err := j.find(ctx, s); err != nil {
		return j.indexFault(ctx, err)
	}
	return j.rec.Emit(ctx, s.finished(j.elapsed(began)))
}

// draft returns the text to search for instead of the question. In a resumed run, it restores the text of a logged search.
func (j *job) draft(ctx context.Context, call event.CallID, question string, hits []index.Hit) (hyde.Draft, error) {
	if s := j.resumed.search(call); s != nil {
		d, err := hyde.Feedback{}.Write(ctx, question, hits) // every drafter uses its words
		return hyde.Draft{Words: d.Words, Passage: s.Query}, err
	}
	return j.Drafter.Write(j.traced(ctx, "hyde"), question, hits)
}
