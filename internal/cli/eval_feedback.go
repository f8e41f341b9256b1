package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/session"
)

// maxRated is the maximum number of rated answers that are asked again.
const maxRated = 10_000

// feedback asks the questions of the rated answers in a data folder again. The runs are ephemeral, and neither read nor write the cache.
func (v *evaluation) feedback(e *env, folder string) (err error) {
	if !app.IsData(folder) {
		return fmt.Errorf("eval: %s is no data folder", folder) // which would be made
	}
	cfg := e.cfg
	cfg.Store.Data = folder
	a, err := app.Open(e.ctx, cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	rated, err := ratedAnswers(e.ctx, a.Sessions)
	if err != nil {
		return err
	}
	if len(rated) == 0 {
		return fmt.Errorf("eval: no answer of a session in %s is rated", folder)
	}
	v.Feedback, err = eval.Feedback(e.ctx, rated, func(ctx context.Context, q event.Question) (event.State, error) {
		var s event.State
		q.NoCache, q.Ephemeral = true, true
		id, err := a.Engine.Ask(ctx, q, engine.Caller{Protocol: "eval"})
		if err != nil {
			return s, err
		}
		for batch, err := range a.Engine.Events(ctx, id, 0) {
			if err != nil {
				_ = a.Engine.Cancel(context.WithoutCancel(ctx), id, "")
				return s, err
			}
			for _, ev := range batch {
				s.Apply(ev)
			}
		}
		return s, nil
	})
	return err
}

// ratedAnswers reads the rated answers of all sessions.
func ratedAnswers(ctx context.Context, sessions *session.Service) ([]eval.RatedAnswer, error) {
	var out []eval.RatedAnswer
	after := event.RunID("")
	for len(out) < maxRated {
		page, err := sessions.Rated(ctx, nil, after, 200)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			out = append(out, ratedAnswer(r))
			after = r.Answer.Run
		}
	}
	return out, nil
}

// ratedAnswer converts a rated answer. The question is the one that was searched for, so that it needs no history.
func ratedAnswer(r session.Rated) eval.RatedAnswer {
	a := eval.RatedAnswer{ID: r.Answer.ID, Question: r.Answer.Asked, Answer: r.Answer.Text, Abstained: r.Answer.Abstained}
	a.Question.Query = cmp.Or(r.Answer.Standalone, r.Question.Text)
	a.Question.History, a.Question.Summary, a.Question.Session, a.Question.Previous, a.Question.Request = nil, "", "", "", nil
	if f := r.Answer.Feedback; f != nil {
		a.Good, a.Reason = f.Good, f.Reason
	}
	seen := map[corpus.DocumentID]bool{}
	for _, c := range r.Answer.Citations {
		if !seen[c.Source.Document] {
			seen[c.Source.Document] = true
			a.Documents = append(a.Documents, c.Source.Document)
		}
		if s := c.Source.Text; s != "" && !slices.Contains(a.Sentences, s) {
			a.Sentences = append(a.Sentences, s)
		}
	}
	return a
}
