package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// Scopes of routes that every key may use.
const (
	Open   auth.Scope = "open"    // needs no key
	AnyKey auth.Scope = "any key" // needs a key with any scopes
)

// AgentCardPath is the path of the agent card of package a2a, which needs no key.
const AgentCardPath = "/.well-known/agent-card.json"

// scoped refuses requests whose key lacks the scope of the route. Requests without an [auth.Identity] have not passed an authentication: the
// program that uses this package has none, or its own.
func (h handler) scoped(rt Route, next http.Handler) http.Handler {
	scope := cmp.Or(rt.Scope, auth.Admin)
	if scope == Open || scope == AnyKey && rt.Limited {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if i, ok := auth.From(r.Context()); ok && i.Limited() && !rt.Limited {
			err = &fault.Error{Code: fault.Forbidden, Field: "scope", Message: "this key only permits questions about its collections"}
		} else if scope == AnyKey {
			next.ServeHTTP(w, r)
			return
		} else if ok && rt.Own {
			err = h.checkRun(r.Context(), event.RunID(r.PathValue("id")), scope)
		} else if ok && !i.Permits(scope) {
			err = lacks(scope)
		}
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		if rt.any != nil { // streams of every protocol
			h.forPath(r).replyError(w, err)
			return
		}
		h.replyError(w, err)
	})
}

// checkRun returns an error if the sender of a request may not use a run: it needs the scope, or [auth.Ask] for a run of its account. With
// auth.Ask alone, a run of another account is an unknown one.
func (h handler) checkRun(ctx context.Context, id event.RunID, scope auth.Scope) error {
	i, ok := auth.From(ctx)
	switch {
	case !ok || i.Permits(scope):
		return nil
	case !i.Permits(auth.Ask):
		return lacks(scope)
	case !id.Valid():
		return eventlog.ErrNotFound
	}
	batch, err := h.engine.Store().Load(ctx, id, 0)
	if err != nil {
		return err
	}
	if len(batch) > 0 {
		if start, ok := batch[0].Body.(event.RunStarted); ok && start.Account == i.Account && i.CheckCollection(start.Collection) == nil {
			return nil
		}
	}
	return eventlog.ErrNotFound
}

func lacks(scope auth.Scope) error {
	return &fault.Error{Code: fault.Forbidden, Field: "scope", Message: "this key lacks the scope " + string(scope)}
}
