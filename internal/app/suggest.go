package app

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/suggest"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// suggestions returns the maker of the questions that the page offers.
func (a *App) suggestions() *suggest.Maker {
	p := &answer.Pipeline{Index: a.scopes, Vectors: a.scopes, Reranker: a.reranker, Generator: a.Models.Local, Scorer: a.Models.grader,
		Verifier: verify.Overlap{Tokens: a.Models.Local}}
	return suggest.New(a.scopes, func(ctx context.Context, collection, question string) (suggest.Answer, error) {
		return tryQuestion(ctx, p, collection, question)
	}, suggest.Options{})
}

// tryQuestion asks a question in a log that is dropped.
func tryQuestion(ctx context.Context, p *answer.Pipeline, collection, question string) (out suggest.Answer, err error) {
	const run = "suggestion"
	log := eventlog.NewMemory()
	q := event.Question{Query: question, Mode: event.Direct, Collection: collection, NoCache: true}
	q.SetDefaults()
	r, err := answer.NewRecorder(ctx, log, time.Now, event.RunStarted{Run: run, Protocol: "events", Question: q})
	if err != nil {
		return out, err
	}
	if err := p.Answer(ctx, r); err != nil {
		return out, err
	}
	events, err := eventlog.Read(ctx, log, run, 0, r.State().Seq)
	if err != nil {
		return out, err
	}
	s := event.Fold(events)
	out.Answerability = s.Answerability
	for _, c := range s.Citations {
		out.Cited = append(out.Cited, c.Chunk)
	}
	return out, nil
}
