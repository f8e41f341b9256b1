package app

import (
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/a2a"
)

// agent returns the options of the routes for agents.
func (a *App) agent(asker *server.Asker, o server.Options) a2a.Options {
	out := a2a.Options{Engine: a.Engine, Asker: asker, MaxQuery: o.MaxQuery, Version: o.Version, Page: o.Page, PublicURL: a.Config.HTTP.PublicURL}
	if a.access != nil {
		out.KeyRequired = a.access.KeyRequired
	}
	return out
}
