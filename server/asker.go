package server

import (
	"context"
	"log/slog"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Asker starts runs for routes other than those of an [Endpoint], with the same checks: [Options.Accept], the quota of the key, sessions, and
// the limits of the engine. It is safe for concurrent use.
type Asker struct{ h handler }

// NewAsker returns an Asker. Of the options, only Accept, Sessions and Logger are used.
func NewAsker(e *engine.Engine, o Options) *Asker {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Asker{handler{Server: &Server{o: o, engine: e}}}
}

// Ask starts the run of a question, or joins one that answers an equal question. It counts a reader until detach is called. The context has the
// [auth.Identity] of the caller, if there is one. Errors have codes.
func (a *Asker) Ask(ctx context.Context, q wire.Request, c engine.Caller) (id event.RunID, detach func(), err error) {
	if q.Previous != "" {
		if err := a.h.follow(ctx, &q); err != nil {
			return "", nil, coded(err)
		}
	}
	id, detach, err = a.h.admit(ctx, q, c)
	return id, detach, coded(err)
}

// Rejoin counts a reader of an earlier run, which is not counted against the quota again, until detach is called. It returns false for a run that
// failed, was cancelled or does not exist.
func (a *Asker) Rejoin(ctx context.Context, id event.RunID) (detach func(), ok bool) {
	detach = a.h.engine.Attach(id) // first, so that the run is not cancelled meanwhile
	if state, err := a.h.runState(ctx, id); err != nil || state.Status != event.Running && state.Status != event.Finished {
		detach()
		return nil, false
	}
	return detach, true
}

// CheckRun returns an error if the sender of a request may not use a run: it needs the scope, or [auth.Ask] for a run of its account.
func (a *Asker) CheckRun(ctx context.Context, id event.RunID, scope auth.Scope) error {
	return coded(a.h.checkRun(ctx, id, scope))
}

// Count counts a question that starts no run against the quota of the key. If the question was not asked after all, give it back.
func (a *Asker) Count(ctx context.Context) (giveBack func(), err error) {
	if err := auth.CountQuestion(ctx); err != nil {
		return nil, err
	}
	return func() { a.h.returnQuestion(ctx) }, nil
}
