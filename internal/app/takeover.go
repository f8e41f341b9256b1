package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/eventlog/natslog"
)

// joinServers lets the server share work with others if they have both its runs and its records: see [natspeers.Servers].
func (s *Shared) joinServers() error {
	s.named, s.unname = context.WithCancelCause(context.Background())
	if s.logConn == nil || !s.records.External() {
		return nil
	}
	lock, err := lockRuns(filepath.Join(s.Config.Store.Data, runsFolder)) // otherwise, the server that has the folder open has the name
	if err != nil {
		return inUse(s.Config.Store.Data, err)
	}
	defer func() { _ = lock.Unlock() }()
	return s.takeName(func(o natspeers.Options) (err error) {
		o.NameTaken = func(younger bool) {
			s.logger.Error("two running servers have the same name; the one that was started later stops", "server", o.Server)
			if younger {
				s.unname(errNameTaken(o.Server))
			}
		}
		s.servers, err = natspeers.Join(s.logConn.NC, o)
		return err
	})
}

// holdName fails if another server has the name of this one. A server that shares its work has checked that before.
func (s *Shared) holdName() error {
	if s.logConn == nil || s.servers != nil {
		return nil
	}
	return s.takeName(func(o natspeers.Options) error {
		_, err := natspeers.HoldName(s.logConn.NC, o)
		return err
	})
}

func (s *Shared) takeName(take func(natspeers.Options) error) error {
	id, err := serverID(s.Config.Store.Data)
	if err != nil {
		return fmt.Errorf("open data folder: %w", err)
	}
	err = take(natspeers.Options{Server: id, Lease: s.Config.Store.Lease})
	if errors.Is(err, natspeers.ErrNameTaken) {
		return errNameTaken(id)
	}
	return err
}

func errNameTaken(server string) error {
	return fmt.Errorf("%w, %s, because one of the two data folders is a copy: delete the file %s in the copy, and start its server again", natspeers.ErrNameTaken, server, serverFile)
}

// Named returns a context that is cancelled, with an error for the user as its cause, when this server must stop because another one has its name.
func (s *Shared) Named() context.Context { return s.named }

// server returns the name of this server among those that share its work; empty: there are none.
func (a *App) server() string {
	if a.servers == nil {
		return ""
	}
	return a.servers.Name()
}

// gone returns a function that reports whether a server is the given one or has died; nil: no other servers share the work.
func (a *App) gone(one string) func(server string) bool {
	if a.servers == nil {
		return nil
	}
	return func(server string) bool { return server == one || !a.servers.Alive(server) }
}

// watchServers takes over the work of servers that die, until the context ends.
func (t *Tenants) watchServers(ctx context.Context) {
	if t.shared.servers == nil {
		return
	}
	t.shared.servers.OnLost(func(server string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if ctx.Err() == nil && !t.closing {
			t.work.Go(func() { t.takeOver(ctx, server) })
		}
	})
}

// takeOver continues the work of a server that has died, in all tenants. Errors are logged; the engines try again later.
func (t *Tenants) takeOver(ctx context.Context, server string) {
	t.logger.Info("a server has stopped or its lease has run out", "server", server)
	names, err := t.shared.records.TenantNames(ctx, nil)
	if err != nil {
		t.logger.Error("could not find the tenants", "error", err)
	}
	open := t.apps()
	for _, name := range names {
		a := open[name]
		if a == nil {
			if owns, err := natslog.Owns(ctx, t.shared.logConn, name, server); err != nil || !owns {
				continue
			}
		}
		if err := t.takeOverTenant(ctx, name, server); err != nil && ctx.Err() == nil {
			t.logger.Error("could not take over the work of a server", "tenant", name, "server", server, "error", err)
		}
	}
}

func (t *Tenants) takeOverTenant(ctx context.Context, name, server string) error {
	if name == auth.DefaultTenant {
		return t.Default.takeOver(ctx, server)
	}
	e, err := t.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer t.release(e)
	return e.app.takeOver(ctx, server)
}

// takeOver continues the runs and the tasks of files of a server that has died, and ends the turns for which it had begun no run.
func (a *App) takeOver(ctx context.Context, server string) error {
	n, err := a.Engine.TakeOver(ctx, server)
	if n.Resumed > 0 || n.Failed > 0 {
		a.logger.Info("runs of another server are continued", "server", server, "runs", n.Resumed, "ended", n.Failed)
	}
	err = errors.Join(err, a.Sessions.Recover(ctx, a.gone(server)))
	if a.files.service != nil {
		err = errors.Join(err, a.files.service.TakeOver(ctx))
	}
	if a.sources != nil {
		err = errors.Join(err, a.sources.Resume(ctx))
	}
	return err
}
