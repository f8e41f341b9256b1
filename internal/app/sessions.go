package app

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/session"
)

// sessionsMark is the name of a file that exists if the folder has had a session database.
const sessionsMark = "sessions.exists"

// openSessions opens the store of sessions, and adds the hooks of the session service to the options of the engine.
func (a *App) openSessions(ctx context.Context, o *engine.Options) error {
	err := a.reserve.Use(func() (err error) {
		a.sessionStore, err = a.records.sessions(ctx, a.Tenant)
		return err
	})
	if err != nil {
		return err
	}
	runs := a.Config.Runs
	a.Sessions = session.New(reservedSessions{a.sessionStore, a.reserve}, session.Options{Server: a.server(), Lease: runs.Deadline + runs.QueueWait + time.Minute, Title: a.Models.Titler(a.Config.Models, a.logger), Logger: a.logger})
	ended, deleted := o.Ended, o.Deleted
	o.Ended = func(s event.State) {
		if ended != nil {
			ended(s)
		}
		a.Sessions.Ended(s)
	}
	o.Deleted = func(run event.RunID) {
		if deleted != nil {
			deleted(run)
		}
		a.Sessions.Deleted(run)
	}
	return nil
}

// reservedSessions is a store whose deletions and ends of turns can use the disk reserve, like the last events of runs.
type reservedSessions struct {
	session.Store
	space *reserve.File
}

// End implements [session.Turns].
func (r reservedSessions) End(ctx context.Context, e session.End) error {
	return r.space.Use(func() error { return r.Store.End(ctx, e) })
}

// Hide implements [session.Sessions].
func (r reservedSessions) Hide(ctx context.Context, key session.Key, keepRuns bool) error {
	return r.space.Use(func() error { return r.Store.Hide(ctx, key, keepRuns) })
}

// Erase implements [session.Eraser].
func (r reservedSessions) Erase(ctx context.Context, key session.Key) error {
	return r.space.Use(func() error { return r.Store.Erase(ctx, key) })
}

// EraseRun implements [session.Eraser].
func (r reservedSessions) EraseRun(ctx context.Context, run event.RunID) error {
	return r.space.Use(func() error { return r.Store.EraseRun(ctx, run) })
}

// closeSessions closes the session service and its store. Close the engine before.
func (a *App) closeSessions() error {
	if a.Sessions == nil {
		return nil
	}
	a.Sessions.Close()
	if err := a.sessionStore.Close(); err != nil {
		return fmt.Errorf("close sessions: %w", err)
	}
	return nil
}
